package reading

import (
	"math/rand/v2"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// TestDetailsSplitterComesLate: a text reads the same whether its splitter was there from its
// Beginning or was made at the first byte that needs one.
func TestDetailsSplitterComesLate(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	parts := []string{"a", "word", " ", "  ", "\n", "\n\n", "\t", "\ufeff", "é", "\xe2", "\x80", "`", "```", "\n```\n", "~~~", "<", "b<c", `"`, `\`,
		`<details type="reasoning">`, `<details type="reasoning" done="true">x`, "</details>", "<details>", "<det", "x\n  ", ". And\n"}
	late := 0
	rounds := 50_000
	if effort.Brief() {
		rounds = 5_000
	}
	for range rounds {
		var d detailsReader
		s, _ := detailsGrammar().NewSplitter(sotto.Options{Start: sotto.BeginOutside, MaxHold: 64})
		var all, got, want string
		for range 1 + random.IntN(12) {
			text := parts[random.IntN(len(parts))] + parts[random.IntN(len(parts))]
			all += text
			got += string(d.read([]byte(text), 64))
			want += string(visibleOf(s.Feed([]byte(text))))
			if got != want {
				t.Fatalf("%q became %q, want %q", all, got, want)
			}
		}
		if d.last != 0 && d.split != nil {
			late++
		}
		if d.split != nil {
			got += string(visibleOf(d.split.Close(sotto.EndStopped)))
		}
		want += string(visibleOf(s.Close(sotto.EndStopped)))
		if got != want {
			t.Fatalf("%q became %q, want %q", all, got, want)
		}
	}
	if late < rounds/50 {
		t.Errorf("%d splitters came late", late)
	}
}
