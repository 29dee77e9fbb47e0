package agentmodel

import (
	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
)

// A chat writes an answer in an API whose codec has a writer.
type chat struct {
	*answer
	writer wire.Writer
}

func newChat(x *answer) form {
	return chat{x, x.codec.Writer(wire.Settings{Request: x.request})}
}

func (c chat) kind() string {
	if c.codec.Framing() == wire.NDJSON {
		return "application/x-ndjson"
	}
	return "text/event-stream"
}

// frames are none of a whole reply, which is written at its end.
func (c chat) frames(events ...wire.Event) []byte {
	if !c.request.Stream {
		return nil
	}
	return c.writer.Frames(nil, events)
}

func (c chat) begin() []wire.Event {
	return []wire.Event{
		{Kind: wire.EventModel, Name: c.model(), ID: c.id}, {Kind: wire.EventMembers, Name: wire.MembersOfRole}, {Kind: wire.EventText},
	}
}

func (c chat) first() []byte { return c.frames(c.begin()...) }

func (c chat) thought(text string) []byte {
	return c.frames(wire.Event{Kind: wire.EventThought, Text: []byte(text)})
}

func (c chat) text(text string) []byte {
	return c.frames(wire.Event{Kind: wire.EventText, Text: []byte(text)})
}

func (c chat) narration(text string) []byte {
	return c.frames(wire.Event{Kind: wire.EventNarration, Text: []byte(text)})
}

func (c chat) alive() []byte { return c.writer.KeepAlive(nil) }

// end says how the answer ended. A stream of chat completions has token counts only if the
// request asks for them.
func (c chat) end(counts bool) []wire.Event {
	end := sotto.EndStopped
	if c.cut() {
		end = sotto.EndCut
	}
	events := []wire.Event{{Kind: wire.EventFinish, End: end}}
	if counts {
		events = append(events, wire.Event{Kind: wire.EventUsage, Usage: c.tokens()})
	}
	return append(events, wire.Event{Kind: wire.EventEnd})
}

func (c chat) last() []byte {
	return c.frames(c.end(c.usage || c.codec.Framing() == wire.NDJSON)...)
}

func (c chat) fail(message []byte) []byte {
	return c.frames(wire.Event{Kind: wire.EventFault, Raw: string(message)})
}

func (c chat) whole() []byte {
	events := append(c.begin(),
		wire.Event{Kind: wire.EventThought, Text: []byte(c.thoughts.String())},
		wire.Event{Kind: wire.EventNarration, Text: []byte(c.narrated.String())},
		wire.Event{Kind: wire.EventText, Text: []byte(c.said.String())})
	return c.writer.Whole(nil, append(events, c.end(true)...))
}
