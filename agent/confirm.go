package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/record"
)

// A Confirmer asks a person about a call, and returns the answer, with the principal that
// gave it. If the error is a [*Pause], the turn ends with the question, and [Turn.Consent]
// brings the answer. For another error the call is refused.
type Confirmer func(ctx context.Context, u Use, q consent.Question) (consent.Answer, error)

// ErrNobody is the error of a [Confirmer] that has nobody to ask.
var ErrNobody = errors.New("nobody can be asked here")

// PauseToConfirm ends the turn with the question.
func PauseToConfirm(_ context.Context, _ Use, q consent.Question) (consent.Answer, error) {
	return consent.Answer{}, &Pause{Question: q.Text(), Consent: &q}
}

// declined marks a call that was not made because nobody agreed to it.
const declined = "declined"

// An exchange is a question about a call, and what a person answered.
type exchange struct {
	question consent.Question
	answer   consent.Answer
}

// confirmed decides whether a call is made. It is asked before the call begins, and
// again if a crash left the call open. A call that is refused anyway needs no consent.
// The refusal is for the model.
func (t *turn) confirmed(ctx context.Context, use Use, before error) (refusal, err error) {
	call := consent.Call{Tool: use.Name, Arguments: use.Arguments, For: t.Subject}
	receipt := t.receiptOf(use, call)
	pending, again := t.agreement, t.unanswered
	t.agreement, t.unanswered = nil, false // they are for this call, and no other
	switch {
	case before != nil, t.answer != nil, t.passed != nil, !t.journal.live():
		return nil, nil
	case receipt != nil && receipt.Agreed:
		return nil, nil
	case receipt != nil:
		return refused(""), nil
	case pending == nil && !again && !slices.Contains(t.Confirm, use.Name):
		return nil, nil
	}
	if pending != nil {
		refusal, err := t.decide(ctx, use, *pending, call.Digest())
		if !errors.Is(err, errUncounted) {
			return refusal, err
		}
	}
	q := consent.About(call, t.askedArguments(use), time.Now().Add(t.consentTime()))
	answer, err := t.askFor(ctx, use, q)
	if err == nil {
		refusal, err = t.decide(ctx, use, exchange{q, answer}, call.Digest())
	}
	if err == nil {
		return refusal, nil
	}
	if _, pauses := errors.AsType[*Pause](err); pauses || ctx.Err() != nil || errors.Is(err, errUnrecorded) {
		return nil, err
	}
	return fmt.Errorf("not called: this tool needs the consent of a person: %w", err), nil
}

var (
	// errUncounted is in the error of an answer that does not count.
	errUncounted = errors.New("the answer does not count")
	// errUnrecorded is in the error of an answer whose receipt cannot be recorded.
	errUnrecorded = errors.New("the receipt cannot be recorded")
)

// decide decides about an answer, and records the receipt. digest is that of the call as it
// would be made now. The refusal is for the model.
func (t *turn) decide(ctx context.Context, use Use, a exchange, digest string) (refusal, err error) {
	r, err := t.Consents.Decide(a.question, a.answer, consent.Occasion{
		Place: fmt.Sprintf("%s#%d", use.Run, use.Number), Digest: digest, For: t.Subject, Now: time.Now(),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUncounted, err)
	}
	if _, err := t.journal.put(ctx, t.Run, t.Cycle, record.Consent{
		Question: r.Question, Number: use.Number, Tool: r.Tool, Digest: r.Digest, Agreed: r.Agreed,
		Dismissed: r.Dismissed, Values: givenValues(r), By: r.By.Name, Way: string(r.By.Way), Person: r.Person, For: r.For,
	}); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	if !r.Agreed {
		return refused(a.answer.Said), nil
	}
	return nil, nil
}

// givenValues are the values of an answer for the record, as it keeps what was said.
func givenValues(r consent.Receipt) *record.Content {
	if r.Values == "" {
		return nil
	}
	return new(record.Say(r.Values))
}

// refused says to the model that a person refused a call, and what the person said.
func refused(said string) error {
	if said = strings.TrimSpace(said); said != "" {
		said = ", who said: " + shorttext.Ellipsis(said, maxPreview)
	}
	return errors.New("not called: it was refused by the person who was asked" + said)
}

