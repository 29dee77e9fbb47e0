package model

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/chatjson"
	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/internal/jsonedit"
	"github.com/sotto-llm/sotto/internal/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai"
)

// chatAPI is the chat completions API of OpenAI, as many servers implement it.
type chatAPI struct {
	model string
	// own says that the server is OpenAI's own, which has a different name for the
	// token limit than all others.
	own bool
}

func newOpenAI(c *Config) api {
	host := strings.ToLower(c.URL)
	return &chatAPI{model: c.Model, own: strings.Contains(host, "//api.openai.com") || strings.Contains(host, ".openai.azure.com")}
}

func (a *chatAPI) codec() wire.Codec    { return openai.Chat }
func (a *chatAPI) chat() []string       { return []string{"chat", "completions"} }
func (a *chatAPI) embeddings() []string { return []string{"embeddings"} }

// called keeps the members of a call that have no field of their own.
func (a *chatAPI) called(l *listener, c *calling, piece gjson.Result) error {
	return l.addExtra(c, piece)
}

func (a *chatAPI) authorize(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools               []chatTool `json:"tools,omitempty"`
	ToolChoice          string     `json:"tool_choice,omitempty"`
	MaxTokens           int        `json:"max_tokens,omitempty"`
	MaxCompletionTokens int        `json:"max_completion_tokens,omitempty"`
	Temperature         *float64   `json:"temperature,omitempty"`
	Seed                *int64     `json:"seed,omitempty"`
	Stop                []string   `json:"stop,omitempty"`
	ReasoningEffort     string     `json:"reasoning_effort,omitempty"`
}

// A chatMessage is written member by member: its members depend on what the server
// sent.
type chatMessage = json.RawMessage

type chatTool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description text            `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

func functions(tools []Tool) []chatTool {
	var list []chatTool
	for _, t := range tools {
		list = append(list, chatTool{"function", function{t.Name, text(t.Description), t.schema()}})
	}
	return list
}

// efforts are the values of Request.Think in this API.
var efforts = map[string]string{"": "", "true": "medium", "false": "none", "low": "low", "medium": "medium", "high": "high"}

func (a *chatAPI) body(q *Request) (any, error) {
	r := chatRequest{
		Model: a.model, Stream: true, Tools: functions(q.Tools),
		Temperature: q.Temperature, Seed: q.Seed, Stop: q.Stop, ReasoningEffort: efforts[q.Think],
	}
	if q.NoCalls && r.Tools != nil {
		r.ToolChoice = "none"
	}
	r.StreamOptions.IncludeUsage = true
	if a.own {
		r.MaxCompletionTokens = q.MaxTokens
	} else {
		r.MaxTokens = q.MaxTokens
	}
	for i := range q.Messages {
		m, err := chatMessageOf(&q.Messages[i])
		if err != nil {
			return nil, err
		}
		r.Messages = append(r.Messages, m)
	}
	return r, nil
}

// An object is written member by member, in their order.
type object []byte

func (o *object) add(key string, value any) error {
	v, err := marshal(value)
	if err != nil {
		return err
	}
	o.raw(key, v)
	return nil
}

func (o *object) raw(key string, value []byte) {
	if len(*o) == 0 {
		*o = append(*o, '{')
	} else {
		*o = append(*o, ',')
	}
	*o = append(jsontext.AppendVerbatim(*o, []byte(key)), ':')
	*o = append(*o, value...)
}

func (o object) close() json.RawMessage {
	if len(o) == 0 {
		return json.RawMessage("{}")
	}
	return json.RawMessage(append(o, '}'))
}

func chatMessageOf(m *Message) (json.RawMessage, error) {
	var o object
	content := any(text(m.Text))
	if parts := contentParts(m); parts != nil {
		content = parts
	} else if m.Text == "" && len(m.Calls) > 0 {
		content = nil
	}
	err := o.add("role", m.Role)
	if err == nil {
		err = o.add("content", content)
	}
	if err == nil && m.Role == ToolRole {
		err = o.add("tool_call_id", m.CallID)
	}
	for _, t := range memberThoughts(m) {
		o.raw(t.Field, t.Raw)
	}
	if err == nil && len(m.Calls) > 0 {
		err = o.add("tool_calls", chatCalls(m.Calls))
	}
	return o.close(), err
}

// contentParts returns a message's content if reasoning is in it as parts; else
// nil.
func contentParts(m *Message) []any {
	var parts []any
	for _, t := range m.Thoughts {
		if isPart(&t) {
			parts = append(parts, t.Raw)
		}
	}
	if parts != nil && m.Text != "" {
		parts = append(parts, map[string]any{"type": "text", "text": text(m.Text)})
	}
	return parts
}

// isPart reports whether a thought was a part of the content: {"type": "thinking",
// "thinking": […]}, as Mistral sends it. Anthropic's blocks are not parts: their
// text is a string.
func isPart(t *Thought) bool {
	v, _ := foreignjson.Parse(t.Raw)
	return v.IsObject() && v.Get("type").Str == t.Field && !(v.Get("thinking").Type == gjson.String)
}

// memberThoughts returns the thoughts that are members of a message, with their
// values in Raw, each member once.
func memberThoughts(m *Message) []Thought {
	var list []Thought
	for _, t := range m.Thoughts {
		switch i := slices.IndexFunc(list, func(of Thought) bool { return of.Field == t.Field }); {
		case t.Field == "reasoning_details" && isList(t.Raw):
		case t.Raw != nil || t.Sealed || t.Text == "" || !chatjson.IsNativeField(t.Field):
			continue
		case i >= 0:
			list[i].Text += t.Text
			list[i].Raw, _ = text(list[i].Text).MarshalJSON()
			continue
		default:
			t.Raw, _ = text(t.Text).MarshalJSON()
		}
		list = append(list, t)
	}
	return list
}

func isList(raw []byte) bool {
	v, _ := foreignjson.Parse(raw)
	return v.IsArray()
}

func chatCalls(calls []Call) []json.RawMessage {
	var list []json.RawMessage
	for _, c := range calls {
		var o object
		arguments, _ := text(c.Arguments).MarshalJSON()
		name, _ := text(c.Name).MarshalJSON()
		id, _ := text(c.ID).MarshalJSON()
		o.raw("id", id)
		o.raw("type", []byte(`"function"`))
		o.raw("function", append(append(append(append([]byte(`{"name":`), name...), `,"arguments":`...), arguments...), '}'))
		for _, m := range jsonedit.Members(jsonedit.Parse(c.Extra)) {
			if !slices.Contains(callMembers, m.Key) {
				o.raw(m.Key, []byte(m.Value.Raw))
			}
		}
		list = append(list, o.close())
	}
	return list
}
