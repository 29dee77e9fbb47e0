package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

const thinker = `
- when: {matches: "BAKERS wanted"}
  text: "<think>Sum it up.</think>Bakers were chosen. More follows."
- when: {matches: "PLAIN weather"}
  text: "It rained."
- when: {user: "cycle 1 of"}
  text: "<think>BAKERS wanted: bread, ovens and flour are what this town needs.</think>Decision: we ask the bakers of the town for bread."
- when: {user: "cycle 2 of"}
  text: "<think>PLAIN weather, nothing to it.</think>Fine, it is."
- text: "<think>End.</think>We baked bread in the ovens."
`

// prompts runs an experiment of three cycles under a policy, and returns its
// third cycle's system prompt, and the metrics of the cycles.
func prompts(t *testing.T, p Policy) (string, []*record.Metrics) {
	t.Helper()
	dir := t.TempDir()
	run1(t, Experiment{Name: "p", Goal: "Bread from the ovens.", Cycles: 3, Policy: p, Model: scripted(t, thinker)}, dir)
	system := ""
	cycle := 3
	for _, e := range events(t, dir, record.Query{Cycle: &cycle, Types: []record.Type{record.TypeInvocation}}) {
		if x := e.Payload.(record.Invocation); x.Purpose == "act" {
			system = string(x.Messages[0].Text.Text)
		}
	}
	var list []*record.Metrics
	for _, e := range events(t, dir, record.Query{Types: []record.Type{record.TypeCycleEnd}}) {
		list = append(list, e.Payload.(record.CycleEnd).Metrics)
	}
	return system, list
}

// Each policy lets into later prompts what it says, and the record says how much
// it saved.
func TestPolicies(t *testing.T) {
	for p, want := range map[Policy]struct {
		in, out []string
		saved   string // in cycle 3: some, none
	}{
		Strip:     {nil, []string{"BAKERS", "PLAIN", "think"}, "some"},
		Keep:      {[]string{"BAKERS wanted", "PLAIN weather"}, nil, "none"},
		Selective: {[]string{"BAKERS wanted"}, []string{"PLAIN"}, "some"},
		Summary:   {[]string{"Thought, in short: Bakers were chosen.\n", "Thought, in short: It rained."}, []string{"BAKERS", "PLAIN", "More follows"}, "some"},
		Retrieve:  {[]string{"**Cycle 1, thought**: BAKERS wanted"}, []string{"PLAIN"}, "some"},
	} {
		system, metrics := prompts(t, p)
		for _, s := range append(want.in, "**Cycle 1**: Decision: we ask the bakers", "**Cycle 2**: Fine, it is.") {
			if !strings.Contains(system, s) {
				t.Errorf("%s: %q is not in the prompt:\n%s", p, s, system)
			}
		}
		for _, s := range want.out {
			if strings.Contains(system, s) {
				t.Errorf("%s: %q is in the prompt:\n%s", p, s, system)
			}
		}
		if m := metrics[2]; m.Policy != string(p) || (m.SavedBytes > 0) != (want.saved == "some") || want.saved == "none" && m.SavedBytes != 0 {
			t.Errorf("%s: %d bytes saved, want %s", p, m.SavedBytes, want.saved)
		}
	}
}

// The prompt of a policy, and what it saved, are together the prompt that keeps
// everything.
func TestSaved(t *testing.T) {
	_, strip := prompts(t, Strip)
	_, keep := prompts(t, Keep)
	for i := range strip {
		// Each reflection with thoughts has a newline before them that nobody saves.
		if got, want := strip[i].PromptBytes+strip[i].SavedBytes+i, keep[i].PromptBytes; got != want {
			t.Errorf("cycle %d: %d bytes with what was saved, %d with everything kept", i+1, got, want)
		}
	}
}

