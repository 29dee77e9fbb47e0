package scoreview

import (
	"testing"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/record"
)

// A record that grows is indexed again when a verdict comes, and not for other events.
func TestRecordGrows(t *testing.T) {
	w, dir := consoletest.Open(t)
	f := OfRecord("audit", consoletest.Store(t, dir))
	exchange := consoletest.Exchange("m", "p", "<think>t</think>answer")
	of := consoletest.Put(t, w, exchange)
	verdict := record.Extraction{Of: record.Ref{Seq: of}, Method: "boxed", Candidate: record.Say("4"), Verdict: &record.Verdict{OK: true}}
	consoletest.Put(t, w, verdict)
	load := func(want int) *index {
		t.Helper()
		x, err := f.load(t.Context())
		if err != nil || len(x.at) != want {
			t.Fatalf("%v, %d lines, want %d", err, len(x.at), want)
		}
		return x
	}
	first := load(1)
	consoletest.Put(t, w, exchange)
	if load(1) != first {
		t.Error("an exchange made the index again")
	}
	consoletest.Put(t, w, verdict)
	if load(2) == first {
		t.Error("a verdict did not make the index again")
	}
	verdict.Verdict = nil // only extracted
	consoletest.Put(t, w, verdict)
	load(2)
}
