package reading

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/inputfiles"
	"github.com/sotto-llm/sotto/internal/lab/shards"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// Sharding is the flag that makes a process do a part of a batch.
type Sharding struct {
	Shard string `placeholder:"I/N" help:"Do part I of N of the batch, I from 0, or auto or auto/N in a task of an array of Slurm, Kubernetes or AWS Batch. --output is the folder, or s3://BUCKET/PREFIX, for the result and its manifest. See docs/batches.md."`
}

// ValidateShard refuses flags that cannot be combined. others are the names of flags that
// are set and need the whole batch.
func (s *Sharding) ValidateShard(output string, jsonl bool, others ...string) error {
	switch {
	case s.Shard == "":
		return nil
	case !jsonl:
		return errors.New("--shard needs --jsonl")
	case output == "" || output == "-":
		return errors.New("--shard needs --output, the folder for the results of all shards")
	case isParquet(output):
		return errors.New("--shard writes JSON Lines: --output is a folder")
	}
	for _, name := range others {
		if name != "" {
			return fmt.Errorf("--%s cannot be combined with --shard", name)
		}
	}
	return nil
}

// An Invocation is what the manifest of a shard says about how the command was called.
type Invocation struct {
	Command string
	Version string
	// Settings returns the flags that are set, as manifests have them.
	Settings func() (map[string]string, error)
}

// A ShardWork is a command's part in doing a shard.
type ShardWork struct {
	*Invocation
	Records   Records
	Names     []string // FILEs
	Output    string
	Catalogue *dialectset.Set
	Task      string
	Rules     string
	Strict    bool // the first line that fails ends the run
	// Each processes an input and writes to out. The lines go through count.
	Each func(in *Input, out io.Writer, count func(batch.LineFunc) batch.LineFunc) error
	// Finish adds to the manifest, and may begin a file that is put before it. May be nil.
	Finish func(run *shards.Run, m *shards.Manifest) (also *shards.Draft, err error)
}

// ParseShard returns the shard that the flag names.
func (s *Sharding) ParseShard(sh *shell.Shell) (shards.Shard, error) {
	shard, err := shards.Parse(s.Shard, sh.Getenv)
	if err != nil {
		err = errorhint.Usage(fmt.Errorf("--shard %s: %w", s.Shard, err), "want I/N such as 0/400, or auto or auto/N in a task of an array")
	}
	return shard, err
}

// RunShard does the shard that the flag names, unless an earlier run has done it. Lines
// that fail are counted in the manifest and do not fail the run: a scheduler would repeat
// a task whose result is there.
func (s *Sharding) RunShard(sh *shell.Shell, w *ShardWork) error {
	shard, err := s.ParseShard(sh)
	if err != nil {
		return err
	}
	ctx := context.Background()
	from := &shards.Sources{Getenv: sh.Getenv}
	job, err := w.job(ctx, shard, from)
	if err != nil {
		return err
	}
	to, err := from.Folder(ctx, w.Output)
	if err != nil {
		return err
	}
	run, done, err := shards.Begin(ctx, *job, to)
	if err != nil {
		return errorhint.Add(err, "remove its files, or choose another --output")
	}
	if done != nil {
		fmt.Fprintf(sh.Err, "shard %v was done before: %d records, %d failed, %s\n", shard, done.Records, done.Failed, to.Where(done.Output.Name))
		return nil
	}
	defer run.Out.Discard()
	var m shards.Manifest
	if err := w.pieces(ctx, sh, from, run, &m); err != nil {
		return err
	}
	there, err := w.put(ctx, run, &m)
	if err != nil {
		return err
	}
	how := ""
	if there {
		how = ", which another process has written meanwhile with the same content"
	}
	fmt.Fprintf(sh.Err, "shard %v: %d records, %d failed, %s%s\n", shard, m.Records, m.Failed, to.Where(m.Output.Name), how)
	return nil
}

// job describes the shard.
func (w *ShardWork) job(ctx context.Context, shard shards.Shard, from *shards.Sources) (*shards.Job, error) {
	set, err := w.Settings()
	if err != nil {
		return nil, err
	}
	rows, err := json.Marshal(w.Catalogue.Dialects())
	if err != nil {
		return nil, fmt.Errorf("dialects: %w", err)
	}
	inputs, err := from.List(ctx, w.Names)
	if err != nil {
		return nil, err
	}
	job := &shards.Job{V: 1, Command: w.Command, Shard: shard, Sotto: w.Version, Task: w.Task, Rules: w.Rules, Dialects: shards.Digest(rows), Settings: set, Inputs: shards.Sum(inputs)}
	job.Pieces, err = shards.Cut(inputs, shard, func(in shards.Input) (bool, error) {
		head, err := from.Head(ctx, in, inputfiles.HeadSize)
		return inputfiles.DividedBy(head, in.Name, w.Records.Settings()) != inputfiles.Undivided, err
	})
	return job, err
}

