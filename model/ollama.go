package model

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/ollama"
)

// ollamaAPI is Ollama's own chat.
type ollamaAPI struct{ model string }

func newOllama(c *Config) api { return &ollamaAPI{c.Model} }

func (a *ollamaAPI) codec() wire.Codec    { return ollama.Chat }
func (a *ollamaAPI) chat() []string       { return []string{"api", "chat"} }
func (a *ollamaAPI) embeddings() []string { return []string{"api", "embed"} }

func (a *ollamaAPI) authorize(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []ollamaMessage `json:"messages"`
	Tools    []chatTool      `json:"tools,omitempty"`
	Stream   bool            `json:"stream"`
	Think    any             `json:"think,omitempty"`
	Options  *ollamaOptions  `json:"options,omitempty"`
}

type ollamaOptions struct {
	NumPredict  int      `json:"num_predict,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	Seed        *int64   `json:"seed,omitempty"`
	Stop        []string `json:"stop,omitempty"`
}

type ollamaMessage struct {
	Role       Role              `json:"role"`
	Content    text              `json:"content"`
	Thinking   text              `json:"thinking,omitempty"`
	ToolCalls  []json.RawMessage `json:"tool_calls,omitempty"`
	ToolName   text              `json:"tool_name,omitempty"`
	ToolCallID text              `json:"tool_call_id,omitempty"`
}

func (a *ollamaAPI) body(q *Request) (any, error) {
	r := ollamaRequest{Model: a.model, Stream: true}
	if !q.NoCalls { // the API has no other way to forbid them
		r.Tools = functions(q.Tools)
	}
	switch q.Think {
	case "":
	case "true", "false":
		r.Think = q.Think == "true"
	default:
		r.Think = q.Think
	}
	if q.MaxTokens > 0 || q.Temperature != nil || q.Seed != nil || q.Stop != nil {
		r.Options = &ollamaOptions{q.MaxTokens, q.Temperature, q.Seed, q.Stop}
	}
	for _, m := range q.Messages {
		o := ollamaMessage{Role: m.Role, Content: text(m.Text)}
		for _, t := range m.Thoughts {
			if !t.Sealed {
				o.Thinking += text(t.Text)
			}
		}
		for _, c := range m.Calls {
			call, err := ollamaCall(&c)
			if err != nil {
				return nil, err
			}
			o.ToolCalls = append(o.ToolCalls, call)
		}
		if m.Role == ToolRole {
			o.ToolName, o.ToolCallID = text(toolOf(q, m)), text(m.CallID)
		}
		r.Messages = append(r.Messages, o)
	}
	return r, nil
}

func ollamaCall(c *Call) (json.RawMessage, error) {
	var f, o object
	err := f.add("name", text(c.Name))
	f.raw("arguments", argumentsObject(c.Arguments))
	if c.ID != "" {
		if err := o.add("id", text(c.ID)); err != nil {
			return nil, err
		}
	}
	o.raw("function", f.close())
	for _, m := range jsonedit.Members(jsonedit.Parse(c.Extra)) {
		if !slices.Contains(callMembers, m.Key) {
			o.raw(m.Key, []byte(m.Value.Raw))
		}
	}
	return o.close(), err
}

// argumentsObject returns a call's arguments for an API that accepts only an
// object. Arguments that are not an object are sent as text, so that the model sees
// what it wrote.
func argumentsObject(arguments string) json.RawMessage {
	if isObject(arguments) {
		return json.RawMessage(arguments)
	}
	var o object
	o.add("malformed", text(arguments))
	return o.close()
}

// called passes a call on, which comes complete.
func (a *ollamaAPI) called(l *listener, c *calling, piece gjson.Result) error {
	if c.arguments.Len() == 0 {
		if err := l.argue(c, "{}"); err != nil {
			return err
		}
	}
	if err := l.addExtra(c, piece); err != nil {
		return err
	}
	return l.giveCalls()
}
