package shorttext

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n          int
		word, want string
	}{
		{0, "finding", "0 findings"}, {1, "finding", "1 finding"}, {2, "finding", "2 findings"}, {1, "reply", "1 reply"}, {3, "reply", "3 replies"}, {2, "key", "2 keys"}, {2, "day", "2 days"},
	} {
		if got := Count(c.n, c.word); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got, want := OneLine("\n a\t b\r\n\u00a0c "), "a b c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWrap(t *testing.T) {
	if got, want := Wrap("* ä b  c\ndd eeeee f", 5, "  "), "* ä b\n  c\n  dd\n  eeeee\n  f\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
