package markdown

import (
	"strings"
	"unicode/utf8"

	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/sotto-llm/sotto/internal/base/typeset"
)

// unescaped resolves what a text has in place of its characters: \* and &lt;.
func unescaped(text []byte) []byte {
	return util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(text)))
}

// gap stands between two columns.
const gap = 2

// table sets a table in columns. If it is too wide, each cell has lines of its own,
// below the name of its column.
func (s *setter) table(n *extast.Table, width int) []line {
	var rows [][]line
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		style := typeset.Unstyled
		if row.Kind() == extast.KindTableHeader {
			style = typeset.Bold
		}
		var cells []line
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, s.inline(cell, style))
		}
		rows = append(rows, cells)
	}
	widths, all := widthsOf(rows)
	if all > width {
		return stacked(rows, width)
	}
	var out []line
	for i, cells := range rows {
		out = append(out, row(cells, widths, n.Alignments))
		if i == 0 {
			out = append(out, line{{typeset.Dim, strings.Repeat("─", all)}})
		}
	}
	return out
}

// widthsOf returns the widths of the columns, and of the table.
func widthsOf(rows [][]line) (widths []int, all int) {
	for _, cells := range rows {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], widthOf(c))
		}
	}
	for _, w := range widths {
		all += w + gap
	}
	return widths, max(0, all-gap)
}

func widthOf(l line) (n int) {
	for _, s := range l {
		n += utf8.RuneCountInString(s.text)
	}
	return n
}

func row(cells []line, widths []int, alignments []extast.Alignment) line {
	var out line
	for i, c := range cells {
		free := widths[i] - widthOf(c)
		before := 0
		if i < len(alignments) {
			switch alignments[i] {
			case extast.AlignRight:
				before = free
			case extast.AlignCenter:
				before = free / 2
			}
		}
		out = append(append(out, span{text: strings.Repeat(" ", before)}), c...)
		if i < len(cells)-1 {
			out = append(out, span{text: strings.Repeat(" ", free-before+gap)})
		}
	}
	return out
}

// stacked sets the cells of a table below each other.
func stacked(rows [][]line, width int) []line {
	var out []line
	for _, cells := range rows[1:] {
		if len(out) > 0 {
			out = append(out, nil)
		}
		for i, c := range cells {
			var l line
			if i < len(rows[0]) {
				l = append(append(l, rows[0][i]...), span{typeset.Bold, ": "})
			}
			out = append(out, wrapped(append(l, c...), width)...)
		}
	}
	if len(out) == 0 {
		for _, c := range rows[0] {
			out = append(out, wrapped(c, width)...)
		}
	}
	return out
}
