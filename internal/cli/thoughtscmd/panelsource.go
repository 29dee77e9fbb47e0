package thoughtscmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/lab/panel"
	"github.com/sotto-llm/sotto/internal/lab/thoughts"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/record"
)

// collect takes the replies of the source.
func (x *Panel) collect(sh *shell.Shell, names *dialectset.Set, c *panel.Collector) error {
	info, err := os.Stat(x.Source)
	if err == nil && info.IsDir() || objects.Is(x.Source) && !x.Given(x.Source) {
		return x.events(sh, c)
	}
	if x.OnlyRun != "" {
		return errorhint.Usage(errors.New("--run: a file has no runs"), "give the folder of a record")
	}
	return x.lines(sh, names, c)
}

// events takes the replies of a record.
func (x *Panel) events(sh *shell.Shell, c *panel.Collector) error {
	ids, err := recording.ReadIdentities(x.Identity)
	if err != nil {
		return fmt.Errorf("--identity: %w", err)
	}
	set, err := recordset.Open(x.Source, record.ReadOptions{Identities: ids})
	if err != nil {
		return readHint(err)
	}
	for e, err := range thoughts.Events(set, x.OnlyRun) {
		var line *record.LineError
		switch {
		case errors.As(err, &line) && !errors.Is(err, record.ErrSealed):
			sh.Errorf("%v", err)
		case err != nil:
			return readHint(err)
		case e.Type == record.TypeSealed:
			return readHint(record.ErrSealed)
		default:
			c.Event(&e)
		}
	}
	return nil
}

// A lineReader reads the replies of a file.
type lineReader struct {
	*Panel
	paths  [][]jsonpath.Step // of the reply, its id, its author, its thought, and what says how to read it
	manner dialectset.Manner
	lines  *dialectset.LineReader
	finder jsonpath.Finder
	number int
}

// fixedPaths are the paths before those that say how to read a reply.
const fixedPaths = 4

// lines takes the replies of a file.
func (x *Panel) lines(sh *shell.Shell, names *dialectset.Set, c *panel.Collector) (err error) {
	r := &lineReader{Panel: x}
	if r.manner, err = x.Manner(sh, names, sotto.BeginAuto); err != nil {
		return err
	}
	if r.lines, err = x.Reader(names); err != nil {
		return err
	}
	for _, path := range []string{cmp.Or(x.Field, manner.DefaultField), x.IDField, x.AuthorField, cmp.Or(x.ThoughtField, x.IDField)} {
		steps, err := jsonpath.Parse(path)
		if err != nil || jsonpath.Many(steps) {
			return errorhint.Usage(fmt.Errorf("%s: %w", path, cmp.Or(err, errors.New("it names more than one value"))), "want a path such as raw or response.text")
		}
		r.paths = append(r.paths, steps)
	}
	r.paths = append(r.paths, r.lines.Paths...)
	in, err := x.Records.Open(sh, x.Source)
	if err != nil {
		return err
	}
	defer in.Close()
	failed := 0
	for {
		line, err := batch.NextLine(in.Reader, in.Most())
		if errors.Is(err, io.EOF) {
			break
		}
		r.number++
		if err == nil && batch.BlankLine(line) {
			continue
		}
		if err == nil {
			line = batch.TrimLine(line)
			err = cmp.Or(in.Fault(line), in.Explain(line, r.reply(line, c)))
		}
		if err != nil {
			failed++
			sh.Errorf("%s: %s %d: %v", in.Name, in.Unit, r.number, err)
			if failed == maxFailed {
				return fmt.Errorf("%s: %d lines cannot be read", in.Name, failed)
			}
		}
	}
	manner.ReportUnknown(sh, r.lines, r.manner)
	if failed > 0 {
		sh.Hintf("%d lines of %s could not be read, and are not rated", failed, in.Name)
	}
	return nil
}

// maxFailed is after how many lines that cannot be read a file is given up.
const maxFailed = 20

// reply takes the reply of a line.
func (r *lineReader) reply(line []byte, c *panel.Collector) error {
	f := &r.finder
	if err := f.Find(line, r.paths...); err != nil {
		return err
	}
	raw := f.Last(0)
	field := cmp.Or(r.Field, manner.DefaultField)
	if raw == nil {
		return fmt.Errorf("field %s %w", field, jsonpath.ErrMissing)
	}
	if raw[0] != '"' {
		return fmt.Errorf("field %s %w", field, jsonpath.ErrNotString)
	}
	m := r.manner
	if err := r.lines.Read(f, fixedPaths, &m); err != nil {
		return err
	}
	read, err := m.Grammar.Parse(jsontext.Unquote(raw), m.Start, m.End)
	if err != nil {
		return err
	}
	thought := ""
	if v := f.Last(3); r.ThoughtField != "" && v != nil && v[0] == '"' {
		thought = jsontext.Unquote(v)
	}
	c.Line(jsonpath.TextOr(f.Last(1), fmt.Sprintf("line %d", r.number)), jsonpath.TextOr(f.Last(2), ""), thought, read)
	return nil
}
