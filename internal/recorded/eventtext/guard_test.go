package eventtext

import (
	"slices"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// TestVerdicts sums up what a guard decided, and keeps what did not pass.
func TestVerdicts(t *testing.T) {
	g := &record.Guarding{Pieces: 9, More: 4, Judgements: []record.Judgement{
		{Channel: "reasoning", End: 4, Action: "pass"}, {Channel: "reasoning", Start: 4, End: 9, Action: "cut", Millis: 3},
		{Channel: "answer", End: 2, Action: "pass"}, {Choice: 1, Channel: "answer", End: 2, Action: "failed", Failure: "no decision after 5s", Millis: 5000},
		{Channel: "answer", Start: 2, End: 5, Action: "end"},
	}}
	summary, notable := Verdicts(g)
	if want := "9 pieces: 2 pass, 1 cut, 1 failed, 1 end, 4 not listed"; summary != want {
		t.Errorf("%q, want %q", summary, want)
	}
	var got []string
	for _, j := range notable {
		got = append(got, Verdict(&j))
	}
	want := []string{
		"cut: reasoning from byte 4 to 9, after 3 ms",
		"failed: answer of choice 1 from byte 0 to 2, after 5000 ms: no decision after 5s",
		"end: answer from byte 2 to 5, after 0 ms",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if one, rest := Verdicts(&record.Guarding{Pieces: 1, Judgements: []record.Judgement{{Action: "pass"}}}); one != "1 piece: 1 pass" || rest != nil {
		t.Errorf("%q, %v", one, rest)
	}
}
