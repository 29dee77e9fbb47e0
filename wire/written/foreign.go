package written

import (
	"errors"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// A foreign reply goes to a client of another API than the upstream's. What only the upstream's
// API has stays out of it, and what all have comes in the order that every writer can write:
//
//   - A copy of the thoughts stands before what the model says or calls after them.
//   - The reason for the end and the token counts wait for the end, because APIs that end with
//     both say them at once.
//   - Calls come one after the other, with an id and with arguments.
type foreign struct {
	bridge  *wire.Bridge
	whole   bool
	asks    bool  // thoughts came since the last copy
	since   place // what the client got since the last copy
	began   place // … and when the thoughts began, how much of that it had
	named   bool  // the client knows the model
	calls   calls
	finish  *wire.Event
	usage   *wire.Usage
	ends    bool        // the API's own sign of the end came
	closing bool        // nothing follows but the end
	over    bool        // the client has the end
	lacks   error       // a part of the answer in this frame has no place: see [reply.lack]
	refused *wire.Fault // the upstream's error, which the client does not have yet
}

// A place counts calls and bytes of texts.
type place struct{ calls, bytes int }

var errNoEnd = errors.New("the upstream ended the stream before the reply was complete")

// notice notes what came, before it is known what goes to the client of it.
func (f *foreign) notice(e *wire.Event, parts []wire.Part) {
	if f.asks {
		return
	}
	f.began = f.since
	switch e.Kind {
	case wire.EventThought, wire.EventSealed, wire.EventDetails:
		f.asks = true
	case wire.EventText: // some of which the client does not get, or gets elsewhere
		n := 0
		for i := range parts {
			if parts[i].Place == wire.Content {
				n += len(parts[i].Text)
			}
		}
		f.asks = n != len(e.Text)
	case wire.EventCall:
		f.asks = f.asks || e.Signature != ""
	}
}

// place makes an event one that the client's API can have, and adds what must stand before it. It
// reports whether there is anything of it to add.
func (b *between) place(e *wire.Event) bool {
	f := b.foreign
	if f.over || !f.number(e) {
		return false
	}
	if !f.named {
		b.name(e)
	}
	switch e.Kind {
	case wire.EventThought:
		if e.Name, e.Member = "", false; len(e.Text) == 0 {
			return false
		}
		b.endCalls()
		return true
	case wire.EventText, wire.EventNarration:
		if len(e.Text) > 0 {
			b.endCalls()
			if !f.bridge.Tagged {
				b.copyThoughts()
			}
			f.since.bytes += len(e.Text)
		}
		return true
	case wire.EventMember:
		if e.Name != "refusal" {
			return false
		}
		e.Kind, e.Name = wire.EventRefusal, ""
		b.settle()
		return true
	case wire.EventRefusal:
		b.settle()
		return true
	case wire.EventPicture:
		if f.bridge.Pictures {
			b.settle()
		}
		return f.bridge.Pictures
	case wire.EventCall:
		return b.placeCall(e)
	case wire.EventFinish:
		end := *e
		end.Name, end.Raw = "", "" // the word of the upstream's API
		f.finish = &end
		if f.refused == nil && f.bridge.FaultKind != nil {
			if status, _ := f.bridge.FaultKind(e.Name, ""); status != 0 { // the reason is an error
				f.refused = f.fault(e.Name, "")
			}
		}
	case wire.EventUsage:
		if f.count(e.Usage); f.ends {
			b.ended()
		}
	case wire.EventFault:
		f.refused = f.fault(e.Name, e.Raw)
	case wire.EventEnd:
		if f.ends = true; f.usage != nil { // else some APIs say them last
			b.ended()
		}
	}
	return false
}

// name adds which model replies, before anything else. Not every API says it.
func (b *between) name(e *wire.Event) {
	f := b.foreign
	switch e.Kind {
	case wire.EventFinish, wire.EventUsage, wire.EventFault, wire.EventMembers, wire.EventDetails, wire.EventOther, wire.EventBlockEnd, wire.EventSealed:
		return
	}
	model := wire.Event{Kind: wire.EventModel, Name: modelname.Bounded(f.bridge.Model)} // some APIs say it in each frame
	if e.Kind == wire.EventModel {
		if len(e.ID) <= maxID && shown.IsWord(e.ID) {
			model.ID = e.ID
		}
		if _, ok := shown.Label.Of(jsontext.AppendVerbatim(nil, e.Name)); ok && e.Name != "" {
			model.Name = e.Name
		}
	}
	f.named = true
	b.note(model)
}

// maxID bounds the id of a reply, which some APIs say in each frame.
const maxID = 128

// number gives an event the choice that it has in the client's API.
func (f *foreign) number(e *wire.Event) bool {
	switch {
	case !f.bridge.Texts && (f.bridge.FromTexts || e.Choice < 0):
		e.Choice = 0
	case !f.bridge.FromTexts && e.Choice > 0:
		return false
	}
	return true
}

// settle adds what must stand before what the model says next: its calls, and the copy of its thoughts.
func (b *between) settle() {
	b.endCalls()
	b.copyThoughts()
}

func (b *between) copyThoughts() {
	f := b.foreign
	if !f.asks || f.bridge.Slot == nil {
		return
	}
	f.asks = false
	if text := f.bridge.Slot(f.began.calls, f.began.bytes); text != "" {
		b.note(wire.Event{Kind: wire.EventSlot, Text: []byte(text)})
		f.since = place{}
	}
}

// count takes token counts. Some APIs give those of the prompt first and those of the reply later.
func (f *foreign) count(u wire.Usage) {
	if f.usage == nil {
		f.usage = &u
		return
	}
	for _, n := range []struct{ to, from *int64 }{
		{&f.usage.Input, &u.Input}, {&f.usage.Output, &u.Output}, {&f.usage.Reasoning, &u.Reasoning},
		{&f.usage.CacheRead, &u.CacheRead}, {&f.usage.CacheWrite, &u.CacheWrite},
	} {
		if *n.from >= 0 {
			*n.to = *n.from
		}
	}
	f.usage.Apart = f.usage.Apart || u.Apart
	f.usage.Estimated = f.usage.Estimated || u.Estimated
}

// ended adds the end, once: why, the counts, and the API's own sign.
func (b *between) ended() {
	f := b.foreign
	if f.over || f.lacks != nil {
		return
	}
	f.closing = true
	if b.settle(); b.failure != nil {
		return
	}
	if f.finish == nil { // a server that says only that it has ended
		f.finish = &wire.Event{Kind: wire.EventFinish, End: sotto.EndStopped}
	}
	if !f.named {
		b.name(&wire.Event{Kind: wire.EventModel})
	}
	b.note(*f.finish)
	if f.usage != nil {
		b.note(wire.Event{Kind: wire.EventUsage, Usage: *f.usage})
	}
	b.note(wire.Event{Kind: wire.EventEnd})
	f.over = true
}

// endWhole ends a reply that is not streamed. An error in the place of a reply is one for the client.
func (b *between) endWhole() {
	switch f := b.foreign; {
	case b.failure != nil:
	case f.refused != nil:
		b.Fail(f.refused)
	default:
		b.ended()
	}
}

// left notes the members of a frame, or of a whole reply, that go to no client of another API.
func (y *reply) left(data []byte) {
	if f := y.foreign; f != nil && f.bridge.Left != nil {
		if err := f.bridge.Left(data); !f.over { // else the client has the end
			f.lacks = err
		}
	}
}

// lack fails a reply that lacks a part of its answer, after what else came with that: it must not end well.
func (y *reply) lack() {
	if f := y.foreign; f != nil && f.lacks != nil {
		y.Fail(f.lacks)
		f.lacks = nil
	}
}

// crosses reports whether the client is one of another API.
func (b *between) crosses() bool { return b.foreign != nil }

// ended reports whether the client has the end of the reply, so that nothing may follow.
func (f *foreign) ended() bool { return f != nil && f.over }

// close ends a stream that the upstream has ended. One that broke off before the reply's end
// must not look complete.
func (b *between) close() {
	switch f := b.foreign; {
	case f.over, b.failure != nil, b.failed:
	case f.finish == nil && !f.ends:
		b.Fail(errNoEnd)
	default:
		b.ended()
	}
}

// fail writes an error of the upstream's, in the client's API.
func (y *reply) fail(dst []byte) []byte {
	f := y.foreign
	if f == nil || f.refused == nil || y.failed {
		return dst
	}
	y.failed, f.over = true, true
	return y.write.Fail(dst, f.refused)
}

// fault returns an error of the upstream's in no API's words.
func (f *foreign) fault(name, raw string) *wire.Fault {
	fault := &wire.Fault{Status: http.StatusBadGateway, Text: FaultText(raw)}
	if f.bridge.FaultKind != nil {
		if status, tooLong := f.bridge.FaultKind(name, raw); status != 0 {
			fault.Status, fault.TooLong = status, tooLong
		}
	}
	return fault
}

// FaultText returns what an error says, in JSON of whichever API.
func FaultText(raw string) string {
	root := jsonedit.Parse([]byte(raw))
	for _, path := range []string{"error.message", "response.error.message", "message", "error", "detail", "error.type", "error.code"} {
		if v := root.Get(path); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return wire.ErrUpstream.Error()
}
