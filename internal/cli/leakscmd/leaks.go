// Package leakscmd has the command that counts leaks in logs.
package leakscmd

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/lab/inputfiles"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/reply/leak"
)

// Command counts leaks in logs.
type Command struct {
	Files []string `arg:"" optional:"" name:"file" placeholder:"FILE" help:"The logs. Without one, standard input is read."`
	Field string   `placeholder:"PATH" help:"Read only this field of each record, such as output, choices.#.message.content (every element) or messages.-1.content (from the end)."`
	reading.Records
	MaxLeaked string `name:"max-leaked" placeholder:"N" help:"Exit with status 5 if more replies leak: a number, or a share such as 1%."`
	Examples  int    `default:"2" placeholder:"N" help:"How many examples of each kind to show (${default})."`
	JSON      bool   `name:"json" help:"Print the report as JSON."`
}

// Help shows examples.
func (Command) Help() string {
	return `Reads logs that exist already, and counts the replies in which reasoning was delivered as the answer: by kind, by model and by route, with examples. The shape of the log is found out: conversations, requests with their responses, responses of OpenAI, Anthropic, Ollama and Gemini, streams, and rows with a column for the reply, in JSON Lines, JSON, CSV, Parquet or an .eval file; and plain text, as a transcript or as one reply. Compressed files are decompressed. What users and systems say is not looked at, and of a request with a response only the response. Of a row, each text that holds a marker is read, whatever its name. The last line of the report says from which columns replies were read. To choose one, give --field, or --from for a usual log.

A tag that is quoted, in code, or a word in a sentence is not a leak, and reasoning without any marker is not found; of replies that begin like a thought (“Here's my thinking:”), the report says how many there are, and they do not count. The guide is docs/leaks.md. Exit status: 0 if all files were read, 1 if something could not be read or a file has no reply, 5 if more replies leak than --max-leaked allows.

Examples:

    sotto leaks requests.jsonl
    sotto leaks --json logs/*.jsonl.gz export.parquet
    sotto leaks --field delivered.text traces.jsonl
    sotto leaks --from lm-eval samples_gsm8k.jsonl
    sotto leaks --max-leaked 0 nightly.jsonl`
}

// maxExamples bounds --examples.
const maxExamples = 1000

// Validate refuses flags that cannot be read.
func (c *Command) Validate() error {
	if c.Examples < 0 || c.Examples > maxExamples {
		return fmt.Errorf("--examples %d: want 0 to %d", c.Examples, maxExamples)
	}
	if c.Field != "" && c.From != "" {
		return errors.New("--field and --from: give one of them")
	}
	if _, err := c.path(); err != nil {
		return err
	}
	_, err := c.exceeds(&leak.Report{})
	return err
}

// path returns the steps to --field, or to the reply in the records of --from. It is nil
// if the replies are searched for.
func (c *Command) path() ([]jsonpath.Step, error) {
	switch {
	case c.From != "":
		return jsonpath.Parse(manner.DefaultField)
	case c.Field != "":
		return jsonpath.Parse(c.Field)
	}
	return nil, nil
}

// exceeds reports whether more replies leak than the gate allows.
func (c *Command) exceeds(r *leak.Report) (bool, error) {
	wrong := fmt.Errorf("--max-leaked %s: want a number of replies, or a share from 0%% to 100%%", c.MaxLeaked)
	switch number, percent := strings.CutSuffix(c.MaxLeaked, "%"); {
	case c.MaxLeaked == "":
		return false, nil
	case percent:
		share, err := strconv.ParseFloat(number, 64)
		if err != nil || !(share >= 0 && share <= 100) {
			return false, wrong
		}
		return float64(r.Leaked)*100 > share*float64(r.Replies), nil
	default:
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return false, wrong
		}
		return r.Leaked > n, nil
	}
}