// pieces processes what the shard reads.
func (w *ShardWork) pieces(ctx context.Context, sh *shell.Shell, from *shards.Sources, run *shards.Run, m *shards.Manifest) error {
	var lines, failed atomic.Int64
	count := func(f batch.LineFunc) batch.LineFunc {
		return func(dst, line, end []byte, at batch.Place) ([]byte, error) {
			dst, err := f(dst, line, end, at)
			if !batch.Blank(line) {
				lines.Add(1)
			}
			if err != nil {
				failed.Add(1)
			}
			return dst, err
		}
	}
	for _, p := range run.Job.Pieces {
		in, err := w.Records.openPiece(ctx, from, p)
		if err != nil {
			return err
		}
		err = w.Each(in, run.Out, count)
		if err == nil || errors.Is(err, batch.ErrFailed) {
			err = cmp.Or(from.Unchanged(p.Input), err)
		}
		in.notes(sh)
		if err = errors.Join(err, in.Close()); err != nil && (w.Strict || !errors.Is(err, batch.ErrFailed)) {
			return err
		}
	}
	m.Records, m.Failed = int(lines.Load()), int(failed.Load())
	return nil
}

func (w *ShardWork) put(ctx context.Context, run *shards.Run, m *shards.Manifest) (there bool, err error) {
	if w.Finish != nil {
		also, err := w.Finish(run, m)
		if err != nil {
			return false, err
		}
		if also != nil {
			if _, err := also.Put(ctx); err != nil {
				return false, err
			}
		}
	}
	return run.End(ctx, m)
}

// openPiece opens a piece of the inputs.
func (r *Records) openPiece(ctx context.Context, from *shards.Sources, p shards.Piece) (*Input, error) {
	head, err := from.Head(ctx, p.Input, inputfiles.HeadSize)
	if err != nil {
		return nil, err
	}
	switch inputfiles.DividedBy(head, p.Name, r.Settings()) {
	case inputfiles.ByLine:
		return r.openLines(ctx, from, p)
	case inputfiles.ByFrame:
		return r.openFrames(ctx, from, p, head)
	case inputfiles.ByGroup:
		return r.openGroups(ctx, from, p)
	}
	return r.openWhole(ctx, from, p.Input, head)
}

// openLines opens the lines of a plain file.
func (r *Records) openLines(ctx context.Context, from *shards.Sources, p shards.Piece) (*Input, error) {
	file, err := from.Read(ctx, p.Input, shards.Before(p.From), 0)
	if err != nil {
		return nil, err
	}
	lines, err := shards.NewLines(file, p.From, p.To)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("read %s: %w", p.Name, files.Cause(err))
	}
	first := lines.Begin()
	return &Input{Source: inputfiles.OpenLines(lines), file: shell.InputOf(p.Name, file), Name: p.Name, most: int(r.MaxLine),
		where: func(offset int64) batch.Place { return batch.ByteAt(first + offset) }}, nil
}

// openFrames opens the lines of a compressed file.
func (r *Records) openFrames(ctx context.Context, from *shards.Sources, p shards.Piece, head []byte) (*Input, error) {
	open := func(at int64) (io.ReadCloser, error) { return from.Read(ctx, p.Input, at, 0) }
	lines, err := shards.NewFrameLines(open, p, head)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.Name, files.Cause(err))
	}
	return &Input{Source: inputfiles.OpenLines(lines), file: shell.InputOf(p.Name, lines), Name: p.Name, most: int(r.MaxLine),
		where: func(offset int64) batch.Place { return batch.FrameAt(lines.Place(offset)) }, note: lines.Note}, nil
}

// openGroups opens the rows of a Parquet file.
func (r *Records) openGroups(ctx context.Context, from *shards.Sources, p shards.Piece) (*Input, error) {
	file, err := from.File(ctx, p.Input)
	if err != nil {
		return nil, err
	}
	rows, before, err := inputfiles.OpenGroups(file, p.From, p.To, r.Settings())
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %s: %w", p.Name, inputfiles.Parquet, err)
	}
	return &Input{Source: rows, file: shell.InputOf(p.Name, file), Name: p.Name, first: before, most: int(r.MaxLine)}, nil
}

// notes prints what a user should know about the part that was read.
func (in *Input) notes(sh *shell.Shell) {
	if in.note == nil {
		return
	}
	if text := in.note(); text != "" {
		sh.Hintf("%s: %s", in.Name, text)
	}
}

// openWhole opens an input that one shard reads from its beginning to its end.
func (r *Records) openWhole(ctx context.Context, from *shards.Sources, in shards.Input, head []byte) (*Input, error) {
	var file io.ReadCloser
	var err error
	if inputfiles.NeedsFile(head) {
		file, err = from.File(ctx, in)
	} else {
		file, err = from.Read(ctx, in, 0, 0)
	}
	if err != nil {
		return nil, err
	}
	return r.open(shell.InputOf(in.Name, file))
}
