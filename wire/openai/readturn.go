package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire/internal/message"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A chat is the API of chat completions: its requests are conversations.
type chat struct{ choices }

var _ turn.API = chat{}

// asides are members of a request on which the model's answer does not depend: who asks, what is
// kept of it, how it is billed and cached.
var asides = []string{
	"user", "metadata", "store", "service_tier", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "stream_options",
}

// cacheHint marks where a prompt may be cached, on messages and parts.
const cacheHint = "cache_control"

const details = "reasoning_details"

// ReadTurn implements [turn.API].
func (c chat) ReadTurn(body []byte) (*turn.Request, error) {
	root, err := chatjson.ReadRequest(body)
	if err != nil {
		return nil, err
	}
	f := turn.FieldsOf(root)
	q := &turn.Request{Model: f.Text("model"), Parallel: f.Bool("parallel_tool_calls"), Choices: json.Number(f.Number("n"))}
	if stream := f.Bool("stream"); stream != nil {
		q.Stream = *stream
	}
	if list := f.Peek("messages"); list.IsArray() {
		f.Take("messages")
		for i, m := range list.Array() {
			q.Messages = append(q.Messages, c.readMessage(m, "messages["+strconv.Itoa(i)+"]"))
		}
	} else {
		return nil, chatjson.ErrNoMessages
	}
	if list := f.Peek("tools"); list.IsArray() {
		f.Take("tools")
		q.Tools = message.ReadTools(list, c.name)
	}
	q.Sampling = readSampling(f)
	q.MaxTokens, q.MaxName = json.Number(f.Number("max_completion_tokens")), "max_completion_tokens"
	if q.MaxTokens == "" {
		q.MaxTokens, q.MaxName = json.Number(f.Number("max_tokens")), "max_tokens"
	}
	q.Stop = f.TextOrTexts("stop")
	c.readChoice(q, f)
	c.readFormat(q, f)
	if o := f.Peek("stream_options"); o.Get("include_usage").IsBool() && len(jsonedit.Members(o)) == 1 {
		usage := o.Get("include_usage").Bool()
		f.Take("stream_options")
		q.Usage = &usage
	}
	if err := q.ReadThinking(f, body, c.name); err != nil {
		return nil, err
	}
	q.Extra = f.Rest(c.name, "", asides...)
	return q, nil
}

func readSampling(f *turn.Fields) turn.Sampling {
	n := func(name string) json.Number { return json.Number(f.Number(name)) }
	return turn.Sampling{
		Temperature: n("temperature"), TopP: n("top_p"), TopK: n("top_k"), MinP: n("min_p"),
		PresencePenalty: n("presence_penalty"), FrequencyPenalty: n("frequency_penalty"), Seed: n("seed"),
	}
}

// readChoice reads which tools may be called.
func (c chat) readChoice(q *turn.Request, f *turn.Fields) {
	v := f.Peek("tool_choice")
	switch name := v.Get("function.name"); {
	case v.Type == gjson.String && slices.Contains([]string{turn.Auto, turn.None, turn.Required}, v.Str):
		q.Choice.Mode = f.Text("tool_choice")
	case v.Get("type").Str == "function" && name.Type == gjson.String && len(jsonedit.Members(v)) == 2 && len(jsonedit.Members(v.Get("function"))) == 1:
		f.Take("tool_choice")
		q.Choice = turn.Choice{Mode: turn.Required, Names: []string{name.String()}}
	}
}

// readFormat reads what the reply is to be. What is not understood stays in the request.
func (c chat) readFormat(q *turn.Request, f *turn.Fields) {
	v := f.Peek("response_format")
	of := turn.FieldsOf(v)
	modes := map[string]string{"text": turn.PlainText, "json_object": turn.JSON, "json_schema": turn.Schema}
	format := turn.Format{Mode: modes[of.Text("type")]}
	if format.Mode == turn.Schema {
		in := turn.FieldsOf(of.Peek("json_schema"))
		format.Name, format.Description, format.Strict = in.Text("name"), in.Text("description"), in.Bool("strict")
		if schema := in.Peek("schema"); schema.IsObject() {
			format.Schema = in.Take("schema").Raw
		}
		if len(in.Rest("", "").Members) > 0 || format.Schema == "" {
			return
		}
		of.Take("json_schema")
	}
	if format.Mode == "" || len(of.Rest("", "").Members) > 0 {
		return
	}
	f.Take("response_format")
	format.Extra.API = c.name
	q.Format = format
}