// Run reads the logs and prints the report.
func (c *Command) Run(sh *shell.Shell, names *dialectset.Set) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	finder := leak.New(names.Dialects())
	finder.ForModel = names.ForModel
	l := &logs{Command: c, sh: sh, finder: finder, tally: leak.NewTally(c.Examples), path: path, families: newFamilies(names)}
	if len(c.Files) == 0 {
		c.Files = []string{"-"}
	}
	for _, name := range c.Files {
		if err := l.search(name); err != nil {
			return err
		}
	}
	report := l.tally.Report()
	if err := c.print(sh, report, l.families.tally(report)); err != nil {
		return err
	}
	more, err := c.exceeds(report)
	switch {
	case err != nil:
		return err
	case more:
		return shell.GateFailed(fmt.Errorf("%d of %d replies leak, which is more than --max-leaked %s", report.Leaked, report.Replies, c.MaxLeaked))
	case l.faults > 0:
		return errors.New(shorttext.Plural(l.faults, "1 record could not be read", "%d records could not be read"))
	case l.without != "":
		return errorhint.Add(fmt.Errorf("%s: no reply was found", l.without), "a row needs a column such as response, or the role of a message; or name the column by --field")
	}
	return nil
}

// logs are being read.
type logs struct {
	*Command
	sh       *shell.Shell
	finder   *leak.Finder
	tally    *leak.Tally
	path     []jsonpath.Step // of the one field that is read, or nil
	families *families
	faults   int
	without  string // the first file in which no reply was found
}

// shownFaults is how many faults of a file are printed.
const shownFaults = 3

// search reads one file.
func (l *logs) search(name string) error {
	file, err := l.sh.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	before := l.tally.Replies()
	if err := l.open(file, name); err != nil {
		return err
	}
	if l.tally.Replies() == before && l.without == "" {
		l.without = file.Name
	}
	return nil
}

func (l *logs) open(file *shell.Input, name string) error {
	in := bufio.NewReaderSize(file, 64<<10)
	if l.path == nil && !l.Given(name) && !inputfiles.Looks(in) {
		return l.whole(file.Name, in)
	}
	source, err := inputfiles.Open(inputfiles.Input{Reader: in, Name: file.Name, File: file.File()}, l.Settings())
	if err != nil {
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	defer source.Close()
	progress := &shell.Progress{}
	if source.Sized {
		progress = shell.NewProgress(l.sh, file)
	}
	defer progress.Clear()
	faults := 0
	p := &batch.Pipeline{
		Line: func(dst, line, _ []byte, at batch.Place) ([]byte, error) {
			if err := source.Fault(line); err != nil {
				return dst, err
			}
			return dst, l.record(file.Name, at.Number(), line)
		},
		Fault: func(at batch.Place, err error) {
			if faults++; faults <= shownFaults {
				progress.Clear()
				l.sh.Errorf("%s: %s: %v", file.Name, at.In(source.Unit), err)
			}
		},
		Advance: progress.Advance,
		MaxLine: int(l.MaxLine),
		Offsets: source.Unit == "line",
	}
	err = p.Run(source, io.Discard)
	l.faults += faults
	if faults > shownFaults {
		l.sh.Errorf("%s: %d more records could not be read", file.Name, faults-shownFaults)
	}
	if errors.Is(err, batch.ErrFailed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	return nil
}

// record counts the replies of a line.
func (l *logs) record(file string, number int, line []byte) error {
	if batch.Blank(line) {
		return nil
	}
	v, err := foreignjson.Parse(line)
	if err != nil {
		return err
	}
	to := &counted{&leak.Record{Tally: l.tally, File: file, Number: number}, l.families}
	if l.path == nil {
		l.finder.Record(v, to)
		return nil
	}
	var f jsonpath.Finder
	if err := f.Find(line, l.path); err != nil {
		return err
	}
	name := cmp.Or(l.Field, l.From)
	if len(f.Found[0]) == 0 && l.From == "" {
		return fmt.Errorf("field %s %w", name, jsonpath.ErrMissing)
	}
	for _, at := range f.Found[0] {
		field, err := foreignjson.Parse(line[at.Start:at.End])
		if err != nil {
			return err
		}
		l.finder.Field(v, field, name, to)
	}
	return nil
}

// whole counts the replies of a text, or of one JSON object over several lines.
func (l *logs) whole(name string, in io.Reader) error {
	text, err := files.ReadAll(in, int64(l.MaxLine))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if err := notText(text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	l.finder.Whole(text, &counted{&leak.Record{Tally: l.tally, File: name}, l.families})
	return nil
}

// notText returns an error that says why bytes are no text in UTF-8.
func notText(data []byte) error {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return errorhint.Add(errors.New("it is UTF-16, not UTF-8"), "iconv -f UTF-16 -t UTF-8 converts it")
		}
	}
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == 0 || r == utf8.RuneError && size == 1 {
			return fmt.Errorf("it is not text: byte %d is 0x%02x", at, data[at])
		}
		at += size
	}
	return nil
}