// Reflections in a prompt are the latest, in order, within the budget.
func TestBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &run{x: &Experiment{ReflectionLabel: DefaultLabel, ReflectionBudget: rapid.IntRange(1, 400).Draw(t, "budget")}}
		for i := range rapid.IntRange(0, 12).Draw(t, "cycles") {
			r.memories = append(r.memories, memory{cycle: i + 1, reflection: rapid.StringMatching(`[a-zä]{1,80}`).Draw(t, "text")})
		}
		text := (&draft{run: r}).past()
		if len(text) > r.x.ReflectionBudget+200 {
			t.Fatalf("%d bytes of a budget of %d", len(text), r.x.ReflectionBudget)
		}
		if n := len(r.memories); n > 0 && !strings.Contains(text, fmt.Sprintf("**Cycle %d", n)[:min(9, r.x.ReflectionBudget)]) {
			t.Fatalf("the latest of %d is not in %q", n, text)
		}
		last := 0
		for _, line := range strings.Split(text, "\n\n") {
			var cycle int
			if _, err := fmt.Sscanf(line, "**Cycle %d**", &cycle); err == nil {
				if cycle <= last {
					t.Fatalf("cycle %d behind %d in %q", cycle, last, text)
				}
				last = cycle
			}
		}
	})
}

// What a provider requires back goes back, within a turn, under strip too.
func TestRequired(t *testing.T) {
	for name, want := range map[string]struct{ api, model, back string }{
		"demanded": {"openai.chat", "deepseek-reasoner", "I think"},
		"unknown":  {"openai.chat", "some-model", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &named{parrot{replies: []model.Reply{
				{Thoughts: []model.Thought{{Field: "reasoning_content", Text: "I think"}, {Field: "sealed", Sealed: true, Text: "s"}}, Calls: []model.Call{{ID: "a", Name: "list"}}, End: sotto.EndStopped},
			}}, want.model}
			turn := Turn{Model: p, API: want.api, Tools: NewMemory().Tools()}
			if _, err := turn.Converse(t.Context(), ask("Go.")); err != nil {
				t.Fatal(err)
			}
			var back []string
			for _, x := range p.asked[1].Messages[1].Thoughts {
				back = append(back, x.Text)
			}
			if got := strings.TrimSuffix(strings.Join(back, ","), "s"); strings.TrimSuffix(got, ",") != want.back || len(back) == 0 {
				t.Errorf("%q goes back, want %q and what is sealed", back, want.back)
			}
		})
	}
}

type named struct {
	parrot
	name string
}

func (n *named) Name() string { return n.name }

// The dialect's instruction ends the system prompt, of an agent below too.
func TestLesson(t *testing.T) {
	g, err := sotto.Named("thinking")
	if err != nil {
		t.Fatal(err)
	}
	p := &parrot{replies: []model.Reply{
		{Calls: []model.Call{{ID: "a", Name: "helper", Arguments: `{"task":"x"}`}}, End: sotto.EndStopped},
		{Raw: "<thinking>t</thinking>Helped.", End: sotto.EndStopped},
	}}
	x := Experiment{Name: "l", Model: p, Grammar: g, Cycles: 1, Agents: []Subagent{{Name: "helper", System: "You help."}}}
	run1(t, x, t.TempDir())
	lesson := strings.TrimSpace(g.Dialect().Prompt)
	for i, q := range p.asked {
		if m := q.Messages[0]; m.Role != model.System || !strings.HasSuffix(m.Text, lesson) {
			t.Errorf("prompt %d ends otherwise: %q", i, m.Text)
		}
	}
	if got := p.asked[2].Messages[3].Text; got != "Helped." {
		t.Errorf("the agent's result is %q", got)
	}
}

