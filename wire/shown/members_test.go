package shown_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/shown"
)

// TestLeaves: each place at which something passes has a path and a kind.
func TestLeaves(t *testing.T) {
	v := shown.Object("id", shown.Members{
		"any": shown.MapOf(shown.List(shown.Number)), "or!": shown.TextOr(shown.List(shown.Word)), "use": shown.Counts, "json": shown.Texts,
		"one":   shown.TextOr(shown.OneOrList(shown.Object("", shown.Members{"x": shown.Piece, "y": shown.Opaque}))),
		"probs": shown.Tokens("text"), "gone": shown.Blank,
		"kinds": shown.List(shown.ByType(map[string]*shown.Value{
			"b": shown.Object("type", shown.Members{"s": shown.Sealed}), "a": shown.Object("type", shown.Members{"s": shown.Label}),
		})),
	})
	var got []string
	for _, leaf := range v.Leaves() {
		got = append(got, leaf.Path+" "+leaf.Kind)
	}
	want := []string{
		"any.*[] number", "gone empty", "id word", "json texts", "kinds[]{a}.s label", "kinds[]{a, b}.type word", "kinds[]{b}.s sealed",
		"one text", "one[?].x piece", "one[?].y opaque", "or text", "or[] word", "probs tokens", "use counts",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestKindsHold: what stands at a place passes as its kind says: unread, after it was read,
// or not at all.
func TestKindsHold(t *testing.T) {
	const said = `I think "so" <b>`
	kinds := map[string]string{"text": "read", "piece": "read", "texts": "read", "opaque": "unread"} // the others let no text out
	for name, v := range map[string]*shown.Value{
		"text": shown.Text, "piece": shown.Piece, "texts": shown.Texts, "opaque": shown.Opaque, "word": shown.Word, "label": shown.Label,
		"number": shown.Number, "sealed": shown.Sealed, "counts": shown.Counts, "empty": shown.Blank,
	} {
		if leaves := v.Leaves(); len(leaves) != 1 || leaves[0] != (shown.Leaf{Kind: name}) {
			t.Errorf("%s: %v", name, leaves)
		}
		for _, form := range []string{`%q`, `[%q]`, `{"x":%q}`, `{"x":[{"y":%q}]}`, `{%q:1}`} {
			read := false
			out, ok, err := v.Read(fmt.Appendf(nil, form, said), func(string, []byte, bool) []byte { read = true; return []byte("it was read") })
			switch passed := ok && strings.Contains(string(out), "think"); {
			case err != nil:
				t.Error(err)
			case passed && kinds[name] != "unread", read && kinds[name] != "read", form == `%q` && kinds[name] != "" && !ok:
				t.Errorf("%s: of "+form+" %s is left, read: %v", name, said, out, read)
			}
		}
	}
}
