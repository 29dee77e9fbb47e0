package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sotto-llm/sotto/model"
)

// An Operator is a person behind a run: a terminal, an [Inbox], or a program's own.
type Operator interface {
	// Tell delivers a message and does not wait for an answer.
	Tell(ctx context.Context, m OperatorMessage) error
	// Ask delivers a message and waits for the answer until ctx ends. If the error
	// is a [*Pause], the turn ends, and [Turn.Continue] brings the answer.
	Ask(ctx context.Context, m OperatorMessage) (string, error)
}

// An OperatorMessage is a message to the operator. After a crash it may be
// delivered again, under the same ID.
type OperatorMessage struct {
	ID    string `json:"id"`
	Run   string `json:"run"`
	Cycle int    `json:"cycle"`
	Text  string `json:"text"` // visible text
}

// OperatorTool is the tool send_message_to_operator. wait is how long it waits for
// an answer; 0 means that it does not wait.
func OperatorTool(o Operator, wait time.Duration) Tool { return &operatorTool{o, wait} }

type operatorTool struct {
	operator Operator
	wait     time.Duration
}

const operatorName = "send_message_to_operator"

func (t *operatorTool) Spec() model.Tool {
	text := "Send a message to the person who runs you. You get no answer."
	if t.wait > 0 {
		text = "Send a message to the person who runs you, and wait a while for an answer."
	}
	return model.Tool{Name: operatorName, Description: text, Schema: json.RawMessage(
		`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"],"additionalProperties":false}`)}
}

func (t *operatorTool) prose() []string  { return []string{"message"} }
func (t *operatorTool) Repeatable() bool { return true }

// time returns a limit a little longer than the wait, so that the tool itself ends it.
func (t *operatorTool) time() time.Duration { return t.wait + 10*time.Second }

func (t *operatorTool) Call(ctx context.Context, u Use) (string, error) {
	m := OperatorMessage{ID: u.Key(), Run: u.Run, Cycle: u.Cycle, Text: textsOf(u)["message"]}
	if m.Text == "" {
		return "", errors.New("the message is empty")
	}
	if t.wait <= 0 {
		if err := t.operator.Tell(ctx, m); err != nil {
			return "", err
		}
		return "delivered; not waiting for an answer", nil
	}
	inner, cancel := context.WithTimeout(ctx, t.wait)
	defer cancel()
	answer, err := t.operator.Ask(inner, m)
	if err != nil && inner.Err() != nil && ctx.Err() == nil {
		return "delivered; no answer came within " + t.wait.String(), nil
	}
	return answer, err
}
