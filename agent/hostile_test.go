package agent

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/testing/freeport"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A call in the text of the last reply that may be asked for is not a reflection.
func TestLastTextCall(t *testing.T) {
	for _, mode := range []CallMode{NativeCalls, TextCalls, AnyCalls} {
		p := &parrot{replies: []model.Reply{{Raw: "<list/>"}, {Raw: "<list/>"}}}
		s := run1(t, Experiment{Name: "r", Model: p, Cycles: 2, Memory: AllMemory(), Calls: mode, Limits: Limits{Invocations: 1}}, t.TempDir())
		if s.Last != "" || strings.Contains(p.asked[1].Messages[0].Text, "<list/>") {
			t.Errorf("%s: the call became a reflection: %q", mode, s.Last)
		}
	}
}

// Thoughts that are escaped in a call that stands in the text are in no later
// prompt of its turn.
func TestEscapedThoughts(t *testing.T) {
	for _, call := range []string{
		`{"name": "write", "arguments": {"key": "a", "value": "\u003cthink\u003eCANARY\u003c/think\u003ekept"}}`,
		`<write key="a" value="&lt;think&gt;CANARY&lt;/think&gt;kept"/>`,
	} {
		p := &parrot{replies: []model.Reply{{Raw: "I write.\n" + call}, {Raw: "Written."}}}
		memory := NewMemory()
		turn := Turn{Model: p, Tools: memory.Tools(), Calls: TextCalls}
		if o, err := turn.Converse(t.Context(), ask("Write.")); err != nil || o.Answer != "Written." {
			t.Fatalf("%+v, %v", o, err)
		}
		if text := fmt.Sprint(p.asked[1].Messages); strings.Contains(text, canary) || !strings.Contains(text, "kept") {
			t.Errorf("%s: the next prompt is %s", call, text)
		}
		if v, _ := memory.Read("a"); v != "kept" {
			t.Errorf("kept %q", v)
		}
	}
}

// What a refused call is answered with quotes no thought from its arguments.
func TestRefusalsQuoteNoThought(t *testing.T) {
	memory := NewMemory()
	tools := append(memory.Tools(), &Func{
		Name: "date", Schema: `{"type":"object","properties":{"day":{"type":"string","pattern":"^[0-9]+$"}}}`,
		Do: func(context.Context, Use) (string, error) { return "", nil },
	})
	const thought = `<think>CANARY</think>`
	for _, c := range []model.Call{
		{Name: "read", Arguments: `{"key":"` + thought + `"}`},
		{Name: "delete", Arguments: `{"key":"` + thought + `x"}`},
		{Name: "pattern_search", Arguments: `{"pattern":"` + thought + `("}`},
		{Name: "write", Arguments: `{"key":"a","value":"b","` + thought + `":1}`},
		{Name: "date", Arguments: `{"day":"` + thought + `x"}`},
		{Name: "date", Arguments: `{"day":"` + thought + `1"}`},
		{Name: thought, Arguments: `{}`},
	} {
		c.ID = "a"
		p := &parrot{replies: []model.Reply{{Calls: []model.Call{c}}}}
		turn := Turn{Model: p, Tools: tools}
		o, err := turn.Converse(t.Context(), ask("Go."))
		if err != nil || o.Metrics.ToolErrors != 1 {
			t.Fatalf("%+v: %+v, %v", c, o, err)
		}
		if text := fmt.Sprintf("%+v", p.asked[1].Messages); strings.Contains(text, canary) {
			t.Errorf("%+v: the next prompt is %s", c, text)
		}
	}
}

// pupil is a parrot of another name.
type pupil struct {
	parrot
	name string
}

func (p *pupil) Name() string { return p.name }

