package console

import (
	"bytes"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	rendering "github.com/yuin/goldmark/renderer"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxFormula bounds a formula, in bytes. A longer one stays text.
const maxFormula = 4 << 10

// A formulaMark is a pair of marks around a formula.
type formulaMark struct {
	open, close string
	display     bool // the formula stands on lines of its own
}

// formulaMarks are the marks that models write, the longer of two before its beginning.
var formulaMarks = []formulaMark{{"$$", "$$", true}, {`\[`, `\]`, true}, {`\(`, `\)`, false}, {"$", "$", false}}

// markAt returns the mark that a text begins with.
func markAt(text []byte) (m formulaMark, ok bool) {
	for _, m := range formulaMarks {
		if bytes.HasPrefix(text, []byte(m.open)) {
			return m, true
		}
	}
	return formulaMark{}, false
}

// A formula is TeX within a text, and a formulaBlock is TeX that fills whole lines. Both are
// written as code with the marks around it: the page's script typesets it, and without
// scripts it is readable.
type formula struct {
	ast.BaseInline
	source  []byte
	display bool
}

type formulaBlock struct {
	ast.BaseBlock
	mark formulaMark
	size int // bytes of its lines
	end  int // where the closing mark ends in them; 0 if there is none
}

var (
	kindFormula      = ast.NewNodeKind("Formula")
	kindFormulaBlock = ast.NewNodeKind("FormulaBlock")
)

func (*formula) Kind() ast.NodeKind      { return kindFormula }
func (*formulaBlock) Kind() ast.NodeKind { return kindFormulaBlock }

func (n *formula) Dump(source []byte, level int)      { ast.DumpHelper(n, source, level, nil, nil) }
func (n *formulaBlock) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// IsRaw says that nothing in the block is Markdown.
func (*formulaBlock) IsRaw() bool { return true }

// formulas is the part of the Markdown renderer that knows formulas.
type formulas struct{}

func (formulas) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(
		parser.WithInlineParsers(util.Prioritized(inlineFormulas{}, 150)), // after code, before links
		parser.WithBlockParsers(util.Prioritized(blockFormulas{}, 650)),   // before fences
	)
	m.Renderer().AddOptions(rendering.WithNodeRenderers(util.Prioritized(formulas{}, 1)))
}

func (formulas) RegisterFuncs(r rendering.NodeRendererFuncRegisterer) {
	r.Register(kindFormula, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			f := n.(*formula)
			writeFormula(w, f.source, f.display)
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(kindFormulaBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		text := bytes.TrimRight(n.Lines().Value(source), "\n")
		end := n.(*formulaBlock).end
		_, _ = w.WriteString("<p>")
		if end > 0 && end <= maxFormula {
			writeFormula(w, text[:end], true)
			text = text[end:]
		}
		_, _ = w.Write(util.EscapeHTML(text))
		_, _ = w.WriteString("</p>\n")
		return ast.WalkSkipChildren, nil
	})
}

// The classes of a formula, which the sanitizer and the script know.
const (
	inlineMath  = "math"
	displayMath = "math display"
)

func writeFormula(w util.BufWriter, source []byte, display bool) {
	class := inlineMath
	if display {
		class = displayMath
	}
	_, _ = w.WriteString(`<code class="` + class + `">`)
	_, _ = w.Write(util.EscapeHTML(source))
	_, _ = w.WriteString("</code>")
}

// inlineFormulas finds formulas within a paragraph.
type inlineFormulas struct{}

func (inlineFormulas) Trigger() []byte { return []byte{'$', '\\'} }

func (inlineFormulas) Parse(_ ast.Node, block gmtext.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	m, ok := markAt(line)
	if !ok || m.open == "$" && isMoney(line[1:]) {
		return nil
	}
	at, place := block.Position()
	var source []byte
	for from := len(m.open); len(source) <= maxFormula; from = 0 {
		if line, _ = block.PeekLine(); line == nil {
			break
		}
		end := closes(line, from, m)
		if end > 0 {
			source = append(source, line[:end]...)
			if len(source) > maxFormula {
				break
			}
			block.Advance(end)
			return &formula{source: source, display: m.display}
		}
		if end == never {
			break
		}
		source = append(source, line...)
		block.AdvanceLine()
	}
	block.SetPosition(at, place)
	return nil
}

// isMoney reports whether what follows a single $ cannot be the beginning of a formula.
func isMoney(rest []byte) bool { return len(rest) == 0 || util.IsSpace(rest[0]) }

// never stands for the end of a text that turns out to be no formula.
const never = -1

// closes returns where a formula ends in a line, after its mark; 0 if it goes on.
func closes(line []byte, from int, m formulaMark) int {
	for i := from; i < len(line); i++ {
		switch {
		case bytes.HasPrefix(line[i:], []byte(m.close)):
			end := i + len(m.close)
			if m.open == "$" && (i == from || util.IsSpace(line[i-1]) || end < len(line) && line[end] >= '0' && line[end] <= '9') {
				return never // as in "from $5 to $6"
			}
			return end
		case line[i] == '\\':
			i++ // what follows is a command of TeX
		}
	}
	return 0
}

// blockFormulas finds formulas that begin a line and go over several.
type blockFormulas struct{}

func (blockFormulas) Trigger() []byte { return []byte{'$', '\\'} }

func (blockFormulas) Open(_ ast.Node, reader gmtext.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 {
		return nil, parser.NoChildren
	}
	m, ok := markAt(line[at:])
	if !ok || !m.display || closes(line[at:], len(m.open), m) > 0 { // one line is a paragraph
		return nil, parser.NoChildren
	}
	n := &formulaBlock{mark: m, size: len(line) - at}
	n.Lines().Append(gmtext.NewSegment(segment.Start+at, segment.Stop))
	reader.AdvanceToEOL()
	return n, parser.NoChildren
}

func (blockFormulas) Continue(node ast.Node, reader gmtext.Reader, _ parser.Context) parser.State {
	n := node.(*formulaBlock)
	line, segment := reader.PeekLine()
	if n.end > 0 || util.IsBlank(line) {
		return parser.Close
	}
	n.Lines().Append(segment)
	if end := closes(line, 0, n.mark); end > 0 {
		n.end = n.size + end
	}
	n.size += segment.Len()
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

func (blockFormulas) Close(ast.Node, gmtext.Reader, parser.Context) {}

func (blockFormulas) CanInterruptParagraph() bool { return true }

func (blockFormulas) CanAcceptIndentedLine() bool { return false }