// sampleWidth is how much of an example is shown.
const sampleWidth = 80

// print prints the report.
func (c *Command) print(sh *shell.Shell, r *leak.Report, dialects *dialectset.Tally) error {
	if c.JSON {
		return shell.PrintJSON(sh.Out, struct {
			*leak.Report
			Dialects *dialectset.Tally `json:"dialects"`
		}{r, dialects})
	}
	if r.Leaked > 0 {
		rows := [][]string{{"LEAK", "IN", "REPLIES", "SHARE"}}
		for _, k := range r.Kinds {
			rows = append(rows, []string{string(k.Kind), string(k.Where), strconv.Itoa(k.Replies), share(k.Replies, r.Replies)})
		}
		rows = append(rows, nil, []string{"MODEL", "ROUTE", "LEAKED", "OF", "SHARE"})
		for _, g := range r.Groups[:min(len(r.Groups), shownGroups)] {
			rows = append(rows, []string{short(g.Model), short(g.Route), strconv.Itoa(g.Leaked), strconv.Itoa(g.Replies), share(g.Leaked, g.Replies)})
		}
		for _, table := range [][][]string{rows[:len(r.Kinds)+1], rows[len(r.Kinds)+2:]} {
			if err := texttable.Print(sh.Text, table); err != nil {
				return err
			}
			fmt.Fprintln(sh.Text)
		}
		printExamples(sh, r.Examples)
	}
	printExamples(sh, r.Hinting)
	var read []string
	for _, column := range r.Read[:min(len(r.Read), shownColumns)] {
		read = append(read, fmt.Sprintf("%s %d", short(column.Name), column.Replies))
	}
	if more := len(r.Read) - shownColumns; more > 0 {
		read = append(read, fmt.Sprintf("%d more", more))
	}
	hints := ""
	if r.Hints > 0 {
		hints = fmt.Sprintf("%s begin like a thought, by the wording alone; that is a hint, and counts nowhere\n", shorttext.Plural(r.Hints, "1 more reply seems to", "%d more replies seem to"))
	}
	families := dialects.String()
	if families != "" {
		families = "dialects: " + families + "\n"
	}
	_, err := fmt.Fprintf(sh.Text, "%d of %s leak (%s)\n%s%sread: %s\n", r.Leaked, shorttext.Count(r.Replies, "reply"), share(r.Leaked, r.Replies), hints, families, cmp.Or(strings.Join(read, " · "), "nothing"))
	return err
}

func printExamples(sh *shell.Shell, list []leak.Example) {
	for _, e := range list {
		where := short(e.File)
		if e.Record > 0 {
			where += ":" + strconv.Itoa(e.Record)
		}
		fmt.Fprintf(sh.Text, "%s: %s in %s: %s\n", where, e.Kind, e.Where, shorttext.OneLine(shorttext.Columns(visible.Line(e.Sample), sampleWidth)))
	}
	if len(list) > 0 {
		fmt.Fprintln(sh.Text)
	}
}

// shownColumns is how many columns are shown; --json has all.
const shownColumns = 12

// shownGroups is how many models are shown; --json has all.
const shownGroups = 20

func share(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(of))
}

// short shows a name from a log.
func short(name string) string {
	if name == "" {
		return "-"
	}
	return visible.OneLine(shorttext.Ellipsis(name, 60))
}
