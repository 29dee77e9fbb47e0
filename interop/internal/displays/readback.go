package displays

import "github.com/tidwall/gjson"

// A Said is what a request has of one reply of the model: its messages, blocks or
// items that stand together.
type Said struct {
	From, To int // the place in the body
	Text     string
	Thoughts []Thought // in the open; what is sealed is in Rest
	Rest     []string  // tool calls, and everything else that nobody may change
}

// A Thought is a reasoning text, and the member or kind of item that has it.
type Thought struct{ Place, Text string }

// ReadBack returns the replies that a request has, and the body without them.
func ReadBack(api string, body []byte) (replies []Said, without string) {
	list, add := "messages", (*Said).addMessage
	switch api {
	case "openai.responses":
		list, add = "input", (*Said).addItem
	case "anthropic.messages":
		add = (*Said).addBlocks
	case "cohere.chat":
		add = (*Said).addParts
	case "bedrock.converse":
		add = (*Said).addUnion
	case "gemini.generate":
		list, add = "contents", (*Said).addContent
	}
	open := false
	for _, e := range gjson.GetBytes(body, list).Array() {
		kind := e.Get("type").Str
		if own := e.Get("role").Str == "assistant" || e.Get("role").Str == "model" || kind == "reasoning" || kind == "function_call"; !own {
			open = false
			continue
		}
		if !open {
			replies, open = append(replies, Said{From: e.Index}), true
		}
		last := &replies[len(replies)-1]
		last.To = e.Index + len(e.Raw)
		add(last, e)
	}
	at := 0
	for _, r := range replies {
		without += string(body[at:r.From]) + "…"
		at = r.To
	}
	return replies, without + string(body[at:])
}

func (s *Said) think(place string, text gjson.Result) {
	if text.Str != "" {
		s.Thoughts = append(s.Thoughts, Thought{place, text.Str})
	}
}

// addMessage reads a message of OpenAI's chat completions, or of Ollama's.
func (s *Said) addMessage(m gjson.Result) {
	m.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "role":
		case "content":
			s.addText(value)
		case "reasoning_content", "reasoning", "thinking":
			s.think(name.Str, value)
		default:
			s.Rest = append(s.Rest, name.Str+value.Raw)
		}
		return true
	})
}

// addText reads a text, or parts with texts.
func (s *Said) addText(content gjson.Result) {
	if !content.IsArray() {
		s.Text += content.Str
	}
	for _, part := range content.Array() {
		s.Text += part.Get("text").Str
	}
}

// addItem reads an item of OpenAI's responses.
func (s *Said) addItem(item gjson.Result) {
	switch item.Get("type").Str {
	case "reasoning":
		for _, text := range append(item.Get("summary.#.text").Array(), item.Get("content.#.text").Array()...) {
			s.think("item", text)
		}
	case "function_call":
		s.Rest = append(s.Rest, item.Raw)
	default:
		s.addText(item.Get("content"))
	}
}

// addBlocks reads a message of Anthropic's.
func (s *Said) addBlocks(m gjson.Result) {
	if content := m.Get("content"); content.Type == gjson.String {
		s.Text += content.Str
		return
	}
	for _, b := range m.Get("content").Array() {
		switch b.Get("type").Str {
		case "text":
			s.Text += b.Get("text").Str
		case "thinking":
			s.think("thinking", b.Get("thinking"))
		default:
			s.Rest = append(s.Rest, b.Raw)
		}
	}
}

// addParts reads a message of Cohere's: its parts, and the plan and the calls in members.
func (s *Said) addParts(m gjson.Result) {
	s.addBlocks(m)
	s.think("tool_plan", m.Get("tool_plan"))
	if calls := m.Get("tool_calls"); calls.Exists() {
		s.Rest = append(s.Rest, calls.Raw)
	}
}

// addContent reads a content of Gemini's. A thought that came in pieces goes back in
// pieces.
func (s *Said) addContent(c gjson.Result) {
	for _, p := range c.Get("parts").Array() {
		switch {
		case p.Get("functionCall").Exists():
			s.Rest = append(s.Rest, p.Raw)
		case p.Get("thought").Bool() && len(s.Thoughts) > 0:
			s.Thoughts[0].Text += p.Get("text").Str
		case p.Get("thought").Bool():
			s.think("thought", p.Get("text"))
		default:
			s.Text += p.Get("text").Str
		}
	}
}

// addUnion reads a message of Bedrock's, in whose blocks the one member says what they are.
func (s *Said) addUnion(m gjson.Result) {
	for _, b := range m.Get("content").Array() {
		switch text := b.Get("reasoningContent.reasoningText.text"); {
		case text.Exists():
			s.think("reasoningContent", text)
		case b.Get("text").Exists():
			s.Text += b.Get("text").Str
		default:
			s.Rest = append(s.Rest, b.Raw)
		}
	}
}
