package gateway

import (
	"bytes"
	"errors"
	"unsafe"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/wire"
)

// errNoAnswer ends a reply that was all thought, if the route says so.
var errNoAnswer = errors.New("the reply was all reasoning: the model gave no answer")

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
func (r *reading) answer(choice int) *answered {
	if r.can.Texts {
		choice = 0
	}
	if r.answers[choice] == nil {
		if r.answers == nil {
			r.answers = map[int]*answered{}
		}
		if len(r.answers) >= r.limits.Choices {
			return &answered{} // the reply fails, or has failed
		}
		r.answers[choice] = &answered{}
	}
	return r.answers[choice]
}

// size is the memory that is held for the thought.
func (a *answered) size() int { return cap(a.thought) + cap(a.spans)*int(unsafe.Sizeof(span{})) }

// asks reports whether it matters if a reply has an answer.
func (r *reading) asks() bool {
	return r.display != routing.DisplayKeep && (r.onNoAnswer == routing.NoAnswerError || r.onNoAnswer == routing.NoAnswerPromote)
}

// hasAnswer notes that a choice had something of an answer.
func (r *reading) hasAnswer(a *answered) {
	r.weight -= a.size()
	a.yes, a.thought, a.spans = true, nil, nil
}

// couldAnswer notes text that a client got or may get.
func (r *reading) couldAnswer(choice int, text []byte) {
	if !r.asks() {
		return
	}
	if a := r.answer(choice); !a.yes && len(trimLeft(text)) > 0 {
		r.hasAnswer(a)
	}
}

// hasThought notes reasoning, and keeps it and its places if it may become the text.
func (r *reading) hasThought(choice int, text []byte, places []span) {
	if !r.asks() {
		return
	}
	a := r.answer(choice)
	a.thinks = a.thinks || len(trimLeft(text)) > 0
	if r.onNoAnswer != routing.NoAnswerPromote || a.yes || a.long {
		return
	}
	was := a.size()
	if a.long = len(a.thought)+len(text) > r.limits.Frame; a.long {
		a.thought, a.spans = nil, nil
	} else {
		a.thought = append(a.thought, text...)
		for _, s := range places {
			a.spans = joinSome(a.spans, s)
		}
	}
	r.weight += a.size() - was
}

// withoutAnswer ends a choice, or all choices that have their answer in common. If
// there was only thought, it does what the route says.
func (r *reading) withoutAnswer(c *choice, choice int, end sotto.End) error {
	if !r.asks() || end == sotto.EndAborted {
		return nil
	}
	a := r.answer(choice)
	if a.yes || a.over || !a.thinks || a.long {
		return nil
	}
	a.over = true
	if r.onNoAnswer == routing.NoAnswerError {
		failure := errNoAnswer
		if c.withheld {
			failure = errStartUnknown
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
func (r *reading) Finish(end sotto.End) ([]wire.Part, error) {
	r.parts = r.parts[:0]
	if !r.can.Texts || len(r.choices) == 0 {
		return nil, nil
	}
	last := r.choices[len(r.choices)-1]
	if last == nil {
		last = &choice{}
	}
	err := r.withoutAnswer(last, 0, end)
	return r.parts, err
}

// promoted reports whether the reasoning of a choice became its text.
func (r *reading) promoted() bool {
	for _, a := range r.answers {
		if a.promoted {
			return true
		}
	}
	return false
}
