package conversations

import (
	"errors"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
	"github.com/sotto-llm/sotto/wire/openai/internal/schema"
	"github.com/sotto-llm/sotto/wire/written"
)

// Codec is the codec of the API.
var Codec wire.ModelNamer = codec{}

type codec struct{}

const apiName = "mistral.conversations"

var errUnfinished = errors.New("the upstream ended the stream before the reply was done")

// The types of entries, and of the events of a stream.
const (
	messageOutput = "message.output"
	messageInput  = "message.input"
	functionCall  = "function.call"
	resultOfCall  = "function.result"

	startedEvent = "conversation.response.started"
	messageEvent = "message.output.delta"
	callEvent    = "function.call.delta"
	doneEvent    = "conversation.response.done"
	errorEvent   = "conversation.response.error"
)

func (codec) Name() string          { return apiName }
func (codec) Framing() wire.Framing { return wire.SSE }

func (codec) Capabilities() wire.Capabilities {
	return wire.Capabilities{Kind: thinking, Texts: true, Adjacent: true, Kept: "conversations", Calls: true, Unsigned: true}
}

// thinking is the type of chunks that are thoughts.
const thinking = "thinking"

func (codec) Reply(s wire.Settings) wire.Reply {
	y := &reply{set: s}
	if s.Request != nil {
		y.limit = s.Request.Limit
	}
	if !s.Written {
		y.flow.To = y
		return y
	}
	y.set, y.beside = written.Settings(s), true
	y.flow.To = blocks.Nowhere{}
	return written.Reply(y, codec{}.Writer(s), s)
}

// Error returns an error as OpenAI's API has it: clients read only its status and its body.
func (codec) Error(status int, message string) []byte { return schema.Error(status, message) }

// SetLimits implements [wire.LimitHeaders].
func (codec) SetLimits(h http.Header, left []wire.LimitLeft) { schema.SetLimits(h, left) }

var _ wire.LimitHeaders = codec{}

// FaultKind implements [wire.FaultCodec].
func (codec) FaultKind(_, raw string) (status int, tooLong bool) { return schema.FaultKind(raw) }

// ModelIn returns the model of the first output that names one.
func (codec) ModelIn(data []byte) (model string, later bool) {
	root := jsonedit.Parse(data)
	if of := root.Get("type").Str; of != "" {
		model = root.Get("model").Str
		return model, model == "" && of != messageEvent && of != callEvent && of != doneEvent && of != errorEvent
	}
	for _, e := range root.Get(listOf(root)).Array() {
		if model = e.Get("model").Str; model != "" {
			return model, false
		}
	}
	return "", false
}

// IsRequest reports whether the body of a request is one for a reply. OpenAI's API has conversations at the same paths: its
// requests have nothing but metadata and items.
func IsRequest(body []byte) bool {
	root := jsonedit.Parse(body)
	for _, m := range jsonedit.Members(root) {
		if m.Key != "metadata" && m.Key != "items" {
			return true
		}
	}
	return false
}

// Continues reports whether requests to a path continue a conversation: then none says which model answers.
func Continues(path string) bool {
	before, _ := strings.CutSuffix(strings.TrimSuffix(path, "/"), "/restart")
	return strings.HasSuffix(before[:strings.LastIndexByte(before, '/')+1], "/conversations/")
}

// listOf is the member of a reply, or of a list of what is stored, with its entries.
func listOf(root gjson.Result) string {
	switch root.Get("object").Str {
	case "conversation.history":
		return "entries"
	case "conversation.messages":
		return "messages"
	}
	return "outputs"
}

// kindOf returns what an entry or an event is about: [messageOutput], [functionCall], or another type.
func kindOf(entry gjson.Result) string {
	switch kind := entry.Get("type").Str; {
	case kind == messageEvent, kind == messageInput && entry.Get("role").Str == "assistant",
		kind == "" && entry.Get("content").Exists() && entry.Get("role").Str != "user":
		return messageOutput
	case kind == callEvent, kind == "" && entry.Get("tool_call_id").Exists() && entry.Get("arguments").Exists():
		return functionCall
	default:
		return kind
	}
}

