package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/internal/modelname"
	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/switches"
)

// messagesAPI is Anthropic's messages.
type messagesAPI struct{ model string }

func newAnthropic(c *Config) api { return &messagesAPI{c.Model} }

func (a *messagesAPI) codec() wire.Codec                              { return anthropic.Messages }
func (a *messagesAPI) chat() []string                                 { return []string{"v1", "messages"} }
func (a *messagesAPI) called(*listener, *calling, gjson.Result) error { return nil }

// native says that blocks of reasoning come from the server itself: some servers
// sign none.
func (a *messagesAPI) native(q *wire.Request) string {
	for _, m := range q.Messages {
		if slices.ContainsFunc(m.Thoughts, func(t wire.Thought) bool { return t.Name == "thinking" }) {
			return "thinking"
		}
	}
	return ""
}

// anthropicVersion is the version of the API that is spoken here.
const anthropicVersion = "2023-06-01"

func (a *messagesAPI) authorize(h http.Header, key string) {
	h.Set("Anthropic-Version", anthropicVersion)
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

type messagesRequest struct {
	Model         string             `json:"model"`
	MaxTokens     int                `json:"max_tokens"`
	System        []textBlock        `json:"system,omitempty"`
	Messages      []anthropicMessage `json:"messages"`
	Tools         []anthropicTool    `json:"tools,omitempty"`
	ToolChoice    *toolChoice        `json:"tool_choice,omitempty"`
	Stream        bool               `json:"stream"`
	Temperature   *float64           `json:"temperature,omitempty"`
	StopSequences []string           `json:"stop_sequences,omitempty"`
	Thinking      any                `json:"thinking,omitempty"`
	OutputConfig  any                `json:"output_config,omitempty"`
}

type anthropicMessage struct {
	Role    Role              `json:"role"`
	Content []json.RawMessage `json:"content"`
}

type toolChoice struct {
	Type string `json:"type"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description text            `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type (
	textBlock struct {
		Type string `json:"type"`
		Text text   `json:"text"`
	}
	toolUseBlock struct {
		Type  string          `json:"type"`
		ID    text            `json:"id"`
		Name  text            `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	toolResultBlock struct {
		Type      string `json:"type"`
		ToolUseID text   `json:"tool_use_id"`
		// Content is missing if the result is blank: the API refuses blank texts.
		Content []textBlock `json:"content,omitempty"`
	}
)

// defaultMaxTokens is the limit of a reply, which this API requires.
const defaultMaxTokens = 8192

// body has no seed: the API has none.
func (a *messagesAPI) body(q *Request) (any, error) {
	r := messagesRequest{
		Model: a.model, Stream: true, Temperature: q.Temperature, StopSequences: q.Stop,
		MaxTokens: cmp.Or(q.MaxTokens, defaultMaxTokens),
	}
	if err := r.think(q.Think); err != nil {
		return nil, err
	}
	for _, t := range q.Tools {
		r.Tools = append(r.Tools, anthropicTool{t.Name, text(t.Description), t.schema()})
	}
	if q.NoCalls && r.Tools != nil {
		r.ToolChoice = &toolChoice{"none"}
	}
	for i := range q.Messages {
		m := &q.Messages[i]
		if m.Role == System {
			r.System = append(r.System, textBlocks(m.Text)...)
			continue
		}
		blocks, err := blocksOf(m)
		if err != nil {
			return nil, err
		}
		r.add(m.Role, blocks)
	}
	if len(r.Messages) == 0 {
		return nil, fmt.Errorf("request: Anthropic's API needs at least one message besides the system message")
	}
	return r, nil
}

// add adds a message. Tool results belong to the user's message. All results that
// follow a message with calls must be in one message.
func (r *messagesRequest) add(role Role, blocks []json.RawMessage) {
	if role == ToolRole {
		role = User
	}
	if len(blocks) == 0 {
		return
	}
	if n := len(r.Messages); n > 0 && role == User && r.Messages[n-1].Role == User {
		r.Messages[n-1].Content = append(r.Messages[n-1].Content, blocks...)
		return
	}
	r.Messages = append(r.Messages, anthropicMessage{role, blocks})
}

// budgeted are the models of Anthropic's that take a thinking budget; later ones
// take an effort. Models of others take a budget.
var budgeted = []string{
	"*claude-3*", "*claude*-4", "*claude*-4-0*", "*claude*-4-1*", "*claude*-4.1*", "*claude*-4-5*", "*claude*-4.5*", "*claude*-4-20*",
}

func (r *messagesRequest) think(think string) error {
	switch think {
	case "":
		return nil
	case "false":
		r.Thinking = map[string]string{"type": "disabled"}
		return nil
	}
	name := modelname.Normal(r.Model)
	if strings.Contains(name, "claude-") && modelname.Match(budgeted, name) < 0 {
		r.Thinking = map[string]string{"type": "adaptive", "display": "summarized"}
		if think != "true" {
			r.OutputConfig = map[string]string{"effort": think}
		}
		return nil
	}
	level := switches.Level(think)
	if think == "true" {
		level = switches.Medium
	}
	budget, ok := switches.FitBudget(level.Budget(), r.MaxTokens)
	if !ok {
		return fmt.Errorf("request: think: needs a limit of more than %d tokens, not %d", switches.MinBudget, r.MaxTokens)
	}
	r.Thinking = map[string]any{"type": "enabled", "budget_tokens": budget}
	return nil
}

// blocksOf returns the blocks of a message. Thoughts go back to the place in the
// text where they stood. Blank texts are left out: the API refuses them.
func blocksOf(m *Message) ([]json.RawMessage, error) {
	var blocks []json.RawMessage
	var failed error
	add := func(v any) {
		b, err := marshal(v)
		if err != nil {
			failed = err
		}
		blocks = append(blocks, b)
	}
	said := func(s string) {
		for _, b := range textBlocks(s) {
			add(b)
		}
	}
	if m.Role == ToolRole {
		add(toolResultBlock{"tool_result", text(m.CallID), textBlocks(m.Text)})
		return blocks, failed
	}
	from := 0
	for _, t := range m.Thoughts {
		if !isBlock(&t) {
			continue
		}
		at := shorttext.Boundary(m.Text, max(from, min(t.At, len(m.Text))))
		said(m.Text[from:at])
		from = at
		add(t.Raw)
	}
	said(m.Text[from:])
	for _, c := range m.Calls {
		add(toolUseBlock{"tool_use", text(c.ID), text(c.Name), argumentsObject(c.Arguments)})
	}
	return blocks, failed
}

// textBlocks returns a text as a list of one block, or of none if it is blank.
func textBlocks(s string) []textBlock {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []textBlock{{"text", text(s)}}
}

// isBlock reports whether a thought is a block of this API.
func isBlock(t *Thought) bool {
	v, _ := foreignjson.Parse(t.Raw)
	if !v.IsObject() || v.Get("type").Str != t.Field {
		return false
	}
	return t.Field == "redacted_thinking" || t.Field == "thinking" && v.Get("thinking").Type == gjson.String
}
