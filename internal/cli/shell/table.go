package shell

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/shorttext"
)

// PrintTable prints rows in columns. On a terminal whose width is known, the wide
// columns of the table of dialects shrink. In a pipe nothing is cut.
func PrintTable(w io.Writer, rows [][]string, width int) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	last := len(widths) - 1
	if width > 0 {
		const gaps = 2 * 4
		room := max(30, width-gaps-widths[0]-widths[2])
		widths[1] = min(widths[1], room*2/5)
		widths[3] = min(widths[3], (room-widths[1])/2)
		widths[last] = room - widths[1] - widths[3]
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if width > 0 {
				cell = shorttext.Columns(cell, widths[i])
			}
			line.WriteString(cell)
			if i < last {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
