package sotto

import "strings"

// A Filter takes the deltas of a reply and calls its functions with the text,
// reasoning and other channels in them, in the order of the reply, however it was
// cut into deltas. No text ends within a UTF-8 sequence. The zero Filter reads in
// the [Default] dialect. It is not safe for concurrent use.
type Filter struct {
	// OnText, if set, is called with visible text as it becomes certain.
	OnText func(text string)
	// OnReasoning, if set, is called with reasoning as it comes, untrimmed.
	OnReasoning func(block int, text string)
	// OnReasoningEnd, if set, is called when a non-blank block of reasoning is over;
	// closed reports whether it ended before the reply did.
	OnReasoningEnd func(block int, closed bool)
	// OnThought, if set, is called with each non-blank thought as soon as its block
	// closes, and with an unfinished thought at the end. The filter then keeps the
	// text of the open thought, however long it is.
	OnThought func(Thought)
	// OnNarration, if set, is called with narration as it comes.
	OnNarration func(block int, text string)
	// OnTool, if set, is called with tool-call markup as it comes.
	OnTool func(block int, text string)

	e       emitter
	thought strings.Builder
	block   int // the block of that thought
}

// A Thought is a block of reasoning that has ended.
type Thought struct {
	Block int
	Text  string // trimmed
	// Closed reports whether the block ended before the reply did.
	Closed bool
}

// NewFilter returns a filter for one reply.
func (g *Grammar) NewFilter(o Options) (*Filter, error) {
	s, err := g.NewSplitter(o)
	if err != nil {
		return nil, err
	}
	return &Filter{e: emitter{s: s}}, nil
}

func (f *Filter) emitter() *emitter {
	if f.e.s == nil {
		f.e.s, _ = Default().NewSplitter(Options{}) // without a start from the caller it cannot fail
	}
	if f.e.give == nil {
		f.e.give = f.passes
	}
	return &f.e
}

// Feed reads a delta. It panics after Close.
func (f *Filter) Feed(delta string) { f.emitter().feed(delta) }

// Close ends the reply and gives the rest of it. Pass EndUnknown unless you know how the
// reply ended.
func (f *Filter) Close(end Ending) { f.emitter().close(end) }

// Reset makes the filter ready for the next reply, read with the same options.
func (f *Filter) Reset() {
	s := f.emitter().s
	s.Reset()
	f.e = emitter{s: s}
	f.thought.Reset()
}

// Diagnostics returns the diagnostics found so far, ordered by offset: a copy of
// the first [MaxDiagnostics].
func (f *Filter) Diagnostics() []Diagnostic { return f.emitter().s.Diagnostics() }

// Counts returns how many diagnostics of each code were found so far.
func (f *Filter) Counts() Counts { return f.emitter().s.Counts() }

// Marked reports whether anything received so far is not text: reasoning, or a
// marker.
func (f *Filter) Marked() bool { return f.e.marked }

func (f *Filter) passes(ev Event) bool {
	switch ev := ev.(type) {
	case VisibleDelta:
		if f.OnText != nil {
			f.OnText(ev.Text)
		}
	case NarrationDelta:
		call(f.OnNarration, ev.Block, ev.Text)
	case ToolDelta:
		call(f.OnTool, ev.Block, ev.Text)
	case ReasoningDelta:
		call(f.OnReasoning, ev.Block, ev.Text)
		if f.OnThought != nil {
			if ev.Block != f.block { // the last one was blank
				f.block = ev.Block
				f.thought.Reset()
			}
			f.thought.WriteString(ev.Text)
		}
	case ReasoningEnd:
		if f.OnReasoningEnd != nil {
			f.OnReasoningEnd(ev.Block, ev.Closed)
		}
		if f.OnThought != nil {
			f.OnThought(Thought{ev.Block, trimWhite(f.thought.String()), ev.Closed})
		}
		f.thought.Reset()
	}
	return true
}

func call(f func(int, string), block int, text string) {
	if f != nil {
		f(block, text)
	}
}
