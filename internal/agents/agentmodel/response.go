package agentmodel

import (
	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

type object = map[string]any

// isResponse reports whether the request is of the responses API. It has no place for
// narration.
func (x *answer) isResponse() bool { return x.codec.Name() == responses.Codec.Name() }

// endOfMessage ends the message that is being written: what comes next is another item.
var endOfMessage = wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfPart}

// beginResponse begins a response: it is created, and in progress.
func (x *answer) beginResponse() []wire.Event {
	v := object{
		"id": x.responseID(), "object": "response", "created_at": x.created.Unix(), "status": "in_progress", "model": x.model(),
		"instructions": nil, "metadata": object{}, "parallel_tool_calls": false, "tool_choice": "auto", "tools": []any{},
		"temperature": nil, "top_p": nil, "usage": nil, "store": x.turn != nil && x.turn.Response != "",
	}
	if x.turn != nil && x.turn.Name != "" {
		v["conversation"] = object{"id": x.turn.Name}
	}
	is := wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfReply, Raw: string(encode(v))}
	return []wire.Event{is, is}
}

// responseID is the id by which a later request continues the conversation, if it is
// kept.
func (x *answer) responseID() string {
	if x.turn != nil && x.turn.Response != "" {
		return x.turn.Response
	}
	return "resp_" + x.id
}

// failedResponse ends a response as a failed one, with the message of an error.
func failedResponse(fault []byte) []wire.Event {
	message := jsonedit.Parse(fault).Get("error.message").Str
	raw := encode(object{"error": object{"code": "server_error", "message": message}})
	return []wire.Event{
		{Kind: wire.EventFault, Raw: string(raw)}, {Kind: wire.EventFinish, Name: "failed", End: sotto.EndAborted}, {Kind: wire.EventEnd},
	}
}
