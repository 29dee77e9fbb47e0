package observing

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway/guard"
)

// Of the judgements of a reply the first are recorded, and of those that changed something
// more.
func TestRecordedJudgements(t *testing.T) {
	var l *Judgements
	if l.Recorded() != nil || (&Judgements{}).Recorded() != nil {
		t.Error("no judgement is recorded as one")
	}
	all := &Judgements{ID: "g"}
	passed, cut := Judgement{Verdict: guard.Verdict{Action: guard.Pass}}, Judgement{Verdict: guard.Verdict{Action: "cut", Reason: "r"}, Choice: 1, Channel: guard.Answer, Start: 2, End: 3, Took: time.Millisecond}
	failed := Judgement{Err: errors.New("a\x1bb")}
	for range maxPassed + 5 {
		all.Note(passed)
	}
	all.Note(failed)
	for range maxJudgements {
		all.Note(cut)
	}
	g := all.Recorded()
	if g.ID != "g" || g.Pieces != maxPassed+5+1+maxJudgements || len(g.Judgements) != maxJudgements || g.More != g.Pieces-maxJudgements {
		t.Fatalf("%d of %d judgements, %d more", len(g.Judgements), g.Pieces, g.More)
	}
	for i, want := range map[int]string{0: "0  0 0 pass  0 ", maxPassed - 1: "0  0 0 pass  0 ", maxPassed + 1: "1 answer 2 3 cut r 1 "} {
		j := g.Judgements[i]
		if got := fmt.Sprint(j.Choice, " ", j.Channel, " ", j.Start, " ", j.End, " ", j.Action, " ", j.Reason.Text, " ", j.Millis, " ", j.Failure); got != want {
			t.Errorf("judgement %d: %q, want %q", i, got, want)
		}
	}
	if j := g.Judgements[maxPassed]; j.Action != "failed" || !strings.HasPrefix(j.Failure, "a") || strings.Contains(j.Failure, "\x1b") {
		t.Errorf("%+v", j)
	}
}