// readMessage reads one message. The assistant's thoughts stand before its text, and its calls
// after it.
func (c chat) readMessage(v gjson.Result, path string) turn.Message {
	f := turn.FieldsOf(v)
	m := turn.Message{Role: turn.Role(f.Text("role")), Name: f.Text("name")}
	switch m.Role {
	case turn.Assistant:
		m.Parts = c.readThoughts(f, path)
	case turn.System, turn.Developer, turn.User:
	case turn.ToolRole:
		p := turn.Part{Kind: turn.Result, ID: f.Text("tool_call_id"), Name: m.Name, Results: c.readContent(f, path)}
		m.Name, m.Parts = "", []turn.Part{p}
	default:
		return turn.Message{Extra: turn.Extra{API: c.name, Path: path, Whole: v.Raw}}
	}
	if m.Role != turn.ToolRole {
		m.Parts = append(m.Parts, c.readContent(f, path)...)
	}
	if m.Role == turn.Assistant {
		if v := f.Take("refusal", gjson.String); v.Type == gjson.String {
			m.Parts = append(m.Parts, turn.Part{Kind: turn.Refusal, Text: text(v)})
		}
		if calls := c.readCalls(f.Peek("tool_calls"), path); calls != nil {
			f.Take("tool_calls")
			m.Parts = append(m.Parts, calls...)
		}
	}
	m.Extra = f.Rest(c.name, path, cacheHint)
	return m
}

func text(v gjson.Result) string { return jsonedit.StringOf(chatjson.ValueText(v)) }

// readThoughts reads the members for reasoning. Servers that send several send the same in each,
// so that the first speaks for all.
func (c chat) readThoughts(f *turn.Fields, path string) []turn.Part {
	var parts []turn.Part
	for _, name := range chatjson.NativeFields() {
		if v := f.Peek(name); v.Type == gjson.String && (len(parts) == 0 || text(v) != parts[0].Text) {
			f.Take(name)
			parts = append(parts, turn.Part{Kind: turn.Thought, Name: name, Text: text(v), Extra: turn.Extra{API: c.name}})
		}
	}
	if list := f.Peek(details); list.IsArray() && len(parts) == 0 {
		f.Take(details)
		var said strings.Builder
		for _, e := range list.Array() {
			said.WriteString(chatjson.ThoughtText(e))
		}
		parts = append(parts, turn.Part{Kind: turn.Thought, Name: details, Text: said.String(), Extra: turn.Extra{API: c.name, Path: path, Whole: list.Raw}})
	}
	return parts
}

// readCalls reads a list of calls, or returns nil if something else is in it.
func (c chat) readCalls(list gjson.Result, path string) []turn.Part {
	var calls []turn.Part
	if !list.IsArray() {
		return nil
	}
	for i, v := range list.Array() {
		p, ok := c.readCall(v, path+".tool_calls["+strconv.Itoa(i)+"]")
		if !ok {
			return nil
		}
		calls = append(calls, p)
	}
	return calls
}

func (c chat) readCall(v gjson.Result, path string) (p turn.Part, ok bool) {
	f := turn.FieldsOf(v)
	p = turn.Part{Kind: turn.Call, ID: f.Text("id"), Signature: chatjson.SignatureOf(v)}
	kind, arguments := f.Text("type"), "arguments"
	if kind == "" {
		kind = "function"
	}
	if p.Free = kind == "custom"; p.Free {
		arguments = "input"
	}
	in := turn.FieldsOf(f.Peek(kind))
	if p.Name, p.Arguments = in.Text("name"), in.Text(arguments); p.Name == "" || kind != "function" && !p.Free {
		return p, false
	}
	f.Take(kind)
	p.Extra = message.Nested(f, in, kind, v, c.name, path)
	return p, true
}

// other is a part that only this API has.
func (c chat) other(v gjson.Result, path string) turn.Part {
	return turn.Part{Kind: turn.Other, Extra: turn.Extra{API: c.name, Path: path, Whole: v.Raw}}
}
