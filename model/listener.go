package model

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// A listener gives a reply to a codec, and takes what the codec finds into an accumulator. It
// is a [wire.Reader] that separates nothing: texts stay as they are.
type listener struct {
	*accumulator
	api   api
	texts bool // the choices are the texts of the reply
	reply wire.Reply
	out   []byte // what the codec writes, which nobody reads
	part  [1]wire.Part

	calls   map[int]*calling // by their numbers
	pieces  chatjson.DetailList
	parts   *thinking // the last part of the content, if it is reasoning
	plain   string    // what the frame said in a member
	fault   *Error    // what the frame reported
	failure error     // why the reply cannot be read further
	done    bool      // nothing follows
}

func (c *client) listen(h *accumulator) *listener {
	codec := c.api.codec()
	l := &listener{
		accumulator: h, api: c.api, texts: codec.Capabilities().Texts, reply: codec.Reply(wire.Settings{}),
		calls: map[int]*calling{},
	}
	l.pieces.Room = func(details, bytes int) error {
		if details > l.limits.Calls {
			return fmt.Errorf("%w: more than %d details of reasoning", ErrTooLarge, l.limits.Calls)
		}
		return l.grow(bytes)
	}
	return l
}

// frame reads a frame; done says that nothing follows.
func (l *listener) frame(f wire.Frame) (done bool, err error) {
	if f.Data == nil {
		return false, nil
	}
	if data := bytes.TrimSpace(f.Data); !bytes.Equal(data, doneMark) && (len(data) == 0 || data[0] != '{') {
		if _, ok := chatjson.Readable(f); !ok {
			return false, unreadable(f)
		}
	}
	l.plain, l.fault = "", nil
	l.out = l.reply.Frame(l.out[:0], f, l)
	if errors.Is(l.failure, wire.ErrUnreadable) {
		l.failure = unreadable(f)
	}
	return l.done, l.failure
}

// unreadable is the error of a frame that is not JSON.
func unreadable(f wire.Frame) error {
	return fmt.Errorf("%w: a frame %w", ErrUnreadable, foreignjson.Check(jsonedit.Mend(f.Data)))
}

// whole reads a reply that came in one piece.
func (l *listener) whole(body []byte) error {
	l.out = l.reply.Whole(l.out[:0], body, l)
	switch {
	case l.failure != nil:
		return l.failure
	case l.fault != nil && !l.finished:
		return l.fault
	}
	return nil
}

// Found takes what the codec found.
func (l *listener) Found(f wire.Event) []wire.Part {
	if l.failure == nil && (f.Choice == 0 || l.texts) {
		l.failure = l.hear(&f)
	}
	switch f.Kind {
	case wire.EventText:
		l.part[0] = wire.Part{Text: f.Text}
	case wire.EventThought, wire.EventDetails:
		l.part[0] = wire.Part{Place: wire.Reasoning, Text: f.Text}
	default:
		return nil
	}
	return l.part[:]
}

func (l *listener) hear(f *wire.Event) error {
	switch f.Kind {
	case wire.EventText:
		if len(f.Text) > 0 {
			l.parts = nil
		}
		return l.say(string(f.Text))
	case wire.EventRefusal: // it comes instead of content, never beside it
		return l.say(string(f.Text))
	case wire.EventThought:
		if !f.Again {
			return l.thoughtFound(f)
		}
	case wire.EventDetails:
		return l.detailsFound(f)
	case wire.EventSealed:
		return l.sealedFound(f)
	case wire.EventCall:
		return l.callFound(f)
	case wire.EventUsage:
		l.usage.Input = max(l.usage.Input, f.Usage.All())
		l.usage.Output = max(l.usage.Output, f.Usage.Output)
		l.usage.Reasoning = max(l.usage.Reasoning, f.Usage.Reasoning)
		l.usage.CacheRead = max(l.usage.CacheRead, f.Usage.CacheRead)
		l.usage.CacheWrite = max(l.usage.CacheWrite, f.Usage.CacheWrite)
	case wire.EventModel:
		if l.model == "" {
			l.model = short(f.Name)
		}
	case wire.EventFinish:
		return l.finishFound(f)
	case wire.EventFault:
		l.fault = said(0, []byte(f.Raw))
	case wire.EventEnd:
		l.finished, l.done = true, true
	}
	return nil
}

