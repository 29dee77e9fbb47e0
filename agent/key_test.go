package agent

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/model"
)

const paying = `
- when: {step: 1}
  calls: [{name: pay}, {name: clerk, arguments: {task: Pay it.}}]
- text: Paid.
`

// paid returns the keys under which a run, and the agent below it, pay. The last call
// fails by a context that ends, as by a kill.
func paid(t *testing.T, dir string, interrupted bool) (keys []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pay := &Func{Name: "pay", Repeat: true, Do: func(ctx context.Context, u Use) (string, error) {
		keys = append(keys, u.Key())
		if interrupted && strings.Contains(u.Run, "clerk") {
			cancel()
			return "", ctx.Err()
		}
		return "paid", nil
	}}
	x := Experiment{
		Name: "daily", Cycles: 1, Model: scripted(t, paying), Tools: []Tool{pay},
		Agents: []Subagent{{Name: "clerk", Model: scripted(t, "- when: {step: 1}\n  calls: [{name: pay}]\n- text: Done."), Tools: []string{"pay"}}},
	}
	if _, err := Run(ctx, x, in(dir)); err != nil && !interrupted {
		t.Fatal(err)
	}
	return keys
}

// The key of a use is its own among all runs, also among those of one name in
// different folders. A run that is resumed keeps its keys.
func TestKeysAreUnique(t *testing.T) {
	dir := t.TempDir()
	before := paid(t, dir, true)
	after := paid(t, dir, false)
	if len(before) != 2 || before[1] != after[0] {
		t.Errorf("a use that was interrupted has the keys %q and %q", before, after)
	}
	all := append(slices.Clone(before), paid(t, t.TempDir(), false)...)
	slices.Sort(all)
	if len(slices.Compact(all)) != 4 {
		t.Errorf("two runs, two uses each, have the keys %q", all)
	}
}

// So has each conversation, and one that waited for an answer keeps its keys.
func TestKeysOfConversations(t *testing.T) {
	var keys []string
	turn := Turn{Run: "task", Model: scripted(t, `
- when: {step: 1}
  calls: [{name: pay}, {name: ask}]
- when: {step: 2}
  calls: [{name: pay}]
- text: Paid.
`), Tools: []Tool{
		&Func{Name: "pay", Do: func(_ context.Context, u Use) (string, error) { keys = append(keys, u.Key()); return "paid", nil }},
		&Func{Name: "ask", Do: func(context.Context, Use) (string, error) { return "", &Pause{Question: "How much?"} }},
	}}
	for range 2 {
		o, err := turn.Converse(t.Context(), []model.Message{{Role: model.User, Text: "Pay."}})
		if err != nil || o.Waiting == nil {
			t.Fatalf("%+v, %v", o, err)
		}
		if o, err = turn.Continue(t.Context(), *o.Waiting, "Five."); err != nil || o.Answer != "Paid." {
			t.Fatalf("%+v, %v", o, err)
		}
	}
	first, _ := strings.CutPrefix(keys[0], "task#1")
	if want := "task#3" + first; first == "" || keys[1] != want || keys[2] == keys[0] {
		t.Error(cmp.Diff([]string{keys[0], want}, keys))
	}
}
