package account

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/internal/jsonedit"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire"
)

// Messages returns the messages in the body of a request. The API is named by its
// codec. Parts that are not text, such as images, are left out. A rendered prompt
// becomes a message of the role prompt. What Anthropic's API and OpenAI's responses
// API have outside the messages becomes one of the role system. Results of tools
// become messages of the role tool.
func Messages(name string, body []byte, room *Room) []record.Message {
	read := forms[name]
	if read == nil || !foreignjson.Valid(body) {
		return nil
	}
	m := &messages{room: room}
	read(m, jsonedit.Parse(body))
	return m.list
}

// forms are the forms of requests, by the names of the codecs.
var forms = map[string]func(*messages, gjson.Result){
	"openai.chat": (*messages).chat, "openai.completions": (*messages).prompt, "openai.responses": (*messages).input,
	"ollama.chat": (*messages).chat, "ollama.generate": (*messages).prompt, "anthropic.messages": (*messages).blocks,
}

type messages struct {
	room *Room
	list []record.Message
}

// add adds a message, cut to the room there is. An empty message is added too, to
// show that it was there.
func (m *messages) add(role string, texts ...[]byte) *record.Message {
	if !m.room.Entry() {
		return &record.Message{} // it is discarded
	}
	m.list = append(m.list, record.Message{Role: m.room.take(role), Text: m.text(texts...)})
	return &m.list[len(m.list)-1]
}

// text joins the texts of a message by newlines.
func (m *messages) text(texts ...[]byte) record.Content {
	return record.Say(string(m.room.Take(bytes.Join(texts, []byte("\n")))))
}

func (m *messages) thought(to *record.Message, field string, text []byte, sealed bool) {
	if len(text) > 0 && m.room.Entry() {
		to.Reasoning = append(to.Reasoning, record.Thought{Field: field, Text: record.Say(string(m.room.Take(text))), Sealed: sealed})
	}
}

func (m *messages) call(to *record.Message, id, name string, arguments gjson.Result) {
	if m.room.Entry() {
		to.ToolCalls = append(to.ToolCalls, record.Call{ID: m.room.take(id), Name: m.room.take(name), Arguments: m.text(wire.ValueText(arguments))})
	}
}

// textsOf returns the texts of a string, or of a list of typed parts except those
// that are reasoning.
func textsOf(v gjson.Result) (texts [][]byte) {
	if v.Type == gjson.String {
		return [][]byte{wire.ValueText(v)}
	}
	v.ForEach(func(_, part gjson.Result) bool {
		switch t := part.Get("text"); {
		case isThinking(part):
		case t.Type == gjson.String:
			texts = append(texts, wire.ValueText(t))
		case part.Type == gjson.String:
			texts = append(texts, wire.ValueText(part))
		}
		return true
	})
	return texts
}

// chat reads messages in the form of chat APIs.
func (m *messages) chat(root gjson.Result) {
	root.Get("messages").ForEach(func(_, v gjson.Result) bool {
		to := m.add(v.Get("role").Str, textsOf(v.Get("content"))...)
		to.CallID = m.room.take(v.Get("tool_call_id").Str)
		v.ForEach(func(name, f gjson.Result) bool {
			switch {
			case f.Type == gjson.String && wire.IsNativeField(name.Str):
				m.thought(to, name.Str, wire.ValueText(f), false)
			case name.Str == "reasoning_details" && f.IsArray():
				m.details(to, f)
			case name.Str == "content" && f.IsArray():
				m.thinking(to, f)
			case name.Str == "tool_calls":
				for _, c := range f.Array() {
					m.call(to, c.Get("id").Str, c.Get("function.name").Str, c.Get("function.arguments"))
				}
			case name.Str == "function_call" && f.IsObject():
				m.call(to, "", f.Get("name").Str, f.Get("arguments"))
			}
			return true
		})
		return true
	})
}

func isThinking(part gjson.Result) bool {
	switch part.Get("type").Str {
	case "thinking", "redacted_thinking", "reasoning", "reasoning_text":
		return true
	}
	return false
}

