package a2aserver

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A caller model calls a tool with each reply, and spends seven tokens on it, until it may
// not call any more.
type caller string

func (c caller) Name() string { return "caller" }

func (c caller) Invoke(_ context.Context, q model.Request, _ func(model.Delta) error) (model.Reply, error) {
	r := model.Reply{Raw: "Said.", End: sotto.EndStopped, Usage: model.Usage{Input: 5, Output: 2, Reasoning: 1}}
	if c != "" && !q.NoCalls {
		r.Raw, r.Calls = "", []model.Call{{ID: "1", Name: string(c), Arguments: c.arguments()}}
	}
	return r, nil
}

func (c caller) arguments() string {
	switch c {
	case "remote":
		return `{"message":"Hi"}`
	case "helper":
		return `{"task":"Hi"}`
	}
	return "{}"
}

func millionth(_ string, in, out int64) (int64, bool) { return 1000 * (in + out), true }

// TestTreeOverServers: a task reports what it took with the sub-agent that it calls and the
// agent elsewhere that the sub-agent calls, in the status, the task and the artifact. The limit
// of the one at the top holds for all of them, with one reply more. They share a trace.
func TestTreeOverServers(t *testing.T) {
	for _, c := range []struct {
		limits agent.Limits
		calls  float64 // of models
	}{
		{agent.Limits{}, 0}, // all of them: see below
		{agent.Limits{Tokens: 40}, 6},
		{agent.Limits{Tokens: 42}, 6},
		{agent.Limits{Tokens: 43}, 7},
		{agent.Limits{Tokens: 1}, 1},
		{agent.Limits{Cost: 0.000021}, 3},
	} {
		tr := &http.Transport{}
		below, readBelow := recorded(t, record.Options{})
		inner := serveUntil(t, Config{Record: below, Mind: &AgentMind{Turn: agent.Turn{
			Model: caller("wait"), Limits: agent.Limits{Invocations: 3}, Price: millionth,
			Tools: []agent.Tool{&agent.Func{Name: "wait", Schema: `{"type":"object"}`, Do: func(context.Context, agent.Use) (string, error) { return "", nil }}},
		}}})
		tool, err := Remote{Name: "remote", Description: "r", URL: inner.url(), Transport: tr}.Tool()
		if err != nil {
			t.Fatal(err)
		}
		above, readAbove := recorded(t, record.Options{})
		c.limits.Invocations = 3
		outer := serveUntil(t, Config{Record: above, Mind: &AgentMind{Turn: agent.Turn{
			Model: caller("helper"), Limits: c.limits, Price: millionth, Tools: []agent.Tool{tool},
			Agents: []agent.Subagent{{Name: "helper", Model: caller("remote"), Tools: []string{"remote"}, Limits: agent.Limits{Invocations: 2}}},
		}}})
		task := send(t, client(t, outer.url(), 0), message("Go."))
		outer.close(t)
		inner.close(t)
		tr.CloseIdleConnections()
		member, _ := task.Metadata[UsageKey].(map[string]any)
		// The top replies three times, and calls the helper twice, which replies twice and
		// calls the agent elsewhere once, which replies three times.
		want := c.calls
		if c.limits.Tokens == 0 && c.limits.Cost == 0 {
			want = 3 + 2*(2+3)
		}
		if member["model_calls"] != want || member["input_tokens"] != 5*want || member["output_tokens"] != 2*want || member["reasoning_tokens"] != want {
			t.Errorf("%+v: %v, want %v calls", c.limits, member, want)
		}
		if cost, _ := member["cost"].(float64); math.Abs(cost-7e-6*want) > 1e-12 {
			t.Errorf("%+v: it cost %v", c.limits, cost)
		}
		asked, traces := 0, map[string]bool{}
		for _, e := range append(readAbove(), readBelow()...) {
			if x, ok := e.Payload.(record.Invocation); ok {
				asked++
				traces[x.IDs[record.IDTrace]] = true
			}
		}
		if float64(asked) != want || len(traces) != 1 {
			t.Errorf("%+v: the records have %d invocations of %d traces, want %v", c.limits, asked, len(traces), want)
		}
		for _, a := range task.Artifacts {
			if got, _ := a.Metadata[UsageKey].(map[string]any); got["model_calls"] != want {
				t.Errorf("%+v: the artifact says %v", c.limits, got)
			}
		}
	}
}

// TestUsageOfTask: the usage of a task that asked is that of all its messages, also after a
// restart. A model without an agent reports its tokens, too.
func TestUsageOfTask(t *testing.T) {
	name := file(t)
	config := Config{File: name, Mind: &AgentMind{Turn: agent.Turn{Model: scripted(t, agentScript).Model, Tools: []agent.Tool{AskCaller(), &agent.Func{Name: "mix", Do: func(context.Context, agent.Use) (string, error) { return "mixed", nil }}}}}}
	calls := func(task *a2a.Task) any {
		member, _ := task.Metadata[UsageKey].(map[string]any)
		return member["model_calls"]
	}
	h := serveUntil(t, config)
	task := send(t, client(t, h.url(), 0), message("Paint it."))
	h.close(t)
	if n := calls(task); n != 2.0 {
		t.Errorf("it asked after %v calls", n)
	}
	h = serve(t, config)
	if n := calls(send(t, client(t, h.url(), 0), follow("red", task))); n != 3.0 {
		t.Errorf("it answered after %v calls in all", n)
	}
	plain := serve(t, Config{Mind: scripted(t, `{"text":"<think>So.</think>Hello."}`)})
	if n := calls(send(t, client(t, plain.url(), 0), message("Hi"))); n != 1.0 {
		t.Errorf("a model: %v", n)
	}
}

// TestHostileMetadata: members of metadata that are no usage and no limits count for nothing.
func TestHostileMetadata(t *testing.T) {
	for _, member := range []string{`"x"`, `null`, `[]`, `{"input_tokens":1e300}`, `{"input_tokens":"5"}`, `{"input_tokens":1.5}`, `{"ms":true}`, `{"tokens":1e99,"ms":{}}`} {
		var v any
		if err := json.Unmarshal([]byte(member), &v); err != nil {
			t.Fatal(err)
		}
		m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("x"))
		m.SetMeta(LimitsKey, v)
		if s := spentIn(map[string]any{UsageKey: v}); s != nil && *s != (record.Spent{}) {
			t.Errorf("%s: %+v", member, s)
		}
		if a := allowanceIn(m); a != (agent.Allowance{}) {
			t.Errorf("%s: %+v", member, a)
		}
	}
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("x"))
	m.SetMeta(LimitsKey, map[string]any{"tokens": -5.0, "ms": 9e18, "cost": -1.0, "currency": "EUR"})
	if a := allowanceIn(m); a.Tokens != 0 || a.Cost != 0 || a.Time < 100*365*24*time.Hour {
		t.Errorf("%+v", a)
	}
	// A foreign agent that reports too much, or less than before, does not break a call.
	tool := remoteTool(t, serveEvents(t, true, func(ec *a2asrv.ExecutorContext) []a2a.Event {
		done := a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil)
		done.SetMeta(UsageKey, map[string]any{"input_tokens": -1e15, "cost": "free"})
		return []a2a.Event{a2a.NewArtifactEvent(ec, a2a.NewTextPart("done")), done}
	}))
	if got, err := tool.Call(t.Context(), agent.Use{Arguments: json.RawMessage(`{"message":"Hi"}`)}); got != "done" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