// A reply that its family's template opened inside a block, and that was cut
// before the close, is a thought at every cut; one that ended is not.
func TestCutBeforeClose(t *testing.T) {
	raw := "The CANARY is what I think of, CANARY.\n</think>\n\nAll is well."
	chosen := effort.OneIn(5, "cuts")
	for _, name := range []string{"deepseek-r1", "qwen3-thinking", "deepseek-v3.1"} {
		for n := range len(raw) {
			if !chosen() {
				continue
			}
			p := &pupil{name: name, parrot: parrot{replies: []model.Reply{cutReply(model.Reply{Raw: raw}, n)}}}
			var shown strings.Builder
			o := in(t.TempDir())
			o.Observer.OnText = func(s string) { shown.WriteString(s) }
			s, err := Run(t.Context(), Experiment{Name: "r", Model: p, Cycles: 2}, o)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(fmt.Sprint(p.asked[1:])+s.Last+shown.String(), canary) {
				t.Fatalf("%s, cut at %d: a thought was shown or asked with", name, n)
			}
		}
		p := &pupil{name: name, parrot: parrot{replies: []model.Reply{{Raw: "Plain.", End: sotto.EndStopped}}}}
		turn := Turn{Model: p}
		if o, err := turn.Converse(t.Context(), ask("Well?")); err != nil || o.Answer != "Plain." {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
}

// A reflection of three parts that goes wrong shows no thought, however its
// member is written.
func TestTemplateGoneWrong(t *testing.T) {
	for _, text := range []string{
		`{"Thought": "CANARY", "reflection_on_progress": "a", "plan_for_next_cycle": "b", "mood": "c"}`,
		`{'thought': 'CANARY', 'reflection_on_progress': 'a'}`,
		"{thought: CANARY, plan_for_next_cycle: b}",
		"Thought: CANARY\nPlan: b",
		"**Thought**: CANARY",
	} {
		if at := where(t, []model.Reply{{Raw: text, End: sotto.EndStopped}, {Raw: "Again.", End: sotto.EndStopped}}, true); at != "" {
			t.Errorf("%s: the canary is in %s", text, at)
		}
	}
	p := &parrot{replies: []model.Reply{{Raw: "I gave it some thought: nothing.", End: sotto.EndStopped}}}
	s := run1(t, Experiment{Name: "r", Model: p, Cycles: 1, Template: true}, t.TempDir())
	if s.Last == "" || s.Metrics.Retries != 0 {
		t.Errorf("prose was asked for again: %+v", s)
	}
}

// What a server says of its tokens does not lift the bound of a run.
func TestHostileUsage(t *testing.T) {
	for _, n := range []int64{-1 << 62, 1 << 62} {
		reply := model.Reply{Raw: strings.Repeat("b", 40), Usage: model.Usage{Input: n, Output: n}}
		x := record.Invocation{Replies: make([]record.Reply, 1), Messages: []record.Message{{Text: record.Say(strings.Repeat("a", 400))}}}
		if u := usageOf(reply, x); u.Input != 100 || u.Output != 10 || !u.Estimated {
			t.Errorf("%+v of %d", u, n)
		}
	}
}

// The waits between attempts double, and stop doubling at some time.
func TestRetryWait(t *testing.T) {
	l := Limits{Attempts: 100}.filled()
	series, bound := l.attempts().Start(), time.Second
	for attempt := 1; attempt < 100; attempt++ {
		if got, ok := series.Next(retry.Verdict{Again: true}); !ok || got > bound || got < bound/2 {
			t.Fatalf("after attempt %d: %v, %v, want %v at most", attempt, got, ok, bound)
		}
		bound = min(2*bound, 64*time.Second)
	}
	if _, ok := series.Next(retry.Verdict{Again: true}); ok {
		t.Error("more than 100 attempts")
	}
}

// Failed cycles without a bound end with the last cycle.
func TestFailedCyclesUnbounded(t *testing.T) {
	m := scripted(t, `[{text: "<think>Nothing to say.</think>"}]`)
	s := run1(t, Experiment{Name: "r", Model: m, Cycles: 5, Limits: Limits{FailedCycles: -1}}, t.TempDir())
	if s.Status != Done || s.Cycles != 5 {
		t.Errorf("%+v", s)
	}
}

// A tool's own time takes precedence over that of the limits, longer or shorter.
func TestToolTimeout(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(100 * time.Millisecond)
		fmt.Fprint(w, "late")
	}))
	defer s.Close()
	for timeout, want := range map[time.Duration]string{10 * time.Second: "late", time.Millisecond: "no answer within 1ms"} {
		m := scripted(t, "- when: {step: 1}\n  calls: [{name: slow}]\n- text: Done.")
		turn := Turn{Model: m, Tools: []Tool{&HTTPTool{Name: "slow", URL: s.URL, Timeout: timeout}}, Limits: Limits{ToolTime: 20 * time.Millisecond}}
		o, err := turn.Converse(t.Context(), ask("Go."))
		if err != nil || !strings.Contains(o.Messages[1].Text, want) {
			t.Errorf("%v: %+v, %v", timeout, o.Messages, err)
		}
	}
}

