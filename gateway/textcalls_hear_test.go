package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// A caller is a conversation with a model whose calls may be sent, and what a client made
// of its reply.
type caller struct {
	text, thought, calls, reason string
	findings                     string
	ids                          []string
	indices                      []int64
	fault                        string // what is wrong with the form of the reply
}

// callers asks for a reply of a raw text, in pieces or whole.
func callers(t testing.TB, s speaker, model string, route routing.Route, pieces []string, whole bool, end sotto.Ending, more string) caller {
	t.Helper()
	v := converse(t, s, gateway.Config{Default: route})
	v.raw, v.cut, v.end = strings.Join(pieces, ""), pieces, end
	w := ask(v, s.path, v.request(model, !whole, s.declares(more)))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", s.name(), w.Code, w.Body)
	}
	c := callerOf(w)
	if c.fault != "" {
		t.Errorf("%s: %s:\n%s", s.name(), c.fault, w.Body)
	}
	return c
}

// functionSchema is that of the tool f.
const functionSchema = `{"type":"object","properties":{"city":{"type":"string"},"n":{"type":"integer"}}}`

// declares returns members of a request of chat completions as the API writes them.
func (s speaker) declares(more string) string {
	tools, none := declared, `,"tool_choice":"none"`
	switch s.name() {
	case "anthropic.messages":
		tools = `,"tools":[{"name":"f","input_schema":` + functionSchema + `},{"name":"g","input_schema":{"type":"object"}}]`
		none = `,"tool_choice":{"type":"none"}`
	case "openai.responses":
		tools = `,"tools":[{"type":"function","name":"f","parameters":` + functionSchema + `},{"type":"function","name":"g"}]`
	case "gemini.generate":
		tools = `,"tools":[{"functionDeclarations":[{"name":"f","parameters":` + functionSchema + `}]},{"function_declarations":[{"name":"g"}]}]`
		none = `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`
	case "bedrock.converse":
		tools = `,"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":` + functionSchema + `}}},{"toolSpec":{"name":"g"}}]}`
		if strings.Contains(more, none) { // the API has no such choice
			more = ""
		}
	case "gemini.interactions":
		tools = `,"tools":[{"type":"function","name":"f","parameters":` + functionSchema + `},{"type":"function","name":"g"}]`
		none = `,"generation_config":{"tool_choice":"none"}`
	case "mistral.conversations":
		none = `,"completion_args":{"max_tokens":99,"tool_choice":"none"}`
	case "cohere.chat":
		none = `,"tool_choice":"NONE"`
	}
	return strings.NewReplacer(declared, tools, `,"tool_choice":"none"`, none).Replace(more)
}

// callerOf reads a reply, streamed or whole.
func callerOf(w *httptest.ResponseRecorder) (c caller) {
	c.findings = w.Header().Get("Sotto-Diagnostics")
	h := &callHearing{caller: &c, calls: map[int64]string{}}
	for line := range strings.Lines(w.Body.String()) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		if rest, ok := strings.CutPrefix(line, ": Sotto-Diagnostics: "); ok {
			c.findings = rest
		}
		if strings.HasPrefix(line, "{") {
			h.object(gjson.Parse(line))
		}
	}
	if h.open != 0 {
		c.fault = "a block has no end"
	}
	c.indices = h.order
	var all []string
	for _, i := range h.order {
		all = append(all, h.calls[i])
	}
	c.calls = strings.Join(all, "; ")
	return c
}

// A callHearing is a client that reads calls.
type callHearing struct {
	*caller
	calls  map[int64]string // by index
	order  []int64
	blocks int64 // begun
	open   int
}

// object reads an event or a body of any API.
func (h *callHearing) object(root gjson.Result) {
	switch kind := root.Get("type").Str; {
	case strings.HasPrefix(kind, "response.") || root.Get("object").Str == "response":
		h.response(kind, root)
	case strings.HasPrefix(kind, "content_block") || kind == "message_delta" || kind == "message":
		h.messages(kind, root)
	case strings.Contains(kind, "-") || root.Get("message.content.0.type").Exists() || root.Get("message.tool_calls").Exists() && root.Get("finish_reason").Exists():
		h.cohere(kind, root)
	case root.Get("contentBlockIndex").Exists() || root.Get("stopReason").Exists():
		h.converse(root)
	case root.Get("event_type").Exists() || root.Get("steps").Exists():
		h.interactions(root)
	case strings.HasPrefix(root.Get("object").Str, "conversation.") || strings.HasPrefix(kind, "conversation.") || strings.HasPrefix(kind, "message.") || strings.HasPrefix(kind, "function."):
		h.conversation(root)
	case root.Get("candidates").Exists():
		h.gemini(root.Get("candidates.0"))
	case kind == "":
		h.chat(root)
	}
}

