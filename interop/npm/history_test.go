package npm_test

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/scripted"
)

// A said is what a request has of one reply of the model: its messages, blocks or
// items that stand together.
type said struct {
	from, to int // the place in the body
	text     string
	thoughts []thought // in the open; what is sealed is in rest
	rest     []string  // tool calls, and everything else that nobody may change
}

// A thought is a reasoning text, and the member or kind of item that has it.
type thought struct{ place, text string }

// readBack returns the replies that a request has, and the body without them.
func readBack(api string, body []byte) (replies []said, without string) {
	list, add := "messages", (*said).addMessage
	switch api {
	case "openai.responses":
		list, add = "input", (*said).addItem
	case "anthropic.messages":
		add = (*said).addBlocks
	case "cohere.chat":
		add = (*said).addParts
	case "bedrock.converse":
		add = (*said).addUnion
	case "gemini.generate":
		list, add = "contents", (*said).addContent
	}
	open := false
	for _, e := range gjson.GetBytes(body, list).Array() {
		kind := e.Get("type").Str
		if own := e.Get("role").Str == "assistant" || e.Get("role").Str == "model" || kind == "reasoning" || kind == "function_call"; !own {
			open = false
			continue
		}
		if !open {
			replies, open = append(replies, said{from: e.Index}), true
		}
		last := &replies[len(replies)-1]
		last.to = e.Index + len(e.Raw)
		add(last, e)
	}
	at := 0
	for _, r := range replies {
		without += string(body[at:r.from]) + "…"
		at = r.to
	}
	return replies, without + string(body[at:])
}

func (s *said) think(place string, text gjson.Result) {
	if text.Str != "" {
		s.thoughts = append(s.thoughts, thought{place, text.Str})
	}
}

// addMessage reads a message of OpenAI's chat completions, or of Ollama's.
func (s *said) addMessage(m gjson.Result) {
	m.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "role":
		case "content":
			s.addText(value)
		case "reasoning_content", "reasoning", "thinking":
			s.think(name.Str, value)
		default:
			s.rest = append(s.rest, name.Str+value.Raw)
		}
		return true
	})
}

// addText reads a text, or parts with texts.
func (s *said) addText(content gjson.Result) {
	if !content.IsArray() {
		s.text += content.Str
	}
	for _, part := range content.Array() {
		s.text += part.Get("text").Str
	}
}

// addItem reads an item of OpenAI's responses.
func (s *said) addItem(item gjson.Result) {
	switch item.Get("type").Str {
	case "reasoning":
		for _, text := range append(item.Get("summary.#.text").Array(), item.Get("content.#.text").Array()...) {
			s.think("item", text)
		}
	case "function_call":
		s.rest = append(s.rest, item.Raw)
	default:
		s.addText(item.Get("content"))
	}
}

// addBlocks reads a message of Anthropic's.
func (s *said) addBlocks(m gjson.Result) {
	if content := m.Get("content"); content.Type == gjson.String {
		s.text += content.Str
		return
	}
	for _, b := range m.Get("content").Array() {
		switch b.Get("type").Str {
		case "text":
			s.text += b.Get("text").Str
		case "thinking":
			s.think("thinking", b.Get("thinking"))
		default:
			s.rest = append(s.rest, b.Raw)
		}
	}
}

// A policy is what `--history auto` does with the reasoning of replies in turns that
// call tools.
type policy struct {
	earlier  bool // it stays in the turns before the user's last message, if the client sent it
	restored bool // it is put back where the client dropped it
	all      bool // also where no tool was called
}

var policies = map[string]policy{
	"qwen3:8b":        {},
	"qwen3-tool-text": {},
	"gpt-oss:20b":     {earlier: true, restored: true},
	"plain":           {earlier: true},
	"deepseek-v3.2":   {earlier: true, restored: true},
	"kimi-k2.6":       {earlier: true, restored: true, all: true},
	"ollama-native":   {earlier: true},
	"openrouter":      {earlier: true},
	"claude":          {earlier: true},
	"gemini":          {earlier: true},
}

// places are where the upstream's own field for reasoning is, by API, or by the
// model's wire in chat completions.
var places = map[string]string{
	"openai.responses": "item", "anthropic.messages": "thinking", "ollama.chat": "thinking", "cohere.chat": "thinking", "gemini.generate": "thought", "bedrock.converse": "reasoningContent",
	"": "reasoning_content", "deepseek": "reasoning_content", "moonshot": "reasoning_content", "litellm": "reasoning_content",
	"ollama": "reasoning", "openrouter": "reasoning",
}

