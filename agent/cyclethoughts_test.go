package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// TestCycleEndHasThinking: the end of a cycle has what the replies of the cycle thought, all
// of it and in order, also if the run was killed in between. A replay compares it.
func TestCycleEndHasThinking(t *testing.T) {
	dir := t.TempDir()
	run1(t, first(t, &deaf{}), dir)
	want, cycles, some := map[int][]string{}, 0, 0
	for _, e := range events(t, dir, record.Query{Run: "first"}) {
		switch x := e.Payload.(type) {
		case record.Invocation:
			if x.Error != "" || len(x.Replies) == 0 {
				continue
			}
			r := x.Replies[0]
			g, err := sotto.Named(r.Dialect)
			if err != nil {
				t.Fatal(err)
			}
			reading, err := g.ParseWith(string(r.Raw.Text), r.Options(), r.End)
			if err != nil {
				t.Fatal(err)
			}
			want[e.Cycle] = append(want[e.Cycle], reading.Reasoning()...)
			for _, thought := range r.Reasoning {
				want[e.Cycle] = append(want[e.Cycle], strings.TrimSpace(string(thought.Text.Text)))
			}
		case record.CycleEnd:
			var got []string
			for _, thought := range x.Reasoning {
				got = append(got, string(thought.Text.Text))
			}
			if d := cmp.Diff(want[e.Cycle], got); d != "" {
				t.Errorf("cycle %d: %s", e.Cycle, d)
			}
			cycles++
			some += len(got)
		}
	}
	if cycles != 10 || some < 5 {
		t.Fatalf("%d cycles with %d thoughts", cycles, some)
	}
	if p, err := Replay(t.Context(), first(t, &deaf{}), in(dir).Record, Options{}); err != nil || p.Difference != nil {
		t.Errorf("%+v, %v", p.Difference, err)
	}
}

// TestCycleEndOfEarlierVersions: a recorded end without thoughts is as one with them for a
// run that is resumed or replayed; one with other thoughts differs.
func TestCycleEndOfEarlierVersions(t *testing.T) {
	end := record.CycleEnd{Status: "answered", Summary: record.Say("Done."), Reasoning: CycleThoughts([]string{"one", "two"})}
	for _, w := range []*record.Writer{nil, {}} {
		for name, c := range map[string]struct {
			was    []record.Thought
			differ bool
		}{
			"earlier": {nil, false}, "same": {end.Reasoning, false}, "other": {CycleThoughts([]string{"one", "three"}), true}, "fewer": {end.Reasoning[:1], true},
		} {
			was := end
			was.Reasoning = c.was
			e := record.Event{Seq: 7, Run: "r", Cycle: 1, Type: record.TypeCycleEnd, Payload: was}
			for _, parts := range []func(record.Payload) record.Payload{asked, whole} {
				j := &journal{w: w}
				err := same(&e, "r", 1, end, j.view(&e, parts))
				d, ok := errors.AsType[*Difference](err)
				if ok != c.differ || ok && !strings.HasPrefix(d.Field, "payload.reasoning") {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// TestCycleThoughtsAreBounded: thoughts that would make a line too long are left out, and
// what comes before them stays.
func TestCycleThoughtsAreBounded(t *testing.T) {
	big := strings.Repeat("x", maxCycleThoughts-3)
	if got := CycleThoughts([]string{"abc", big, "d"}); len(got) != 2 {
		t.Errorf("%d thoughts", len(got))
	}
	if got := CycleThoughts([]string{"abcd", big, "d"}); len(got) != 1 {
		t.Errorf("%d thoughts", len(got))
	}
}

// TestCycleEndHidesThinking: the level of reasoning holds for the thoughts at the end of a
// cycle.
func TestCycleEndHidesThinking(t *testing.T) {
	for _, level := range []record.Level{record.Full, record.Digests, record.Off} {
		dir := t.TempDir()
		w, err := record.Open(dir, record.Options{Reasoning: level, DigestKey: []byte("0123456789abcdef")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Append(t.Context(), record.Event{Run: "r", Cycle: 1, Payload: record.CycleEnd{Status: "answered", Summary: record.Say("Done."), Reasoning: CycleThoughts([]string{"SECRET"})}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		held := ""
		for _, name := range files {
			if data, err := os.ReadFile(name); err == nil {
				held += string(data)
			}
		}
		if strings.Contains(held, "SECRET") != (level == record.Full) || strings.Contains(held, `"reasoning":[`) != (level != record.Off) || !strings.Contains(held, "Done.") {
			t.Errorf("%v: %s", level, held)
		}
	}
}