// chat reads an object of chat completions or of Ollama's chat.
func (h *callHearing) chat(root gjson.Result) {
	at := root.Get("choices.0")
	o := at.Get("delta")
	if !o.Exists() {
		o = at.Get("message")
	}
	if at.Exists() {
		h.reason += at.Get("finish_reason").Str
	} else {
		o = root.Get("message")
		h.reason += root.Get("done_reason").Str
	}
	h.text += o.Get("content").Str
	h.thought += o.Get("reasoning_content").Str + o.Get("thinking").Str
	for i, call := range o.Get("tool_calls").Array() {
		index := int64(i)
		if v := call.Get("index"); v.Exists() {
			index = v.Int()
		} else if v := call.Get("function.index"); v.Exists() {
			index = v.Int()
		}
		h.call(index, call.Get("id"), call.Get("function.name"), call.Get("function.arguments"))
	}
}

// call adds a call, or a piece of one.
func (h *callHearing) call(index int64, id, name, arguments gjson.Result) {
	if _, ok := h.calls[index]; !ok {
		h.order = append(h.order, index)
		h.calls[index] = name.Str + " "
	}
	if arguments.IsObject() {
		h.calls[index] += arguments.Raw
	} else {
		h.calls[index] += arguments.Str
	}
	if id.Exists() {
		h.ids = append(h.ids, id.Str)
	}
}

// block begins a block of the reply.
func (h *callHearing) block(index int64, kind string) {
	if index != h.blocks {
		h.fault = fmt.Sprintf("block %d has the index %d", h.blocks, index)
	}
	if h.blocks++; kind == "text" && h.text != "" {
		h.text += "|"
	}
}

// messages reads an event of Anthropic's, or a message.
func (h *callHearing) messages(kind string, root gjson.Result) {
	index, delta := root.Get("index").Int(), root.Get("delta")
	one := func(b gjson.Result) {
		h.text += b.Get("text").Str
		h.thought += b.Get("thinking").Str
		if b.Get("type").Str == "tool_use" {
			input := b.Get("input")
			if kind != "message" && input.Raw != "{}" {
				h.fault = "a block begins with an input"
			} else if kind != "message" {
				input = gjson.Result{}
			}
			h.call(h.blocks-1, b.Get("id"), b.Get("name"), input)
		}
	}
	switch kind {
	case "content_block_start":
		h.block(index, root.Get("content_block.type").Str)
		h.open++
		one(root.Get("content_block"))
	case "content_block_delta":
		one(delta)
		if v := delta.Get("partial_json"); v.Exists() {
			h.call(index, gjson.Result{}, gjson.Result{}, v)
		}
	case "content_block_stop":
		h.open--
	case "message_delta":
		h.reason += delta.Get("stop_reason").Str
	case "message":
		h.reason = root.Get("stop_reason").Str
		for i, b := range root.Get("content").Array() {
			h.block(int64(i), b.Get("type").Str)
			one(b)
		}
	}
	if h.open > 1 {
		h.fault = "two blocks are open"
	}
}

// cohere reads an event of Cohere's, or a message.
func (h *callHearing) cohere(kind string, root gjson.Result) {
	index, delta := root.Get("index").Int(), root.Get("delta.message")
	one := func(b gjson.Result) {
		h.text += b.Get("text").Str
		h.thought += b.Get("thinking").Str
	}
	switch kind {
	case "content-start":
		h.open++
		h.block(index, delta.Get("content.type").Str)
		one(delta.Get("content"))
	case "content-delta":
		one(delta.Get("content"))
	case "content-end", "tool-call-end":
		h.open--
	case "tool-call-start", "tool-call-delta":
		if call := delta.Get("tool_calls"); kind == "tool-call-start" {
			h.open++
			h.call(index, call.Get("id"), call.Get("function.name"), call.Get("function.arguments"))
		} else {
			h.call(index, gjson.Result{}, gjson.Result{}, call.Get("function.arguments"))
		}
	case "message-end":
		h.reason += root.Get("delta.finish_reason").Str
	case "":
		h.reason = root.Get("finish_reason").Str
		for i, b := range root.Get("message.content").Array() {
			h.block(int64(i), b.Get("type").Str)
			one(b)
		}
		for i, call := range root.Get("message.tool_calls").Array() {
			h.call(int64(i), call.Get("id"), call.Get("function.name"), call.Get("function.arguments"))
		}
	}
	if h.open > 1 {
		h.fault = "two parts are open"
	}
}

