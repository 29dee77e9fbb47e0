package prompttext_test

import (
	"testing"

	"github.com/sotto-llm/sotto/internal/base/prompttext"
)

// Only letters of ASCII change, so that every byte keeps its place.
func TestLower(t *testing.T) {
	if got := prompttext.Lower("@AZ[`az{É"); got != "@az[`az{É" {
		t.Errorf("%q", got)
	}
}

func TestTurnTokens(t *testing.T) {
	for _, tc := range []struct {
		text     string
		has, end bool
		prefix   int // in lower case
	}{
		{"", false, false, 0},
		{"hi", false, false, 0},
		{"[INST]", true, true, 6},
		{"[/INST] hi", true, false, 7},
		{"<|im_start|>", true, true, 2},
		{"if a <|", true, false, 0}, // the first half of a token ends no turn
		{"a<｜", true, false, 0},
		{"a｜>", true, true, 0},
		{"<start_of_turn>model", true, false, 15},
	} {
		if has := prompttext.HasTurnToken(tc.text); has != tc.has {
			t.Errorf("%q has one: %v", tc.text, has)
		}
		if end := prompttext.EndsTurnToken(tc.text); end != tc.end {
			t.Errorf("%q ends in one: %v", tc.text, end)
		}
		if n := prompttext.TurnTokenPrefix(prompttext.Lower(tc.text)); n != tc.prefix {
			t.Errorf("%q begins with one of %d bytes", tc.text, n)
		}
	}
}
