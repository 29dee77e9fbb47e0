// Package written is the path of a reply of which nothing passes as it came. A codec reads
// what the upstream sends, the Reader decides what goes to the client, and a [wire.Writer]
// writes that:
//
//	frame → codec reports events → Reader → events for the client → Writer → frame
//
// What no codec reports cannot reach the client, whatever the upstream calls it.
package written

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// Reply returns a reply that one codec reads, and a writer writes.
func Reply(read wire.Reply, write wire.Writer, s wire.Settings) wire.Reply {
	y := &reply{read: read, write: write, between: between{hide: s.Hide}}
	y.slots.of = s.Slot
	if s.Writer != nil {
		y.write, y.slots.of, y.foreign = s.Writer.Writer, nil, &foreign{bridge: s.Writer}
	}
	return y
}

// NoComments is a [wire.Writer] for whose clients a comment, and what an API may have in its
// place, says something. Comments of the upstream are left out.
type NoComments interface{ NoComments() }

// Settings are the settings for the codec that reads: it need not write in any form.
func Settings(s wire.Settings) wire.Settings {
	return wire.Settings{Request: s.Request, Cuts: s.Cuts, Keep: s.Keep, Written: true}
}

type reply struct {
	between
	read  wire.Reply
	write wire.Writer
	spare []byte // what the codec that reads would have written
}

func (y *reply) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	if f.Data == nil {
		if _, none := y.write.(NoComments); len(f.Raw) > 0 && f.Raw[0] == ':' && !none && !y.foreign.ended() {
			return y.write.KeepAlive(dst)
		}
		return dst
	}
	y.begin(r)
	y.left(f.Data)
	y.spare = y.read.Frame(y.spare[:0], f, y)
	y.lack()
	return y.fail(y.frames(dst))
}

// frames writes what a frame said, and lets go of what was large.
func (y *reply) frames(dst []byte) []byte {
	dst = y.write.Frames(dst, y.events)
	if cap(y.spare) > large {
		y.spare = nil
	}
	if cap(y.texts) > large {
		y.texts = nil
	}
	if clear(y.events); cap(y.events) > many { // they refer to the frame
		y.events = nil
	}
	return dst
}

// many is the number of events above which their list is not kept for later frames.
const many = 256

// large is the capacity above which a buffer is not kept for later frames.
const large = 16 << 10

func (y *reply) End(dst []byte, err error, r wire.Reader) []byte {
	y.begin(r)
	if err != nil || y.foreign == nil { // a foreign reply that has failed must not end well
		y.failure = err
	}
	y.spare = y.read.End(y.spare[:0], err, y)
	if y.foreign != nil {
		y.close()
	}
	dst = y.fail(y.frames(dst))
	if y.failure == nil || y.failed {
		return dst
	}
	y.failed = true
	return y.write.Fail(dst, y.failure)
}

func (y *reply) Whole(dst, body []byte, r wire.Reader) []byte {
	y.begin(r)
	y.spare = nil
	if y.foreign != nil {
		y.foreign.whole = true
	}
	y.left(body)
	y.read.Whole(nil, body, y)
	if y.foreign != nil {
		y.lack()
		y.endWhole()
	}
	dst = y.write.Whole(dst, y.events)
	y.events, y.texts = nil, nil
	return dst
}

func (y *reply) KeepAlive(dst []byte) []byte { return y.write.KeepAlive(dst) }

// Cut returns the frames by which the upstream would end the reply, which are read.
func (y *reply) Cut(dst []byte, r wire.Reader) []byte {
	frames, _ := wire.Cut(y.read, r)
	return append(dst, frames...)
}

// Held is what both keep, and the buffers between them.
func (y *reply) Held() int {
	return wire.Held(y.read) + wire.Held(y.write) + cap(y.spare) + cap(y.texts) + cap(y.slots.proof) + cap(y.events)*int(unsafe.Sizeof(wire.Event{})) + y.foreign.size()
}

// Hide begins to hide reasoning. A writer may have to know of it too.
func (y *reply) Hide() {
	y.hide = true
	if h, ok := y.write.(wire.Hider); ok {
		h.Hide()
	}
}

// between is the Reader of the codec that reads. It notes what goes to the client.
type between struct {
	wire.Reader
	hide    bool
	events  []wire.Event
	texts   []byte // of the events
	of      share  // of the thought that came last
	slots   slots
	foreign *foreign // nil if the writer is of the same API
	failure error    // why the reply is incomplete
	failed  bool     // the client has seen an error
}

