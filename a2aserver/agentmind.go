package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/record"
)

// An AgentMind answers with an agent: a model and its tools, with as many replies
// as it takes. A tool that pauses the turn, such as [AskCaller], pauses the task, and so
// does a call that needs the caller's consent ([agent.Turn.Confirm]). The answer resumes
// the turn where it stopped, also after a restart.
type AgentMind struct {
	// Turn says how the agent answers. Its Observer is not used.
	Turn agent.Turn
	// System, if set, is the system message.
	System string

	consents consent.Ledger
}

// AskCaller is a tool with which an agent asks whoever sent the message. The task
// waits for the answer.
func AskCaller() agent.Tool { return agent.OperatorTool(asker{}, time.Minute) }

type asker struct{}

func (asker) Tell(context.Context, agent.OperatorMessage) error { return nil }

func (asker) Ask(_ context.Context, m agent.OperatorMessage) (string, error) {
	return "", &agent.Pause{Question: m.Text}
}

// Answer implements [Mind].
func (m *AgentMind) Answer(ctx context.Context, t Turn, on func(Event) error) (Outcome, error) {
	c := agent.Conversation{
		Record: t.Record, Run: t.Run, Cycle: t.Cycle, Log: t.Log,
		Confirmer: confirmer(t.Principal), Subject: t.Caller, Allowance: t.Allowance, Extended: t.Extended,
	}
	var waited agent.Waiting
	if t.Memo != nil {
		if err := json.Unmarshal(t.Memo, &waited); err != nil {
			return Outcome{}, fmt.Errorf("the paused turn cannot be parsed: %w", err)
		}
		c.Waiting, c.Answer, c.Consent = &waited, t.Text, t.Consent
		if q := waited.Asked; q != nil && c.Consent == nil && !t.ByAgent {
			said := q.Said(t.Principal, t.Text)
			c.Consent = &said
		}
	} else {
		c.Messages = (&ChatMind{}).request(t).Messages
	}
	a := agent.Agent{Turn: m.Turn, System: m.System}
	if a.Turn.Consents == nil {
		a.Turn.Consents = &m.consents
	}
	out, err := a.Answer(ctx, c, func(e Event) error {
		if _, ok := e.(Visible); ok { // it may be of a reply that calls tools, which is not the answer
			e = Alive{}
		}
		return on(e)
	})
	if err != nil {
		return Outcome{Text: out.Answer, Spent: m.spent(out)}, err
	}
	out.Metrics = since(out.Metrics, waited.Metrics)
	return m.outcome(out)
}

// confirmer asks the caller, if it may answer: then the task waits for its next message.
func confirmer(p consent.Principal) agent.Confirmer {
	if p.May() {
		return agent.PauseToConfirm
	}
	return func(context.Context, agent.Use, consent.Question) (consent.Answer, error) {
		return consent.Answer{}, fmt.Errorf(`%w: over A2A, the caller needs a token that lists the scope "consent"`, agent.ErrNobody)
	}
}

func (*AgentMind) resumes() {}

func (m *AgentMind) limits() (agent.Limits, string) { return m.Turn.Limits, m.Turn.Currency }

func (m *AgentMind) modelName() string { return m.Turn.Model.Name() }

// since returns the counts that came to metrics after they were was.
func since(now, was record.Metrics) record.Metrics {
	a, b := reflect.ValueOf(&now).Elem(), reflect.ValueOf(was)
	for i := range a.NumField() {
		if f := a.Field(i); f.CanInt() {
			f.SetInt(f.Int() - b.Field(i).Int())
		}
	}
	return now
}

func (m *AgentMind) spent(a agent.Outcome) *record.Spent { return a.Usage.Spent(m.Turn.Currency) }

func (m *AgentMind) outcome(a agent.Outcome) (Outcome, error) {
	out := Outcome{Text: a.Answer, End: sotto.EndStopped, Of: a.Of, Metrics: &a.Metrics, Thoughts: a.Thoughts, Spent: m.spent(a)}
	if r := a.Reading; r != nil {
		out.End, out.Diagnostics = r.End, r.Diagnostics
	}
	switch a.Status {
	case agent.Paused:
		if a.Waiting == nil {
			return out, errors.New("the agent paused without a question")
		}
		memo, err := json.Marshal(a.Waiting)
		if err != nil {
			return out, err
		}
		out.Text, out.Question, out.Consent, out.Memo = "", a.Waiting.Question, a.Waiting.Asked, memo
	case agent.Bounded:
		out.End = sotto.EndCut
	case agent.Failed:
		return out, errors.New("the model could not be asked")
	}
	return out, nil
}
