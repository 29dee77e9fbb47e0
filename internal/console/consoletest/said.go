package consoletest

import (
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// SaidRun is the run in the record of [Said].
const SaidRun = "said"

// Said records an exchange, and a run with an event of most kinds, in all of which every text is
// the same one, so that each screen shows it. It returns the record's folder.
func Said(t testing.TB, text string) (dir string) {
	t.Helper()
	w, dir := Open(t)
	defer w.Close()
	name := text
	if len(name) > 200 {
		name = name[:200]
	}
	x := Exchange(name, text, "<think>"+text+"</think>"+text)
	Put(t, w, x)
	put := func(cycle int, p record.Payload) record.Receipt {
		r, err := w.Append(t.Context(), record.Event{Run: SaidRun, Cycle: cycle, Payload: p})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	said := record.Say(text)
	put(0, record.RunStart{Agent: name, Model: name, Goal: said})
	put(1, record.CycleStart{Goal: said})
	got := put(1, record.Invocation{Model: name, Purpose: "solve", Attempt: 1, Millis: 900, Messages: []record.Message{{Role: "user", Text: said}}, Replies: x.Replies, Usage: &record.Usage{Input: 12, Output: 34}})
	put(1, record.ToolCall{ID: "c1", Name: name, Phase: "end", Number: 1, Arguments: said, Result: said})
	if len(got.Replies) > 0 {
		put(1, record.Extraction{Of: record.Ref{Seq: got.Seq, Digest: got.Replies[0]}, Task: name, Method: "answer", Status: "found", Candidate: said, Written: said, Verdict: &record.Verdict{Reason: "different", By: "value"}})
	}
	put(1, record.Memory{Task: name, Query: said, Used: []record.MemoryNode{{Kind: "template", Key: said}}, Trace: &record.MemoryNode{Kind: "trace", Key: said, New: true}, Traces: 1, Templates: 1})
	put(1, record.CycleEnd{Status: "answered", Millis: 950, Summary: said})
	put(0, record.RunEnd{Status: "done", Cycles: 1, Millis: 1000, Result: said})
	return dir
}