func (b *between) begin(r wire.Reader) {
	b.Reader, b.events, b.texts = r, b.events[:0], b.texts[:0]
}

// Filtered is that of the Reader.
func (b *between) Filtered() bool {
	f, ok := b.Reader.(interface{ Filtered() bool })
	return ok && f.Filtered()
}

func (b *between) Fail(err error) {
	if b.failure == nil {
		b.failure = err
	}
	b.Reader.Fail(err)
}

// Found notes an event, or what the Reader makes of it.
func (b *between) Found(e wire.Event) []wire.Part {
	parts := b.Reader.Found(e)
	if b.foreign != nil {
		b.foreign.notice(&e, parts)
	}
	switch e.Kind {
	case wire.EventText:
		if !slices.ContainsFunc(parts, isContent) { // it stands there, whatever is left of it
			b.add(wire.Event{Kind: wire.EventText, Choice: e.Choice, Index: e.Index})
		}
		b.parts(e, parts)
	case wire.EventThought:
		b.thought(e, parts)
	case wire.EventDetails:
		b.parts(e, parts)
		if !b.hide {
			e.Text = nil
			b.add(e)
		}
		if b.slots.of != nil {
			b.slots.list(e.Choice)
		}
	case wire.EventRefusal, wire.EventNarration:
		for _, p := range parts {
			e.Text = p.Text
			b.add(e)
		}
	case wire.EventFault:
		b.fault(e)
	case wire.EventCall:
		b.parts(wire.Event{Kind: wire.EventText, Choice: e.Choice}, parts)
		e.Name = string(b.member("name", []byte(e.Name), false))
		b.add(e)
	case wire.EventUsage, wire.EventPicture:
		if b.foreign != nil {
			b.add(e)
		}
	case wire.EventMember: // it is shown where it stands
	case wire.EventOther:
		if e.Raw != "" {
			b.add(e)
		}
	case wire.EventSealed:
		if e.Name == "signature" && b.slots.of != nil {
			b.slots.sign(&e)
		} else if e.Name != "signature" || b.signs(e) {
			b.add(e)
		}
	case wire.EventBlockEnd:
		if signature, ok := b.slots.end(e, b.of); ok {
			b.add(signature)
		}
		b.add(e)
	case wire.EventFinish:
		if text := b.slots.endList(e.Choice); text != "" {
			b.add(wire.Event{Kind: wire.EventDetails, Choice: e.Choice, Text: []byte(text)})
		}
		b.add(e)
	default:
		b.add(e)
	}
	return parts
}

func isContent(p wire.Part) bool { return p.Place == wire.Content }

// Close ends a choice, and notes what was held.
func (b *between) Close(choice int, end sotto.Ending) []wire.Part {
	parts := b.Reader.Close(choice, end)
	b.parts(wire.Event{Kind: wire.EventText, Choice: choice}, parts)
	return parts
}

// Finish ends a reply whose choices are its texts, and notes the text that the client gets
// for an answer: it is one of its own. A reply that must not end well has no reason for its
// end.
func (b *between) Finish(end sotto.Ending) ([]wire.Part, error) {
	parts, err := b.Reader.Finish(end)
	if err != nil {
		b.events = slices.DeleteFunc(b.events, func(e wire.Event) bool { return e.Kind == wire.EventFinish })
		if b.foreign != nil {
			b.foreign.finish = nil
		}
		return nil, err
	}
	b.parts(wire.Event{Kind: wire.EventText, Choice: wire.OwnText}, parts)
	return parts, nil
}

// thought notes what became of reasoning that the upstream itself separated. What it sends
// again in another member is named, so that the client gets it there too.
func (b *between) thought(e wire.Event, parts []wire.Part) {
	if e.Again {
		if !b.hide && e.Member {
			e.Text = nil
			b.add(e)
		}
		return
	}
	if b.of.index != e.Index {
		b.of = share{index: e.Index}
	}
	b.of.came += len(e.Text)
	for _, p := range parts {
		b.of.left += len(p.Text)
	}
	b.parts(e, parts)
}

// A share is how much came of a thought, and how much goes to the client, in bytes.
type share struct{ index, came, left int }

// signs reports whether a signature goes to the client: it is of a whole thought, so it stays
// with that, or alone if nothing is left of it.
func (b *between) signs(e wire.Event) bool {
	return b.of.index != e.Index || b.of.left == 0 || b.of.left >= b.of.came
}

