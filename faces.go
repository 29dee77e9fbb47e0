package sotto

import (
	"errors"
	"io"
	"iter"
	"strings"
)

// Parse reads a whole reply of any model in the [Default] dialect, its start
// unknown: an orphan close makes all before it reasoning.
func Parse(raw string, end End) *Reply {
	r, err := Default().Parse(raw, Auto, end)
	if err != nil {
		panic(err) // Auto is a start of every dialect
	}
	return r
}

// Strip returns the visible text of a whole reply of any model, for history
// and memory. What four readings cannot clean it withholds: then it is empty.
func Strip(raw string) string {
	text, err := Default().Strip(raw, Auto)
	if err != nil {
		panic(err) // Auto is a start of every dialect
	}
	return text
}

// A Filter takes the deltas of a reply and gives its visible text as it becomes
// certain. It is not safe for concurrent use.
type Filter struct {
	// OnThought, if set, is called with each thought the moment its block
	// closes, and with an unfinished one at the end.
	OnThought func(Thought)
	// OnNarration, if set, is called with narration as it comes.
	OnNarration func(text string)

	s        *Splitter
	thoughts thoughts
}

// NewFilter returns a filter for one reply.
func (g *Grammar) NewFilter(o Options) (*Filter, error) {
	s, err := g.NewSplitter(o)
	if err != nil {
		return nil, err
	}
	return &Filter{s: s}, nil
}

// Push reads a delta and returns the visible text that became certain.
func (f *Filter) Push(delta string) string {
	f.take(f.s.FeedString(delta))
	if v := f.s.Visible(); len(v) == len(delta) && string(v) == delta {
		return delta
	}
	return string(f.s.Visible())
}

// Close ends the reply and returns the rest of the visible text.
func (f *Filter) Close(end End) string {
	f.take(f.s.Close(end))
	if t, ok := f.thoughts.rest(); ok && f.OnThought != nil {
		f.OnThought(t)
	}
	return string(f.s.Visible())
}

// Diagnostics returns what was found so far, in the order of the offsets.
func (f *Filter) Diagnostics() []Diagnostic { return f.s.Diagnostics() }

func (f *Filter) take(pieces []Piece) {
	for _, p := range pieces {
		if f.OnThought != nil {
			if t, ok := f.thoughts.take(p); ok {
				f.OnThought(t)
			}
		}
		if p.Channel == Narration && f.OnNarration != nil {
			f.OnNarration(string(p.Bytes))
		}
	}
}

// A Thought is a block of reasoning that has ended.
type Thought struct {
	Block int
	Text  string // trimmed
	// Closed says that the block ended before the reply did.
	Closed bool
}

func (Thought) event() {}

// thoughts gathers the open block of reasoning.
type thoughts struct {
	block int
	text  strings.Builder
}

// take reads a piece and returns the thought that it ends.
func (c *thoughts) take(p Piece) (Thought, bool) {
	if p.Channel == Reasoning && (p.Block == c.block || c.block == 0) {
		c.block = p.Block
		c.text.Write(p.Bytes)
		return Thought{}, false
	}
	t, ok := c.rest()
	t.Closed = true
	if p.Channel == Reasoning {
		c.block = p.Block
		c.text.Write(p.Bytes)
	}
	return t, ok
}

// rest returns the thought that is open.
func (c *thoughts) rest() (Thought, bool) {
	t := Thought{Block: c.block, Text: trimWhite(c.text.String())}
	if t.Text == "" && c.block > 0 { // a duplicate opener may still follow
		return t, false
	}
	c.block = 0
	c.text.Reset()
	return t, t.Block > 0
}

func trimWhite(s string) string { return strings.Trim(s, " \t\n\v\f\r") }

// An Event is one of [VisibleDelta], [ReasoningDelta], [Thought],
// [NarrationDelta], [ToolDelta] and [Finished].
type Event interface{ event() }

// A VisibleDelta is visible text that became certain.
type VisibleDelta struct{ Text string }

// A ReasoningDelta is reasoning as it comes, nothing trimmed.
type ReasoningDelta struct {
	Block int
	Text  string
}

// A NarrationDelta is progress for the user as it comes.
type NarrationDelta struct {
	Block int
	Text  string
}

