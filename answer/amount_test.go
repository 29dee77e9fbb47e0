package answer

import (
	"slices"
	"testing"
)

// FuzzAmounts holds the amounts that are found beside numerals to those that the expression finds in the whole text.
func FuzzAmounts(f *testing.F) {
	for _, text := range []string{
		"minus 5, then −$ 3.50; and US$ 1,200 or R$ 7", "マイナス 12 と 3分の2", "from 7:30 to 10^{12} and 3 × 10⁶", "2 ½ cups, ¾ more, 5 hundred and 3 k_",
		"1 234 567,89 €; 6 € 30", "x" + string(rune('０'+5)) + "，０００", "no digit here", "٣٤ and .5", "3万5千, 2億 4000", "2\n3/4=0.75",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want []Span
		for _, m := range amountExpr.FindAllStringIndex(text, maxAmounts) {
			want = append(want, Span{m[0], m[1]})
		}
		if got := amountSpans(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}
