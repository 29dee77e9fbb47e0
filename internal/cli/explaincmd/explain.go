// Package explaincmd is the command that explains errors and diagnostics by their names.
package explaincmd

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/explain"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/spelling"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/cli/shell"
)

// Command is the command.
type Command struct {
	Error  string `arg:"" optional:"" help:"The name of an error or a diagnostic, or the text of an error message."`
	Search string `placeholder:"WORDS" help:"List the entries that have these words."`
	JSON   bool   `name:"json" help:"Print JSON: one entry, or {\"v\":1,\"entries\":[…]}."`
}

// Help describes the command.
func (*Command) Help() string {
	return `An error of the gateway has its name in the header Sotto-Error of the response, and in the log as explain. Diagnostics, verdicts and statuses are names themselves, with underscores or hyphens: no_visible_answer. On a terminal, the other commands end an error with the name of its entry.

Without a name, all entries are listed. docs/errors.md has them in one table, and the same texts are in docs/reference/errors.

Examples:

    sotto explain token-missing
    sotto explain no_visible_answer
    sotto explain "another writer has the record open"
    sotto explain --search "reasoning lost"`
}

// An entry is an entry as JSON.
type entry struct {
	V        int      `json:"v,omitempty"`
	Name     string   `json:"name"`
	Also     []string `json:"also,omitempty"`
	Group    string   `json:"group"`
	Where    string   `json:"where"`
	Messages []string `json:"messages,omitempty"`
	Meaning  string   `json:"meaning"`
	Why      string   `json:"why"`
	Do       string   `json:"do"`
}

func entryOf(e explain.Entry) entry {
	return entry{0, e.Name, e.Also, e.Group, e.Where, e.Messages, e.Meaning, e.Why, e.Do}
}

// Run prints an entry, or a list of entries.
func (c *Command) Run(sh *shell.Shell) error {
	switch {
	case c.Error != "" && c.Search != "":
		return errorhint.Usage(errors.New("--search takes no name"), "")
	case c.Search != "":
		found := explain.Search(c.Search)
		if len(found) == 0 {
			return errorhint.Add(fmt.Errorf("no entry has the words %s", shorttext.Quote(c.Search)), `"sotto explain" lists all entries`)
		}
		return c.list(sh, found)
	case c.Error == "":
		return c.list(sh, explain.Entries())
	}
	e, ok := explain.Find(c.Error)
	if !ok {
		e, ok = explain.OfText(c.Error)
	}
	if !ok {
		return unknown(c.Error)
	}
	if c.JSON {
		one := entryOf(e)
		one.V = 1
		return shell.PrintJSON(sh.Out, one)
	}
	_, err := fmt.Fprint(sh.Text, sh.Named(e.Plain(cmp.Or(min(sh.Out.Width(), widest), widest))))
	return err
}

// widest is the longest line of a text.
const widest = 100

// unknown is the error of a name, or of a message, that no entry has.
func unknown(name string) error {
	err := fmt.Errorf("no entry is called %s", shorttext.Quote(name))
	if near := spelling.Nearest(name, explain.Names()); near != "" {
		return errorhint.Usage(err, `did you mean "`+near+`"?`)
	}
	var names []string
	for _, e := range explain.Search(name) {
		names = append(names, e.Name)
	}
	if len(names) > 0 {
		return errorhint.Usage(err, "these may be about it: "+strings.Join(names[:min(len(names), mostNear)], ", "))
	}
	return errorhint.Usage(err, `"sotto explain" lists all entries`)
}

// mostNear is how many entries are suggested.
const mostNear = 8

func (c *Command) list(sh *shell.Shell, list []explain.Entry) error {
	if c.JSON {
		all := struct {
			V       int     `json:"v"`
			Entries []entry `json:"entries"`
		}{V: 1}
		for _, e := range list {
			all.Entries = append(all.Entries, entryOf(e))
		}
		return shell.PrintJSON(sh.Out, all)
	}
	rows := make([][]string, 0, len(list))
	longest := 0
	for _, e := range list {
		longest = max(longest, len(e.Name))
	}
	for _, e := range list {
		brief := e.Brief()
		if width := sh.Out.Width(); width > 0 {
			brief = shorttext.Columns(brief, max(20, width-longest-2))
		}
		rows = append(rows, []string{e.Name, brief})
	}
	return texttable.Print(sh.Text, rows)
}
