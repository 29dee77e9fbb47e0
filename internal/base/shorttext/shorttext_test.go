package shorttext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for _, text := range []string{"", "abc", "a€b", "€€", "🙂x🙂", "e\u0301"} {
		for n := -1; n <= len(text)+1; n++ {
			got := Cut(text, n)
			if len(got) > max(0, n) || !strings.HasPrefix(text, got) || !utf8.ValidString(got) {
				t.Errorf("Cut(%q, %d) = %q", text, n, got)
			}
			if rest := text[len(got):]; rest != "" {
				if _, size := utf8.DecodeRuneInString(rest); len(got)+size <= n {
					t.Errorf("Cut(%q, %d) = %q: one more character has room", text, n, got)
				}
			}
			want := got
			if got != text {
				want += "…"
			}
			if e := Ellipsis(text, n); e != want {
				t.Errorf("Ellipsis(%q, %d) = %q, want %q", text, n, e, want)
			}
		}
	}
	// Not UTF-8: the cut still returns all except at most three of the requested
	// bytes.
	if got := Cut(strings.Repeat("\x80", 100), 50); len(got) < 47 || len(got) > 50 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestColumns(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöüß", 3, "äö…"}, {"äöü", 3, "äöü"}, {"ab", 1, "…"}, {"a", 1, "a"}, {"ab", 0, ""}, {"", 0, ""}, {"ab", -1, ""},
	} {
		if got := Columns(c.text, c.n); got != c.want {
			t.Errorf("Columns(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
