package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// caller is a model that calls tools, and an agent, in each of its first two cycles.
const caller = `
- when: {matches: "working notes"}
  text: "It was thought about."
- when: {system: "You help"}
  text: "<think>HELP</think>Helped."
- when: {user: "cycle 1 of", step: 1}
  text: "<think>Keep it.</think>"
  calls: [{name: write, arguments: {key: a, value: "one\nline"}}, {name: helper, arguments: {task: "Help."}}]
- when: {user: "cycle 1 of"}
  text: "<think>Decide on it.</think>Decision: wrote a."
- when: {user: "cycle 2 of", step: 1}
  calls: [{name: read, arguments: {key: a}}, {name: nothing}]
- when: {user: "cycle 2 of"}
  text: "<think>Both.</think>Read it."
- text: "<think>End.</think>Done."
`

func carrier(t testing.TB, p Policy, m CarryMode) Experiment {
	return Experiment{
		Name: "carry", Goal: "Go.", Cycles: 3, Policy: p, CarryCalls: m, Memory: []string{"write", "read"}, Model: scripted(t, caller),
		Agents: []Subagent{{Name: "helper", System: "You help."}},
	}
}

// acts returns the last message of the first prompt of each cycle.
func acts(t testing.TB, dir string) (users []string) {
	t.Helper()
	cycle := 0
	for _, e := range events(t, dir, record.Query{Types: []record.Type{record.TypeInvocation}}) {
		if x := e.Payload.(record.Invocation); x.Purpose == "act" && e.Cycle > cycle {
			cycle = e.Cycle
			users = append(users, string(x.Messages[len(x.Messages)-1].Text.Text))
		}
	}
	return users
}

// A prompt holds the calls of earlier cycles as carry-calls says, each on a line.
func TestCarry(t *testing.T) {
	const (
		write = `cycle 1: write {"key":"a","value":"one\nline"} gave "wrote \"a\", 8 bytes"`
		help  = `cycle 1: helper {"task":"Help."} gave "Helped."`
		read  = `cycle 2: read {"key":"a"} gave "one\nline"`
		wrong = `cycle 2: nothing {} gave "error: there is no tool nothing: `
	)
	for mode, want := range map[CarryMode][][]string{
		"":        {nil, nil, nil},
		CarryNone: {nil, nil, nil},
		CarryLast: {nil, {write, help}, {read, wrong}},
		CarryAll:  {nil, {write, help}, {write, help, read, wrong}},
	} {
		dir := t.TempDir()
		run1(t, carrier(t, Strip, mode), dir)
		for i, user := range acts(t, dir) {
			var got []string
			for line := range strings.Lines(user) {
				if strings.HasPrefix(line, "cycle ") {
					got = append(got, strings.TrimSuffix(line, "\n"))
				}
			}
			if !slices.EqualFunc(got, want[i], strings.HasPrefix) || len(got) > 0 != strings.Contains(user, "tool calls of earlier cycles") {
				t.Errorf("%q, cycle %d: %q, want %q", mode, i+1, got, want[i])
			}
			if !strings.HasSuffix(user, fmt.Sprintf("This is cycle %d of 3.\n\nGo.", i+1)) {
				t.Errorf("%q, cycle %d: the message is %q", mode, i+1, user)
			}
		}
	}
}

// What is carried fits into the budget, and is the latest of all.
func TestCarryBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := &carried{budget: rapid.IntRange(0, 200).Draw(t, "budget")}
		var lines []string
		for range rapid.IntRange(0, 5).Draw(t, "cycles") {
			one := &carried{budget: all.budget}
			for range rapid.IntRange(0, 5).Draw(t, "calls") {
				line := rapid.StringMatching(`[a-z]{0,60}`).Draw(t, "line")
				lines = append(lines, line)
				one.keep(line)
			}
			all.then(one)
		}
		n := len(strings.Join(append(slices.Clone(all.lines), ""), "\n"))
		if n > all.budget || n != all.bytes || all.left+len(all.lines) != len(lines) || !slices.Equal(all.lines, lines[all.left:]) {
			t.Fatalf("%d bytes (counted %d) of %d: %q and %d left out, of %q", n, all.bytes, all.budget, all.lines, all.left, lines)
		}
		if strings.Contains(all.text(0), fmt.Sprintf("(%d earlier calls are left out.)", all.left)) != (all.left > 0) {
			t.Fatalf("%d are left out: %q", all.left, all.text(0))
		}
	})
}

