package graphbot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// TestLines: each reply has a line, with the verdict on it if there is one, and each
// verdict has a line below it. A reply whose verdict never comes has its line too.
func TestLines(t *testing.T) {
	dir := t.TempDir()
	w, err := record.Open(dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	add := func(run string, cycle int, p record.Payload) record.Receipt {
		t.Helper()
		r, err := w.Append(t.Context(), record.Event{Run: run, Cycle: cycle, Payload: p})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	reply := func(raw string) record.Invocation {
		return record.Invocation{Purpose: "solve", Attempt: 1, Millis: 7, Usage: &record.Usage{Input: 10, Output: 5}, Replies: []record.Reply{record.ReplyOf(sotto.Parse(raw, sotto.EndStopped))}}
	}
	judged := func(r record.Receipt, method, candidate string, ok bool) record.Extraction {
		return record.Extraction{Of: record.Ref{Seq: r.Seq, Digest: r.Replies[0]}, Method: method, Candidate: record.Say(candidate), Verdict: &record.Verdict{OK: ok, Reason: "value"}}
	}
	add("a", 1, record.CycleStart{Goal: record.Say("Solve 24 with 1 2 3 4")})
	first := add("a", 1, reply("<think>x</think>Answer: 1"))
	other := add("b", 1, reply("Answer: 2")) // another run, in between
	add("a", 1, judged(first, "answer_line", "1", false))
	add("b", 1, judged(other, "answer_line", "2", true))
	add("a", 1, record.Invocation{Purpose: "solve", Attempt: 2, Error: "no connection"})
	add("a", 1, record.CycleEnd{Status: "failed"})
	add("c", 3, reply("the last"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	set, err := recordset.Open(dir, record.ReadOptions{NoPrompts: true})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, set.Events(record.Query{Types: Types}), func(err error) error { return err }); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(out.String()) {
		var l Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		text := func(p *string) string {
			if p == nil {
				return "-"
			}
			return *p
		}
		parent, _, _ := strings.Cut(strings.TrimPrefix(text(l.ParentID), set.Sources()[0].Name), "\n")
		fmt.Fprintf(&got, "%s %s t=%d %q #%d ok=%v why=%s raw=%q candidate=%q by=%s error=%s\n",
			l.Operation, parent, l.T, l.ProblemID, l.AttemptIndex, l.Passed != nil && *l.Passed, text(l.Failure), text(l.Raw), text(l.Candidate), text(l.Normalization), text(l.ErrorType))
	}
	want := `solve - t=1 "Solve 24 with 1 2 3 4" #1 ok=false why=value raw="<think>x</think>Answer: 1" candidate="1" by=answer_line error=-
validate :2 t=1 "Solve 24 with 1 2 3 4" #1 ok=false why=value raw="<think>x</think>Answer: 1" candidate="1" by=answer_line error=-
solve - t=1 "b:1" #1 ok=true why=- raw="Answer: 2" candidate="2" by=answer_line error=-
validate :3 t=1 "b:1" #1 ok=true why=- raw="Answer: 2" candidate="2" by=answer_line error=-
solve - t=1 "Solve 24 with 1 2 3 4" #2 ok=false why=- raw="-" candidate="-" by=- error=no connection
solve - t=3 "c:3" #1 ok=false why=- raw="the last" candidate="-" by=- error=-
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	stop := errors.New("stop")
	if err := Write(&out, func(yield func(recordset.Event, error) bool) { yield(recordset.Event{}, stop) }, func(err error) error { return err }); !errors.Is(err, stop) {
		t.Errorf("a failed reading: %v", err)
	}
}

// TestBound: runs that never end do not add up in memory, and each has its line.
func TestBound(t *testing.T) {
	var x Exporter
	source, lines := &recordset.Source{Name: "r"}, 0
	for i := range 10 * maxRuns {
		e := &recordset.Event{Source: source, Event: record.Event{Seq: uint64(i + 1), Run: fmt.Sprint("run-", i), Payload: record.Invocation{}}}
		lines += len(x.Lines(e))
		if len(x.problems) > maxRuns+1 {
			t.Fatalf("%d runs are held", len(x.problems))
		}
	}
	if lines += len(x.Lines(nil)); lines != 10*maxRuns {
		t.Errorf("%d lines, want %d", lines, 10*maxRuns)
	}
}