// judgeHistory compares what the client sent with what the upstream got.
func judgeHistory(v verdict, client *npmClient, c *conversation, m *scripted.Model) {
	script := []*scripted.Reply{m.Call, m.Result, m.Call, m.Result}
	if m.Call.ToolCall.InText {
		script = []*scripted.Reply{m.Call, m.Call}
	}
	if c.Error != "" {
		return
	}
	if len(c.before) != len(script) || len(c.after) != len(script) {
		v.errorf(history, "%d requests, and %d at the upstream, not %d", len(c.before), len(c.after), len(script))
		return
	}
	for k := range c.after {
		before, head := readBack(client.API, c.before[k].Body)
		after, same := readBack(client.API, c.after[k].Body)
		if head != same {
			v.errorf(history, "request %d: the upstream got\n%s\nfor\n%s", k, same, head)
		}
		if len(after) != k || len(before) != k {
			v.errorf(history, "request %d: %d replies, and %d at the upstream", k, len(before), len(after))
			return
		}
		for i := range after {
			p := policies[m.Name]
			current := k%2 == 1 && i == k-1 && len(script) == 4
			wasSent := has(before[i], script[i])
			stays := p.restored || wasSent && (current || p.earlier)
			if client.limit(history) != nil && !m.Call.ToolCall.InText { // no call is sent back, so no provider demands its reasoning
				stays = p.all && before[i].text != ""
				if len(before[i].rest) > 0 {
					v.errorf(history, "request %d, reply %d: the client sends %q back", k, i, before[i].rest)
				}
			}
			want := expected(client.API, m, script[i], before[i], stays)
			if m.Wire == "google" {
				want.rest = nil
				after[i].rest = nil
			}
			if after[i].text != want.text || !slices.Equal(after[i].thoughts, want.thoughts) || !slices.Equal(after[i].rest, want.rest) {
				v.errorf(history, "request %d, reply %d: the upstream got\n%+v\nwant\n%+v\nfrom\n%s", k, i, after[i], want, c.before[k].Body[before[i].from:before[i].to])
			}
		}
	}
}

// has reports whether a client sent a reply's reasoning back, or a part of it: some keep
// only the last delta. The upstream should get the whole of that.
func has(s said, r *scripted.Reply) bool {
	if len(r.Reasoning) == 0 {
		return false
	}
	all := s.text
	for _, t := range s.thoughts {
		all += t.text
		if strings.Contains(r.Reasoning[0], t.text) {
			return true
		}
	}
	return strings.Contains(all, r.Reasoning[0])
}

// sendsPart reports whether a client sent only a part of a thought back.
func sendsPart(s said, r *scripted.Reply) bool {
	return slices.ContainsFunc(s.thoughts, func(t thought) bool { return t.text != strings.Join(r.Reasoning, "") })
}

// expected is what the upstream should get of a reply.
func expected(api string, m *scripted.Model, r *scripted.Reply, before said, stays bool) said {
	want := said{text: before.text, rest: before.rest}
	if sendsPart(before, r) {
		want.rest = slices.DeleteFunc(slices.Clone(want.rest), func(s string) bool { return strings.HasPrefix(s, "reasoning_details") })
	}
	switch {
	case !stays || len(r.Reasoning) == 0:
	case r.Thought == nil:
		want.text = r.Text()
	default:
		place := places[api]
		if api == "cohere.chat" && r.ToolCall != nil { // the model plans the call
			place = "tool_plan"
		}
		if place == "" {
			place = places[m.Wire]
		}
		want.thoughts = []thought{{place, strings.Join(r.Thought, "")}}
	}
	return want
}

// addParts reads a message of Cohere's: its parts, and the plan and the calls in members.
func (s *said) addParts(m gjson.Result) {
	s.addBlocks(m)
	s.think("tool_plan", m.Get("tool_plan"))
	if calls := m.Get("tool_calls"); calls.Exists() {
		s.rest = append(s.rest, calls.Raw)
	}
}

// addContent reads a content of Gemini's. A thought that came in pieces goes back in
// pieces.
func (s *said) addContent(c gjson.Result) {
	for _, p := range c.Get("parts").Array() {
		switch {
		case p.Get("functionCall").Exists():
			s.rest = append(s.rest, p.Raw)
		case p.Get("thought").Bool() && len(s.thoughts) > 0:
			s.thoughts[0].text += p.Get("text").Str
		case p.Get("thought").Bool():
			s.think("thought", p.Get("text"))
		default:
			s.text += p.Get("text").Str
		}
	}
}

// addUnion reads a message of Bedrock's, in whose blocks the one member says what they are.
func (s *said) addUnion(m gjson.Result) {
	for _, b := range m.Get("content").Array() {
		switch text := b.Get("reasoningContent.reasoningText.text"); {
		case text.Exists():
			s.think("reasoningContent", text)
		case b.Get("text").Exists():
			s.text += b.Get("text").Str
		default:
			s.rest = append(s.rest, b.Raw)
		}
	}
}
