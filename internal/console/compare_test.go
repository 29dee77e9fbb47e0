package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/record"
)

// TestExchangesCompared: two exchanges part at the first thing that differs: the question, the
// setup, a call's arguments, the answer, what the client got; and at the thought only if
// nothing else differs.
func TestExchangesCompared(t *testing.T) {
	w, dir := consoletest.Open(t)
	plain := func() record.Exchange {
		x := consoletest.Exchange("m", "Which tower?", "<think>The tall one.</think>The CN Tower.")
		x.Replies[0].ToolCalls = []record.Call{{ID: "c", Name: "height_of", Arguments: record.Say(`{"tower":"CN"}`)}}
		return x
	}
	base := consoletest.Put(t, w, plain())
	type change struct {
		name   string
		change func(*record.Exchange)
		want   trace.Difference
		a, b   string
	}
	changes := []change{
		{"question", func(x *record.Exchange) { x.Messages[0].Text = record.Say("Which bridge?") }, trace.InQuestion, "Which tower?", "Which bridge?"},
		{"model", func(x *record.Exchange) { x.Model = "n" }, trace.InModel, "m", "n"},
		{"arguments", func(x *record.Exchange) { x.Replies[0].ToolCalls[0].Arguments = record.Say(`{"tower":"Eiffel"}`) }, trace.InArguments, "CN", "Eiffel"},
		{"thought", func(x *record.Exchange) {
			*x = consoletest.Exchange("m", "Which tower?", "<think>The high one.</think>The CN Tower.")
			x.Replies[0].ToolCalls = plain().Replies[0].ToolCalls
		}, trace.InThought, "tall", "high"},
		{"same", func(*record.Exchange) {}, "", "", ""},
	}
	events := map[string]uint64{}
	for _, c := range changes {
		x := plain()
		c.change(&x)
		events[c.name] = consoletest.Put(t, w, x)
	}
	tool, err := w.Append(t.Context(), record.Event{Run: "r", Payload: record.ToolCall{Name: "t", Phase: "end"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	at := serve(t, console.Config{Record: consoletest.Store(t, dir), Dir: dir}, "/p/")
	for _, c := range changes {
		path := fmt.Sprintf("exchanges/%d/compare?with=%d", base, events[c.name])
		_, text := get(t, at+path+"&format=json")
		var d struct{ Parting *trace.Parting }
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatalf("%s: %v: %.200s", c.name, err, text)
		}
		_, page := get(t, at+path)
		if c.want == "" {
			if d.Parting != nil || !strings.Contains(page, "the two are the same") {
				t.Errorf("%s: %+v", c.name, d.Parting)
			}
			continue
		}
		if p := d.Parting; p == nil || p.What != c.want || !strings.Contains(string(p.A.Said), c.a) || !strings.Contains(string(p.B.Said), c.b) {
			t.Errorf("%s: %+v", c.name, p)
		}
		if !strings.Contains(page, fmt.Sprintf(`href="../../exchanges/%d#`, events[c.name])) {
			t.Errorf("%s: no link to the place: %s", c.name, page)
		}
	}
	for with, status := range map[string]int{"&format=json": 400, "x": 400, "-1": 400, "999": 404, fmt.Sprint(tool.Seq): 404} {
		if resp, _ := get(t, fmt.Sprintf("%sexchanges/%d/compare?with=%s", at, base, with)); resp.StatusCode != status {
			t.Errorf("with=%s: %s", with, resp.Status)
		}
	}
}
