// Package texttable prints tables in columns. Widths are in characters.
package texttable

import (
	"io"
	"unicode/utf8"
)

// A Layout prints the rows of a table whose widths are known before its cells are,
// so that rows can be printed as they come.
type Layout struct {
	// Widths are at least how wide the columns are, as in package fmt: cells of a
	// negative width begin together, and others end together.
	Widths []int
	// Gap is the number of spaces between columns. If zero, 2.
	Gap int
}

// Append appends a row, as a line without spaces at its end.
func (l Layout) Append(dst []byte, cells ...string) []byte {
	gap := l.Gap
	if gap == 0 {
		gap = 2
	}
	start := len(dst)
	for i, cell := range cells {
		if i > 0 {
			dst = appendSpaces(dst, gap)
		}
		room := max(l.Widths[i], -l.Widths[i]) - utf8.RuneCountInString(cell)
		if l.Widths[i] > 0 {
			dst = appendSpaces(dst, room)
		}
		dst = append(dst, cell...)
		if l.Widths[i] < 0 {
			dst = appendSpaces(dst, room)
		}
	}
	for len(dst) > start && dst[len(dst)-1] == ' ' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '\n')
}

// Print writes a row.
func (l Layout) Print(w io.Writer, cells ...string) error {
	_, err := w.Write(l.Append(nil, cells...))
	return err
}

func appendSpaces(dst []byte, n int) []byte {
	for ; n > 0; n-- {
		dst = append(dst, ' ')
	}
	return dst
}

// Print writes rows in columns that are as wide as their widest cells, which begin
// together. A row may have fewer cells than others.
func Print(w io.Writer, rows [][]string) error {
	var l Layout
	for _, row := range rows {
		for i, cell := range row {
			if i == len(l.Widths) {
				l.Widths = append(l.Widths, 0)
			}
			l.Widths[i] = min(l.Widths[i], -utf8.RuneCountInString(cell))
		}
	}
	var all []byte
	for _, row := range rows {
		all = l.Append(all, row...)
	}
	_, err := w.Write(all)
	return err
}