// finishFound reads why the reply ended. A word that nobody knows, or none, says
// that it ended of its own accord.
func (l *listener) finishFound(f *wire.Event) error {
	l.finish, l.accumulator.end = short(f.Name), f.End
	if f.End == sotto.EndUnknown {
		l.accumulator.end = sotto.EndStopped
	}
	l.finished = l.finished || f.Name != ""
	if l.fault != nil && f.Name == "error" {
		return l.fault
	}
	return nil
}

// Fail notes why the reply cannot be read further.
func (l *listener) Fail(err error) {
	switch {
	case l.failure != nil:
	case errors.Is(err, wire.ErrUpstream) && l.fault != nil:
		l.failure = l.fault
	case errors.Is(err, wire.ErrUnreadable):
		l.failure = err
	default:
		l.failure = fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
}

// Close, Open and Share are for readers that separate texts.
func (l *listener) Close(int, sotto.Ending) []wire.Part    { return nil }
func (l *listener) Open() []int                            { return nil }
func (*listener) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (*listener) Findings() string                         { return "" }
func (l *listener) Share() (reasoning, all int)            { return 0, 0 }

// thoughtFound reads a piece of reasoning in a member, in a part of the content or
// in a block.
func (l *listener) thoughtFound(f *wire.Event) (err error) {
	var t *thinking
	text := string(f.Text)
	switch {
	case f.Member:
		l.plain = text
		if t = l.inMember(); t == nil {
			t, err = l.begin(f.Name)
		}
	case l.texts:
		t, err = l.blockOf(f.Index)
	default:
		return l.partFound(f)
	}
	if err != nil {
		return err
	}
	return l.think(t, text)
}

// inMember returns the thought of a member of the message, or nil.
func (l *listener) inMember() *thinking {
	for _, t := range l.thoughts {
		if t.Raw == nil {
			return t
		}
	}
	return nil
}

// callFound reads a piece of a call, or a complete one.
func (l *listener) callFound(f *wire.Event) error {
	c := l.calls[f.Index]
	if c == nil {
		if l.texts && jsonedit.Parse([]byte(f.Raw)).Get("type").Str != "tool_use" {
			return nil // a tool that the provider itself runs
		}
		var err error
		if c, err = l.newCall(); err != nil {
			return err
		}
		l.calls[f.Index] = c
	}
	before := len(c.ID) + len(c.Name)
	if f.ID != "" {
		c.ID = string([]byte(f.ID))
	}
	if f.Name != "" && c.Name != f.Name {
		c.Name += f.Name
	}
	if len(c.Name) > maxName {
		return fmt.Errorf("%w: a tool's name of more than %d bytes", ErrTooLarge, maxName)
	}
	if err := l.grow(max(0, len(c.ID)+len(c.Name)-before)); err != nil {
		return err
	}
	if l.texts && f.Raw != "" { // a block begins, perhaps with its arguments
		c.start = string(f.Text)
		return l.grow(len(f.Raw) + overhead)
	}
	if err := l.argue(c, string(f.Text)); err != nil {
		return err
	}
	return l.api.called(l, c, jsonedit.Parse([]byte(f.Raw)))
}

// end puts what came into the form in which it goes back. It is called after the
// last frame that came.
func (l *listener) end() error {
	for _, c := range l.accumulator.calls {
		if c.arguments.Len() == 0 && l.texts { // it has none, or they stood in the block's start
			start := c.start
			if start == "" {
				start = "{}"
			}
			if err := l.argue(c, start); err != nil {
				return err
			}
		}
	}
	for _, t := range l.thoughts {
		switch {
		case t.Raw == nil, t.complete:
		case l.texts:
			t.endBlock()
		default:
			t.Raw = partOf(t.Field, t.text.String(), t.seal.String())
		}
	}
	return l.endDetails()
}
