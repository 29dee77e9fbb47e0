package answer

import (
	"slices"
	"testing"
)

func TestLiterals(t *testing.T) {
	for expression, want := range map[string][]string{
		"(8-5)*(11-2)": {"8", "5", "11", "2"}, "007 + 4": {"7", "4"}, "24": {"24"}, "5": {"5"},
	} {
		got, reason := Literals(expression)
		if !slices.Equal(got, want) || reason != ReasonOK {
			t.Errorf("%q: %q, %s, want %q", expression, got, reason, want)
		}
	}
	for expression, want := range map[string]Reason{
		"(8-5)*(11-2) = 24": IllegalTokens, "8 -> 5": IllegalTokens, "8+": FormatError, "": FormatError, "2**3": FormatError,
	} {
		if got, reason := Literals(expression); got != nil || reason != want {
			t.Errorf("%q: %q, %s, want %s", expression, got, reason, want)
		}
	}
	numbers, _ := Literals("(8-5)*(11-2)")
	for _, x := range []struct {
		of   []string
		want bool
	}{{[]string{"2", "5", "8", "11"}, true}, {[]string{"2", "5", "8", "8"}, false}, {[]string{"2", "5", "8"}, false}, {[]string{"2", "5", "8", "11", "11"}, false}} {
		if SameNumbers(numbers, x.of) != x.want {
			t.Errorf("%q and %q: want %t", numbers, x.of, x.want)
		}
	}
	// What one gives away must not change under the hands of the other.
	first, _ := Literals("1+2")
	if Literals("9+9"); !slices.Equal(first, []string{"1", "2"}) {
		t.Errorf("the numbers changed to %q", first)
	}
}
