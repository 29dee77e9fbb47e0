package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/record"
)

// An event of any kind has a page; the pages of exchanges lead there, and back. The id of an
// agent's answer leads to its run, and to its turn. What is missing says where it may be.
func TestEventPages(t *testing.T) {
	w, dir := consoletest.Open(t)
	put := func(run string, cycle int, p record.Payload) uint64 {
		r, err := w.Append(t.Context(), record.Event{Run: run, Cycle: cycle, Payload: p})
		if err != nil {
			t.Fatal(err)
		}
		return r.Seq
	}
	put("painter:1", 0, record.RunStart{Agent: "painter", Goal: record.Say("paint")})
	put("painter:1", 2, record.Invocation{Model: "m", Replies: consoletest.Exchange("m", "p", "<think>t</think>done").Replies})
	put("painter:1", 2, record.ToolCall{Name: "brush", Phase: "end", Number: 1, Arguments: record.Say("{}"), Result: record.Say("error: dry"), Error: "failed"})
	put("painter:1", 2, record.Audit{Action: "view", Page: "exchanges/2", Events: []uint64{2}})
	x := consoletest.Exchange("m", "p", "plain")
	x.ResponseID = "resp-1"
	put("", 0, x)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	base := serve(t, console.Config{Record: consoletest.Store(t, dir)}, "/p/")
	for path, to := range map[string]string{
		"exchanges/3": "../events/3", "events/2": "../exchanges/2", "exchanges/find?id=resp-1": "5", "exchanges/find?id=painter:1": "../runs/painter:1?at=2#e2",
		"exchanges/find?id=painter:1.2": "../runs/painter:1?from=2&to=2", "exchanges/find?id=painter:1&format=json": "2?format=json", "exchanges/3?format=json": "../events/3?format=json", "sessions?run=painter:1": "runs/painter:1",
	} {
		resp, err := stay.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Location"); resp.StatusCode != http.StatusSeeOther || got != to {
			t.Errorf("%s: %s to %q, want %q", path, resp.Status, got, to)
		}
	}
	for path, want := range map[string][]string{
		"events/3": {"Use of a tool", "error: dry", "../runs/painter:1?at=3#e3", "brush"}, "events/1": {"Start of a run", "paint"}, "events/4": {"Somebody looked", "exchanges/2"},
		"events/3/text?path=result&at=7&end=10": {`id="at">dry</mark>`}, "exchanges/5/bytes?at=1&end=3": {`id="at">la</mark>`},
		"exchanges/5":  {"The client got", "The record does not say."},
		"exchanges/99": {"Event 99 is not in this record", "Each gateway writes a record of its own"}, "exchanges/find?id=nowhere": {"No exchange of this record", "Each gateway writes"},
		"runs/painter:1": {"Failed on the way", "error: dry"}, "exchanges": {"done"},
	} {
		_, body := get(t, base+path)
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s: no %q", path, text)
			}
		}
	}
	for path, status := range map[string]int{"events/x": 400, "events/99": 404, "events/3/text": 400, "events/3/text?path=none": 404, "events/3/text?path=result&at=x": 400, "events/3/text?path=result&end=-1": 400} {
		if resp, _ := get(t, base+path); resp.StatusCode != status {
			t.Errorf("%s: %s, want %d", path, resp.Status, status)
		}
	}
}