// chunks are the contents of a message or of an event: a text, a chunk, or a list of chunks.
func chunks(content gjson.Result) []gjson.Result {
	if content.IsArray() {
		return content.Array()
	}
	if !says(content) {
		return nil
	}
	return []gjson.Result{content}
}

// chunkOf returns what a chunk holds, and the place of its text, if that is one string.
func chunkOf(c gjson.Result) (k blocks.Kind, text gjson.Result) {
	switch kind := c.Get("type").Str; {
	case c.Type == gjson.String:
		return blocks.Text, c
	case kind == thinking, kind == "" && c.Get(thinking).Exists():
		return blocks.Thinking, gjson.Result{}
	case kind == "text", kind == "" && c.Get("text").Exists():
		return blocks.Text, c.Get("text")
	}
	return blocks.Other, gjson.Result{}
}

// saidBy is the text of a chunk.
func saidBy(k blocks.Kind, c, text gjson.Result) []byte {
	if k != blocks.Thinking {
		return chatjson.ValueText(text)
	}
	list := c.Get(thinking)
	if !list.IsArray() {
		return chatjson.ValueText(list)
	}
	var all []byte
	for _, part := range list.Array() {
		all = append(all, chatjson.ValueText(part.Get("text"))...)
	}
	return all
}

// appendChunk appends a chunk with a text, which is JSON. In an event a text is a string.
func appendChunk(dst []byte, k blocks.Kind, text []byte, inList bool) []byte {
	switch {
	case k == blocks.Thinking:
		return append(append(append(dst, `{"type":"thinking","thinking":[{"type":"text","text":`...), text...), "}]}"...)
	case inList:
		return append(append(append(dst, `{"type":"text","text":`...), text...), '}')
	}
	return append(dst, text...)
}

// appendSigned appends a chunk that is nothing but the signature of a thought.
func appendSigned(dst, signature []byte) []byte {
	return append(jsontext.AppendVerbatim(append(dst, `{"type":"thinking","thinking":[],"signature":`...), signature), '}')
}

// quoted encodes parts as one JSON string.
func quoted(parts []wire.Part) []byte {
	b := []byte{'"'}
	for _, p := range parts {
		b = jsontext.AppendInside(b, p.Text)
	}
	return append(b, '"')
}

// callText are the arguments of a call: an object, or a text.
func callText(v gjson.Result) []byte {
	if v.Type == gjson.String {
		return chatjson.ValueText(v)
	}
	return jsonedit.BytesOf(v.Raw)
}

// appendCall appends the members of a call.
func appendCall(dst []byte, id, name string, arguments []byte) []byte {
	dst = jsontext.AppendVerbatim(append(dst, `"tool_call_id":`...), id)
	dst = jsontext.AppendVerbatim(append(dst, `,"name":`...), name)
	return jsontext.AppendVerbatim(append(dst, `,"arguments":`...), arguments)
}

// counted reports token counts, and returns that of the output; -1 if it is not said.
func counted(u gjson.Result, r wire.Reader) int64 {
	if !u.IsObject() {
		return -1
	}
	usage := wire.Usage{
		Input: chatjson.Count(u.Get("prompt_tokens")), Output: chatjson.Count(u.Get("completion_tokens")), Reasoning: -1, CacheRead: -1, CacheWrite: -1,
	}
	r.Found(wire.Event{Kind: wire.EventUsage, Usage: usage})
	return usage.Output
}

// endOf is how a reply ended that is done.
func endOf(tokens, limit int64) sotto.Ending {
	switch {
	case limit <= 0:
		return sotto.EndStopped
	case tokens < 0:
		return sotto.EndUnknown
	case tokens >= limit:
		return sotto.EndCut
	}
	return sotto.EndStopped
}

// named reports the model and the id of a conversation.
func named(id, model string, r wire.Reader) {
	if id != "" || model != "" {
		r.Found(wire.Event{Kind: wire.EventModel, ID: id, Name: model})
	}
}

func says(v gjson.Result) bool { return v.Exists() && v.Type != gjson.Null }
