package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// An AgentMind answers with an agent: a model and its tools, with as many replies
// as it takes. A tool that pauses the turn, such as [AskCaller], pauses the task.
// The answer resumes the turn where it stopped, also after a restart.
type AgentMind struct {
	// Turn says how the agent answers. Its Observer is not used.
	Turn agent.Turn
	// System, if set, is the system message.
	System string
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
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex // the model and the tools report from their own goroutines
	native := false   // the provider separated reasoning
	tell := func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := e.(Reasoning); ok {
			native = true
		}
		if err := on(e); err != nil {
			stop(err)
		}
	}
	turn := m.Turn
	turn.Model = lively{m.Turn.Model, tell}
	turn.Record, turn.Run, turn.Cycle = t.Record, t.Run, t.Cycle
	turn.Observer = agent.Observer{
		OnNarration: func(text string) { tell(Narration{text}) },
		OnToolStart: func(u agent.Use) { tell(ToolStart{strconv.Itoa(u.Number), m.toolName(u)}) },
		OnToolEnd: func(u agent.Use, _ string, failed bool) {
			tell(ToolEnd{strconv.Itoa(u.Number), m.toolName(u), failed})
		},
	}
	out, err := m.converse(ctx, turn, t)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return Outcome{Text: out.Answer}, err
	}
	return m.outcome(out, native)
}

func (m *AgentMind) modelName() string { return m.Turn.Model.Name() }

// toolName returns what clients are told about a call. A name that the model made
// up may hold anything, even its thoughts.
func (m *AgentMind) toolName(u agent.Use) string {
	if slices.ContainsFunc(m.Turn.Tools, func(t agent.Tool) bool { return t.Spec().Name == u.Name }) ||
		slices.ContainsFunc(m.Turn.Agents, func(a agent.Subagent) bool { return a.Name == u.Name }) {
		return u.Name
	}
	return "unknown tool"
}

// converse begins a turn, or resumes one that waited.
func (m *AgentMind) converse(ctx context.Context, turn agent.Turn, t Turn) (agent.Outcome, error) {
	if t.Memo != nil {
		var w agent.Waiting
		if err := json.Unmarshal(t.Memo, &w); err != nil {
			return agent.Outcome{}, fmt.Errorf("the paused turn cannot be parsed: %w", err)
		}
		out, err := turn.Continue(ctx, w, t.Text)
		out.Metrics = since(out.Metrics, w.Metrics)
		return out, err
	}
	q := (&ChatMind{System: m.System}).request(t)
	return turn.Converse(ctx, q.Messages)
}

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

func (m *AgentMind) outcome(a agent.Outcome, native bool) (Outcome, error) {
	out := Outcome{Text: a.Answer, End: sotto.EndStopped, Of: a.Of, Metrics: &a.Metrics}
	if r := a.Reading; r != nil {
		out.End, out.Diagnostics = r.End, r.Diagnostics
		unsaid := m.Turn.Start == "" && !native || m.Turn.Start == sotto.StartAuto
		if unsaid && undecided(m.grammar(), markedIn(r), r.End) {
			out.Text, out.Diagnostics = "", unclosed(r.Diagnostics)
		}
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
		out.Text, out.Question, out.Memo = "", a.Waiting.Question, memo
	case agent.Bounded:
		out.End = sotto.EndCut
	case agent.Failed:
		return out, errors.New("the model could not be asked")
	}
	return out, nil
}

func (m *AgentMind) grammar() *sotto.Grammar {
	if m.Turn.Grammar != nil {
		return m.Turn.Grammar
	}
	g, _ := sotto.ForModel(m.Turn.Model.Name())
	return g
}

// A lively model reports with each delta that it is alive.
type lively struct {
	model.Model
	tell func(Event)
}

func (l lively) Invoke(ctx context.Context, q model.Request, on func(model.Delta) error) (model.Reply, error) {
	return l.Model.Invoke(ctx, q, func(d model.Delta) error {
		if d.Thought != "" {
			l.tell(Reasoning{d.Thought})
		} else {
			l.tell(Alive{})
		}
		if on == nil {
			return nil
		}
		return on(d)
	})
}
