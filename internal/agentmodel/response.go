package agentmodel

import (
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// A response writes a response. Its output has an item for each run of thoughts and
// for each run of text, in their order. It has no place for narration.
type response struct {
	*answer
	seq    int
	output []any // items that have ended
	open   *outputItem
}

// An outputItem is an item that is being written.
type outputItem struct {
	thought bool
	id      string
	text    strings.Builder
}

type object = map[string]any

func newResponse(x *answer) form { return &response{answer: x} }

// isResponse reports whether the request is of the responses API.
func (x *answer) isResponse() bool { return x.codec.Name() == responses.Codec.Name() }

func (*response) kind() string { return "text/event-stream" }

func (r *response) event(name string, members object) []byte {
	members["type"], members["sequence_number"] = name, r.seq
	r.seq++
	out := append([]byte("event: "+name+"\ndata: "), encode(members)...)
	return append(out, "\n\n"...)
}

// object is the response as it is now.
func (r *response) object(status string) object {
	v := object{
		"id": r.responseID(), "object": "response", "created_at": r.created.Unix(), "status": status, "model": r.model(), "output": r.items(),
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "parallel_tool_calls": false,
		"tool_choice": "auto", "tools": []any{}, "temperature": nil, "top_p": nil, "usage": nil,
	}
	v["store"] = r.turn != nil && r.turn.Response != ""
	if r.turn != nil && r.turn.Name != "" {
		v["conversation"] = object{"id": r.turn.Name}
	}
	switch status {
	case "incomplete":
		v["incomplete_details"] = object{"reason": "max_output_tokens"}
		fallthrough
	case "completed":
		m := r.outcome.Metrics
		v["usage"] = object{
			"input_tokens": m.InputTokens, "output_tokens": m.OutputTokens, "total_tokens": m.InputTokens + m.OutputTokens,
			"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": r.reasoningTokens(),
		}
	}
	return v
}

// responseID is the id by which a later request continues the conversation, if it is
// kept.
func (r *response) responseID() string {
	if r.turn != nil && r.turn.Response != "" {
		return r.turn.Response
	}
	return "resp_" + r.id
}

func (r *response) items() []any {
	if r.output == nil {
		return []any{}
	}
	return r.output
}

func (r *response) first() []byte {
	out := r.event("response.created", object{"response": r.object("in_progress")})
	return append(out, r.event("response.in_progress", object{"response": r.object("in_progress")})...)
}

func (it *outputItem) part() object {
	if it.thought {
		return object{"type": "reasoning_text", "text": it.text.String()}
	}
	return object{"type": "output_text", "text": it.text.String(), "annotations": []any{}, "logprobs": []any{}}
}

func (it *outputItem) object(status string) object {
	parts := []any{it.part()}
	if status == "in_progress" {
		parts = []any{}
	}
	if it.thought {
		return object{"type": "reasoning", "id": it.id, "summary": []any{}, "content": parts, "status": status}
	}
	return object{"type": "message", "id": it.id, "role": "assistant", "content": parts, "status": status}
}

// name is the event of a piece of the item, before .delta and .done.
func (it *outputItem) name() string {
	if it.thought {
		return "response.reasoning_text"
	}
	return "response.output_text"
}

// at says which item an event is of.
func (r *response) at(more object) object {
	more["item_id"], more["output_index"], more["content_index"] = r.open.id, len(r.output), 0
	return more
}

// add adds text to the open item, or to a new one if that is of another kind.
func (r *response) add(thought bool, text string) []byte {
	var out []byte
	if r.open == nil || r.open.thought != thought {
		out = r.close()
		kind := "msg"
		if thought {
			kind = "rs"
		}
		r.open = &outputItem{thought: thought, id: fmt.Sprintf("%s_%s_%d", kind, r.id, len(r.output))}
		out = append(out, r.event("response.output_item.added", object{"output_index": len(r.output), "item": r.open.object("in_progress")})...)
		out = append(out, r.event("response.content_part.added", r.at(object{"part": r.open.part()}))...)
	}
	r.open.text.WriteString(text)
	members := r.at(object{"delta": text})
	if !thought {
		members["logprobs"] = []any{}
	}
	return append(out, r.event(r.open.name()+".delta", members)...)
}

// close ends the open item.
func (r *response) close() []byte {
	if r.open == nil {
		return nil
	}
	members := r.at(object{"text": r.open.text.String()})
	if !r.open.thought {
		members["logprobs"] = []any{}
	}
	out := r.event(r.open.name()+".done", members)
	out = append(out, r.event("response.content_part.done", r.at(object{"part": r.open.part()}))...)
	done := r.open.object("completed")
	out = append(out, r.event("response.output_item.done", object{"output_index": len(r.output), "item": done})...)
	r.output, r.open = append(r.output, done), nil
	return out
}

func (r *response) thought(text string) []byte { return r.add(true, text) }
func (r *response) text(text string) []byte    { return r.add(false, text) }
func (r *response) narration(string) []byte    { return r.alive() }
func (*response) alive() []byte                { return []byte(":\n\n") }

func (r *response) status() string {
	if r.cut() {
		return "incomplete"
	}
	return "completed"
}

func (r *response) last() []byte {
	out := r.close()
	status := r.status()
	return append(out, r.event("response."+status, object{"response": r.object(status)})...)
}

func (r *response) fail([]byte) []byte {
	v := r.object("failed")
	v["error"] = object{"code": "server_error", "message": "the agent failed"}
	return r.event("response.failed", object{"response": v})
}

func (r *response) whole() []byte {
	r.close()
	return encode(r.object(r.status()))
}
