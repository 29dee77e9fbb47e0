package textcmd

import (
	"errors"
	"io"

	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/columns"
	"github.com/sotto-llm/sotto/internal/lab/shards"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// A lineOutput holds the flags that say where the lines of a command go.
type lineOutput struct {
	reading.Columns
	reading.Sharding
	Output string `short:"o" placeholder:"FILE" help:"With --jsonl: write to FILE instead of standard output. It appears when it is whole. FILE.parquet is a Parquet file: the rows of a Parquet input, or a column for each member of other records, with new columns."`
}

func (o *lineOutput) validate(jsonl bool, files []string) error {
	if !jsonl && o.Output != "" {
		return errors.New("--output needs --jsonl")
	}
	if !jsonl && len(files) > 1 {
		return errors.New("several FILEs need --jsonl")
	}
	if err := o.ValidateShard(o.Output, jsonl); err != nil {
		return err
	}
	return o.ValidateColumns(o.Output, jsonl, len(files))
}

// one returns the FILE of a command that reads one reply, or "" for standard input.
func one(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return files[0]
}

// A lineRun processes the records of FILEs. It reports faults, and shows a progress
// bar if someone is watching.
type lineRun struct {
	strict    bool
	records   reading.Records
	to        *lineOutput
	files     []string
	members   any // a struct with the types of new members
	catalogue *dialectset.Set
	as        *reading.Invocation
	watch     *reading.Watch
}

// run processes each line with the function that process returns. The set of new
// members is nil if there are none.
func (r *lineRun) run(sh *shell.Shell, process func(*columns.Set) batch.LineFunc) error {
	var set *columns.Set
	var err error
	if r.to.Adds(r.to.Output) {
		if set, err = r.to.Set(r.members); err != nil {
			return err
		}
	}
	if r.to.Shard != "" {
		return r.shard(sh, set, process(set))
	}
	files := r.files
	if len(files) == 0 {
		files = []string{""}
	}
	in, err := r.records.Open(sh, files[0]) // before the output, which may be wrong too
	if err != nil {
		return err
	}
	out, err := reading.OpenAdded(sh, set, r.to.Output, files...)
	if err != nil {
		in.Close()
		return err
	}
	return out.Close(r.each(sh, in, files[1:], out, process(set)), r.strict)
}

// each processes an input, and then the files that are left.
func (r *lineRun) each(sh *shell.Shell, in *reading.Input, left []string, out *reading.Added, f batch.LineFunc) error {
	failed := false
	for {
		line, to, err := out.Input(in, in.Lines(f))
		if err == nil {
			err = r.input(sh, in, to, line)
		}
		in.Close()
		failed = failed || errors.Is(err, batch.ErrFailed)
		switch {
		case err != nil && (r.strict || !errors.Is(err, batch.ErrFailed)):
			return err
		case len(left) == 0 && failed:
			return batch.ErrFailed
		case len(left) == 0:
			return nil
		}
		if in, err = r.records.Open(sh, left[0]); err != nil {
			return err
		}
		left = left[1:]
	}
}

// shard processes a part of the inputs.
func (r *lineRun) shard(sh *shell.Shell, set *columns.Set, f batch.LineFunc) error {
	return r.to.RunShard(sh, &reading.ShardWork{
		Invocation: r.as, Records: r.records, Names: r.files, Output: r.to.Output, Catalogue: r.catalogue, Strict: r.strict,
		Finish: func(_ *shards.Run, m *shards.Manifest) (*shards.Draft, error) {
			m.Read = r.watch.Tally()
			return nil, nil
		},
		Each: func(in *reading.Input, out io.Writer, count func(batch.LineFunc) batch.LineFunc) error {
			line := count(in.Lines(f))
			if set != nil {
				line = set.Merge(line)
			}
			return r.input(sh, in, out, line)
		},
	})
}

// input processes the lines of an input.
func (r *lineRun) input(sh *shell.Shell, in *reading.Input, to io.Writer, f batch.LineFunc) error {
	bar := in.Progress(sh)
	var faults shell.Faults
	p := &batch.Pipeline{Line: f, Strict: r.strict, Advance: bar.Advance}
	in.Locate(p)
	p.Fault = func(at batch.Place, err error) {
		bar.Clear()
		place := in.At(at)
		if (len(r.files) > 1 || r.to.Shard != "") && in.Preset == "" {
			place = in.Name + ": " + place
		}
		faults.Print(sh, place, err)
	}
	err := p.Run(in, to)
	bar.Clear()
	faults.More(sh, in.Name)
	return err
}
