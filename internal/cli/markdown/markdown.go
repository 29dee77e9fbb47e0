// Package markdown shows Markdown on a terminal: headings, emphasis, lists, quotes,
// code, tables, and links with their address. Nothing in the text controls the
// terminal: everything is written by a typesetter. HTML is text like any other.
package markdown

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/sotto-llm/sotto/internal/base/typeset"
	"github.com/sotto-llm/sotto/internal/base/visible"
)

// A span is text in one style. A line is what stands on one line of the terminal,
// unless it is code, which may be longer.
type (
	span struct {
		style typeset.Style
		text  string // safe to show, without newlines
	}
	line []span
)

// leastWidth is the narrowest that a text is set, however deep it stands.
const leastWidth = 16

// maxDepth bounds how deep lists and quotes are shown. What is below is shown as it was
// written.
const maxDepth = 16

var reader = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()

// Render writes Markdown for a terminal of a width, with a blank line between blocks.
func Render(w *typeset.Writer, source string, width int) {
	for _, l := range lines(source, max(width, leastWidth)) {
		for _, s := range l {
			w.Set(s.style, s.text)
		}
		w.WriteString("\n")
	}
}

// lines returns a text as lines of a width.
func lines(source string, width int) []line {
	s := setter{source: []byte(strings.ReplaceAll(source, "\r\n", "\n"))}
	context := parser.NewContext()
	root := reader.Parse(text.NewReader(s.source), parser.WithContext(context))
	out := s.blocks(root, width, 0)
	for i, r := range context.References() {
		if i == 0 && len(out) > 0 {
			out = append(out, nil)
		}
		out = append(out, line{{typeset.Dim, safe("[" + string(r.Label()) + "]: " + string(r.Destination()))}})
	}
	return out
}

// safe makes text safe to show before its width is measured, since that changes it.
func safe(text string) string { return visible.Line(text) }

// A setter sets the blocks of a source.
type setter struct{ source []byte }

// blocks sets the children of a node, with a blank line between two of them.
func (s *setter) blocks(of ast.Node, width, depth int) []line {
	var out []line
	for n := of.FirstChild(); n != nil; n = n.NextSibling() {
		more := s.block(n, width, depth)
		if len(out) > 0 && len(more) > 0 && n.Kind() != ast.KindTextBlock && !tight(n) {
			out = append(out, nil)
		}
		out = append(out, more...)
	}
	return out
}

// tight reports whether a block is a list in an item of a list without blank lines.
func tight(n ast.Node) bool {
	if n.Kind() != ast.KindList || n.Parent().Kind() != ast.KindListItem {
		return false
	}
	list, ok := n.Parent().Parent().(*ast.List)
	return ok && list.IsTight
}

func (s *setter) block(n ast.Node, width, depth int) []line {
	if depth > maxDepth {
		return s.raw(n, typeset.Unstyled)
	}
	switch n := n.(type) {
	case *ast.Heading:
		return wrapped(append(line{{typeset.Bold, strings.Repeat("#", n.Level) + " "}}, s.inline(n, typeset.Bold)...), width)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return indented(s.raw(n, typeset.Cyan), line{{text: "    "}}, line{{text: "    "}})
	case *ast.Blockquote:
		mark := line{{typeset.Dim, "│ "}}
		return indented(s.blocks(n, max(width-2, leastWidth), depth+1), mark, mark)
	case *ast.List:
		return s.list(n, width, depth)
	case *ast.ThematicBreak:
		return []line{{{typeset.Dim, strings.Repeat("─", min(width, 24))}}}
	case *ast.HTMLBlock:
		return s.raw(n, typeset.Unstyled)
	case *extast.Table:
		return s.table(n, width)
	}
	if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
		return s.blocks(n, width, depth+1)
	}
	return wrapped(s.inline(n, typeset.Unstyled), width)
}

// raw returns the lines of a block as they were written.
func (s *setter) raw(n ast.Node, style typeset.Style) []line {
	var out []line
	add := func(list *text.Segments) {
		for i := range list.Len() {
			at := list.At(i)
			out = append(out, line{{style, safe(strings.TrimRight(string(at.Value(s.source)), "\r\n"))}})
		}
	}
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Type() == ast.TypeBlock && n.Lines() != nil {
			add(n.Lines())
		}
		if html, ok := n.(*ast.HTMLBlock); ok && entering && html.HasClosure() {
			end := text.NewSegments()
			end.Append(html.ClosureLine)
			add(end)
		}
		return ast.WalkContinue, nil
	})
	return out
}

// indented puts one thing before the first line, and another before the others.
func indented(list []line, first, others line) []line {
	for i, l := range list {
		before := others
		if i == 0 {
			before = first
		}
		list[i] = slices.Concat(before, l)
	}
	return list
}

func (s *setter) list(n *ast.List, width, depth int) []line {
	var out []line
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		indent := utf8.RuneCountInString(mark)
		body := s.blocks(item, max(width-indent, leastWidth), depth+1)
		if len(body) == 0 {
			body = []line{nil}
		}
		if len(out) > 0 && !n.IsTight {
			out = append(out, nil)
		}
		out = append(out, indented(body, line{{text: mark}}, line{{text: strings.Repeat(" ", indent)}})...)
	}
	return out
}

// wrapped breaks a text into lines of a width, between words. A newline span breaks it
// too. A word that is wider than a line has a line of its own, which the terminal
// breaks.
func wrapped(text line, width int) []line {
	var out []line
	var current, word line
	used, long := 0, 0 // characters of the line, and of the word
	space := span{}    // between them
	flush := func() {
		if long == 0 {
			return
		}
		if used > 0 && used+len(space.text)+long > width {
			out, current, used = append(out, current), nil, 0
		} else if used > 0 && space.text != "" {
			current, used = append(current, space), used+1
		}
		current, used = append(current, word...), used+long
		word, long, space = nil, 0, span{}
	}
	for _, s := range text {
		if s.text == "\n" {
			flush()
			out, current, used, space = append(out, current), nil, 0, span{}
			continue
		}
		for part := range pieces(s.text) {
			if part == " " {
				flush()
				space = span{s.style, " "}
				continue
			}
			word, long = append(word, span{s.style, part}), long+utf8.RuneCountInString(part)
		}
	}
	if flush(); len(current) > 0 {
		out = append(out, current)
	}
	for i, l := range out {
		out[i] = joined(l)
	}
	return out
}

// joined makes one span of neighbours in the same style.
func joined(l line) line {
	var out line
	for _, s := range l {
		if n := len(out) - 1; n >= 0 && out[n].style == s.style {
			out[n].text += s.text
			continue
		}
		out = append(out, s)
	}
	return out
}

// pieces cuts a text into words, and a space for each run of white space.
func pieces(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			n := strings.IndexAny(text, " \t")
			switch {
			case n < 0:
				yield(text)
				return
			case n > 0:
				if !yield(text[:n]) {
					return
				}
				text = text[n:]
			default:
				text = strings.TrimLeft(text, " \t")
				if !yield(" ") {
					return
				}
			}
		}
	}
}