// No thought and no secret in the arguments or the result of a call is carried,
// however it is written and wherever the result is cut. Both are bounded.
func TestCarryCanary(t *testing.T) {
	for name, result := range map[string]string{
		"plain":        "found <think>CANARY</think>kept",
		"escaped":      `{"found":"\u003cthink\u003eCANARY\u003c/think\u003ekept"}`,
		"odd escapes":  `{"found":"<\u0074hink>CANARY<\/think>kept"}`,
		"in a name":    `{"\u003cthinking\u003eCANARY\u003c/thinking\u003e":1}`,
		"secret":       "said SESAME-OPEN",
		"other prompt": "x\"\ncycle 9: write {} gave \"<think>CANARY",
	} {
		for n := range len(result) + 1 {
			p := &parrot{replies: []model.Reply{
				{Calls: []model.Call{
					{ID: "a", Name: "echo", Arguments: string(encode(map[string]string{"text": "<think>CANARY</think>said", "key": "SESAME-OPEN"}))},
					{ID: "b", Name: "echo", Arguments: `{"text":"<think>CANARY`},
					{ID: "c", Name: "<think>CANARY</think>"},
				}, End: sotto.EndStopped},
				{Raw: "One.", End: sotto.EndStopped},
				{Raw: "Two.", End: sotto.EndStopped},
			}}
			echo := &Func{Name: "echo", Schema: `{"type":"object"}`, Do: func(context.Context, Use) (string, error) { return result, nil }}
			x := Experiment{Name: "c", Model: p, Cycles: 2, CarryCalls: CarryAll, Tools: []Tool{echo}, Limits: Limits{Result: n + 1}, Secrets: []string{"SESAME-OPEN"}}
			r, err := newRun(x, NewMemory(), nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := (&machine{run: r}).from(t.Context(), load, ended); err != nil {
				t.Fatal(err)
			}
			user := p.asked[2].Messages[1].Text
			if strings.Contains(user, canary) || strings.Contains(user, "SESAME-OPEN") || strings.Count(user, "\ncycle ") != 3 || !strings.Contains(user, `{"key":"[secret]","text":"said"} gave "`) || strings.Contains(name, "escape") && n+1 >= len(result) && !strings.Contains(user, "kept") {
				t.Fatalf("%s, cut at %d: %s", name, n, user)
			}
		}
	}
	u := &turn{Turn: Turn{Grammar: sotto.Default(), Limits: Limits{}.filled()}, box: &toolbox{}, carried: &carried{budget: 1 << 20}}
	u.carry(model.Call{Name: "big", Arguments: string(encode(map[string]string{"x": strings.Repeat("é", 5000)}))}, strings.Repeat("é", 5000))
	if got := len(u.carried.lines[0]); got < maxCarriedArguments+maxCarriedResult || got > maxCarriedArguments+maxCarriedResult+100 {
		t.Errorf("a call of 20 kB is carried with %d bytes", got)
	}
}

// What a policy saves is the same, to the byte, whatever is carried.
func TestCarrySaves(t *testing.T) {
	metrics := func(p Policy, m CarryMode) (list []*record.Metrics) {
		dir := t.TempDir()
		run1(t, carrier(t, p, m), dir)
		for _, e := range events(t, dir, record.Query{Types: []record.Type{record.TypeCycleEnd}}) {
			list = append(list, e.Payload.(record.CycleEnd).Metrics)
		}
		return list
	}
	for _, p := range []Policy{Strip, Selective, Retrieve} {
		plain := metrics(p, CarryNone)
		for _, mode := range []CarryMode{CarryLast, CarryAll} {
			for i, m := range metrics(p, mode) {
				if m.SavedBytes != plain[i].SavedBytes || m.PromptBytes <= plain[i].PromptBytes == (i > 0) {
					t.Errorf("%s, %s, cycle %d: %d bytes saved of %d, without calls %d of %d", p, mode, i+1, m.SavedBytes, m.PromptBytes, plain[i].SavedBytes, plain[i].PromptBytes)
				}
			}
		}
	}
}

// A run that carries calls is resumed and replayed as any other, under every policy,
// with an agent below it.
func TestCarryResumes(t *testing.T) {
	modes, points := []CarryMode{CarryLast, CarryAll}, []int{3, 9, 14, 20, 27, 31, 38, 45}
	if effort.Brief() {
		modes, points = modes[1:], []int{20, 38}
	}
	for _, p := range []Policy{Strip, Keep, Selective, Summary, Retrieve} {
		for _, mode := range modes {
			x := carrier(t, p, mode)
			whole := t.TempDir()
			run1(t, x, whole)
			want := plain(t, whole)
			for _, n := range points {
				dir := t.TempDir()
				stopAt(t, x, dir, n)
				run1(t, x, dir)
				if d := cmp.Diff(want, plain(t, dir)); d != "" {
					t.Fatalf("%s, %s, stopped at point %d:\n%s", p, mode, n, d)
				}
			}
			if r, err := Replay(t.Context(), x, in(whole).Record, Options{}); err != nil || r.Difference != nil || r.Unfinished {
				t.Errorf("%s, %s: %+v, %v", p, mode, r.Difference, err)
			}
		}
	}
}

// A run is not resumed with other settings of this kind.
func TestCarryChanged(t *testing.T) {
	dir := t.TempDir()
	x := carrier(t, Strip, CarryLast)
	run1(t, x, dir)
	for what, other := range map[string]func(*Experiment){
		"carry-calls":        func(x *Experiment) { x.CarryCalls = CarryAll },
		"carry-budget":       func(x *Experiment) { x.CarryBudget = 100 },
		"reflection-heading": func(x *Experiment) { x.ReflectionHeading = "## Before" },
		"reflection-label":   func(x *Experiment) { x.ReflectionLabel = "{cycle}." },
	} {
		y := x
		other(&y)
		var changed *ChangedError
		if _, err := Run(t.Context(), y, in(dir)); !errors.As(err, &changed) || !strings.Contains(changed.What, what) {
			t.Errorf("another %s: %v", what, err)
		}
	}
}

// stopAt runs an experiment, and cancels it at its n-th point.
func stopAt(t *testing.T, x Experiment, dir string, n int) {
	t.Helper()
	if !tryStop(t, x, dir, n) {
		t.Fatal("not stopped")
	}
}

// tryStop is stopAt, and reports whether the run has so many points.
func tryStop(t *testing.T, x Experiment, dir string, n int) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	atPoint = func(string) {
		if n--; n == 0 {
			cancel()
		}
	}
	defer func() { atPoint = nil }()
	_, err := Run(ctx, x, in(dir))
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return err != nil
}