// An endpoint that cannot be reached says why, and not where it is.
func TestToolUnreachable(t *testing.T) {
	tool := HTTPTool{Name: "gone", URL: "http://" + freeport.Find(t)}
	_, err := tool.Call(t.Context(), Use{})
	if err == nil || !strings.Contains(err.Error(), "could not be reached: ") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("%v", err)
	}
}

// A name with the mark of agents would be taken for that of an agent's run.
func TestNameOfAgentsRun(t *testing.T) {
	m := scripted(t, "[{text: Done.}]")
	if _, err := Run(t.Context(), Experiment{Name: "a+b", Model: m}, in(t.TempDir())); err == nil || !strings.Contains(err.Error(), `"a+b"`) {
		t.Errorf("%v", err)
	}
}

// A changed goal is a changed experiment, whoever wrote the settings.
func TestChangedGoal(t *testing.T) {
	dir := t.TempDir()
	x := Experiment{Name: "r", Goal: "One.", Model: scripted(t, "[{text: Done.}]"), Cycles: 1}
	run1(t, x, dir)
	x.Goal = "Two."
	var changed *ChangedError
	if _, err := Run(t.Context(), x, in(dir)); !asError(err, &changed) || !strings.Contains(changed.What, "goal") {
		t.Errorf("%v", err)
	}
}

// An agent has the start that its file says, and its own limits within those of
// the run.
func TestAgentSettings(t *testing.T) {
	c, err := ParseConfig("testdata/agents.yaml", []byte(`
v: 1
name: r
cycles: 1
model: {provider: scripted, script: agents.script.yaml}
agents:
  - {name: deep, start: inside, limits: {tokens: 1}}
limits: {tokens: -1}
`))
	if err != nil {
		t.Fatal(err)
	}
	open := func(model.Config) (model.Model, error) {
		return scripted(t, `
- when: {user: "cycle 1", step: 1}
  calls: [{name: deep, arguments: {task: Look.}}, {name: deep, arguments: {task: Look.}}]
- when: {user: "Look", step: 1}
  text: "CANARY</think>Found."
  calls: [{name: nothing}]
- text: "Done."
`), nil
	}
	_, err = c.Experiment(Dependencies{Open: open})
	if err == nil || !strings.Contains(err.Error(), "testdata/agents.yaml:8:18: limits.tokens: ") {
		t.Errorf("%v", err)
	}
	c.Limits.Tokens = 0
	x, err := c.Experiment(Dependencies{Open: open})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run1(t, x, dir)
	var ends []string
	for _, e := range events(t, dir, record.Query{Types: []record.Type{record.TypeInvocation, record.TypeRunEnd}}) {
		switch p := e.Payload.(type) {
		case record.Invocation:
			if p.Purpose == "subagent" {
				ends = append(ends, string(p.Replies[0].Start))
			}
		case record.RunEnd:
			ends = append(ends, p.Status+" "+p.Bound)
		}
	}
	if d := cmp.Diff([]string{"inside", "bounded tokens", "inside", "bounded tokens", "done "}, ends); d != "" {
		t.Error(d)
	}
}