// converse reads an event of Amazon Bedrock's, or a reply.
func (h *callHearing) converse(root gjson.Result) {
	h.reason += root.Get("stopReason").Str
	for i, b := range root.Get("output.message.content").Array() {
		kind := ""
		if b.Get("text").Exists() {
			kind = "text"
		}
		h.block(int64(i), kind)
		h.text += b.Get("text").Str
		h.thought += b.Get("reasoningContent.reasoningText.text").Str
		if call := b.Get("toolUse"); call.Exists() {
			h.call(int64(i), call.Get("toolUseId"), call.Get("name"), call.Get("input"))
		}
	}
	at := root.Get("contentBlockIndex")
	index, start, delta := at.Int(), root.Get("start.toolUse"), root.Get("delta")
	switch {
	case !at.Exists():
	case start.Exists():
		h.block(index, "")
		h.open++
		h.call(index, start.Get("toolUseId"), start.Get("name"), start.Get("input"))
	case delta.Get("toolUse").Exists():
		h.call(index, gjson.Result{}, gjson.Result{}, delta.Get("toolUse.input"))
	case delta.Exists():
		if h.open == 0 { // the first piece begins its block
			h.open++
			kind := ""
			if delta.Get("text").Exists() {
				kind = "text"
			}
			h.block(index, kind)
		}
		h.text += delta.Get("text").Str
		h.thought += delta.Get("reasoningContent.text").Str
	default:
		h.open--
	}
}

// gemini reads a candidate of Gemini's.
func (h *callHearing) gemini(c gjson.Result) {
	h.reason += c.Get("finishReason").Str
	for _, p := range c.Get("content.parts").Array() {
		if p.Get("thought").Bool() {
			h.thought += p.Get("text").Str
		} else {
			h.text += p.Get("text").Str
		}
		if call := p.Get("functionCall"); call.Exists() {
			h.call(int64(len(h.order)), call.Get("id"), call.Get("name"), call.Get("args"))
		}
	}
}

// response reads an event of a response, or the whole of one. What the events said is
// compared with the items at the end.
func (h *callHearing) response(kind string, root gjson.Result) {
	index, item := root.Get("output_index").Int(), root.Get("item")
	isCall := item.Get("type").Str == "function_call"
	switch kind {
	case "response.output_item.added":
		if isCall {
			h.open++
			h.call(index, item.Get("call_id"), item.Get("name"), item.Get("arguments"))
		}
	case "response.function_call_arguments.delta":
		h.call(index, gjson.Result{}, gjson.Result{}, root.Get("delta"))
	case "response.function_call_arguments.done":
		if !strings.HasSuffix(h.calls[index], root.Get("arguments").Str) {
			h.fault = "the arguments differ at their end"
		}
	case "response.output_item.done":
		if isCall {
			h.open--
			if h.calls[index] != item.Get("name").Str+" "+item.Get("arguments").Str || item.Get("status").Str != "completed" {
				h.fault = "the call differs at its end"
			}
		}
	case "response.output_text.delta":
		h.text += root.Get("delta").Str
	case "response.reasoning_text.delta":
		h.thought += root.Get("delta").Str
	case "response.completed", "response.incomplete", "":
		response := root
		if kind != "" {
			response = root.Get("response")
		}
		h.reason = response.Get("status").Str
		h.outputs(kind != "", response)
	}
}

// outputs reads the items of a response.
func (h *callHearing) outputs(streamed bool, response gjson.Result) {
	text, thought := "", ""
	for i, item := range response.Get("output").Array() {
		switch item.Get("type").Str {
		case "function_call":
			if said := item.Get("name").Str + " " + item.Get("arguments").Str; !streamed {
				h.call(int64(i), item.Get("call_id"), item.Get("name"), item.Get("arguments"))
			} else if h.calls[int64(i)] != said {
				h.fault = "a call has another place in the output: " + said
			}
		case "message":
			for _, part := range item.Get("content").Array() {
				text += part.Get("text").Str
			}
			h.block(h.blocks, "")
		case "reasoning":
			thought += item.Get("content.0.text").Str
		}
	}
	hidden := thought == "" && strings.Contains(h.findings, "guard_cut") // a reply that is cut hides its reasoning
	if streamed && (text != h.text || thought != h.thought && !hidden) {
		h.fault = fmt.Sprintf("the output has %q and %q", text, thought)
	}
	h.text, h.thought = text, thought
}

// callSpeakers are the APIs whose codecs send calls.
func callSpeakers(t *testing.T) (list []speaker) {
	for _, s := range speakers {
		if s.codec.Capabilities().Calls {
			list = append(list, s)
		}
	}
	if len(list) != 9 {
		t.Fatalf("%d APIs get calls", len(list))
	}
	return list
}

// callReasons are the APIs' reasons for the end of a reply that ended well: without
// calls, and with calls.
var callReasons = map[string][2]string{
	"openai.chat": {"stop", "tool_calls"}, "ollama.chat": {"stop", "stop"}, "anthropic.messages": {"end_turn", "tool_use"}, "bedrock.converse": {"end_turn", "tool_use"}, "cohere.chat": {"COMPLETE", "TOOL_CALL"},
	"gemini.generate": {"STOP", "STOP"}, "openai.responses": {"completed", "completed"}, "gemini.interactions": {"completed", "requires_action"},
	"mistral.conversations": {"done", "done"},
}