// Bounds of a run end it, and the record says which did.
func TestRunBounds(t *testing.T) {
	for bound, tt := range map[Bound]struct {
		limits Limits
		script string
		status Status
	}{
		BoundTokens: {Limits{Tokens: 10}, "- text: Some words.", Bounded},
		BoundTime:   {Limits{Time: 30 * time.Millisecond}, "- text: Some words.\n  wait: 20ms", Bounded},
		BoundCycles: {Limits{FailedCycles: 2, Attempts: 1}, "- error: {status: 400}", Suspended},
		BoundOutage: {Limits{Outage: time.Millisecond}, "- error: {status: 503}", Suspended},
	} {
		dir := t.TempDir()
		s := run1(t, Experiment{Name: "b", Cycles: 9, Limits: tt.limits, Model: scripted(t, tt.script)}, dir)
		list := events(t, dir, record.Query{Types: []record.Type{record.TypeRunEnd}})
		if end := list[0].Payload.(record.RunEnd); s.Status != tt.status || s.Bound != bound || end.Bound != string(bound) || s.Cycles >= 9 {
			t.Errorf("%s: %+v", bound, s)
		}
	}
}

// A memory is the same after it was opened again, with a torn line too, and knows
// a change that was made already.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	open := func() *Memory {
		t.Helper()
		m, err := OpenMemory(dir, "m")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := open()
	first, err := m.Write("m#1", "a", "one")
	if err != nil {
		t.Fatal(err)
	}
	m.Write("m#2", "b", "two")
	m.Delete("m#3", "a")
	m.Close()
	file := filepath.Join(dir, "m.jsonl")
	data, _ := os.ReadFile(file)
	os.WriteFile(file, append(data, `{"use":"m#4","key":"c`...), 0o600)
	m = open()
	again, err := m.Write("m#1", "a", "one")
	if err != nil || again != first {
		t.Errorf("%q, %v; want %q", again, err, first)
	}
	if d := cmp.Diff([]string{"a"}, m.Keys()); d != "" { // as it was then
		t.Error(d)
	}
	if _, err := m.Write("m#2", "b", "other"); !isError(err, ErrMemory) {
		t.Errorf("another change in the place of one: %v", err)
	}
	m.Write("m#2", "b", "two")
	m.Delete("m#3", "a")
	m.Write("m#4", "c", "three")
	m.Close()
	if now, _ := os.ReadFile(file); !strings.HasPrefix(string(now), string(data)) || strings.Count(string(now), "\n") != 4 {
		t.Errorf("the log is %q", now)
	}
	for _, w := range []struct{ key, value string }{{"", "x"}, {strings.Repeat("k", MaxKeyBytes+1), "x"}, {"a\x1b", "x"}, {"a", strings.Repeat("x", MaxValue+1)}} {
		if _, err := NewMemory().Write("u", w.key, w.value); err == nil {
			t.Errorf("key %.20q with %d bytes was taken", w.key, len(w.value))
		}
	}
	full := NewMemory()
	for i := range MaxKeys {
		full.Write("u", fmt.Sprint(i), "x")
	}
	if _, err := full.Write("u", "one more", "x"); err == nil {
		t.Error("there is no bound on keys")
	}
}

// Arguments are read or refused with what is wrong; the refusal quotes no value.
func TestArguments(t *testing.T) {
	box := memoryBox(t)
	for text, want := range map[string]string{
		`{"key":"a"}`:                 "",
		``:                            "missing property 'key'",
		`{"key":"SECRET`:              "they end at byte 14",
		`{"key":SECRET}`:              "at byte 8 of 14",
		`["SECRET"]`:                  "not a JSON object",
		`{"key":"a"} SECRET`:          "after the arguments",
		`{"key":["SECRET"]}`:          "key: got array, want string",
		`{"key":"a","more":"SECRET"}`: "additional properties 'more' not allowed",
		`{"key":"` + strings.Repeat("a", 300) + `"}`: "the limit is 256",
	} {
		_, err := readArguments(sotto.Default(), box.schemas["read"], text, 256)
		got := fmt.Sprint(err)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(got, want) || strings.Contains(got, "SECRET")) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := compileSchema(json.RawMessage(`{"type":"object","$ref":"https://example.com/schema"}`)); err == nil {
		t.Error("a schema that refers to another was taken")
	}
}
