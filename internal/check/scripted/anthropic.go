package scripted

import (
	"encoding/json"
	"net/http"
	"time"
)

// overloaded is Anthropic's status for an overloaded server.
const overloaded = 529

// anthropicError is Anthropic's JSON for an error.
func anthropicError(x *exchange, f *fault) object {
	kind, message := "invalid_request_error", f.message
	switch f.status {
	case http.StatusNotFound:
		kind = "not_found_error"
		if f.code == "model_not_found" {
			message = "model: " + f.message
		}
	case http.StatusRequestEntityTooLarge:
		kind = "request_too_large"
	case http.StatusTooManyRequests:
		f.status, kind, message = overloaded, "overloaded_error", "Overloaded"
	case http.StatusInternalServerError:
		kind, message = "api_error", "Internal server error"
	}
	return object{
		{"type", "error"}, {"error", object{{"type", kind}, {"message", message}}}, {"request_id", x.id("req_", "", 24)},
	}
}

func anthropicModel(m *Model) object {
	made := time.Unix(modelTime, 0).UTC().Format(time.RFC3339)
	return object{{"type", "model"}, {"id", m.Name}, {"display_name", m.Caption}, {"created_at", made}}
}

func serveCountTokens(x *exchange) error {
	var q messagesRequest
	if err := x.decode(&q); err != nil {
		return err
	}
	if err := x.cast(q.Model); err != nil {
		return err
	}
	return x.reply(http.StatusOK, object{{"input_tokens", x.promptTokens()}})
}

// A messagesRequest holds the relevant parts of a request for a message.
type messagesRequest struct {
	Model     string             `json:"model"`
	Messages  []anthropicMessage `json:"messages"`
	Stream    bool               `json:"stream"`
	MaxTokens int                `json:"max_tokens"`
	Tools     []struct {
		Name string `json:"name"`
	} `json:"tools"`
	ToolChoice struct {
		Type string `json:"type"`
	} `json:"tool_choice"`
	thinkSwitch
}

type anthropicMessage struct {
	Role    string            `json:"role"`
	Content anthropicContents `json:"content"`
}

// anthropicContents are the blocks of a message. A string is a single text block.
type anthropicContents []anthropicContent

type anthropicContent struct {
	Type      string  `json:"type"`
	Text      string  `json:"text"`
	Thinking  string  `json:"thinking"`
	Signature *string `json:"signature"`
	Data      string  `json:"data"`
}

// UnmarshalJSON reads a string or a list of blocks.
func (c *anthropicContents) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*c = anthropicContents{{Type: "text"}}
		return json.Unmarshal(b, &(*c)[0].Text)
	}
	return json.Unmarshal(b, (*[]anthropicContent)(c))
}

func (c anthropicContents) has(kind string) bool {
	for _, b := range c {
		if b.Type == kind {
			return true
		}
	}
	return false
}

func (q *messagesRequest) cue() cue {
	c := cue{quiet: q.off(), limit: q.MaxTokens}
	for _, t := range q.Tools {
		if q.ToolChoice.Type != "none" {
			c.tools = append(c.tools, t.Name)
		}
	}
	c.rounds = roundsOf(len(q.Messages), func(i int) (asked, results bool) {
		results = q.Messages[i].Content.has("tool_result")
		return q.Messages[i].Role == "user" && !results, results
	})
	last := q.Messages[len(q.Messages)-1]
	c.result = last.Role == "user" && last.Content.has("tool_result")
	if n := len(last.Content); last.Role == "assistant" && n > 0 {
		c.lead = last.Content[n-1].Text
	}
	return c
}

func serveMessages(x *exchange) error {
	var q messagesRequest
	if err := x.decode(&q); err != nil {
		return err
	}
	if err := x.cast(q.Model); err != nil {
		return err
	}
	if len(q.Messages) == 0 {
		return badRequest("messages: at least one message is required")
	}
	if f := anthropicHistory(x.model, &q); f != nil {
		return f
	}
	p := x.perform(q.cue(), 0)
	m := &message{exchange: x, p: &p, id: x.id("msg_", "reply", 24)}
	if q.Stream {
		return m.play()
	}
	return x.whole(encoder{}, m.object())
}

// A message is a message in progress.
type message struct {
	*exchange
	p  *performance
	id string
}

func (m *message) object() object {
	content := array{}
	for _, b := range m.p.blocks() {
		content = append(content, m.block(b.kind, b.text()))
	}
	if m.p.call != nil {
		content = append(content, m.toolUse(json.RawMessage(m.p.call.Arguments)))
	}
	return m.envelope(content, m.stopReason(), m.p.wrote)
}

func (m *message) envelope(content array, stop any, wrote int) object {
	return object{
		{"model", m.name}, {"id", m.id}, {"type", "message"}, {"role", "assistant"}, {"content", content},
		{"stop_reason", stop}, {"stop_sequence", nil},
		{"usage", object{
			{"input_tokens", m.promptTokens()}, {"cache_creation_input_tokens", 0}, {"cache_read_input_tokens", 0},
			{"output_tokens", wrote}, {"service_tier", "standard"},
		}},
	}
}

func (m *message) stopReason() string { return m.p.finish("end_turn", "max_tokens", "tool_use") }

// block returns a content block that holds text. Only Anthropic's own models sign
// blocks.
func (m *message) block(kind partKind, text string) object {
	switch kind {
	case thoughtPart:
		return object{{"type", "thinking"}, {"thinking", text}, {"signature", m.signature(text)}}
	case redactedPart:
		return object{{"type", "redacted_thinking"}, {"data", text}}
	}
	return object{{"type", "text"}, {"text", text}}
}

func (m *message) signature(thought string) string {
	if !signs(m.model) || thought == "" {
		return ""
	}
	return sign(m.model.Name, thought)
}

func (m *message) toolUse(input any) object {
	return object{{"type", "tool_use"}, {"id", m.exchange.id("toolu_", "call", 24)}, {"name", m.p.call.Name}, {"input", input}}
}
