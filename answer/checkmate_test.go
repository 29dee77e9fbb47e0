package answer

import (
	"strings"
	"testing"
)

// Any move that mates is right, however it is written and wherever it stands in the reply.
func TestCheckmate(t *testing.T) {
	p := Problem{Input: "1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4.", Gold: "Qxf7#"}
	for raw, want := range map[string]Reason{
		"<think>Bxf7+?</think>Answer: Qxf7#": ReasonOK, "Answer: 4. Qxf7#": ReasonOK, "The answer is Qxf7#.": ReasonOK, "**Qxf7#**": ReasonOK, "Answer: Qh5xf7 mate": ReasonOK,
		"<answer>Q×f7++</answer>": ReasonOK, "Answer: ♕xf7": ReasonOK, "Best move: 4. Qxf7": ReasonOK, "\\boxed{Qxf7\\#}": ReasonOK,
		"Answer: Bxf7+": Different, "Answer: Qxf8#": Different, "Answer: white wins": FormatError, "I do not know which.": Empty,
		"Answer: " + strings.Repeat("Q", 100_000): FormatError,
	} {
		x := Extract(Checkmate, raw, p, Options{})
		if v := Checkmate.Validate(x.Candidate, p); v.Reason != want {
			t.Errorf("%.100q: candidate %.100q by %s: %s (%s), want %s", raw, x.Candidate, x.Method, v.Reason, v.Detail, want)
		}
	}
	p.Gold = "Bxf7+" // wrong, and not looked at
	if v := Checkmate.Validate("Qxf7#", p); !v.OK || v.By != "rules" {
		t.Errorf("%+v", v)
	}
	for _, input := range []string{"", "Which move mates?", "1. e4 e5 2. Bc4 Ke6 3. Qh5", strings.Repeat("1. e4 e5 ", 10_000)} {
		if v := Checkmate.Validate("Qxf7#", Problem{Input: input}); v.Reason != BadGold || v.Detail == "" {
			t.Errorf("%.60q: %+v", input, v)
		}
	}
	asked := Problem{Input: "In the following position, mate in one:\n\n1. f3 e5\n2. g4\n\nWhat do you play?"}
	if v := Checkmate.Validate("Qh4#", asked); !v.OK {
		t.Errorf("%+v", v)
	}
	if query, trace := Checkmate.Distil(Problem{Input: "1. f3 e5\n2. g4"}, "2... Qh4#"); query != "Mate after 1. f3 e5 2. g4" || trace != "Task: Checkmate\nInput: 1. f3 e5 2. g4\nSolution: Qh4#" {
		t.Errorf("%q %q", query, trace)
	}
}
