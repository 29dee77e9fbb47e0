// Package batch processes the lines of a stream on every core, in bounded memory,
// and keeps their order.
package batch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/sotto-llm/sotto/internal/base/files"
)

// A LineFunc appends to dst the output for one line, which it gets without its line
// end. An error is reported with the line's place. Bytes already appended are
// kept.
type LineFunc func(dst, line, end []byte, at Place) ([]byte, error)

// A Pipeline reads lines, processes them on every core, and writes the output in
// order. It holds at most window batches, so its memory grows only with the longest
// line, not with the input. In the place of a line that is too long, Line gets one of
// which Fault returns the error.
type Pipeline struct {
	Line    LineFunc
	Strict  bool // stop at the first line that fails
	Fault   func(at Place, err error)
	Advance func(n int) // called after n more bytes of the input are done; may be nil
	Batch   int         // bytes read at once; if zero, batchSize
	Workers int         // if zero, one per core
	MaxLine int         // bytes of a line; if zero, MaxLine
	Offsets bool        // errors of long lines say at which byte of the input they begin
	First   int         // how many lines of the input come before those of r
	// Where returns the place of a line that begins at a byte of r, if it does not have a
	// number. It is called by several goroutines at once.
	Where func(offset int64) Place
}

// batchSize is small enough to stay in a core's cache and large enough that
// handing it over costs nothing.
const batchSize = 256 << 10

// A batch is consecutive whole lines, and the output for them.
type batch struct {
	first  Place // of its first line
	offset int64 // of its first byte
	size   int   // bytes of the input
	in     []byte
	out    []byte
	faults []fault
	done   chan struct{}
}

type fault struct {
	at    Place
	err   error
	begin int // the length of out before the line
}

// Run processes every line of r. It returns ErrFailed if a line failed.
func (p *Pipeline) Run(r io.Reader, w io.Writer) error {
	workers := p.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	window := 2*workers + 2
	free := make(chan *batch, window)
	for range window {
		free <- &batch{done: make(chan struct{}, 1)}
	}
	work, order := make(chan *batch, window), make(chan *batch, window)
	stop := make(chan struct{})
	defer close(stop)
	var readErr error
	go func() {
		defer close(order) // after readErr is set
		defer close(work)
		readErr = p.readAll(r, free, work, order, stop)
	}()
	for range workers {
		go func() {
			for b := range work {
				p.do(b)
				b.done <- struct{}{}
			}
		}()
	}
	failed, err := p.write(w, order, free)
	switch {
	case err != nil:
		return err
	case failed && p.Strict:
		return ErrFailed // the reader may still be waiting for input
	case readErr != nil:
		return readErr
	case failed:
		return ErrFailed
	}
	return nil
}

