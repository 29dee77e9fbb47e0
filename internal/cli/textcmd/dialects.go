package textcmd

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// Dialects lists the dialects, or prints one.
type Dialects struct {
	JSON   bool   `name:"json" help:"Print JSON: one row with NAME, otherwise all."`
	Detect string `placeholder:"FILE" help:"Print which dialects fit the replies in FILE: one reply, or records."`
	Field  string `default:"raw" placeholder:"PATH" setting:"SOTTO_FIELD" help:"With --detect: the field of the reply. Of a record without it, every string counts."`
	Prompt string `placeholder:"NAME" help:"Print the instruction text that teaches the protocol NAME to a model."`
	Name   string `arg:"" optional:"" placeholder:"NAME" help:"Print this dialect as JSON."`
}

// Help shows examples.
func (Dialects) Help() string {
	return `On a terminal, the table is cut to the terminal's width. NAME, --json and a pipe give all of it.

With --detect, the dialects are listed whose markers of reasoning, or headers, are in the replies: in how many (REPLIES), and in how many of these there is no marker of another dialect (ALONE). The best is the first. Many dialects share <think>, so the name of the model tells more: --model. Without a marker nothing is listed, and the exit status is 3.

Examples:

    sotto dialects
    sotto dialects harmony
    sotto dialects --prompt output
    sotto dialects --detect replies.jsonl --field response
    sotto dialects --dialect-file mine.json --json`
}

// Run prints the table, a row, or an instruction text.
func (d *Dialects) Run(sh *shell.Shell, c *dialectset.Set) error {
	switch {
	case d.Detect != "" && d.Name+d.Prompt != "":
		return errorhint.Usage(errors.New("--detect takes no other name"), "")
	case d.Detect != "":
		return d.detect(sh, c)
	case d.Prompt != "" && d.Name != "":
		return errorhint.Usage(fmt.Errorf("--prompt %s and %s: want one name", d.Prompt, d.Name), "")
	case d.Prompt != "":
		return d.printPrompt(sh, c)
	case d.Name != "":
		row, err := c.Row(d.Name)
		if err != nil {
			return err
		}
		return shell.PrintJSON(sh.Out, versioned{1, row})
	case d.JSON:
		return shell.PrintJSON(sh.Out, struct {
			V        int               `json:"v"`
			Dialects []dialect.Dialect `json:"dialects"`
		}{1, c.Dialects()})
	}
	rows := dialectRows(c.Dialects())
	if width := sh.Out.Width(); width > 0 {
		fit(rows, width)
	}
	return texttable.Print(sh.Text, rows)
}

// fit cuts the cells of the wide columns, so that the table is as wide as a
// terminal. In a pipe nothing is cut.
func fit(rows [][]string, width int) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	const gaps = 2 * 4
	room := max(30, width-gaps-widths[0]-widths[2])
	widths[1] = min(widths[1], room*2/5)
	widths[3] = min(widths[3], (room-widths[1])/2)
	widths[len(widths)-1] = room - widths[1] - widths[3]
	for _, row := range rows {
		for i, cell := range row {
			row[i] = shorttext.Columns(cell, widths[i])
		}
	}
}

type versioned struct {
	V int `json:"v"`
	dialect.Dialect
}

func (d *Dialects) printPrompt(sh *shell.Shell, c *dialectset.Set) error {
	row, err := c.Row(d.Prompt)
	if err != nil {
		return err
	}
	if row.Prompt == "" {
		return errorhint.Add(
			fmt.Errorf("dialect %s has no instruction text: its models were trained to write it", d.Prompt),
			"these have one: "+strings.Join(WithPrompt(c.Dialects()), ", "))

	}
	_, err = fmt.Fprintln(sh.Out, strings.TrimRight(row.Prompt, "\n"))
	return err
}

// WithPrompt returns the names of the dialects that have an instruction text.
func WithPrompt(rows []dialect.Dialect) []string {
	var names []string
	for _, d := range rows {
		if d.Prompt != "" {
			names = append(names, d.Name)
		}
	}
	return names
}

// dialectRows makes the table: name, markers, pre-opened channels and since when,
// sources.
func dialectRows(dialects []dialect.Dialect) [][]string {
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

// markers lists examples of a dialect's markers.
func markers(d dialect.Dialect) string {
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
