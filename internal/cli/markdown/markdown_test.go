package markdown

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/internal/base/typeset"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/testing/terminaltest"
)

// marks stand for the styles in what the tests expect.
var marks = map[typeset.Style]string{typeset.Bold: "*", typeset.Italic: "/", typeset.Cyan: "`", typeset.Dim: "~", typeset.Struck: "-"}

func marked(source string, width int) string {
	var b strings.Builder
	for _, l := range lines(source, width) {
		for _, s := range l {
			b.WriteString(marks[s.style] + s.text + marks[s.style])
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestRender(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"heading":    {"## A *b*\n\nc", "*## A */b/\n\nc\n"},
		"emphasis":   {"a **b** *c* ~~d~~ `e  f`", "a *b* /c/ -d- `e f`\n"},
		"wrap":       {"one two three four five six", "one two three four\nfive six\n"},
		"long word":  {"a " + strings.Repeat("x", 30) + " b", "a\n" + strings.Repeat("x", 30) + "\nb\n"},
		"wide runes": {strings.Repeat("é", 10) + " " + strings.Repeat("é", 9) + " z", strings.Repeat("é", 10) + " " + strings.Repeat("é", 9) + "\nz\n"},
		"hard break": {"a  \nb\nc", "a\nb c\n"},
		"code":       {"```go\na  <b>\n\tc\n```", "    `a  <b>`\n    `\tc`\n"},
		"indented":   {"    a\n    b", "    `a`\n    `b`\n"},
		"list":       {"- a\n- b\n  - c\n\n3. d\n4. e", "• a\n• b\n  • c\n\n3. d\n4. e\n"},
		"loose":      {"- a\n\n- b", "• a\n\n• b\n"},
		"tasks":      {"- [x] a\n- [ ] b", "• [x] a\n• [ ] b\n"},
		"hanging":    {"- one two three four five", "• one two three four\n  five\n"},
		"quote":      {"> a\n> b\n> > c", "~│ ~a b\n~│ ~\n~│ ~~│ ~c\n"},
		"link":       {"[a b](http://x.example/y) <http://z.example> ![c](d.png)", "a b\n~<http://x.example/y>~\nhttp://z.example\nimage: c~ <d.png>~\n"},
		"honest":     {"[http://good.example](http://bad.example)", "http://good.example\n~<http://bad.example>~\n"},
		"reference":  {"[a][1]\n\n[1]: http://x.example", "a~ <http://x.example>~\n\n~[1]: http://x.example~\n"},
		"html":       {"<b>x</b>\n\n<div>\ny\n</div>", "<b>x</b>\n\n<div>\ny\n</div>\n"},
		"comment":    {"<!-- a\n\nb -->\n\nc", "<!-- a\n\nb -->\n\nc\n"},
		"break":      {"a\n\n***\n\nb", "a\n\n~" + strings.Repeat("─", 20) + "~\n\nb\n"},
		"escapes":    {`\*a\* &lt;b&gt; &#27;[31m`, "*a* <b> ␛[31m\n"},
		"table":      {"| a | b |\n|---|--:|\n| c | d |\n| ee | fff |", "*a*     *b*\n~───────~\nc     d\nee  fff\n"},
		"wide table": {"| a | b |\n|---|---|\n| one two three | four five six seven |\n| x | y |", "*a: *one two three\n*b: *four five six\nseven\n\n*a: *x\n*b: *y\n"},
		"empty":      {"", ""},
		"CRLF":       {"a\r\nb\r\n\r\nc", "a b\n\nc\n"},
	} {
		if diff := cmp.Diff(c.want, marked(c.source, 20)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// hostile are texts that take over a terminal, or that take long to read, in every
// place.
var hostile = []string{
	"# S", "**S**", "`S`", "- S", "> S", "[S](S)", "![S](<S>)", "| S |\n|---|\n| S |", "```S\nS\n```", "<S>", "<!-- S -->", "[S]: S", "[a]: <S> \"S\"", "    S", "S\n===", "<http://S>", "&#x9b;31m",
}

// Whatever a text holds, nothing of it controls the terminal, and no line but of code
// or of one word is wider than the terminal.
func TestHostile(t *testing.T) {
	for _, form := range hostile {
		source := strings.ReplaceAll(form, "S", terminaltest.Strange)
		var out bytes.Buffer
		sh := shell.New(nil, &out, &out, func(string) string { return "" })
		w := sh.Text.Typesetter()
		w.Colour = true
		Render(w, source, 40)
		w.Flush()
		plain := out.Bytes()
		for _, style := range terminaltest.Styles {
			plain = bytes.ReplaceAll(plain, []byte(style), nil)
		}
		if bad := terminaltest.Forbidden(plain); bad != "" {
			t.Errorf("%q: %s", form, bad)
		}
	}
	for _, deep := range []string{strings.Repeat("> ", 3000) + "x", strings.Repeat("- ", 3000) + "x", strings.Repeat("[", 20000), strings.Repeat("*a_ ", 5000), strings.Repeat("<a", 10000), strings.Repeat("`", 20000), strings.Repeat("|", 20000), strings.Repeat("|a\n|-\n", 3000), strings.Repeat("![", 10000), strings.Repeat("&", 20000), strings.Repeat("a\n", 10000) + "="} {
		var s Stream
		s.Add(deep, func(piece string) { lines(piece, 80) })
		s.Flush(func(piece string) { lines(piece, 80) })
	}
}

const document = "# Title\nText *one*\nand two.\n\n- a\n- b\n\n  more of b\n- c\n\nThen:\n```go\nx\n\n# no heading\n```\nAfter\n\n1. d\n\n2. e\n\n| a | b |\n|---|---|\n| c | d |\n\n    code\n\n    code\n\n> q\n\n~~~\nunclosed\n\n"

// A text is cut into the same pieces wherever it is cut as it comes, and they are the
// text. A piece that is shown is as it is in the whole text.
func TestStream(t *testing.T) {
	cut := func(parts ...string) (pieces []string) {
		var s Stream
		for _, p := range parts {
			s.Add(p, func(piece string) { pieces = append(pieces, piece) })
		}
		s.Flush(func(piece string) { pieces = append(pieces, piece) })
		return pieces
	}
	whole := cut(document)
	want := []string{
		"# Title\n", "Text *one*\nand two.\n\n", "- a\n- b\n\n  more of b\n- c\n\n", "Then:\n", "```go\nx\n\n# no heading\n```\n", "After\n\n",
		"1. d\n\n", "2. e\n\n", "| a | b |\n|---|---|\n| c | d |\n\n    code\n\n    code\n\n", "> q\n\n", "~~~\nunclosed\n\n",
	}
	if diff := cmp.Diff(want, whole); diff != "" {
		t.Error(diff)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		var parts []string
		for rest := document; rest != ""; {
			n := 1
			if i > 0 {
				n = min(len(rest), 1+r.IntN(20))
			}
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		if got := cut(parts...); !slices.Equal(got, whole) {
			t.Fatalf("%q: %q", parts, got)
		}
	}
	var shown []string
	for _, piece := range whole {
		shown = append(shown, strings.TrimSpace(marked(piece, 40)))
	}
	flat := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if got, want := flat(strings.Join(shown, "\n")), flat(marked(document, 40)); got != want {
		t.Errorf("in pieces:\n%s\nwhole:\n%s", got, want)
	}
}

// A block without an end is shown in parts, code as code.
func TestStreamIsBounded(t *testing.T) {
	for _, form := range []string{"a\n", "a ", "- a\n\n  b\n"} {
		var s Stream
		most := 0
		for range 300000 / len(form) {
			s.Add(form, func(string) {})
			most = max(most, s.Pending())
		}
		if most > maxPending+2*len(form) {
			t.Errorf("%q: %d bytes wait", form, most)
		}
	}
	var s Stream
	parts := 0
	s.Add("```go\n", func(string) {})
	for range 100000 {
		s.Add("x y\n", func(piece string) {
			parts++
			if !strings.HasPrefix(piece, "```go\nx y\n") || !utf8.ValidString(piece) {
				t.Fatalf("%.40q", piece)
			}
		})
	}
	if parts < 5 {
		t.Errorf("%d parts", parts)
	}
}