// parts notes what goes to the client of a text or a thought.
func (b *between) parts(e wire.Event, parts []wire.Part) {
	for i := range parts {
		p := &parts[i]
		one := wire.Event{Choice: e.Choice, Index: e.Index, Part: e.Part, Text: p.Text}
		switch p.Place {
		case wire.Content:
			one.Kind = wire.EventText
		case wire.Reasoning:
			one.Kind = wire.EventThought
			if e.Kind == wire.EventThought {
				one.Name, one.Member = e.Name, e.Member
			}
		case wire.Narration:
			one.Kind = wire.EventNarration
		case wire.Call:
			one.Kind, one.ID, one.Name, one.Whole, one.Index = wire.EventCall, p.ID, p.Name, true, -1
		case wire.Member:
			if one.Kind, one.Name = wire.EventMember, p.Name; p.Name == chatjson.NarrationField {
				one.Kind = wire.EventNarration
			}
		}
		b.add(one)
	}
}

// fault notes what is shown of an error.
func (b *between) fault(e wire.Event) {
	b.failed = b.foreign == nil // else the client has not seen it yet
	left, ok, err := shown.ErrorBody.Read([]byte(e.Raw), func(place string, text []byte, _ bool) []byte {
		return b.member(place, text, false)
	})
	if !ok || err != nil {
		left = []byte(`{"error":null}`)
	}
	e.Raw = jsonedit.StringOf(left)
	b.add(e)
}

// member has a text read that belongs to no text of the reply.
func (b *between) member(place string, text []byte, piece bool) []byte {
	return Member(b.Reader, 0, place, text, piece)
}

// Member has a text read that belongs to no text of the reply, and returns the part that
// goes to the client.
func Member(r wire.Reader, choice int, place string, text []byte, piece bool) []byte {
	if len(text) == 0 {
		return text
	}
	var left []byte
	for _, p := range r.Found(wire.Event{Kind: wire.EventMember, Choice: choice, Name: place, Text: text, Whole: !piece}) {
		left = append(left, p.Text...)
	}
	return left
}

// Texts returns what reads the texts of an object that only one API has. whole says that they
// are complete, as in a body, even those that come in pieces elsewhere.
func Texts(r wire.Reader, choice int, of string, whole bool) shown.Read {
	return func(place string, text []byte, piece bool) []byte {
		return Member(r, choice, of+"."+place, text, piece && !whole)
	}
}

// Members reports what is shown of an object that only one API has, and returns it: the
// members of a tree. A client of another API gets none of it, so nothing is read for one.
func Members(r wire.Reader, choice int, of string, tree *shown.Value, raw string, whole bool) string {
	if b, ok := r.(interface{ crosses() bool }); ok && b.crosses() {
		return ""
	}
	said := Shown(r, choice, of, tree, raw, whole)
	if said != "" {
		r.Found(wire.Event{Kind: wire.EventMembers, Choice: choice, Name: of, Raw: said})
	}
	return said
}

// Shown returns what is shown of such an object, and reports its texts alone.
func Shown(r wire.Reader, choice int, of string, tree *shown.Value, raw string, whole bool) string {
	left, ok, err := tree.Read(jsonedit.BytesOf(raw), Texts(r, choice, of, whole))
	left = bytes.TrimSpace(left)
	switch {
	case err != nil:
		r.Fail(err)
		return ""
	case !ok || len(left) <= len("{}"):
		return ""
	}
	return jsonedit.StringOf(left)
}

// breaks are the line breaks that may stand between the tokens of JSON.
var breaks = strings.NewReplacer("\n", " ", "\r", " ")

// add notes an event. Its text is the Reader's, and valid until the next call on that. Its
// JSON is one line, because frames may end at a line break.
func (b *between) add(e wire.Event) {
	if b.foreign != nil && (!b.place(&e) || b.failure != nil) {
		return
	}
	b.note(e)
}

// note keeps an event as it is.
func (b *between) note(e wire.Event) {
	if strings.ContainsAny(e.Raw, "\r\n") {
		e.Raw = breaks.Replace(e.Raw)
	}
	if len(e.Text) > 0 {
		from := len(b.texts)
		b.texts = append(b.texts, e.Text...)
		e.Text = b.texts[from:len(b.texts):len(b.texts)]
	}
	b.events = append(b.events, e)
}
