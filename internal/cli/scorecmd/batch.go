package scorecmd

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/columns"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
)

// A batchRun judges every line of some files, on every core, in order.
type batchRun struct {
	sh        *shell.Shell
	records   reading.Records // how the files are read
	files     []string
	reader    *scoring.LineReader
	extractor *scoring.Extractor
	// judge appends the object for one reply, or nothing, and keeps no reference to
	// it. An error belongs to the line. If nothing was appended, an object that
	// reports the error takes the line's place.
	judge func(dst []byte, p *scoring.Posed) ([]byte, error)
	// seen gets the object that an earlier run wrote for a line. An error says that
	// the line failed. May be nil.
	seen func(p *scoring.Posed, was *scoring.Result) error
	// lost counts failed lines; may be nil.
	lost func()
	// filter wraps the writer of the objects; may be nil.
	filter func(io.Writer) io.Writer
	watch  *reading.Watch
	// evidence records what is extracted; may be nil.
	evidence *evidence
	// piecesDone counts the pieces of a shard.
	piecesDone int
	// added is the set of new members of the records; nil if the objects are the
	// output.
	added *columns.Set
}

// heapFloor is memory that is never touched, so it costs nothing. The garbage
// collector waits until the heap has doubled. Without this memory it would run
// every 4 MB.
const heapFloor = 32 << 20

// run processes every file. It returns ErrFailed if a line failed.
func (b *batchRun) run(o *output) error {
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	out, err := o.open(b.sh, b.files, b.added)
	if err != nil {
		return err
	}
	return out.close(b.each(out))
}

func (b *batchRun) each(out *outFile) error {
	files := b.files
	if len(files) == 0 {
		files = []string{""}
	}
	failed := false
	for i, name := range files {
		err := b.file(out, name, i)
		if failed = failed || errors.Is(err, batch.ErrFailed); err != nil && !errors.Is(err, batch.ErrFailed) {
			return err
		}
	}
	if err := out.spent(); err != nil {
		return err
	}
	b.watch.Report(b.sh)
	manner.ReportUnknown(b.sh, b.reader.Lines, b.extractor.Manner)
	if reportUnasked(b.sh, b.reader.Golds) || failed {
		return batch.ErrFailed
	}
	return nil
}

// file processes one file, from where an earlier run stopped.
func (b *batchRun) file(out *outFile, name string, order int) error {
	in, err := b.records.Open(b.sh, name)
	if err != nil {
		return err
	}
	defer in.Close()
	src := newSource(in, name)
	src.origin.Order = order
	failed, err := b.replay(out, src)
	if err != nil {
		return err
	}
	if err := b.evidence.resumeRun(src); err != nil {
		return err
	}
	w := io.Writer(out.sh.Out)
	if b.filter != nil {
		w = b.filter(w)
	}
	p := &batch.Pipeline{Line: b.line(src)}
	if out.added != nil {
		if p.Line, w, err = out.added.Input(src.Input, p.Line); err != nil {
			return err
		}
	}
	err = runPipeline(out.sh, src, b.evidence.guard(w), b.evidence.together(p))
	if err == nil && failed {
		return batch.ErrFailed
	}
	return err
}

// runPipeline processes the remaining lines of a source.
func runPipeline(sh *shell.Shell, src *source, w io.Writer, p *batch.Pipeline) error {
	bar := src.Progress(sh)
	defer bar.Clear()
	bar.Advance(src.skipped)
	src.Locate(p)
	p.Advance = bar.Advance
	p.Fault = func(at batch.Place, err error) {
		bar.Clear()
		src.lineError(sh, src.place(at), err)
	}
	err := p.Run(src, w)
	bar.Clear()
	src.faults.More(sh, src.origin.Name)
	if err != nil && src.named && !errors.Is(err, batch.ErrFailed) {
		return fmt.Errorf("%s: %w", src.Name, err)
	}
	return err
}

// line returns the function that processes one line.
func (b *batchRun) line(src *source) batch.LineFunc {
	pool := sync.Pool{New: func() any { return new(scoring.Posed) }}
	return func(dst, line, _ []byte, place batch.Place) ([]byte, error) {
		if batch.Blank(line) {
			return dst, nil
		}
		at := len(dst)
		p := pool.Get().(*scoring.Posed)
		defer pool.Put(p)
		err := b.parse(src, p, line)
		if err == nil {
			p.File, p.Line = &src.origin, src.place(place).Number()
			b.watch.See(p.Manner, p.Raw, nil)
			dst, err = b.judge(dst, p)
			err = src.Placed(line, err)
		}
		if err != nil && b.lost != nil {
			b.lost()
		}
		switch {
		case len(dst) > at:
		case err != nil:
			return batch.AppendError(dst, src.place(place), err), err
		default:
			return dst, nil
		}
		return append(dst, '\n'), err
	}
}

// parse reads a line.
func (b *batchRun) parse(src *source, p *scoring.Posed, line []byte) error {
	if err := src.Fault(line); err != nil {
		return err
	}
	if b.added != nil {
		if err := b.added.Check(line); err != nil {
			return err
		}
	}
	return src.Placed(line, src.Explain(line, b.reader.Read(p, line, b.extractor)))
}

// replay skips the lines that an earlier run has done.
func (b *batchRun) replay(out *outFile, src *source) (failed bool, err error) {
	for out.left() {
		line, err := batch.NextLine(src.Source.Reader, src.Most())
		var long *batch.LongLineError
		if errors.As(err, &long) {
			line, err = batch.AppendFault(nil, err), nil
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return failed, err
		}
		src.first++
		src.skipped += len(line)
		if batch.BlankLine(line) {
			continue
		}
		object, err := out.next()
		if err != nil {
			return failed, err
		}
		bad, err := b.again(src, line, object)
		failed = failed || bad
		if err != nil {
			return failed, fmt.Errorf("resume: %s %d: %w", src.origin.Unit, src.first, err)
		}
	}
	return failed, nil
}

var errForeign = errorhint.Add(errors.New("the output belongs to another input"), "without --resume the file is overwritten")

// again takes a line that an earlier run has done, and the output that it wrote.
func (b *batchRun) again(src *source, line, object []byte) (bad bool, err error) {
	was, err := scoring.ReadResult(object)
	if err != nil {
		return true, errForeign
	}
	p := new(scoring.Posed)
	err = b.parse(src, p, batch.TrimLine(line))
	if (err != nil) != (was.Line > 0) {
		return true, errForeign
	}
	if err != nil {
		if b.lost != nil {
			b.lost()
		}
		return true, nil
	}
	if string(was.ID) != string(scoring.IDOf(p)) {
		return true, errForeign
	}
	p.File, p.Line = &src.origin, src.first
	b.watch.See(p.Manner, p.Raw, nil)
	if b.seen == nil {
		return false, nil
	}
	return b.seen(p, was) != nil, nil
}
