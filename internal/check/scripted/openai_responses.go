package scripted

import (
	"encoding/json"
	"strconv"

	"github.com/sotto-llm/sotto"
)

// A responsesRequest holds the relevant parts of a request for a response.
type responsesRequest struct {
	Model           string          `json:"model"`
	Input           json.RawMessage `json:"input"`
	Stream          bool            `json:"stream"`
	MaxOutputTokens int             `json:"max_output_tokens"`
	Tools           json.RawMessage `json:"tools"`
	ToolChoice      any             `json:"tool_choice"`
	PreviousID      *string         `json:"previous_response_id"`
	Instructions    any             `json:"instructions"`
	thinkSwitch
}

func (q *responsesRequest) cue() (cue, error) {
	c := cue{quiet: q.off(), limit: q.MaxOutputTokens}
	var tools []struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if q.Tools != nil {
		if err := json.Unmarshal(q.Tools, &tools); err != nil {
			return c, badRequest("Invalid type for 'tools': expected an array of objects.")
		}
	}
	for _, t := range tools {
		if t.Type == "function" && q.ToolChoice != "none" {
			c.tools = append(c.tools, t.Name)
		}
	}
	if items := q.items(); len(items) > 0 {
		c.result = items[len(items)-1].Type == "function_call_output"
		c.rounds = roundsOf(len(items), func(i int) (asked, results bool) {
			return items[i].Role == "user", items[i].Type == "function_call_output"
		})
	}
	return c, nil
}

func serveResponses(x *exchange) error {
	q := responsesRequest{Tools: json.RawMessage("[]"), ToolChoice: "auto"}
	if err := x.decode(&q); err != nil {
		return err
	}
	if err := x.cast(q.Model); err != nil {
		return err
	}
	if len(q.Input) == 0 {
		return badRequest("Missing required parameter: 'input'.")
	}
	c, err := q.cue()
	if err != nil {
		return err
	}
	if f := responsesHistory(x.model, q.items()); f != nil {
		return f
	}
	p := x.perform(c, 0)
	r := &response{exchange: x, q: &q, p: &p, id: x.id("resp_", "reply", 48)}
	if q.Stream {
		return r.play()
	}
	for _, it := range r.items() {
		r.output = append(r.output, it.whole(r.itemStatus(it)))
	}
	return r.whole(encoder{}, r.object(r.endStatus()))
}

// A response is a response in progress.
type response struct {
	*exchange
	q      *responsesRequest
	p      *performance
	id     string
	output array // the completed items so far
	s      *sink
	seq    int
}

// endStatus is the status of a response that has ended.
func (r *response) endStatus() string {
	if r.p.end == sotto.EndCut {
		return "incomplete"
	}
	return "completed"
}

// itemStatus is the status of an item that has ended. For thoughts and calls, the
// status of the response does not matter.
func (r *response) itemStatus(it responseItem) string {
	if it.call == nil && it.block.kind == textPart {
		return r.endStatus()
	}
	return "completed"
}

// object returns the whole response.
func (r *response) object(status string) object {
	var incomplete, failed, previous, limit any
	switch status {
	case "incomplete":
		incomplete = object{{"reason", "max_output_tokens"}}
	case "failed":
		failed = object{{"code", "server_error"}, {"message", failure}}
	}
	if r.q.PreviousID != nil {
		previous = *r.q.PreviousID
	}
	if r.q.MaxOutputTokens > 0 {
		limit = r.q.MaxOutputTokens
	}
	output := r.output
	if output == nil {
		output = array{}
	}
	return object{
		{"id", r.id}, {"object", "response"}, {"created_at", int(r.now.Unix())}, {"status", status},
		{"background", false}, {"error", failed}, {"incomplete_details", incomplete},
		{"instructions", asJSON(r.q.Instructions)}, {"max_output_tokens", limit}, {"max_tool_calls", nil},
		{"model", r.name}, {"output", output}, {"parallel_tool_calls", true}, {"previous_response_id", previous},
		{"prompt_cache_key", nil}, {"reasoning", object{{"effort", nil}, {"summary", nil}}},
		{"safety_identifier", nil}, {"service_tier", "default"}, {"store", true}, {"temperature", 1},
		{"text", object{{"format", object{{"type", "text"}}}, {"verbosity", "medium"}}},
		{"tool_choice", asJSON(r.q.ToolChoice)}, {"tools", r.q.Tools}, {"top_logprobs", 0}, {"top_p", 1},
		{"truncation", "disabled"}, {"usage", r.usage(status)}, {"user", nil}, {"metadata", object{}},
	}
}

func asJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}

// usage is null until the response has ended.
func (r *response) usage(status string) any {
	if status != "completed" && status != "incomplete" {
		return nil
	}
	in, out := r.promptTokens(), r.p.wrote
	return object{
		{"input_tokens", in}, {"input_tokens_details", object{{"cached_tokens", 0}}},
		{"output_tokens", out}, {"output_tokens_details", object{{"reasoning_tokens", r.p.thoughts()}}},
		{"total_tokens", in + out},
	}
}

// A responseItem is an item of a response's output.
type responseItem struct {
	id     string
	block  block
	call   *ToolCall // of a function call
	callID string
	sealed string // what a model that encrypts its thoughts made of this one
}

// items returns the items of the output: thoughts, a message, a function call.
func (r *response) items() []responseItem {
	var items []responseItem
	add := func(prefix string, it responseItem) {
		it.id = r.exchange.id(prefix, "item "+strconv.Itoa(len(items)), 48)
		items = append(items, it)
	}
	for _, b := range r.p.blocks() {
		switch b.kind {
		case textPart:
			add("msg_", responseItem{block: b})
		case thoughtPart:
			it := responseItem{block: b}
			if encrypts(r.model) {
				it.sealed = sign(r.model.Name, b.text())
			}
			add("rs_", it)
		}
	}
	if r.p.call != nil {
		bits := block{textPart, cut(r.p.call.Arguments, 0)}
		add("fc_", responseItem{block: bits, call: r.p.call, callID: r.exchange.id("call_", "call", 24)})
	}
	return items
}

// whole returns the item with its contents at the given status. An item in progress
// has no contents.
func (it responseItem) whole(status string) object {
	text, done := it.block.text(), status != "in_progress"
	content := array{}
	switch {
	case it.call != nil:
		if !done {
			text = ""
		}
		return object{
			{"id", it.id}, {"type", "function_call"}, {"status", status}, {"arguments", text},
			{"call_id", it.callID}, {"name", it.call.Name},
		}
	case it.block.kind == thoughtPart:
		if done {
			content = array{it.part(text)}
		}
		if it.sealed != "" {
			return it.encrypted(done)
		}
		return object{{"id", it.id}, {"type", "reasoning"}, {"summary", array{}}, {"content", content}, {"status", status}}
	}
	if done {
		content = array{it.part(text)}
	}
	return object{{"id", it.id}, {"type", "message"}, {"status", status}, {"content", content}, {"role", "assistant"}}
}

// part returns the only content part of an item that is not a call.
func (it responseItem) part(text string) object {
	if it.sealed != "" {
		return object{{"type", "summary_text"}, {"text", text}}
	}
	if it.block.kind == thoughtPart {
		return object{{"type", "reasoning_text"}, {"text", text}}
	}
	return object{{"type", "output_text"}, {"annotations", array{}}, {"logprobs", array{}}, {"text", text}}
}
