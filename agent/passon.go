package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sotto-llm/sotto/agent/consent"
)

// maxAsked bounds the questions that one call may pass on.
const maxAsked = 16

// A Resumption is what a tool gets that asked a person by a [*Pause]: what it needs to go
// on, and the answer.
type Resumption struct {
	State  json.RawMessage
	Answer consent.Answer
}

type resumptionKey struct{}

// Resumed returns the answer that a tool waited for. ctx is that of [Tool.Call].
func Resumed(ctx context.Context) (r Resumption, ok bool) {
	r, ok = ctx.Value(resumptionKey{}).(Resumption)
	return r, ok
}

// AskPerson returns the error with which a tool asks a person a question of its own, in the
// same way as about a call: [*Pause]. what names the question, and about says what is asked,
// a JSON object. The tool is called again with the answer and state: see [Resumed]. ctx is
// that of [Tool.Call].
func AskPerson(ctx context.Context, what string, about, state json.RawMessage) error {
	t, ok := ctx.Value(callerKey{}).(*turn)
	if !ok {
		return errors.New("a person can be asked only within a turn")
	}
	return t.askPerson(consent.Call{Tool: what, Arguments: about, For: t.Subject}, about, nil, state)
}

// AskForm is [AskPerson] with a form: the answer has values for its fields.
func AskForm(ctx context.Context, what string, about json.RawMessage, form *consent.Form, state json.RawMessage) error {
	t, ok := ctx.Value(callerKey{}).(*turn)
	if !ok {
		return errors.New("a person can be asked only within a turn")
	}
	whole := encode(map[string]json.RawMessage{"about": about, "schema": form.Schema()})
	return t.askPerson(consent.Call{Tool: what, Arguments: whole, For: t.Subject}, about, form.Schema(), state)
}

func (t *turn) askPerson(call consent.Call, about, schema, state json.RawMessage) error {
	q := consent.About(call, t.askedArguments(Use{Arguments: about}), time.Now().Add(t.consentTime()))
	q.Schema = schema
	return &Pause{Question: q.Text(), Consent: &q, State: state}
}

// A passing is a question of a tool, which the turn passes on to a person. It says that it
// came through the tool.
type passing struct {
	question consent.Question
	answer   *consent.Answer // nil if nobody has answered
	state    json.RawMessage // what the tool needs to go on
}

// useAsking calls a tool. As often as the tool asks a person about a call of its own, the
// question is passed on as it is, and the tool is called again with the answer. The model
// of this turn learns of none of it.
func (t *turn) useAsking(ctx context.Context, tool Tool, use Use) (text, failure string, err error) {
	w := t.passed
	t.passed, t.waited = nil, 0
	for range maxAsked {
		inner := context.WithValue(ctx, resumptionKey{}, nil) // that of a caller is not for this tool
		if w != nil {
			answer, err := t.answerTo(ctx, use, w)
			if err != nil {
				return "", "", err
			}
			inner = context.WithValue(ctx, resumptionKey{}, Resumption{w.state, answer})
		}
		text, failure, err = t.use1(inner, tool, use)
		pause, ok := errors.AsType[*Pause](err)
		if !ok || pause.Consent == nil {
			return text, failure, err
		}
		w = &passing{question: pause.Consent.Passed(use.Name), state: pause.State}
	}
	return "error: the tool asked for the consent of a person too often", "failed", nil
}

// answerTo returns the answer that is passed to the tool. If the answer that came does not
// count, the person is asked again. Where nobody can answer, or the answer came too late,
// the call is refused.
func (t *turn) answerTo(ctx context.Context, use Use, w *passing) (consent.Answer, error) {
	came := w.answer
	for {
		again := came != nil
		if came == nil {
			began := time.Now()
			answer, err := t.askFor(ctx, use, w.question)
			t.waited += time.Since(began)
			if pause, ok := errors.AsType[*Pause](err); ok {
				pause.State, pause.passed = w.state, true
				return consent.Answer{}, pause
			}
			if err != nil {
				return t.noAnswer(ctx, w.question, err)
			}
			came = &answer
		}
		_, err := t.decide(ctx, use, exchange{w.question, *came}, w.question.Digest)
		switch {
		case err == nil:
			answer := *came
			if answer.Person == "" {
				answer.Person = answer.By.Name
			}
			return answer, nil
		case !errors.Is(err, errUncounted):
			return consent.Answer{}, err
		case !again, errors.Is(err, consent.ErrLate):
			return t.noAnswer(ctx, w.question, err)
		}
		came = nil
	}
}

// noAnswer refuses a call about which no answer came that counts.
func (t *turn) noAnswer(ctx context.Context, q consent.Question, why error) (consent.Answer, error) {
	if ctx.Err() != nil {
		return consent.Answer{}, why
	}
	return q.No(consent.Principal{Name: t.Subject}, why.Error()), nil
}
