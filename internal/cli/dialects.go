package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
)

type dialectsCommand struct {
	JSON   bool   `name:"json" help:"Print JSON: one row with NAME, else all."`
	Prompt string `placeholder:"NAME" help:"Print the instruction text that teaches the protocol NAME to a model."`
	Name   string `arg:"" optional:"" placeholder:"NAME" help:"Print this dialect as JSON."`
}

// Help shows examples.
func (dialectsCommand) Help() string {
	return `On a terminal the table is cut to its width; NAME, --json and a pipe have all of it.

Examples:

    sotto dialects
    sotto dialects harmony
    sotto dialects --prompt output
    sotto dialects --dialect-file mine.json --json`
}

// Run prints the table, a row, or an instruction text.
func (d *dialectsCommand) Run(sh *shell, c *catalogue) error {
	switch {
	case d.Prompt != "" && d.Name != "":
		return usageError{fmt.Errorf("--prompt %s and %s: want one name", d.Prompt, d.Name), ""}
	case d.Prompt != "":
		return d.printPrompt(sh, c)
	case d.Name != "":
		row, err := c.row(d.Name)
		if err != nil {
			return err
		}
		return printJSON(sh.out, versioned{1, row})
	case d.JSON:
		return printJSON(sh.out, struct {
			V        int             `json:"v"`
			Dialects []sotto.Dialect `json:"dialects"`
		}{1, c.dialects()})
	}
	return printTable(sh.text, dialectRows(c.dialects()), sh.out.width())
}

type versioned struct {
	V int `json:"v"`
	sotto.Dialect
}

func (d *dialectsCommand) printPrompt(sh *shell, c *catalogue) error {
	row, err := c.row(d.Prompt)
	if err != nil {
		return err
	}
	if row.Prompt == "" {
		return hinted{
			fmt.Errorf("dialect %s has no instruction text: its models were trained to write it", d.Prompt),
			"these have one: " + strings.Join(withPrompt(c.dialects()), ", "),
		}
	}
	_, err = fmt.Fprintln(sh.out, strings.TrimRight(row.Prompt, "\n"))
	return err
}

func withPrompt(rows []sotto.Dialect) []string {
	var names []string
	for _, d := range rows {
		if d.Prompt != "" {
			names = append(names, d.Name)
		}
	}
	return names
}

// row returns one dialect as it was written, its defaults left out.
func (c *catalogue) row(name string) (sotto.Dialect, error) {
	for _, d := range c.dialects() {
		if d.Name == name {
			return d, nil
		}
	}
	g, err := c.named(name)
	if err != nil {
		return sotto.Dialect{}, unknownDialect(err)
	}
	return g.Dialect(), nil
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// dialectRows makes the table: name, markers, pre-opens and since when, sources.
func dialectRows(dialects []sotto.Dialect) [][]string {
	rows := [][]string{{"NAME", "MARKERS", "PRE-OPENS", "SINCE", "SOURCES"}}
	for _, d := range dialects {
		opens, since := string(d.PreOpens), d.PreOpensSince
		switch {
		case opens == "": // a protocol of a prompt, which no template opens
			opens, since = "no", "-"
		case since == "":
			since = "not found"
		}
		rows = append(rows, []string{d.Name, markers(d), opens, since, strings.Join(d.Sources, ", ")})
	}
	return rows
}

// markers lists what a dialect's markers look like.
func markers(d sotto.Dialect) string {
	var list []string
	for _, m := range d.Markers {
		switch {
		case m.Tag != "":
			list = append(list, "<"+m.Tag+">")
		case len(m.Open) > 0:
			list = append(list, oneLine(m.Open[0]))
		}
	}
	if d.Header != nil && len(d.Header.Begin) > 0 {
		list = append(list, oneLine(d.Header.Begin[0])+"…")
	}
	return strings.Join(list, " ")
}

func oneLine(marker string) string {
	return strings.ReplaceAll(strings.Trim(marker, "\n"), "\n", "⏎")
}

// printTable prints rows in columns. On a terminal of some width the wide columns
// of the table of dialects give way; in a pipe nothing is cut.
func printTable(w io.Writer, rows [][]string, width int) error {
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
				cell = shorten(cell, widths[i])
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

// shorten cuts text to width characters.
func shorten(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	runes := []rune(text)
	return string(runes[:max(0, width-1)]) + "…"
}
