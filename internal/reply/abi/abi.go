// Package abi serves the readings of package sotto to programs in other languages. What goes
// in and what comes out is bytes, so that one crossing of the boundary carries all of a call.
//
// Options are a list of values: a number is 4 bytes, a text is its length as a number and
// its bytes. All numbers are little-endian. In order:
//
//	text    the name of a model
//	text    the name of a dialect; if both are empty, the default dialect
//	text    the start, as [sotto.Options] has it
//	number  the channels in the text: 1 for narration, 2 for tool markup, 3 for both
//	number  MaxHold, as two's complement
//	number  0 if the tools are not known, or else 1 more than there are; then their names
//	number  1 if a dialect of the caller's own follows (see the reader of dialects)
//
// A call that reads a stream gives events: the kind in a byte, the number of the block, and
// a text. A whole reply is the JSON text of [sotto.Reply.AppendJSON].
package abi

import (
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// Kinds of events.
const (
	Text           byte = iota // visible text
	Reasoning                  // reasoning as it comes
	ReasoningEnd               // a block of reasoning has closed
	ReasoningBreak             // the reply ended in a block of reasoning
	Narration                  // progress for the user
	Tool                       // tool markup
	End                        // the last event; its text is a JSON object
)

// MaxStreams bounds the streams that are open at once.
const MaxStreams = 1 << 20

// Errors of callers that mix up streams.
var (
	errNoStream  = errors.New("this stream is not open: it was closed, or never opened")
	errTooMany   = errors.New(strconv.Itoa(MaxStreams) + " streams are open: close some")
	errOptions   = errors.New("the options are cut, or not in the form that this version reads")
	errBadEnding = errors.New("unknown ending: want 0 for unknown, 1 for stopped, 2 for cut or 3 for aborted")
)

// A Reader reads replies for one program. It is not safe for concurrent use.
type Reader struct {
	streams []*stream
	free    []uint32 // places in streams
}

type stream struct {
	filter *sotto.Filter
	out    []byte
}

// event appends an event to what the call gives.
func (s *stream) event(kind byte, block int, text string) {
	s.out = append(s.out, kind)
	s.out = binary.LittleEndian.AppendUint32(s.out, uint32(block))
	s.out = binary.LittleEndian.AppendUint32(s.out, uint32(len(text)))
	s.out = append(s.out, text...)
}

// Open begins a stream.
func (r *Reader) Open(options []byte) (number uint32, err error) {
	g, o, err := decode(options)
	if err != nil {
		return 0, err
	}
	if len(r.streams)-len(r.free) >= MaxStreams {
		return 0, errTooMany
	}
	f, err := g.NewFilter(o)
	if err != nil {
		return 0, err
	}
	s := &stream{filter: f}
	f.OnText = func(text string) { s.event(Text, 0, text) }
	f.OnReasoning = func(block int, text string) { s.event(Reasoning, block, text) }
	f.OnReasoningEnd = func(block int, closed bool) {
		kind := ReasoningBreak
		if closed {
			kind = ReasoningEnd
		}
		s.event(kind, block, "")
	}
	f.OnNarration = func(block int, text string) { s.event(Narration, block, text) }
	f.OnTool = func(block int, text string) { s.event(Tool, block, text) }
	if k := len(r.free); k > 0 {
		number, r.free = r.free[k-1], r.free[:k-1]
		r.streams[number] = s
		return number, nil
	}
	r.streams = append(r.streams, s)
	return uint32(len(r.streams) - 1), nil
}

func (r *Reader) stream(number uint32) (*stream, error) {
	if uint64(number) >= uint64(len(r.streams)) || r.streams[number] == nil {
		return nil, errNoStream
	}
	return r.streams[number], nil
}

// Feed reads a delta and appends its events to dst. It keeps nothing of delta.
func (r *Reader) Feed(dst []byte, number uint32, delta string) ([]byte, error) {
	s, err := r.stream(number)
	if err != nil {
		return dst, err
	}
	s.out = dst
	s.filter.Feed(delta)
	dst, s.out = s.out, nil
	return dst, nil
}

// Close ends a stream and appends its last events to dst. The number may be that of
// another stream afterwards.
func (r *Reader) Close(dst []byte, number uint32, end sotto.Ending) ([]byte, error) {
	s, err := r.stream(number)
	if err != nil {
		return dst, err
	}
	if end > sotto.EndAborted {
		return dst, errBadEnding
	}
	s.out = dst
	s.filter.Close(end)
	s.event(End, 0, string(finding(end, s.filter.Diagnostics(), s.filter.Counts())))
	dst, s.out = s.out, nil
	r.Forget(number)
	return dst, nil
}

// Forget drops a stream that nobody reads to its end.
func (r *Reader) Forget(number uint32) {
	if _, err := r.stream(number); err == nil {
		r.streams[number] = nil
		r.free = append(r.free, number)
	}
}

// finding is the text of the last event.
func finding(end sotto.Ending, diagnostics []sotto.Diagnostic, counts sotto.Counts) []byte {
	dst := append([]byte(`{"end":"`), end.String()...)
	dst = append(dst, `","diagnostics":[`...)
	for i, d := range diagnostics {
		dst = append(append(jsontext.AppendComma(dst, i), `{"code":"`...), d.Code...)
		dst = strconv.AppendInt(append(dst, `","offset":`...), int64(d.Offset), 10)
		if d.Reason != "" {
			dst = append(append(append(dst, `,"reason":"`...), d.Reason...), '"')
		}
		dst = append(dst, '}')
	}
	dst = strconv.AppendInt(append(dst, `],"moreDiagnostics":`...), int64(counts.Total()-len(diagnostics)), 10)
	return append(dst, '}')
}

// Parse reads a whole reply and appends its JSON text to dst.
func Parse(dst, options []byte, raw string, end sotto.Ending) ([]byte, error) {
	g, o, err := decode(options)
	if err != nil {
		return dst, err
	}
	if end > sotto.EndAborted {
		return dst, errBadEnding
	}
	if o.Start == "" {
		o.Start = WholeStart(g)
	}
	reply, err := g.ParseWith(raw, o, end)
	if err != nil {
		return dst, err
	}
	return reply.AppendJSON(dst), nil
}

// Strip reads a whole reply and appends its visible text to dst.
func Strip(dst, options []byte, raw string) ([]byte, error) {
	g, o, err := decode(options)
	if err != nil {
		return dst, err
	}
	if o.Start == "" {
		o.Start = WholeStart(g)
	}
	text, err := g.Strip(raw, o.Start, o.Inline...)
	return append(dst, text...), err
}

// WholeStart is where a whole reply begins if the caller does not say: an end without a
// beginning shows that the prompt opened the block. In dialects without tags, the dialect knows.
func WholeStart(g *sotto.Grammar) sotto.Beginning {
	if g == sotto.Default() {
		return sotto.BeginAuto
	}
	return ""
}

// Grammar is the grammar that options name; a dialect counts more than a model.
func Grammar(model, name string) (*sotto.Grammar, error) {
	switch {
	case name != "":
		return sotto.Named(name)
	case model != "":
		g, _ := sotto.ForModel(model)
		return g, nil
	}
	return sotto.Default(), nil
}

// decode reads options.
func decode(options []byte) (g *sotto.Grammar, o sotto.Options, err error) {
	in := &input{rest: options}
	model, name := in.text(), in.text()
	o.Start = sotto.Beginning(in.text())
	inline := in.number()
	if inline&1 != 0 {
		o.Inline = append(o.Inline, sotto.ChannelNarration)
	}
	if inline&2 != 0 {
		o.Inline = append(o.Inline, sotto.ChannelTool)
	}
	o.MaxHold = int(int32(in.number()))
	if k := in.number(); k > 0 {
		o.Tools = in.texts(k - 1)
	}
	if own := in.number() == 1; own {
		g, err = in.compile()
		return g, o, err
	}
	if in.cut() || inline > 3 {
		return nil, o, errOptions
	}
	g, err = Grammar(model, name)
	return g, o, err
}
