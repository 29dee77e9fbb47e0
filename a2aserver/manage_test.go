package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
	"github.com/sotto-llm/sotto/model"
)

// A digger is a model that calls its tool until it has so many results, and each reply takes 10
// tokens.
type digger int

func (digger) Name() string { return "digger" }

func (d digger) Invoke(_ context.Context, q model.Request, _ func(model.Delta) error) (model.Reply, error) {
	results := 0
	for _, m := range q.Messages {
		if m.Role == model.ToolRole && m.Text == "dug" {
			results++
		}
	}
	r := model.Reply{Raw: fmt.Sprintf("After %d.", results), End: sotto.EndStopped, Usage: model.Usage{Input: 6, Output: 4}}
	if results < int(d) && !q.NoCalls {
		r.Raw, r.Calls = "", []model.Call{{ID: fmt.Sprint(results), Name: "dig", Arguments: "{}"}}
	}
	return r, nil
}

// digging is an agent whose tool waits once, in its second call, until the test lets it.
func digging(calls int, l agent.Limits, confirm ...string) (mind *AgentMind, dug *atomic.Int64, waits, free chan struct{}) {
	dug, waits, free = &atomic.Int64{}, make(chan struct{}), make(chan struct{})
	tool := &agent.Func{Name: "dig", Do: func(ctx context.Context, _ agent.Use) (string, error) {
		if dug.Add(1) == 2 {
			close(waits)
			select {
			case <-free:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return "dug", nil
	}}
	return &AgentMind{Turn: agent.Turn{Model: digger(calls), Start: sotto.BeginOutside, Tools: []agent.Tool{tool}, Limits: l, Confirm: confirm}}, dug, waits, free
}

// TestExtendElsewhere: the limits of a task that one replica works on are raised at the other one,
// before it reaches them. Without that it ends there. Limits that cannot be raised say why.
func TestExtendElsewhere(t *testing.T) {
	r := redisserver.Run(t)
	for name, tt := range map[string]struct {
		limits agent.Limits
		by     agent.Extension
		calls  int64
		want   string
	}{
		"calls":      {agent.Limits{Calls: 3}, agent.Extension{Calls: 3}, 5, "After 5."},
		"replies":    {agent.Limits{Invocations: 3}, agent.Extension{Invocations: 3}, 5, "After 5."},
		"tokens":     {agent.Limits{Tokens: 30}, agent.Extension{Tokens: 100}, 5, "After 5."},
		"not enough": {agent.Limits{Calls: 3}, agent.Extension{Calls: 1}, 4, "After 4."},
		"nothing":    {agent.Limits{Calls: 3}, agent.Extension{}, 3, "After 3."},
	} {
		t.Run(name, func(t *testing.T) {
			mind, dug, waits, free := digging(5, tt.limits)
			h := two(t, r, Config{Mind: mind})
			req := message("Dig.")
			req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
			res, err := client(t, h[0].url(), 0).SendMessage(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			id := res.TaskInfo().TaskID
			<-waits
			if tt.by != (agent.Extension{}) {
				if err := h[1].ExtendTask("", id, tt.by); err != nil {
					t.Fatal(err)
				}
			}
			if m, err := h[1].Manage("", id); err != nil || m.Extended != tt.by || m.Limits.Calls != tt.by.Limits(tt.limits).Calls || m.Fixed != "" {
				t.Errorf("%+v, %v", m, err)
			}
			close(free)
			task, err := client(t, h[1].url(), 0).GetTask(t.Context(), &a2a.GetTaskRequest{ID: id})
			for ; err == nil && !task.Status.State.Terminal(); task, err = client(t, h[1].url(), 0).GetTask(t.Context(), &a2a.GetTaskRequest{ID: id}) {
				time.Sleep(10 * time.Millisecond)
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := answerOf(t, task); text != tt.want || dug.Load() != tt.calls {
				t.Errorf("%q after %d calls, want %q after %d", text, dug.Load(), tt.want, tt.calls)
			}
			if err := h[0].ExtendTask("", id, agent.Extension{Calls: 1}); err == nil || !strings.Contains(err.Error(), "has ended") {
				t.Errorf("a task that has ended: %v", err)
			}
		})
	}
}

// TestExtendRefused: what would raise no limit is refused with the reason.
func TestExtendRefused(t *testing.T) {
	mind, _, waits, free := digging(2, agent.Limits{Tokens: 1000})
	h := serve(t, Config{Mind: mind})
	req := message("Dig.")
	req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	res, err := client(t, h.url(), 0).SendMessage(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	<-waits
	defer close(free)
	id := res.TaskInfo().TaskID
	for want, by := range map[string]agent.Extension{
		"nothing is added": {}, "and not lowered": {Tokens: 5, Calls: -1}, "time: the agent's file": {Time: 1}, "cost: the agent's file": {Cost: 1}, "more than can be added": {Tokens: 1 << 60},
	} {
		if err := h.ExtendTask("", id, by); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", by, err, want)
		}
	}
	if err := h.ExtendTask("bob", id, agent.Extension{Calls: 1}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("the task of another caller: %v", err)
	}
	chat := serve(t, Config{Mind: says("Yes.")})
	task := send(t, client(t, chat.url(), 0), message("Hi"))
	if err := chat.ExtendTask("", task.ID, agent.Extension{Calls: 1}); err == nil || !strings.Contains(err.Error(), "no limits of its own") {
		t.Errorf("a model alone: %v", err)
	}
}

// TestManageElsewhere: a question that one replica asked is answered at the other one, by the task's
// caller with a right to consent and by nobody else, and once. The other one cancels tasks, too.
func TestManageElsewhere(t *testing.T) {
	mind, dug, waits, _ := digging(2, agent.Limits{}, "dig")
	h := two(t, redisserver.Run(t), Config{Mind: mind, Tokens: []Token{person, other}})
	task := send(t, client(t, h[0].url(), 0, "Authorization", "Bearer "+person.Secret), message("Dig."))
	m, err := h[1].Manage(person.Name, task.ID)
	if err != nil || m.Question == nil || m.Question.Tool != "dig" {
		t.Fatalf("%+v, %v", m, err)
	}
	page := func(name string, scoped bool) consent.Principal {
		return consent.Principal{Name: name, Way: consent.Page, Scoped: scoped}
	}
	ask := m.Question
	for what, a := range map[string]consent.Answer{
		"without the scope": ask.Yes(page(person.Name, false)), "by another": ask.Yes(page(other.Name, true)), "another question": {Question: "x", Digest: ask.Digest, Agree: true, By: page(person.Name, true)},
	} {
		if err := h[1].AnswerTask(t.Context(), person.Name, task.ID, a); err == nil {
			t.Errorf("an answer %s counts", what)
		}
	}
	if n := dug.Load(); n > 0 {
		t.Fatalf("%d calls without consent", n)
	}
	for range 2 { // the second one is a copy
		if err := h[1].AnswerTask(t.Context(), person.Name, task.ID, ask.Yes(page(person.Name, true))); err != nil {
			t.Fatal(err)
		}
	}
	for m.Question == nil || m.Question.ID == ask.ID { // until it asks about the second call
		if m, err = h[0].Manage(person.Name, task.ID); err != nil {
			t.Fatal(err)
		}
	}
	if n := dug.Load(); n != 1 {
		t.Errorf("%d calls after one consent", n)
	}
	if err := h[1].AnswerTask(t.Context(), person.Name, task.ID, m.Question.Yes(page(person.Name, true))); err != nil {
		t.Fatal(err)
	}
	<-waits // a replica works on it
	for _, h := range h {
		if err := h.CancelTask(t.Context(), person.Name, task.ID); err != nil && !errors.Is(err, a2a.ErrTaskNotCancelable) {
			t.Fatal(err)
		}
	}
	if m, err := h[0].Manage(person.Name, task.ID); err != nil || m.Task.Status.State != a2a.TaskStateCanceled || m.Fixed == "" {
		t.Errorf("%+v, %v", m, err)
	}
}

// failsOnce is an SDK whose first cancel meets the end of the work.
type failsOnce struct {
	a2asrv.RequestHandler
	failed bool
}

func (f *failsOnce) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	if !f.failed {
		f.failed = true
		return nil, errLost
	}
	return f.RequestHandler.CancelTask(ctx, req)
}

// TestCancelAtTheEnd: a task that ends while it is canceled is not cancelable, and nothing else.
func TestCancelAtTheEnd(t *testing.T) {
	h := serve(t, Config{Mind: says("Yes.")})
	task := send(t, client(t, h.url(), 0), message("Hi"))
	sdk := &failsOnce{RequestHandler: h.sdk}
	_, err := (&handler{RequestHandler: sdk, s: h.Server}).CancelTask(managing(t.Context(), "", consent.Principal{}), &a2a.CancelTaskRequest{ID: task.ID})
	if !sdk.failed || !errors.Is(err, a2a.ErrTaskNotCancelable) || errors.Is(err, errLost) {
		t.Errorf("%v, want that it cannot be canceled", err)
	}
}
