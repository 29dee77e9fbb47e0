package model

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// body writes a request in the API's words.
func (c *client) body(q *Request) ([]byte, error) {
	t := turnOf(q, c.api.codec().Name())
	t.Model = c.Model
	if err := c.api.adjust(t); err != nil {
		return nil, err
	}
	body, err := c.api.codec().WriteTurn(nil, t)
	if err != nil || c.Extra == nil {
		return body, err
	}
	return merge(body, c.Extra)
}

// turnOf returns a request for an API.
func turnOf(q *Request, api string) *turn.Request {
	t := &turn.Request{Stream: true, Stop: q.Stop, Thinking: thinkingOf(q.Think)}
	for i := range q.Messages {
		t.Messages = append(t.Messages, messageOf(q, &q.Messages[i], api))
	}
	for _, of := range q.Tools {
		t.Tools = append(t.Tools, turn.Tool{Name: of.Name, Description: of.Description, Schema: string(of.schema())})
	}
	if q.NoCalls && t.Tools != nil {
		t.Choice.Mode = turn.None
	}
	if q.MaxTokens > 0 {
		t.MaxTokens = json.Number(strconv.Itoa(q.MaxTokens))
	}
	if q.Temperature != nil {
		n, _ := json.Marshal(*q.Temperature)
		t.Sampling.Temperature = json.Number(n)
	}
	if q.Seed != nil {
		t.Sampling.Seed = json.Number(strconv.FormatInt(*q.Seed, 10))
	}
	return t
}

func thinkingOf(think string) turn.Thinking {
	var s switches.Setting
	switch think {
	case "":
	case "true":
		s.Mode = switches.On
	case "false":
		s.Mode = switches.Off
	default:
		s.Mode, s.Level = switches.On, switches.Level(think)
	}
	return turn.Thinking{Setting: s, Shown: true}
}

func messageOf(q *Request, m *Message, api string) turn.Message {
	t := turn.Message{Role: turn.Role(m.Role)}
	if m.Role == ToolRole {
		p := turn.Part{Kind: turn.Result, ID: m.CallID, Name: toolOf(q, *m), Results: []turn.Part{{Text: m.Text}}}
		t.Parts = []turn.Part{p}
		return t
	}
	from := 0
	said := func(to int) {
		if to > from {
			t.Parts = append(t.Parts, turn.Part{Text: m.Text[from:to]})
			from = to
		}
	}
	for i := range m.Thoughts {
		of := &m.Thoughts[i]
		p, block, ok := thoughtOf(of, api)
		if !ok {
			continue
		}
		if block { // it goes back to the place in the text where it stood
			said(shorttext.Boundary(m.Text, max(from, min(of.At, len(m.Text)))))
		}
		t.Parts = append(t.Parts, p)
	}
	said(len(m.Text))
	for _, c := range m.Calls {
		t.Parts = append(t.Parts, callOf(&c, api))
	}
	return t
}

func callOf(c *Call, api string) turn.Part {
	p := turn.Part{Kind: turn.Call, ID: c.ID, Name: c.Name, Arguments: c.Arguments, Extra: turn.Extra{API: api}}
	for _, m := range jsonedit.Members(jsonedit.Parse(c.Extra)) {
		if !slices.Contains(callMembers, m.Key) {
			p.Extra.Members = append(p.Extra.Members, turn.Member{Key: m.Key, Value: m.Value.Raw})
		}
	}
	return p
}

// thoughtOf returns a thought as an API takes it back; ok is false if it takes it in no form. Block
// says that it is a block among those of the text.
func thoughtOf(t *Thought, api string) (p turn.Part, block, ok bool) {
	p = turn.Part{Kind: turn.Thought, Name: t.Field, Text: t.Text, Extra: turn.Extra{API: api}}
	switch {
	case api == anthropic.Messages.Name():
		p.Extra.Whole = string(t.Raw)
		return p, true, isBlock(t)
	case api != openai.Chat.Name():
		return p, false, !t.Sealed && t.Text != ""
	case isPart(t), t.Field == "reasoning_details" && isList(t.Raw):
		p.Extra.Whole = string(t.Raw)
		return p, false, true
	}
	return p, false, t.Raw == nil && !t.Sealed && t.Text != "" && chatjson.IsNativeField(t.Field)
}

// isPart reports whether a thought was a part of the content: {"type": "thinking",
// "thinking": […]}, as Mistral sends it. Anthropic's blocks are not parts: their
// text is a string.
func isPart(t *Thought) bool {
	v, _ := foreignjson.Parse(t.Raw)
	return v.IsObject() && v.Get("type").Str == t.Field && !(v.Get("thinking").Type == gjson.String)
}

func isList(raw []byte) bool {
	v, _ := foreignjson.Parse(raw)
	return v.IsArray()
}

// isBlock reports whether a thought is a block of Anthropic's API.
func isBlock(t *Thought) bool {
	v, _ := foreignjson.Parse(t.Raw)
	if !v.IsObject() || v.Get("type").Str != t.Field {
		return false
	}
	return t.Field == "redacted_thinking" || t.Field == "thinking" && v.Get("thinking").Type == gjson.String
}
