package answer_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
)

// The log's replies end in a line "A: 26", which says what the model answers. Without
// that line, the tier of conclusions must say the same where it says anything.
func TestDataConclusions(t *testing.T) {
	const least = 97 // percent
	of, found, same := 0, 0, 0
	for _, l := range readLogged(t, "gsm8k_openai.jsonl") {
		work, stated, ok := strings.Cut(l.Raw, "\nA: ")
		if !ok || strings.Contains(stated, "\n") {
			continue
		}
		want := answer.GSM8K.Normalise(stated)
		if !answer.GSM8K.Validate(want, answer.Problem{Gold: want}).OK {
			continue
		}
		of++
		x := answer.Extract(answer.GSM8K, work, answer.Problem{}, answer.Options{End: sotto.EndStopped})
		if x.Method != "conclusion" {
			continue
		}
		found++
		if answer.GSM8K.Validate(x.Candidate, answer.Problem{Gold: want}).OK {
			same++
		} else if found-same <= 20 {
			t.Logf("%s: %q, stated %q: %q", l.ID, x.Candidate, want, work)
		}
	}
	t.Logf("of %d replies without their last line, %d have a conclusion, %d of them what the line says (%.1f %%)", of, found, same, 100*float64(same)/float64(found))
	if same*100 < least*found || found == 0 {
		t.Errorf("%d of %d conclusions are what the reply answers, want %d %%", same, found, least)
	}
}