// thinking reads the reasoning in a list of typed parts.
func (m *messages) thinking(to *record.Message, list gjson.Result) {
	for _, part := range list.Array() {
		if !isThinking(part) {
			continue
		}
		kind, signature := part.Get("type").Str, wire.ValueText(part.Get("signature"))
		if kind == "redacted_thinking" {
			m.thought(to, kind, wire.ValueText(part.Get("data")), true)
			continue
		}
		m.thought(to, kind, []byte(wire.ThoughtText(part)), len(signature) > 0)
		m.thought(to, "signature", signature, true)
	}
}

func (m *messages) details(to *record.Message, list gjson.Result) {
	for _, d := range list.Array() {
		signature, data := wire.ValueText(d.Get("signature")), wire.ValueText(d.Get("data"))
		m.thought(to, "reasoning_details", slices.Concat(wire.ValueText(d.Get("text")), wire.ValueText(d.Get("summary"))), len(signature) > 0)
		m.thought(to, "reasoning_details.signature", signature, true)
		m.thought(to, "reasoning_details.data", data, true)
	}
}

// prompt reads a rendered prompt; a request may hold several.
func (m *messages) prompt(root gjson.Result) {
	if system := wire.ValueText(root.Get("system")); len(system) > 0 {
		m.add("system", system)
	}
	for _, text := range textsOf(root.Get("prompt")) {
		m.add("prompt", text)
	}
}

// blocks reads Anthropic's messages. Tool results in a message become separate
// messages before it.
func (m *messages) blocks(root gjson.Result) {
	if system := textsOf(root.Get("system")); len(system) > 0 {
		m.add("system", system...)
	}
	root.Get("messages").ForEach(func(_, v gjson.Result) bool {
		list := v.Get("content")
		results := 0
		for _, b := range list.Array() {
			if strings.HasSuffix(b.Get("type").Str, "tool_result") {
				results++
				m.add("tool", textsOf(b.Get("content"))...).CallID = m.room.take(b.Get("tool_use_id").Str)
			}
		}
		texts := textsOf(list)
		if results > 0 && len(texts) == 0 {
			return true
		}
		to := m.add(v.Get("role").Str, texts...)
		if !list.IsArray() {
			return true
		}
		m.thinking(to, list)
		for _, b := range list.Array() {
			if strings.HasSuffix(b.Get("type").Str, "tool_use") {
				m.call(to, b.Get("id").Str, b.Get("name").Str, b.Get("input"))
			}
		}
		return true
	})
}

// input reads the items of the responses API.
func (m *messages) input(root gjson.Result) {
	if text := textsOf(root.Get("instructions")); len(text) > 0 {
		m.add("system", text...)
	}
	input := root.Get("input")
	if input.Type == gjson.String {
		m.add("user", wire.ValueText(input))
		return
	}
	input.ForEach(func(_, item gjson.Result) bool {
		switch kind := item.Get("type").Str; {
		case kind == "reasoning":
			to := m.add("assistant")
			sealed := wire.ValueText(item.Get("encrypted_content"))
			for _, field := range []string{"summary", "content"} {
				for _, part := range item.Get(field).Array() {
					m.thought(to, field, wire.ValueText(part.Get("text")), len(sealed) > 0)
				}
			}
			m.thought(to, "encrypted_content", sealed, true)
		case strings.HasSuffix(kind, "_call"):
			arguments := item.Get("arguments")
			if !arguments.Exists() {
				arguments = item.Get("input")
			}
			m.call(m.add("assistant"), item.Get("call_id").Str, cmp.Or(item.Get("name").Str, strings.TrimSuffix(kind, "_call")), arguments)
		case strings.HasSuffix(kind, "_output"):
			m.add("tool", textsOf(item.Get("output"))...).CallID = m.room.take(item.Get("call_id").Str)
		default:
			m.add(item.Get("role").Str, textsOf(item.Get("content"))...)
		}
		return true
	})
}
