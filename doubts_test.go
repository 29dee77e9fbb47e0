package sotto

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/sotto-llm/sotto/dialect"
)

// A doubtCase is a reply that opens a doubt. What becomes of the byte at at shows the
// answer. The answers have a letter for each of the variants: y, n, or - for never. A cell
// that ends in ! is not read by the code, or another row gives the same result. Of a
// capital letter only the table is compared: a wider doubt decides there.
type doubtCase struct {
	dialect string // "default" if empty
	options Options
	reply   string
	at      int
	filler  string // answers nothing; fed until the hold runs out
	after   string // fed then
	yes, no string // what is seen

	expired, cut, unknown, complete string
}

// variants are what a dialect may say about doubts.
var variants = []struct {
	onDoubt  dialect.DoubtAction
	preOpens dialect.PreOpening
}{{dialect.DoubtWithhold, ""}, {dialect.DoubtDeliver, ""}, {dialect.DoubtWithhold, dialect.PreOpensYes}}

var doubtCases = [len(doubts)]doubtCase{
	doubtMarker: {reply: "a <thi", at: 2, yes: "markup", no: "text",
		expired: "---", cut: "nnn!", unknown: "nnn!", complete: "nnn!"},
	doubtMark: {reply: "\xEF\xBB", yes: "markup", no: "text",
		expired: "---", cut: "nnn!", unknown: "nnn!", complete: "nnn!"},
	doubtLead: {dialect: "harmony", reply: " t", yes: "markup", no: "text",
		expired: "---", cut: "nnn", unknown: "nnn", complete: "nnn"},
	doubtHeader: {dialect: "harmony", reply: "a<|channel|>final", at: 1, yes: "markup", no: "text",
		expired: "---", cut: "yyy", unknown: "yyy", complete: "yyy"},
	doubtQuote: {reply: `<narrate>a "<output>`, at: 12, yes: "narration", no: "markup",
		expired: "---", cut: "nnn", unknown: "nnn", complete: "nnn"},
	doubtCode: {reply: "say ` <narrate>", at: 6, filler: "x", yes: "text literal_marker", no: "markup unclosed_narration",
		expired: "nyn", cut: "nnn", unknown: "nnn", complete: "nnn"},
	doubtFence: {reply: "```\n<narrate>", at: 4, filler: "x", yes: "text literal_marker", no: "markup unclosed_narration",
		expired: "yyy", cut: "yyy", unknown: "nnn", complete: "nnn"},
	doubtKept: {reply: "say ` </think>", at: 6, filler: "x", after: "` and", yes: "text literal_marker", no: "text orphan_close",
		expired: "nnn", cut: "nnn!", unknown: "nnn!", complete: "nnn!"},
	doubtStray: {reply: "<think>a</think>b</think> ", at: 17, filler: " ", yes: "markup stray_close", no: "text",
		expired: "yny", cut: "yyy", unknown: "yyy", complete: "yyy"},
	doubtOpener: {reply: "say <think>", at: 4, filler: "x", yes: "markup", no: "text literal_marker",
		expired: "yny", cut: "yny", unknown: "yny", complete: "nnn"},
	doubtLine: {reply: "<think>a\n</thinking> ", at: 9, filler: " ", yes: "markup mismatched_close", no: "reasoning",
		expired: "nyn!", cut: "yyy", unknown: "yyy!", complete: "yyy!"},
	doubtCandidate: {reply: "<think>a </thinking> b", at: 9, filler: "x", yes: "markup mismatched_close", no: "reasoning",
		expired: "nyn", cut: "nnn", unknown: "yyy", complete: "yyy"},
	doubtUnpaid: {reply: "<think>a<think>b</think> c", at: 16, filler: "x", yes: "markup", no: "reasoning",
		expired: "nyn", cut: "yyy", unknown: "yyy", complete: "yyy"},
	doubtTool: {dialect: "qwen3", reply: "<think>a<tool_call> ", at: 8, filler: " ", yes: "tool", no: "reasoning",
		expired: "nyn", cut: "nnn", unknown: "nnn", complete: "nnn"},
	doubtCall: {dialect: "qwen3", options: Options{Tools: []string{"f"}}, reply: `<think>a<tool_call>{"name": "f"`, at: 8, filler: "x",
		yes: "tool", no: "reasoning", expired: "nyn", cut: "nnn", unknown: "nnn", complete: "nnn"},
	doubtMention: {dialect: "qwen3", options: Options{Tools: []string{"f"}, Start: BeginAuto}, reply: `a<tool_call>{"name": "f"`, at: 1,
		yes: "tool", no: "text", expired: "---", cut: "yyY", unknown: "yyy", complete: "yyy"},
	doubtBlank: {reply: "<narrate>a\n", at: 10, filler: " ", yes: "text", no: "narration",
		expired: "nnn", cut: "nnn", unknown: "nnn", complete: "nnn"},
	doubtStart: {options: Options{Start: BeginAuto}, reply: "a", filler: "x", yes: "reasoning assumed_unclosed", no: "text",
		expired: "yny", cut: "nny", unknown: "nnn", complete: "nnn"},
	doubtOutput: {dialect: "output", reply: "a ", filler: "x", yes: "aside", no: "text",
		expired: "yny", cut: "nnn", unknown: "nnn", complete: "nnn"},
	doubtPad: {reply: "<scratch_pad>a<output>b", at: 14, filler: "x", yes: "markup rescued", no: "reasoning",
		expired: "nyn", cut: "nnn", unknown: "yyy", complete: "yyy"},
	doubtWhole: {reply: "<scratch_pad>a<output>b</output>", at: 14, filler: "x", yes: "markup rescued", no: "reasoning",
		expired: "nyn", cut: "yyy", unknown: "---", complete: "---"},
	doubtClosed: {reply: "<scratch_pad>a<output>b</output></scratch_pad>", at: 14, filler: " ", yes: "markup rescued", no: "reasoning",
		expired: "nyn", cut: "nnn", unknown: "yyy", complete: "yyy"},
	doubtFirstWhite: {reply: "  ", yes: "  ", no: "",
		expired: "yyy!", cut: "yyy", unknown: "yyy", complete: "yyy"},
	doubtLastWhite: {reply: "<output>a ", yes: "a ", no: "a",
		expired: "yyy!", cut: "nnn", unknown: "nnn", complete: "nnn"},
}

