package historycmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/lab/historyreplay"
)

// rows are the replies in the output. Without an output nothing is kept.
type rows struct {
	file  *os.File
	known map[string]bool // the keys of those that are there
}

// openRows reads the replies of an earlier run, and counts them.
func (r *replay) openRows() error {
	r.runner.Write = r.keep
	r.runner.Done = func(key string) bool { return r.rows.known[key] }
	if r.Output == "" || r.DryRun {
		return nil
	}
	file, err := shell.OpenAppend(r.Output)
	if err != nil {
		return fmt.Errorf("open %s: %w", r.Output, files.Cause(err))
	}
	r.rows.file = file
	if err := filelock.Try(file); errors.Is(err, filelock.ErrHeld) {
		return fmt.Errorf("%s: another process writes to it", r.Output)
	}
	if err := r.earlier(); err != nil {
		return fmt.Errorf("%s: %w", r.Output, err)
	}
	return nil
}

// earlier reads the rows that are there. A torn line at the end is cut off.
func (r *replay) earlier() error {
	whole, err := batch.WholeLines(r.rows.file)
	if err != nil {
		return files.Cause(err)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(r.rows.file, 0, whole), 64<<10)
	for number := 1; ; number++ {
		line, err := batch.NextLine(in, 0)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: %w", number, err)
		}
		var row historyreplay.Row
		if err := foreignjson.Check(line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if err := json.Unmarshal(line, &row); err != nil || row.Event == "" || row.Policy == "" {
			return fmt.Errorf("line %d: not a row of an earlier run", number)
		}
		if r.As != "" && row.Model != r.As {
			return fmt.Errorf("line %d: a row of the model %q, and --as says another: give another output", number, row.Model)
		}
		if r.rows.known == nil {
			r.rows.known = map[string]bool{}
		}
		r.rows.known[row.Key()] = true
		r.tally.Add(&row)
	}
	return r.rows.file.Truncate(whole)
}

func (o *rows) write(row *historyreplay.Row) error {
	if o.file == nil {
		return nil
	}
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false) // tags stay as they are
	if err := e.Encode(row); err != nil {
		return err
	}
	if _, err := o.file.Write(line.Bytes()); err != nil {
		return fmt.Errorf("write: %w", files.Cause(err))
	}
	return nil
}

func (o *rows) close() {
	if o.file != nil {
		o.file.Close()
	}
}
