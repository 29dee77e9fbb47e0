package sotto

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/dialect"
)

// A dialect refuses a literal that is a form of one of its tags. What it takes for one is
// what the lexer finds as one, whole.
func TestTagFormsOfDialects(t *testing.T) {
	tags := []dialect.Marker{{Role: dialect.RoleReasoning, Tag: "k"}, {Role: dialect.RoleReasoning, Tag: "kÉ"}, {Role: dialect.RoleTool, Tag: "t"}}
	g := MustCompile(dialect.Dialect{Name: "tags", Markers: tags})
	whole := func(text string) (tag string) {
		var l lexer
		l.reset(&g.lex)
		l.run([]byte(text), 0, func(t token) {
			if t.start == 0 && t.end == len(text) {
				tag = g.names[t.name].name
			}
		})
		return tag
	}
	off := false
	check := func(text string) (is bool) {
		literal := dialect.Marker{Role: dialect.RoleWrapper, Name: "literal", Open: []string{text}}
		err := dialect.Dialect{Name: "both", Code: &off, Markers: append(tags[:len(tags):len(tags)], literal)}.Check()
		tag := whole(text)
		if is = err != nil && strings.Contains(err.Error(), `is a form of the tag "`+tag+`"`); is != (tag != "") || err != nil && !is {
			t.Fatalf("%q: the lexer finds the tag %q, the dialect says: %v", text, tag, err)
		}
		return is
	}
	pieces := []string{"<", ">", "/", "/>", " ", "\t", "\n", "k", "K", "kÉ", "ké", "t", "a", ":", "_", "=", "a=", `"`, "'", "`", "1", ".", "-", "b", `a="b"`, " a=b", " a='", "\xff"}
	begins := []string{"<k", "< K", "</k", "< / kÉ", "<t", "</T ", "<k ", "<k a=", "<k a='", `<k a="b"`, "<", "k"}
	rng := rand.New(rand.NewPCG(1, 2))
	forms := 0
	const tried = 100_000
	for range tried {
		text := begins[rng.IntN(len(begins))]
		for range rng.IntN(6) {
			text += pieces[rng.IntN(len(pieces))]
		}
		if rng.IntN(2) == 0 {
			text += ">"
		}
		if text = strings.Trim(text, "\n"); check(text) { // newlines at the ends are optional
			forms++
		}
	}
	if forms < tried/20 {
		t.Errorf("%d of %d texts are forms", forms, tried)
	}
}