// passReceipts passes the recorded receipts of a use.
func (t *turn) passReceipts(use Use) {
	for x := t.journal.consent(t.Run, t.Cycle, use.Number); x != nil; x = t.journal.consent(t.Run, t.Cycle, use.Number) {
		t.receipt = x
	}
}

// receiptOf returns the last recorded receipt if it is of this call. That of a call with
// other arguments does not count: the person is asked again.
func (t *turn) receiptOf(use Use, call consent.Call) *record.Consent {
	if x := t.receipt; x != nil && x.Number == use.Number && x.Tool == call.Tool && x.Digest == call.Digest() {
		return x
	}
	return nil
}

// askFor asks a person. A pause has the question.
func (t *turn) askFor(ctx context.Context, use Use, q consent.Question) (consent.Answer, error) {
	if t.Confirmer == nil {
		return consent.Answer{}, ErrNobody
	}
	answer, err := t.Confirmer(ctx, use, q)
	if pause, ok := errors.AsType[*Pause](err); ok {
		err = &Pause{Question: pause.Question, Consent: &q}
	}
	return answer, err
}

// defaultConsentTime is how long a question is open if [Turn.ConsentTime] is not set.
const defaultConsentTime = 24 * time.Hour

func (t *Turn) consentTime() time.Duration {
	if t.ConsentTime > 0 {
		return t.ConsentTime
	}
	return defaultConsentTime
}

// shownArguments returns the beginning of the arguments of a call as people may see them.
func (t *Turn) shownArguments(use Use) string {
	return t.shown(use, maxPreview, func(text string) string { return remembered(t.Grammar, text) })
}

// askedArguments returns the arguments that a question has. The tool gets reasoning that
// stands in them too, so each text says how much of it is not shown: nobody agrees to a
// call without knowing that there is more.
func (t *Turn) askedArguments(use Use) string {
	return t.shown(use, consent.MaxShown, func(text string) string {
		short := remembered(t.Grammar, text)
		if n := len(text) - len(short); n > 0 {
			return fmt.Sprintf("%s [%d bytes of reasoning are not shown]", short, n)
		}
		return short
	})
}

// shown returns the arguments of a call up to a bound, after a change of each text.
func (t *Turn) shown(use Use, most int, change func(string) string) string {
	v, err := decodeArguments(string(use.Arguments))
	if err != nil {
		return ""
	}
	return t.beginning(string(encode(eachText(v, change))), most)
}

// maxPreview bounds what people see of arguments and results.
const maxPreview = 2 << 10

// preview returns the beginning of what a tool gets or gives, without secrets, and
// without reasoning that the tool repeats.
func (t *Turn) preview(text string) string { return t.beginning(text, maxPreview) }

func (t *Turn) beginning(text string, most int) string {
	text = t.Secrets.Redact(remembered(t.Grammar, text))
	short := shorttext.Ellipsis(text, most)
	if n := len(text) - len(short); n > 0 {
		short += fmt.Sprintf(" [about %d more bytes]", n)
	}
	return short
}

// A Consenter is an [Operator] that can consent to calls. An operator that anyone who
// reaches it can answer for, such as an [Inbox], cannot.
type Consenter interface {
	Consent(ctx context.Context, u Use, q consent.Question) (consent.Answer, error)
}

// OperatorName is for whom a run works, and the name of the [consent.Principal] that
// answers for its operator.
const OperatorName = "operator"

// byOperator asks the operator of a run, who has some time to answer.
func byOperator(o Operator, wait time.Duration) Confirmer {
	asks, ok := o.(Consenter)
	if !ok || wait <= 0 {
		return nil
	}
	return func(ctx context.Context, u Use, q consent.Question) (consent.Answer, error) {
		inner, stop := context.WithTimeout(ctx, wait)
		defer stop()
		answer, err := asks.Consent(inner, u, q)
		if err != nil && inner.Err() != nil && ctx.Err() == nil {
			return answer, fmt.Errorf("no answer came within %v", wait)
		}
		return answer, err
	}
}