// holdsNothing are the doubts for which no byte is held, and the one that another doubt,
// which opened earlier, holds with it.
var holdsNothing = []doubtKind{doubtKept, doubtFirstWhite, doubtLastWhite, doubtMention}

// splitter returns a splitter of a variant that has read the reply.
func (c *doubtCase) splitter(t *testing.T, variant int) *Splitter {
	t.Helper()
	name := c.dialect
	if name == "" {
		name = "default"
	}
	g, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	d := g.Dialect()
	d.OnDoubt, d.PreOpens, d.MaxHold = variants[variant].onDoubt, variants[variant].preOpens, d.MaxMarker
	d.PreOpensSince = ""
	o := c.options
	if o.Start == "" {
		o.Start = BeginOutside
	}
	s, err := MustCompile(d).NewSplitter(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sees returns what becomes of the byte at c.at: its channel, and what is found there. Of
// white space it is the visible text.
func (c *doubtCase) sees(t *testing.T, k doubtKind, variant int, expires bool, end Ending) string {
	t.Helper()
	s := c.splitter(t, variant)
	seen, visible := "", ""
	take := func(pieces []Piece) {
		for _, p := range pieces {
			if p.Offset <= c.at && c.at < p.Offset+len(p.Bytes) {
				seen = p.Channel.String()
			}
			visible += string(p.Visible)
		}
	}
	take(s.FeedString(c.reply))
	switch {
	case !slices.Contains(holdsNothing, k) && s.heldBy() != k:
		t.Errorf("%q opens the doubt %q, want %q", c.reply, doubts[s.heldBy()].name, doubts[k].name)
	case k == doubtMention && s.doubt.kind != k, k == doubtKept && len(s.outer.notes) == 0:
		t.Errorf("%q does not open the doubt %q", c.reply, doubts[k].name)
	}
	if expires {
		for range s.maxHold + len(c.reply) + 1 {
			take(s.FeedString(c.filler))
		}
		take(s.FeedString(c.after))
	}
	take(s.Close(end))
	if k == doubtFirstWhite || k == doubtLastWhite {
		return visible
	}
	for _, d := range s.Diagnostics() {
		if d.Offset == c.at && d.Code != CodeHoldExpired && d.Code != CodeUnclosedOutput && d.Code != CodeTruncated {
			seen += " " + string(d.Code)
		}
	}
	return seen
}

// TestDoubts: each kind of doubt has a reply that opens it, and the table says what is seen
// of it when its time runs out and at each end, in each kind of dialect. If a cell of the
// table changes, so does the reading.
func TestDoubts(t *testing.T) {
	for k := range doubts {
		k, c, row := doubtKind(k), &doubtCases[k], &doubts[k]
		t.Run(row.name, func(t *testing.T) {
			for _, cell := range []struct {
				name  string
				table *answer
				want  string
				end   Ending
			}{
				{"expired", &row.expired, c.expired, EndStopped}, {"cut", &row.cut, c.cut, EndCut}, {"aborted", &row.cut, c.cut, EndAborted},
				{"unknown", &row.unknown, c.unknown, EndUnknown}, {"stopped", &row.complete, c.complete, EndStopped},
			} {
				for v, letter := range strings.TrimSuffix(cell.want, "!") {
					g := Grammar{deliver: variants[v].onDoubt == dialect.DoubtDeliver, preOpens: variants[v].preOpens == dialect.PreOpensYes}
					o := g.outcomes()
					widest := letter == 'Y'
					letter = unicode.ToLower(letter)
					if (letter == '-') != (*cell.table == never) || o.says(*cell.table) != (letter == 'y') {
						t.Errorf("%s, variant %d: the table says %s, want %c", cell.name, v, answerNames[*cell.table], letter)
					}
					if letter == '-' || widest {
						continue
					}
					want, other := c.no, yes
					if letter == 'y' {
						want, other = c.yes, no
					}
					expires := cell.name == "expired"
					if expires && c.filler == "" {
						continue
					}
					if got := c.sees(t, k, v, expires, cell.end); got != want {
						t.Errorf("%s, variant %d: %q is seen, want %q", cell.name, v, got, want)
					}
					if strings.HasSuffix(cell.want, "!") {
						continue
					}
					was := *cell.table
					*cell.table = other
					if got := c.sees(t, k, v, expires, cell.end); got == want {
						t.Errorf("%s, variant %d: %q is seen whatever the table says", cell.name, v, got)
					}
					*cell.table = was
				}
			}
		})
	}
}

// docs/design.md has the table.
func TestDoubtsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("| doubt | question | opened by | answered by | expired | cut, aborted | unknown | stopped |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range doubts {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", r.name, r.asks, r.opened, r.answered,
			answerNames[r.expired], answerNames[r.cut], answerNames[r.unknown], answerNames[r.complete])
	}
	doc, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), b.String()) {
		t.Errorf("docs/design.md, section 3b, must have this table:\n%s", b.String())
	}
}

// What becomes of a doubt is decided in doubts.go alone: no other file asks what the dialect
// says about doubts, how the reply ended, or whether a doubt has expired.
func TestOutcomesAreDecidedInOneFile(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	asks := []string{"deliver", "preOpens", "incomplete", "expired", "complete", "unknown"}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "grammar.go" {
			continue // grammar.go compiles the dialect
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok && slices.Contains(asks, x.Sel.Name) {
				if found++; name != "doubts.go" {
					t.Errorf("%s asks for %s", name, x.Sel.Name)
				}
			}
			if x, ok := n.(*ast.BinaryExpr); ok && name != "doubts.go" {
				if y, ok := x.Y.(*ast.Ident); ok && (y.Name == "EndStopped" || y.Name == "EndUnknown") {
					t.Errorf("%s compares with %s", name, y.Name)
				}
			}
			return true
		})
	}
	if found == 0 {
		t.Error("doubts.go decides nothing")
	}
}
