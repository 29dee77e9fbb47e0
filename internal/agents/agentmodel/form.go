package agentmodel

import (
	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
)

// A form writes an answer in the form of one API, with the writer of its codec. What its
// methods return are frames of a stream. A whole reply is written at its end, from all
// events.
type form struct {
	*answer
	writer wire.Writer
	whole  []wire.Event // what a whole reply has so far
	says   bool         // the last piece was of a text
}

func newForm(x *answer) *form {
	return &form{answer: x, writer: x.codec.Writer(wire.Settings{Request: x.request})}
}

// contentType is that of a stream.
func (f *form) contentType() string {
	if f.codec.Framing() == wire.NDJSON {
		return "application/x-ndjson"
	}
	return "text/event-stream"
}

// frames returns the frames of events, or notes the events of a whole reply.
func (f *form) frames(events ...wire.Event) []byte {
	if f.request.Stream {
		return f.writer.Frames(nil, events)
	}
	for _, e := range events {
		if n := len(f.whole); n > 0 && f.whole[n-1].Kind == e.Kind && len(e.Text) > 0 { // it goes on
			f.whole[n-1].Text = append(f.whole[n-1].Text, e.Text...)
		} else {
			f.whole = append(f.whole, e)
		}
	}
	return nil
}

// first begins the reply.
func (f *form) first() []byte {
	if f.isResponse() {
		return f.frames(f.beginResponse()...)
	}
	return f.frames(wire.Event{Kind: wire.EventModel, Name: f.model(), ID: f.id}, wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfRole}, wire.Event{Kind: wire.EventText})
}

func (f *form) thought(text string) []byte { return f.piece(wire.EventThought, text) }
func (f *form) text(text string) []byte    { return f.piece(wire.EventText, text) }

// piece writes a piece of a text or of a thought. In a response each run of them is an item.
func (f *form) piece(kind wire.EventKind, text string) []byte {
	var events []wire.Event
	if f.isResponse() && f.says && kind == wire.EventThought {
		events = append(events, endOfMessage)
	}
	f.says = kind == wire.EventText
	return f.frames(append(events, wire.Event{Kind: kind, Text: []byte(text)})...)
}

// narration writes narration, where the API has a place for it.
func (f *form) narration(text string) []byte {
	switch {
	case !f.isResponse():
		return f.frames(wire.Event{Kind: wire.EventNarration, Text: []byte(text)})
	case f.request.Stream:
		return f.alive()
	}
	return nil
}

func (f *form) alive() []byte { return f.writer.KeepAlive(nil) }

// last says how the answer ended. A stream of chat completions has token counts only if the
// request asks for them.
func (f *form) last() []byte {
	end := sotto.EndStopped
	if f.cut() {
		end = sotto.EndCut
	}
	var events []wire.Event
	if f.unkept != "" {
		events = append(events, f.loss())
	}
	events = append(events, wire.Event{Kind: wire.EventFinish, End: end})
	if !f.request.Stream || f.usage || f.isResponse() || f.codec.Framing() == wire.NDJSON {
		events = append(events, wire.Event{Kind: wire.EventUsage, Usage: f.tokens()})
	}
	return f.frames(append(events, wire.Event{Kind: wire.EventEnd})...)
}

// loss says that the turn is not kept, beside what the rest of the reply says about itself.
func (f *form) loss() wire.Event {
	e := wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfReply}
	var v object
	switch {
	case f.isResponse():
		e.Whole, v = true, object{"store": false, "metadata": object{unkeptKey: f.unkept}}
	case f.codec.Framing() == wire.NDJSON:
		v = object{"model": f.model(), "created_at": f.created.UTC(), unkeptKey: f.unkept}
	default:
		kind := "chat.completion"
		if f.request.Stream {
			kind += ".chunk"
		}
		v = object{"id": f.id, "object": kind, "created": f.created.Unix(), "model": f.model(), unkeptKey: f.unkept}
	}
	e.Raw = string(encode(v))
	return e
}

// unkeptKey is the member of a reply that says why the turn is not kept: of the metadata of a
// response, or of the reply itself.
const unkeptKey = "sotto_unkept"

// body is the body of a whole reply.
func (f *form) body() []byte {
	f.last()
	return f.writer.Whole(nil, f.whole)
}

func (f *form) fail(message []byte) []byte {
	if f.isResponse() {
		return f.frames(failedResponse(message)...)
	}
	return f.frames(wire.Event{Kind: wire.EventFault, Raw: string(message)})
}
