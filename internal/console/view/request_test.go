package view_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/record"
)

// shownChange writes a change in one line: what was kept between bars, what was
// removed after a minus, what was added after a plus.
func shownChange(c view.Change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s %v %s -%d+%d", c.Message, c.Role, c.Whole, c.Field, c.Removed, c.Added)
	for _, p := range c.Pieces {
		text := string(p.Text)
		if text == "" {
			text = fmt.Sprintf("(%d %s)", p.Bytes, p.Why)
		}
		fmt.Fprintf(&b, " %c%s", map[string]rune{"kept": '|', "removed": '-', "added": '+'}[p.What], text)
	}
	return b.String()
}

// TestChanges shows each change with the text beside it, and what a level withheld by
// its size. A revision that does not fit the messages is left out: no writer makes
// one.
func TestChanges(t *testing.T) {
	x := consoletest.Exchange("m", "p", "a")
	long := strings.Repeat("k", 1000)
	x.Messages = []record.Message{
		{Role: "user", Text: record.Say("q")},
		{Role: "assistant", Text: record.Say("one " + long + " two"), Reasoning: []record.Thought{{Field: "reasoning", Text: record.Say("put")}}},
	}
	x.Revisions = []record.Revision{
		{Message: 1, Role: "assistant", Field: "summary", Removed: record.Say("item")},
		{Message: 1, At: 0, Removed: record.Say("<think>t</think>")},
		{Message: 1, At: 1004, Added: 2, Removed: record.Say("u")},
		{Message: 1, Field: "reasoning", Added: 3},
		{Message: 0, At: 2, Removed: record.Say("beyond")},
		{Message: 7, Removed: record.Say("beyond")},
		{Message: 2, Role: "assistant", Field: "content", Removed: record.Say("last")},
	}
	for level, want := range map[record.Level][]string{
		record.Full: {
			"1 assistant true summary -4+0 -item",
			"1 assistant false  -17+2 -<think>t</think> |one " + long[:156] + " |(684 ) |" + long[:160] + " -u + t |wo",
			"1 assistant false reasoning -0+3 +put",
			"2 assistant true content -4+0 -last",
		},
		record.Off: {
			"1 assistant true summary -4+0 -(4 reasoning)",
			"1 assistant false  -17+2 -(16 reasoning) |one " + long[:156] + " |(684 ) |" + long[:160] + " -(1 reasoning) + t |wo",
			"1 assistant false reasoning -0+3 +(3 reasoning)",
			"2 assistant true content -4+0 -(4 reasoning)",
		},
	} {
		dir := t.TempDir()
		w, err := record.Open(dir, record.Options{Policy: record.None, Reasoning: level})
		if err != nil {
			t.Fatal(err)
		}
		consoletest.Put(t, w, x)
		w.Close()
		got, err := view.NewSource(consoletest.Store(t, dir), nil).Exchange(context.Background(), 1, view.Reread{})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Changes) != len(want) {
			t.Fatalf("%v: %+v", level, got.Changes)
		}
		for i, c := range got.Changes {
			if s := shownChange(c); s != want[i] {
				t.Errorf("%v: %s\nwant %s", level, s, want[i])
			}
		}
	}
}

// TestRequestFacts: the parameters come in their order, and what they and the tools
// take is bounded, whatever the record holds.
func TestRequestFacts(t *testing.T) {
	w, dir := consoletest.Open(t)
	x := consoletest.Exchange("m", "p", "a")
	x.Parameters = record.Say(`{"temperature":0.20,"stop":["a"],"options":{"seed":1}}`)
	x.FirstThought, x.FirstAnswer = 210, 3610
	x.IDs = map[string]string{"conversation_id": "talk", record.IDTrace: "0af7651916cd43dd8448eb211c80319c"}
	consoletest.Put(t, w, x)
	x.Parameters = record.Say("{" + strings.Repeat(`"a":1,`, 5000) + `"b":"` + strings.Repeat("x", 300<<10) + `"}`)
	x.Tools, x.Revisions = make([]record.Tool, 1000), nil
	for i := range x.Tools {
		x.Tools[i] = record.Tool{Name: "t", Definition: record.Say(`"` + strings.Repeat("y", 2000) + `"`)}
	}
	for range 2000 {
		x.Revisions = append(x.Revisions, record.Revision{Role: "assistant", Removed: record.Say(strings.Repeat("z", 2000))})
	}
	consoletest.Put(t, w, x)
	x.Parameters = record.Say("not JSON")
	consoletest.Put(t, w, x)
	w.Close()
	s := view.NewSource(consoletest.Store(t, dir), nil)
	first, err := s.Exchange(context.Background(), 1, view.Reread{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(first.Parameters); got != `[{temperature {0.20 4 false}} {stop {["a"] 5 false}} {options {{"seed":1} 10 false}}]` || first.Session != "talk" || len(first.Trace) != 32 || first.FirstThought != 210 || first.FirstAnswer != 3610 {
		t.Errorf("%s, %+v", got, first)
	}
	for seq := uint64(2); seq <= 3; seq++ {
		many, err := s.Exchange(context.Background(), seq, view.Reread{})
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, p := range many.Parameters {
			size += len(p.Value.Text)
		}
		for _, tool := range many.Tools {
			size += len(tool.Definition.Text)
		}
		for _, c := range many.Changes {
			for _, p := range c.Pieces {
				size += len(p.Text)
			}
		}
		if size > 1<<20 || len(many.Parameters) > 100 || len(many.Tools)+many.MoreTools != 1000 || len(many.Changes)+many.MoreChanges != 2000 || len(many.Changes) > 400 {
			t.Errorf("event %d: %d bytes, %d parameters, %d tools, %d changes", seq, size, len(many.Parameters), len(many.Tools), len(many.Changes))
		}
	}
}
