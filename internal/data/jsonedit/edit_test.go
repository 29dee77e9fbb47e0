package jsonedit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// TestCut removes every choice of members from objects and lists of every
// length, and what is left is JSON with the others, byte for byte.
func TestCut(t *testing.T) {
	for _, test := range []struct{ open, close, sep string }{{"{", "}", ","}, {"[", "]", ","}, {" { ", " } ", " ,\n\t"}} {
		for n := range 6 {
			var parts []string
			for i := range n {
				value := []string{`1.50`, `"a,b"`, `{"x":[]}`, `null`, `[1, 2]`}[i]
				if strings.Contains(test.open, "{") {
					value = `"` + string(rune('a'+i)) + `" : ` + value
				}
				parts = append(parts, value)
			}
			body := []byte(test.open + strings.Join(parts, test.sep) + test.close)
			members := jsonedit.Members(jsonedit.Parse(body))
			if len(members) != n {
				t.Fatalf("%s: %d members", body, len(members))
			}
			for mask := range 1 << n {
				edits := jsonedit.Cut(nil, members, func(i int) bool { return mask>>i&1 == 1 })
				got := jsonedit.Splice(nil, body, edits)
				if !json.Valid(got) {
					t.Fatalf("%s without %b: %s", body, mask, got)
				}
				left := jsonedit.Members(jsonedit.Parse(got))
				var kept []string
				for i, p := range parts {
					if mask>>i&1 == 0 {
						kept = append(kept, p)
					}
				}
				if len(left) != len(kept) {
					t.Fatalf("%s without %b: %s", body, mask, got)
				}
				for i, m := range left {
					if string(m.Span().Of(got)) != kept[i] {
						t.Errorf("%s without %b: %s", body, mask, got)
					}
				}
			}
		}
	}
}

// TestSplice puts edits in their order, whatever order they are given in.
func TestSplice(t *testing.T) {
	b := []byte("0123456789")
	edit := func(start, end int, with string) jsonedit.Edit {
		return jsonedit.Edit{Span: jsonedit.Span{Start: start, End: end}, With: []byte(with)}
	}
	for want, edits := range map[string][]jsonedit.Edit{
		"x0123456789":    nil,
		"xA0123456789":   {edit(0, 0, "A")},
		"xA1234567B9C":   {edit(10, 10, "C"), edit(8, 9, "B"), edit(0, 1, "A")},
		"x01AB2C3456789": {edit(2, 2, "A"), edit(2, 2, "B"), edit(3, 3, "C")},
		"x01AB3456789":   {edit(2, 3, "B"), edit(2, 2, "A")},
		"x":              {edit(0, 10, "")},
	} {
		if got := jsonedit.Splice([]byte("x"), b, edits); string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
