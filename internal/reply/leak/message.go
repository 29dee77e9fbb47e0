package leak

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// A Message is what a model says in one message of a chat API: of OpenAI's chat
// completions and responses, of Ollama and Anthropic, and of logs that follow them.
type Message struct {
	Text      string
	Reasoning string   // of the fields and blocks for it
	Arguments []string // of tool calls: JSON, or what stands in its place
	Results   []string // of tools that the server calls itself

	dialects []string // whose markers Text has, if it was searched for them
	searched bool
}

// reasoningFields are the members that servers put reasoning into.
var reasoningFields = []string{"reasoning_content", "reasoning", "thinking", "reasoning_text", "thoughts"}

// deepest is how deep the parts of a message may nest.
const deepest = 6

// maxCalls bounds the calls of a message that are looked at.
const maxCalls = 1000

// ReadMessage reads a message, a choice, a delta or a list of parts.
func ReadMessage(v gjson.Result) *Message {
	var r reader
	r.message(v, 0)
	return r.result()
}

// messageOf reads a message whose members are known.
func messageOf(o object) *Message {
	var r reader
	r.takeObject(o, 0)
	return r.result()
}

func (m *reader) result() *Message {
	return &Message{Text: m.text.String(), Reasoning: m.reasoning.String(), Arguments: m.arguments, Results: m.results}
}

// A reader collects the parts of a message.
type reader struct {
	text, reasoning    strings.Builder
	arguments, results []string
}

func (m *reader) message(v gjson.Result, depth int) {
	switch {
	case depth == deepest:
	case v.Type == gjson.String:
		m.text.WriteString(v.Str)
	case v.IsArray():
		v.ForEach(func(_, part gjson.Result) bool {
			m.message(part, depth+1)
			return true
		})
	case v.IsObject():
		m.takeObject(objectOf(v), depth)
	}
}

func (m *reader) takeObject(o object, depth int) {
	switch o.get("type").Str {
	case "thinking", "reasoning", "thought":
		for _, name := range []string{"thinking", "text", "reasoning", "summary", "content"} {
			m.reasoning.WriteString(allText(o.get(name), depth+1))
		}
		return
	case "redacted_thinking", "image", "image_url", "input_audio", "audio", "file":
		return
	case "tool_use", "server_tool_use", "function_call", "mcp_call":
		m.call(o.first("input", "arguments"))
		return
	case "tool_result", "web_search_tool_result", "function_call_output":
		m.results = append(m.results, allText(o.first("content", "output"), depth+1))
		return
	}
	if o.get("thought").Type == gjson.True { // a part of Gemini
		m.reasoning.WriteString(o.get("text").Str)
		return
	}
	for _, name := range reasoningFields {
		if text := allText(o.get(name), depth+1); text != "" {
			m.reasoning.WriteString(text)
			break // the others repeat it
		}
	}
	m.message(o.first("message", "delta", "content", "parts", "text", "value", "answer"), depth+1)
	o.get("tool_calls").ForEach(func(_, call gjson.Result) bool {
		m.call(objectOf(call).first("function.arguments", "arguments", "input"))
		return true
	})
	m.call(o.get("function_call.arguments"))
}

func (m *reader) call(arguments gjson.Result) {
	switch {
	case !arguments.Exists() || len(m.arguments) == maxCalls:
	case arguments.Type == gjson.String:
		m.arguments = append(m.arguments, arguments.Str)
	default:
		m.arguments = append(m.arguments, arguments.Raw)
	}
}

// allText returns the texts of a value: a string, or the parts of a list.
func allText(v gjson.Result, depth int) string {
	var r reader
	r.message(v, depth)
	return r.text.String()
}

// In finds the leaks in a message: in the answer, in the arguments of calls, and in the
// results of tools.
func (f *Finder) In(m *Message, end sotto.Ending) Found {
	var found Found
	dialects := m.dialects
	if !m.searched {
		dialects = f.dialectsIn(m.Text)
	}
	if l, ok := f.find(m.Text, dialects, end, Answer); ok {
		found.Answer = &l
	} else if l, ok := Repeats(m.Text, m.Reasoning); ok {
		found.Answer = &l
	}
	for _, arguments := range m.Arguments {
		if l, ok := f.InValue(arguments); ok && found.Arguments == nil {
			found.Arguments = &l
		}
	}
	for _, result := range m.Results {
		if l, ok := f.InValue(result); ok && found.Results == nil {
			found.Results = &l
		}
	}
	return found
}

// Found are the leaks in a message, the first of each place.
type Found struct{ Answer, Arguments, Results *Leak }

// maxStrings bounds the strings of a value that are looked at.
const maxStrings = 10_000

// InValue finds a leak in the arguments of a tool or in its result: in each string of
// a JSON value, or in a text that is not JSON.
func (f *Finder) InValue(text string) (Leak, bool) {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return f.Find(text, sotto.EndStopped, Value)
	}
	v, err := foreignjson.Parse([]byte(trimmed))
	if err != nil {
		return f.Find(text, sotto.EndStopped, Value)
	}
	var leak Leak
	left := maxStrings
	found := f.inStrings(v, 0, &left, &leak)
	return leak, found
}

func (f *Finder) inStrings(v gjson.Result, depth int, left *int, leak *Leak) (found bool) {
	if *left--; *left < 0 || depth > 64 {
		return false
	}
	if v.Type == gjson.String {
		*leak, found = f.Find(v.Str, sotto.EndStopped, Value)
		return found
	}
	if v.IsObject() || v.IsArray() {
		v.ForEach(func(_, one gjson.Result) bool {
			found = f.inStrings(one, depth+1, left, leak)
			return !found && *left >= 0
		})
	}
	return found
}
