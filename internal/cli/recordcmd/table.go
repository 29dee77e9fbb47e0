package recordcmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/recordtable"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

type tableCommand struct {
	Kind     string   `arg:"" name:"kind" enum:"replies,thoughts,calls,cycles,extractions,verdicts,edges,events" help:"What has a row: replies, thoughts, calls, cycles, extractions, verdicts, edges (references between them), or with --as: events."`
	Dirs     []string `arg:"" name:"dir" help:"The folders of records, or of several records each, or s3://BUCKET/PREFIX."`
	Identity []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Decrypt with the age identities in FILE; repeatable."`
	filter
	As     string `placeholder:"LOG" help:"Write the field names of another program's log instead: contreact or graphbot, for the table of events, in JSON Lines."`
	Format string `placeholder:"FORMAT" help:"csv, jsonl or parquet. Without it, the name of the output says it, or it is csv."`
	Output string `short:"o" placeholder:"FILE" help:"Write to FILE instead of standard output. It appears when it is whole."`

	formats Formats
}

// Help explains the rows.
func (tableCommand) Help() string {
	return `Prints a table with a row for each thing, for programs that analyze data. Its columns, their types and units are in docs/tables.md, and stay the same. The rows come by time; seq and record say where a row comes from, and reply_seq and reply_choice join rows to replies.

A text of which some was not recorded (by a level, a pattern or a secret) is null, and the column cut is true: a text in the table is always whole. Rows are written as events are read, in bounded memory. --limit counts events.

In CSV, texts are in quotes, and a missing value is nothing. Texts are as the models wrote them: a spreadsheet may take one that begins with = for a formula, so import these columns as text.

Examples:

    sotto record table replies audit > replies.csv
    sotto record table thoughts study -o thoughts.parquet
    sotto record table cycles audit study --run run-7 --format jsonl
    sotto record table events study --as contreact -o run.jsonl
    sotto record table events solved --as graphbot -o solved.calls.jsonl`
}

// Validate checks the format.
func (t *tableCommand) Validate() error {
	switch {
	case t.As != "" && t.As != "contreact" && t.As != "graphbot":
		return fmt.Errorf("--as %q: want contreact or graphbot", t.As)
	case (t.As != "") != (t.Kind == "events"):
		return errors.New("the table of events is written with --as contreact or --as graphbot, and no other is")
	case t.As != "" && t.Format == "" && recordtable.FormatOf(t.Output) == "":
		return nil
	case t.As != "" && t.format() != recordtable.JSONL:
		return fmt.Errorf("--as %s is written as JSON Lines", t.As)
	}
	if f := t.format(); f != recordtable.CSV && f != recordtable.JSONL && f != recordtable.Parquet {
		return fmt.Errorf("--format %q: want csv, jsonl or parquet", t.Format)
	}
	return nil
}

func (t *tableCommand) format() recordtable.Format {
	return cmp.Or(recordtable.Format(strings.ToLower(t.Format)), recordtable.FormatOf(t.Output), recordtable.CSV)
}

// Run writes the table.
func (t *tableCommand) Run(sh *shell.Shell) error {
	q, err := t.query()
	if err != nil {
		return err
	}
	table, log, types, err := t.kind()
	if err != nil {
		return err
	}
	if q.Types, err = t.typesOf(types, q.Types); err != nil {
		return err
	}
	ids, err := recording.ReadIdentities(t.Identity)
	if err != nil {
		return fmt.Errorf("--identity: %w", err)
	}
	set, err := recordset.OpenAll(t.Dirs, record.ReadOptions{Identities: ids, NoPrompts: log == nil || !log.Prompts})
	if err != nil {
		return readHint(err)
	}
	bad := badLines{sh: sh}
	write := func(to io.Writer) error {
		if log != nil {
			return log.Write(to, set.Events(q), bad.skip)
		}
		w, err := recordtable.NewWriter(t.format(), to, table.Columns, t.formats.Parquet)
		if err != nil {
			return err
		}
		return table.Write(w, set.Events(q), bad.skip)
	}
	if t.Output == "" || t.Output == "-" {
		return cmp.Or(write(sh.Results(true)), bad.err())
	}
	file, err := sh.Replace(t.Output)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Discard()
		return err
	}
	return cmp.Or(file.Commit(), bad.err())
}

// kind returns the kind of table, or the log of another program, and the types of events
// that it is made of.
func (t *tableCommand) kind() (*recordtable.Table, *Log, []record.Type, error) {
	if t.As != "" {
		log, err := t.formats.log("--as", t.As)
		if err != nil {
			return nil, nil, nil, err
		}
		return nil, log, log.Types, nil
	}
	if t.format() == recordtable.Parquet && t.formats.Parquet == nil {
		return nil, nil, nil, shell.Missing("--format parquet")
	}
	table := recordtable.Named(t.Kind)
	return table, nil, table.Types, nil
}

// typesOf returns the types of events to read for a table. Types that are asked for
// narrow them.
func (t *tableCommand) typesOf(types, asked []record.Type) ([]record.Type, error) {
	if len(asked) == 0 {
		return types, nil
	}
	for _, name := range asked {
		if !slices.Contains(types, name) {
			return nil, errorhint.Usage(fmt.Errorf("--type %s: the table of %s is made of %v", name, t.Kind, types), "")
		}
	}
	return asked, nil
}