// The line above earlier reflections, and the label before each, are as they are set.
func TestReflectionLabel(t *testing.T) {
	dir := t.TempDir()
	x := carrier(t, Keep, CarryNone)
	x.ReflectionHeading, x.ReflectionLabel = "## Your Previous Reflections", "{cycle})"
	run1(t, x, dir)
	cycle := 3
	e := events(t, dir, record.Query{Cycle: &cycle, Types: []record.Type{record.TypeInvocation}})[0]
	system := string(e.Payload.(record.Invocation).Messages[0].Text.Text)
	want := "\n\n## Your Previous Reflections\n\n1) Decision: wrote a.\nThoughts: Keep it.\n\nDecide on it.\n\n2) Read it.\nThoughts: Both."
	if !strings.HasSuffix(system, want) {
		t.Errorf("the prompt ends %q, want %q", system[max(0, len(system)-len(want)):], want)
	}
}

// Faults of these settings are found in the file, where they are; also from Go.
func TestCarryFaults(t *testing.T) {
	const head = "v: 1\nname: f\nmodel: {provider: scripted, script: s.yaml}\n"
	for text, want := range map[string]string{
		"carry-calls: some":                                          `f.yaml:4:14: carry-calls: "some": want none, last, all`,
		"carry-budget: -1":                                           "f.yaml:4:15: carry-budget: want a number from 1",
		"reflection-label: Cycle":                                    `f.yaml:4:19: reflection-label: "Cycle": want {cycle} in it, once, for the number of the cycle`,
		`reflection-label: "{cycle}{cycle}"`:                         `f.yaml:4:19: reflection-label: "{cycle}{cycle}": want {cycle} in it, once, for the number of the cycle`,
		`reflection-heading: "a\nb"`:                                 `f.yaml:4:21: reflection-heading: "a\nb": want one line of printable characters`,
		`reflection-heading: " "`:                                    "f.yaml:4:21: reflection-heading: white space only: want a text, or leave it out",
		"reflection-heading: " + strings.Repeat("h", 201):            "f.yaml:4:21: reflection-heading: has 201 bytes: want 200 at most",
		"reflection-label: '{cycle}" + strings.Repeat("h", 94) + "'": "f.yaml:4:19: reflection-label: has 101 bytes: want 100 at most",
	} {
		c, err := ParseConfig("f.yaml", []byte(head+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Experiment(Dependencies{Open: func(model.Config) (model.Model, error) { return &parrot{}, nil }})
		if fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	_, err := Run(t.Context(), Experiment{Name: "f", Model: &parrot{}, CarryCalls: "some", ReflectionHeading: "\n", ReflectionLabel: "x"}, in(t.TempDir()))
	for _, want := range []string{`CarryCalls: "some": want none, last or all`, "ReflectionHeading: white space only", "ReflectionLabel: \"x\": want {cycle}"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v: want %s", err, want)
		}
	}
}

// A run that carries no calls has the same settings as one of a version that knew of
// none, so that it can be resumed.
func TestCarryNoneIsNoSetting(t *testing.T) {
	var settings map[string]any
	x := Experiment{Name: "n", CarryCalls: CarryNone}
	if err := json.Unmarshal([]byte(x.filled().config()["experiment"]), &settings); err != nil {
		t.Fatal(err)
	}
	for key := range settings {
		if strings.HasPrefix(key, "carry") || strings.HasPrefix(key, "reflection") {
			t.Errorf("the settings have %s", key)
		}
	}
}
