package reading

import (
	"bytes"
	"errors"
	"unsafe"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/wire"
)

// ErrNoAnswer ends a reply that was all thought, if the route says so.
var ErrNoAnswer = errors.New("the reply was all reasoning: the model gave no answer")

// answerPromoted is the finding that a reply was all thought, and that its reasoning
// became its text.
const answerPromoted sotto.Code = "answer_promoted"

// An answered is what is known about whether a choice had an answer. If the choices of
// an API are the texts of one reply, they have one in common.
type answered struct {
	yes      bool   // there is text, narration, a call or a refusal
	thought  []byte // the reasoning so far, if it may become the text
	spans    []span // its places, if what the client gets is noted
	long     bool   // the reasoning is too long to be kept: it does not become the text
	thinks   bool   // there is reasoning
	promoted bool
	over     bool
}

// answer returns what is known about the answer of a choice.
func (r *Reading) answer(choice int) *answered {
	if r.Can.Texts {
		choice = 0
	}
	if r.answers[choice] == nil {
		if r.answers == nil {
			r.answers = map[int]*answered{}
		}
		if len(r.answers) >= r.Limits.Choices {
			return &answered{} // the reply fails, or has failed
		}
		r.answers[choice] = &answered{}
	}
	return r.answers[choice]
}

// size is the memory that is held for the thought.
func (a *answered) size() int { return cap(a.thought) + cap(a.spans)*int(unsafe.Sizeof(span{})) }

// asks reports whether it matters if a reply has an answer.
func (r *Reading) asks() bool {
	return r.Display != routing.DisplayKeep && (r.OnNoAnswer == routing.NoAnswerError || r.OnNoAnswer == routing.NoAnswerPromote)
}

// hasAnswer notes that a choice had something of an answer.
func (r *Reading) hasAnswer(a *answered) {
	r.Weight -= a.size()
	a.yes, a.thought, a.spans = true, nil, nil
}

// couldAnswer notes text that a client got or may get.
func (r *Reading) couldAnswer(choice int, text []byte) {
	if !r.asks() {
		return
	}
	if a := r.answer(choice); !a.yes && len(trimLeft(text)) > 0 {
		r.hasAnswer(a)
	}
}

// hasThought notes reasoning, and keeps it and its places if it may become the text.
func (r *Reading) hasThought(choice int, text []byte, places []span) {
	if !r.asks() {
		return
	}
	a := r.answer(choice)
	a.thinks = a.thinks || len(trimLeft(text)) > 0
	if r.OnNoAnswer != routing.NoAnswerPromote || a.yes || a.long {
		return
	}
	was := a.size()
	if a.long = len(a.thought)+len(text) > r.Limits.Frame; a.long {
		a.thought, a.spans = nil, nil
	} else {
		a.thought = append(a.thought, text...)
		for _, s := range places {
			a.spans = joinSome(a.spans, s)
		}
	}
	r.Weight += a.size() - was
}

// withoutAnswer ends a choice, or all choices that have their answer in common. If
// there was only thought, it does what the route says.
func (r *Reading) withoutAnswer(c *Choice, choice int, end sotto.Ending) error {
	if !r.asks() || end == sotto.EndAborted {
		return nil
	}
	a := r.answer(choice)
	if a.yes || a.over || !a.thinks || a.long {
		return nil
	}
	a.over = true
	if r.OnNoAnswer == routing.NoAnswerError {
		failure := ErrNoAnswer
		if c.Withheld {
			failure = ErrStartUnknown
		}
		r.Fail(failure)
		return failure
	}
	a.promoted = true
	from := trimLeft(a.thought)
	places := withoutFirst(a.spans, len(a.thought)-len(from))
	r.sayFrom(c, bytes.Clone(trimRight(from)), func(text []byte) []span { return firstBytes(places, len(text)) })
	return nil
}

// Finish ends a reply whose choices are its texts.
func (r *Reading) Finish(end sotto.Ending) ([]wire.Part, error) {
	r.Parts = r.Parts[:0]
	if !r.Can.Texts || len(r.Choices) == 0 {
		return nil, nil
	}
	last := r.Choices[len(r.Choices)-1]
	if last == nil {
		last = &Choice{}
	}
	err := r.withoutAnswer(last, 0, end)
	return r.Parts, err
}

// promoted reports whether the reasoning of a choice became its text.
func (r *Reading) promoted() bool {
	for _, a := range r.answers {
		if a.promoted {
			return true
		}
	}
	return false
}
