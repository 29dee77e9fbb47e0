package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// A Confirmation is a call that is made only if a person agrees.
type Confirmation struct {
	Use  Use
	Name string
	// Arguments are JSON as the person may see them: without reasoning and secrets, and
	// cut after 2 KiB.
	Arguments string
}

// Question asks the person.
func (c Confirmation) Question() string {
	return fmt.Sprintf("May this tool be called? Answer yes to call it; anything else refuses.\n%s %s", c.Name, c.Arguments)
}

// Agreed reports whether an answer to a [Confirmation] agrees: it is yes, y, ok or
// confirm, in any case. Everything else refuses.
func Agreed(answer string) bool {
	answer = strings.ToLower(strings.TrimRight(strings.TrimSpace(answer), ".!"))
	return slices.Contains([]string{"yes", "y", "ok", "confirm"}, answer)
}

// A Confirmer asks a person about a call, and returns the answer. If the error is a
// [*Pause], the turn ends with the question, and [Turn.Continue] brings the answer. For
// another error the call is refused.
type Confirmer func(ctx context.Context, c Confirmation) (answer string, err error)

// ErrNobody is the error of a [Confirmer] that has nobody to ask.
var ErrNobody = errors.New("nobody can be asked here")

// PauseToConfirm ends the turn with the question.
func PauseToConfirm(_ context.Context, c Confirmation) (string, error) {
	return "", &Pause{Question: c.Question()}
}

// declined marks a call that was not made because nobody agreed to it.
const declined = "declined"

// confirmed decides whether a call is made. It is asked before the call begins, and
// again if a crash left the call open. A call that is refused anyway needs no consent.
// The refusal is for the model.
func (t *turn) confirmed(ctx context.Context, use Use, before error) (refusal, err error) {
	agreement := t.agreement
	t.agreement = nil // it is for this call, and no other
	answer := ""
	switch {
	case before != nil, t.answer != nil, !t.journal.live():
		return nil, nil
	case agreement != nil:
		answer = *agreement
	case !slices.Contains(t.Confirm, use.Name):
		return nil, nil
	default:
		if answer, err = t.askFor(ctx, use); err != nil {
			return t.unasked(ctx, err)
		}
	}
	if Agreed(answer) {
		return nil, nil
	}
	said := ""
	if answer = strings.TrimSpace(answer); answer != "" {
		said = ", who said: " + shorttext.Ellipsis(answer, maxPreview)
	}
	return errors.New("not called: it was refused by the person who was asked" + said), nil
}

// unasked says why a call is refused about which nobody could be asked. An agent below
// another cannot wait for a later message.
func (t *turn) unasked(ctx context.Context, why error) (refusal, err error) {
	pause, pauses := errors.AsType[*Pause](why)
	switch {
	case ctx.Err() != nil:
		return nil, why
	case pauses && t.purpose == "":
		return nil, pause
	case pauses:
		why = ErrNobody
	}
	return fmt.Errorf("not called: this tool needs the consent of a person: %w", why), nil
}

// askFor asks a person about a call.
func (t *turn) askFor(ctx context.Context, use Use) (string, error) {
	if t.Confirmer == nil {
		return "", ErrNobody
	}
	c := Confirmation{Use: use, Name: use.Name, Arguments: t.shownArguments(use)}
	answer, err := t.Confirmer(ctx, c)
	if pause, ok := errors.AsType[*Pause](err); ok {
		return "", &Pause{Question: pause.Question, confirm: true}
	}
	return answer, err
}

// shownArguments returns the arguments of a call as people may see them.
func (t *Turn) shownArguments(use Use) string {
	v, err := decodeArguments(string(use.Arguments))
	if err != nil {
		return ""
	}
	return t.preview(string(encode(cleanAll(t.Grammar, v))))
}

// maxPreview bounds what people see of arguments and results.
const maxPreview = 2 << 10

// preview returns the beginning of what a tool gets or gives, without secrets, and
// without reasoning that the tool repeats.
func (t *Turn) preview(text string) string {
	text = t.Secrets.Redact(remembered(t.Grammar, text))
	short := shorttext.Ellipsis(text, maxPreview)
	if n := len(text) - len(short); n > 0 {
		short += fmt.Sprintf(" [about %d more bytes]", n)
	}
	return short
}

// byOperator asks the operator of a run, who has some time to answer.
func byOperator(o Operator, wait time.Duration) Confirmer {
	if o == nil || wait <= 0 {
		return nil
	}
	return func(ctx context.Context, c Confirmation) (string, error) {
		inner, stop := context.WithTimeout(ctx, wait)
		defer stop()
		answer, err := o.Ask(inner, OperatorMessage{ID: c.Use.Key(), Run: c.Use.Run, Cycle: c.Use.Cycle, Text: c.Question()})
		if err != nil && inner.Err() != nil && ctx.Err() == nil {
			return "", fmt.Errorf("no answer came within %v", wait)
		}
		return answer, err
	}
}