// A ToolDelta is tool-call markup as it comes.
type ToolDelta struct {
	Block int
	Text  string
}

// Finished is the last event of a reply.
type Finished struct {
	End         End
	Diagnostics []Diagnostic
}

func (VisibleDelta) event()   {}
func (ReasoningDelta) event() {}
func (NarrationDelta) event() {}
func (ToolDelta) event()      {}
func (Finished) event()       {}

// Events reads the deltas of a reply as events. An error among the deltas
// aborts the reply: what was held is given, then Finished, then the error.
func (g *Grammar) Events(deltas iter.Seq2[string, error], o Options) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s, err := g.NewSplitter(o)
		if err != nil {
			yield(nil, err)
			return
		}
		e := emitter{s: s, yield: yield}
		end := Unknown
		var broken error
		for delta, err := range deltas {
			if err != nil {
				broken, end = err, Aborted
				break
			}
			if !e.emit(s.FeedString(delta)) {
				return
			}
		}
		if o.End != nil && broken == nil {
			end = o.End()
		}
		if !e.emit(s.Close(end)) {
			return
		}
		if t, ok := e.thoughts.rest(); ok && !yield(t, nil) {
			return
		}
		if yield(Finished{end, s.Diagnostics()}, nil) && broken != nil {
			yield(nil, broken)
		}
	}
}

// An emitter turns pieces into events.
type emitter struct {
	s        *Splitter
	yield    func(Event, error) bool
	thoughts thoughts
}

func (e *emitter) emit(pieces []Piece) bool {
	for _, p := range pieces {
		if t, ok := e.thoughts.take(p); ok && !e.yield(t, nil) {
			return false
		}
		var ev Event
		switch p.Channel {
		case Reasoning:
			ev = ReasoningDelta{p.Block, string(p.Bytes)}
		case Narration:
			ev = NarrationDelta{p.Block, string(p.Bytes)}
		case Tool:
			ev = ToolDelta{p.Block, string(p.Bytes)}
		default:
			continue
		}
		if !e.yield(ev, nil) {
			return false
		}
	}
	if v := e.s.Visible(); len(v) > 0 {
		return e.yield(VisibleDelta{string(v)}, nil)
	}
	return true
}

// NewReader returns a reader of the visible text of the reply that r streams.
// A read gives what is certain, and waits only where nothing is. An error of r
// other than io.EOF aborts the reply and is returned behind its held text.
func (g *Grammar) NewReader(r io.Reader, o Options) (io.Reader, error) {
	s, err := g.NewSplitter(o)
	if err != nil {
		return nil, err
	}
	return &reader{s: s, r: r, o: o, buf: make([]byte, 32<<10)}, nil
}

type reader struct {
	s    *Splitter
	r    io.Reader
	o    Options
	buf  []byte
	left []byte // visible and not yet read
	err  error
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.left) == 0 && r.err == nil && len(p) > 0 {
		n, err := r.r.Read(r.buf)
		r.s.Feed(r.buf[:n])
		r.left = append(r.left[:0], r.s.Visible()...)
		if err != nil {
			r.err = err
			r.s.Close(endOf(err, r.o))
			r.left = append(r.left, r.s.Visible()...)
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	if n == 0 && len(p) > 0 {
		return 0, r.err
	}
	return n, nil
}

func endOf(err error, o Options) End {
	switch {
	case !errors.Is(err, io.EOF):
		return Aborted
	case o.End != nil:
		return o.End()
	}
	return Unknown
}

// NewWriter returns a writer that passes the visible text of what is written to
// it on to w. Close ends the reply; it does not close w.
func (g *Grammar) NewWriter(w io.Writer, o Options) (io.WriteCloser, error) {
	s, err := g.NewSplitter(o)
	if err != nil {
		return nil, err
	}
	return &writer{s: s, w: w, o: o}, nil
}

type writer struct {
	s *Splitter
	w io.Writer
	o Options
}

func (w *writer) Write(p []byte) (int, error) {
	w.s.Feed(p)
	if err := w.pass(); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Close() error {
	w.s.Close(endOf(io.EOF, w.o))
	return w.pass()
}

func (w *writer) pass() error {
	v := w.s.Visible()
	if len(v) == 0 {
		return nil
	}
	_, err := w.w.Write(v)
	return err
}
