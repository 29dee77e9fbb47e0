// Package recordcmd has the commands that read and prune a record.
package recordcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/recordtable"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/record"
)

// Command holds the commands about a record.
type Command struct {
	Ls     lsCommand     `cmd:"" help:"List events, one per line."`
	Show   showCommand   `cmd:"" help:"Print events as text: what was thought, what was said."`
	Follow followCommand `cmd:"" help:"Print new events as they are written."`
	Grep   grepCommand   `cmd:"" help:"Search what models, tools and users wrote."`
	Stats  statsCommand  `cmd:"" help:"Summarize: how much was reasoning, what was saved, which models leaked."`
	Export exportCommand `cmd:"" help:"Print events as OpenTelemetry data, in JSON Lines."`
	Table  tableCommand  `cmd:"" help:"Print a table of replies, thoughts, calls, cycles, extractions, verdicts or references."`
	Import importCommand `cmd:"" help:"Make a record of the logs of another program."`
	Index  indexCommand  `cmd:"" help:"Make the files that quicken searches."`
	Verify verifyCommand `cmd:"" help:"Check that the record was not changed."`
	Ship   shipCommand   `cmd:"" help:"Copy the record to object storage."`
	Prune  pruneCommand  `cmd:"" help:"Remove the oldest segments, and keep proof of what they held."`
	Keygen keygenCommand `cmd:"" help:"Make a key pair that signs records."`
}

// Formats are those of others that a program can write and read.
type Formats struct {
	// Parquet writes tables. It may be nil.
	Parquet recordtable.NewFunc
	Logs    []Log
}

// A Log is a kind of log of another program.
type Log struct {
	Name string
	// Types are the types of events of which lines are made, and Prompts says that lines have
	// prompts.
	Types   []record.Type
	Prompts bool
	Write   func(to io.Writer, events iter.Seq2[recordset.Event, error], failed func(error) error) error
	// Import appends the events of logs to a record. It is nil if they cannot be read.
	Import func(Import) func(ctx context.Context, log io.Reader, run string) error
}

// An Import says how logs become a record.
type Import struct {
	To      *record.Writer
	Manner  dialectset.Manner // in which replies are read
	Model   string            // if a log does not say it
	MaxLine int
	Fault   func(line int, err error)
}

// log returns the log with a name, or the error of one that the program does not have.
func (f *Formats) log(flag, name string) (*Log, error) {
	for i := range f.Logs {
		if f.Logs[i].Name == name {
			return &f.Logs[i], nil
		}
	}
	return nil, shell.Missing(flag + " " + name)
}

// New returns the commands.
func New(f Formats) Command {
	return Command{Table: tableCommand{formats: f}, Import: importCommand{formats: f}}
}

// Help explains what a record is.
func (Command) Help() string {
	return `A record is a folder that sotto serve, extract, score, solve and run write with --record DIR: what models were asked, what they thought and said, byte for byte. docs/reference/record.md describes its format, and docs/explanation/record.md what it proves. Reading a record never disturbs the program that writes it.

All commands except follow, ship and prune also take a folder that holds several records, directly or in its folder "records", such as the folder of a study: events come by time, each with the name of its record. They take s3://BUCKET/PREFIX too, where sotto record ship copied records to.

Examples:

    sotto record ls audit --run run-7 --type LLM_INVOCATION
    sotto record show audit 1234
    sotto record grep audit 'forty-two' --in reasoning --model qwen3:8b
    sotto record verify audit --key audit.pub --head "$(cat head)"`
}

// A source names what is read: a record, or several as one.
type source struct {
	Dir      string   `arg:"" name:"dir" help:"The folder of the record, or a folder that holds several, which are read as one, or s3://BUCKET/PREFIX."`
	Identity []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Decrypt with the age identities in FILE; repeatable."`
}

// records opens the records.
func (d *source) records() (*recordset.Set, error) {
	ids, err := recording.ReadIdentities(d.Identity)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	set, err := recordset.Open(d.Dir, record.ReadOptions{Identities: ids})
	return set, readHint(err)
}

// eventName returns how an event is named on the screen: by its number, and by its
// record where there are several.
func eventName(set *recordset.Set, from *recordset.Source, seq uint64) string {
	if !set.Several() {
		return strconv.FormatUint(seq, 10)
	}
	return from.Name + ":" + strconv.FormatUint(seq, 10)
}

// recordName returns the name of a record for an object of JSON: none if there is
// only one.
func recordName(set *recordset.Set, from *recordset.Source) string {
	if !set.Several() {
		return ""
	}
	return from.Name
}

// readHint adds a hint to a reading error.
func readHint(err error) error {
	switch {
	case errors.Is(err, record.ErrSealed):
		return errorhint.Add(err, "the record is encrypted: give an identity with --identity FILE, or leave out the filters by run, cycle, type, model and diagnostic")
	case errors.Is(err, fs.ErrPermission):
		return errorhint.Add(err, "only its owner can read a record")
	}
	return err
}

// A filter holds the flags that select events.
type filter struct {
	Run        string   `placeholder:"RUN" help:"Only events of this run."`
	Cycle      *int     `placeholder:"N" help:"Only events of this cycle."`
	Type       []string `short:"t" placeholder:"TYPE" help:"Only events of this type, such as EXCHANGE or LLM_INVOCATION; repeatable."`
	Model      string   `short:"m" placeholder:"NAME" help:"Only events of this model."`
	Diagnostic string   `short:"d" placeholder:"CODE" help:"Only events with this diagnostic, or this code of an error or advisory."`
	From       string   `placeholder:"TIME" help:"Only events at TIME or later: 2026-11-21, 2026-11-21T10:00:00Z, or 2h (ago)."`
	To         string   `placeholder:"TIME" help:"Only events before TIME."`
	After      uint64   `placeholder:"SEQ" help:"Only events with a number above SEQ; of several records, in each."`
	Limit      int      `short:"n" placeholder:"N" help:"At most N events."`
}

// Validate refuses a limit that selects nothing.
func (q *filter) Validate() error {
	if q.Limit < 0 {
		return fmt.Errorf("--limit %d: want 1 or more, or 0 for no limit", q.Limit)
	}
	return nil
}

// query reads the flags.
func (q *filter) query() (record.Query, error) {
	out := record.Query{Run: q.Run, Cycle: q.Cycle, Model: q.Model, Diagnostic: q.Diagnostic, After: q.After, Limit: q.Limit}
	for _, t := range q.Type {
		out.Types = append(out.Types, record.Type(strings.ToUpper(t)))
	}
	var err error
	if out.From, err = recording.ParseTime(q.From); err != nil {
		return out, errorhint.Usage(fmt.Errorf("--from: %w", err), "")
	}
	if out.To, err = recording.ParseTime(q.To); err != nil {
		return out, errorhint.Usage(fmt.Errorf("--to: %w", err), "")
	}
	return out, nil
}

// badLines reports unreadable lines, and continues.
type badLines struct {
	sh    *shell.Shell
	found int
}

// skip reports an error of one line, and returns any other error.
func (b *badLines) skip(err error) error {
	var line *record.LineError
	if !errors.As(err, &line) || errors.Is(err, record.ErrSealed) {
		return readHint(err)
	}
	b.found++
	b.sh.Errorf("%v", err)
	return nil
}

// err returns the reading error once everything was read.
func (b *badLines) err() error {
	if b.found == 0 {
		return nil
	}
	b.sh.Hintf("run sotto record verify to check whether the record was changed")
	return batch.ErrFailed
}