// readAll cuts r into batches at line ends. It passes on available lines at once, even
// if the batch is not full, because the input may be a slow pipe.
func (p *Pipeline) readAll(r io.Reader, free chan *batch, work, order chan<- *batch, stop <-chan struct{}) error {
	size := p.Batch
	if size == 0 {
		size = batchSize
	}
	var rest []byte
	offset := int64(0)
	at := LineAt(p.First + 1)
	for {
		var b *batch
		select {
		case b = <-free:
		case <-stop:
			return nil
		}
		b.reset(at, size, rest)
		b.offset = offset
		cut, err := p.fill(b, r)
		rest = append(rest[:0], b.in[cut:]...)
		b.in = b.in[:cut]
		b.size += cut
		some := len(b.in) > 0
		if some {
			at = at.After(bytes.Count(b.in, []byte{'\n'}))
			offset += int64(b.size)
			if len(b.in) > bigLine {
				if !alone(b, free, work, order, stop) {
					return nil
				}
			} else {
				order <- b
				work <- b
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", files.Cause(err))
		}
		if !some {
			panic("unreachable: a batch without a line and without an error")
		}
	}
}

func (b *batch) reset(first Place, size int, rest []byte) {
	if cap(b.in) > 4*size && len(rest) < size {
		b.in, b.out = nil, nil // do not keep the buffer of one long line
	}
	if b.in == nil {
		b.in = make([]byte, 0, size)
	}
	b.first, b.faults, b.size = first, nil, 0
	b.in, b.out = append(b.in[:0], rest...), b.out[:0]
}

// alone processes a batch with a long line while no other batch is under way, so that the
// memory is that of one long line. It returns false if the run stops.
func alone(b *batch, free chan *batch, work, order chan<- *batch, stop <-chan struct{}) bool {
	held := make([]*batch, 0, cap(free))
	take := func(n int) bool {
		for len(held) < n {
			select {
			case one := <-free:
				held = append(held, one)
			case <-stop:
				return false
			}
		}
		return true
	}
	if !take(cap(free) - 1) {
		return false
	}
	order <- b
	work <- b
	if !take(cap(free)) {
		return false
	}
	b.in, b.out = nil, nil
	for _, one := range held {
		free <- one
	}
	return true
}

// most returns how long a line may be.
func (p *Pipeline) most() int {
	if p.MaxLine > 0 {
		return p.MaxLine
	}
	return MaxLine
}

// fill reads until the batch has a whole line, and returns where the last whole line ends.
// At the end of the input, the rest is a line.
func (p *Pipeline) fill(b *batch, r io.Reader) (cut int, err error) {
	most := p.most()
	if i := bytes.LastIndexByte(b.in, '\n'); i >= 0 { // lines after one that was skipped
		return i + 1, nil
	}
	for {
		if len(b.in) > most+len("\r\n") {
			return p.skip(b, r)
		}
		if len(b.in) == cap(b.in) {
			b.in = grown(b.in, 1, most+1)
		}
		n, err := r.Read(b.in[len(b.in):cap(b.in)])
		from := len(b.in)
		b.in = b.in[:from+n]
		if err != nil {
			return len(b.in), err
		}
		if i := bytes.LastIndexByte(b.in[from:], '\n'); i >= 0 {
			return from + i + 1, nil
		}
	}
}

// skip reads to the end of a line that is too long, and puts its error in its place.
func (p *Pipeline) skip(b *batch, r io.Reader) (cut int, err error) {
	skipped := len(b.in)
	chunk := b.in[:min(len(b.in), batchSize)]
	for err == nil {
		var n int
		n, err = r.Read(chunk)
		if i := bytes.IndexByte(chunk[:n], '\n'); i >= 0 {
			skipped += i + 1
			rest := bytes.Clone(chunk[i+1 : n])
			b.in = AppendFault(nil, p.tooLong(b.offset))
			cut = len(b.in)
			b.size = skipped - cut // what is taken counts as the line
			b.in = append(b.in, rest...)
			return cut, nil // an error comes again at the next read
		}
		skipped += n
	}
	b.in = AppendFault(nil, p.tooLong(b.offset))
	b.size = skipped - len(b.in)
	return len(b.in), err
}

// tooLong is the error of a line that begins at a byte.
func (p *Pipeline) tooLong(offset int64) error {
	switch {
	case !p.Offsets:
		offset = -1
	case p.Where != nil:
		at := p.Where(offset)
		if offset = at.byte; at.packed {
			offset = -1
		}
	}
	return fmt.Errorf("%w%s", &LongLineError{p.most(), offset}, Raise)
}

// do processes the lines of a batch.
func (p *Pipeline) do(b *batch) {
	rest, most := b.in, p.most()
	for place := b.first; len(rest) > 0; {
		begins := b.offset + int64(len(b.in)-len(rest))
		line, end := rest, rest[len(rest):]
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line, end, rest = rest[:i], rest[i:i+1], rest[i+1:]
		} else {
			rest = nil
		}
		if n := len(line); n > 0 && line[n-1] == '\r' && len(end) > 0 {
			line, end = line[:n-1], line[n-1:n+1]
		}
		if p.Where != nil {
			place = p.Where(begins)
		}
		at := len(b.out)
		if len(line) > most {
			line = TrimLine(AppendFault(nil, p.tooLong(begins)))
		}
		var err error
		if b.out, err = p.Line(b.out, line, end, place); err != nil {
			b.faults = append(b.faults, fault{place, err, at})
			if p.Strict {
				return
			}
		}
		place = place.After(1)
	}
}

// write writes batches in order, and reports their faults.
func (p *Pipeline) write(w io.Writer, order <-chan *batch, free chan<- *batch) (failed bool, err error) {
	for b := range order {
		<-b.done
		out := b.out
		if len(b.faults) > 0 {
			failed = true
			if p.Strict {
				out = out[:b.faults[0].begin]
			}
		}
		if len(out) > 0 {
			if _, err := w.Write(out); err != nil {
				return failed, fmt.Errorf("write: %w", files.Cause(err))
			}
		}
		for _, f := range b.faults {
			p.Fault(f.at, f.err)
		}
		if failed && p.Strict {
			return true, nil
		}
		if p.Advance != nil {
			p.Advance(b.size)
		}
		free <- b
	}
	return failed, nil
}

// Blank reports whether a line holds nothing but white space.
func Blank(line []byte) bool { return len(bytes.Trim(line, " \t\r")) == 0 }

// ErrFailed is the error of a batch whose failures were reported line by line.
var ErrFailed = errors.New("some lines failed")

// TrimLine returns a line without its end.
func TrimLine(line []byte) []byte {
	line, whole := bytes.CutSuffix(line, []byte("\n"))
	if whole {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	return line
}

// BlankLine reports whether a line, given with its end, is blank.
func BlankLine(line []byte) bool { return Blank(bytes.TrimSuffix(line, []byte("\n"))) }

// WholeLines returns the end of the last line that has a line end.
func WholeLines(file *os.File) (int64, error) {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 64<<10)
	for end > 0 {
		from := max(0, end-int64(len(buf)))
		part := buf[:end-from]
		if _, err := file.ReadAt(part, from); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}
