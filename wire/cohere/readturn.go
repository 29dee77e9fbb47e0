package cohere

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

var _ turn.API = chat{}

// ReadTurn reads a request. In an assistant's message the parts of the content come first, then the
// plan of the calls, which is a thought, and then the calls.
func (chat) ReadTurn(body []byte) (*turn.Request, error) {
	root := jsonedit.Parse(body)
	if !root.IsObject() {
		return nil, wire.ErrNoObject
	}
	q, f := &turn.Request{}, turn.FieldsOf(root)
	for i, v := range takeObjects(f, "messages") {
		m, err := readTurnMessage(v, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		q.Messages = append(q.Messages, m)
	}
	for i, v := range takeObjects(f, "tools") {
		q.Tools = append(q.Tools, readTurnTool(v, fmt.Sprintf("tools[%d]", i)))
	}
	takeStrict(f, q.Tools)
	q.Model = word(f, "model")
	if q.Stream = f.Peek("stream").Type == gjson.True; q.Stream {
		f.Take("stream")
	}
	number := func(name string) json.Number { return json.Number(f.Number(name)) }
	q.MaxTokens = number("max_tokens")
	q.Sampling = turn.Sampling{
		Temperature: number("temperature"), TopP: number("p"), TopK: number("k"), Seed: number("seed"),
		PresencePenalty: number("presence_penalty"), FrequencyPenalty: number("frequency_penalty"),
	}
	q.Stop = f.Texts("stop_sequences")
	for mode, name := range choices {
		if v := f.Peek("tool_choice"); v.Type == gjson.String && v.Str == name {
			f.Take("tool_choice")
			q.Choice.Mode = mode
		}
	}
	q.Thinking = readTurnThinking(f, body)
	q.Format = readTurnFormat(f.Object("response_format"))
	q.Extra = f.Rest(apiName, "", "priority")
	q.Extra.Same("stream", "false")
	q.Extra.Empty("messages", "tools", "documents", "stop_sequences", "thinking", "response_format", "citation_options")
	return q, nil
}

// choices are the API's words for which tools may be called.
var choices = map[string]string{turn.Required: "REQUIRED", turn.None: "NONE"}

// takeObjects takes a list of objects.
func takeObjects(f *turn.Fields, name string) []gjson.Result {
	v := f.Peek(name)
	if !v.IsArray() || turn.Hollow(v) {
		return nil
	}
	list := v.Array()
	if slices.ContainsFunc(list, func(e gjson.Result) bool { return !e.IsObject() }) {
		return nil
	}
	f.Take(name)
	return list
}

// word takes a string that is not empty.
func word(f *turn.Fields, name string) string {
	if v := f.Peek(name); v.Type == gjson.String && v.Str != "" {
		return f.Text(name)
	}
	return ""
}

func readTurnThinking(f *turn.Fields, body []byte) turn.Thinking {
	t := turn.Thinking{Extra: turn.Extra{API: apiName}}
	says, members, err := switches.Find(body)
	other := func(name string) bool { return name != "thinking" }
	v := f.Peek("thinking")
	if err != nil || says == (switches.Setting{}) || slices.ContainsFunc(members, other) || !turn.HasOnly(v, "type", "token_budget") {
		return t
	}
	f.Take("thinking")
	t.Setting = says
	t.Extra.Members = []turn.Member{{Key: "thinking", Value: v.Raw}}
	return t
}

func readTurnFormat(v gjson.Result) (format turn.Format) {
	f := turn.FieldsOf(v)
	switch kind := f.Peek("type"); {
	case kind.Type != gjson.String:
	case kind.Str == "text":
		f.Take("type")
		format.Mode = turn.PlainText
	case kind.Str == "json_object":
		f.Take("type")
		format.Mode = turn.JSON
		if f.Peek("json_schema").IsObject() {
			format.Mode, format.Schema = turn.Schema, f.Take("json_schema").Raw
		}
	}
	format.Extra = f.Rest(apiName, "response_format")
	return format
}

func readTurnTool(v gjson.Result, path string) turn.Tool {
	f := turn.FieldsOf(v)
	in := turn.FieldsOf(f.Peek("function"))
	t := turn.Tool{Name: word(in, "name")}
	if kind := f.Peek("type"); kind.Type != gjson.String || kind.Str != "function" || t.Name == "" {
		return turn.Tool{Extra: turn.Extra{API: apiName, Path: path, Whole: v.Raw}}
	}
	f.Take("type")
	f.Take("function")
	t.Description = word(in, "description")
	if in.Peek("parameters").IsObject() {
		t.Schema = in.Take("parameters").Raw
	}
	inner := in.Rest(apiName, "")
	inner.Same("description", `""`)
	t.Extra = f.Rest(apiName, path)
	t.Extra.Nest("function", inner)
	return t
}

// takeStrict takes what the API says of all functions at once.
func takeStrict(f *turn.Fields, tools []turn.Tool) {
	functions := 0
	for i := range tools {
		if tools[i].Name != "" {
			functions++
		}
	}
	if functions == 0 {
		return
	}
	strict := f.Bool("strict_tools")
	for i := range tools {
		if tools[i].Name != "" && strict != nil {
			is := *strict
			tools[i].Strict = &is
		}
	}
}

func readTurnMessage(v gjson.Result, path string) (turn.Message, error) {
	f := turn.FieldsOf(v)
	m := turn.Message{Role: turn.User}
	role := f.Peek("role")
	switch known := turn.Role(role.Str); {
	case role.Type == gjson.Null:
		return m, fmt.Errorf("%s has no role: it must be user, assistant, system or tool", path)
	case role.Type != gjson.String:
	case known == turn.User || known == turn.Assistant || known == turn.System || known == turn.ToolRole:
		f.Take("role")
		m.Role = known
	}
	content := readTurnContent(f, path, m.Role == turn.ToolRole)
	switch m.Role {
	case turn.ToolRole:
		p := turn.Part{Kind: turn.Result, ID: word(f, "tool_call_id"), Results: content, Failed: len(content) > 0}
		for i := range content {
			p.Failed = p.Failed && content[i].Failed
			content[i].Failed = false // it is the result's
		}
		p.Extra = turn.Extra{API: apiName, Path: path}
		m.Parts = []turn.Part{p}
	case turn.Assistant:
		m.Parts = content
		if f.Peek(plan).Type == gjson.String {
			m.Parts = append(m.Parts, turn.Part{Kind: turn.Thought, Name: plan, Text: f.Text(plan)})
		}
		for i, v := range takeObjects(f, "tool_calls") {
			m.Parts = append(m.Parts, readTurnCall(v, fmt.Sprintf("%s.tool_calls[%d]", path, i)))
		}
	default:
		m.Parts = content
	}
	m.Extra = f.Rest(apiName, path, "citations") // they say where the model found what it said
	m.Extra.Empty("content", "tool_calls", "citations")
	m.Extra.Same("tool_call_id", `""`)
	return m, nil
}

func readTurnCall(v gjson.Result, path string) turn.Part {
	f := turn.FieldsOf(v)
	in := turn.FieldsOf(f.Object("function"))
	p := turn.Part{Kind: turn.Call, ID: word(f, "id"), Name: word(in, "name"), Arguments: word(in, "arguments")}
	if kind := f.Peek("type"); kind.Type == gjson.String && kind.Str == "function" {
		f.Take("type")
	}
	inner := in.Rest(apiName, "")
	inner.Same("arguments", `""`)
	p.Extra = f.Rest(apiName, path)
	p.Extra.Same("id", `""`)
	p.Extra.Nest("function", inner)
	return p
}

// readTurnContent takes a content, which is a text or a list of parts.
func readTurnContent(f *turn.Fields, path string, result bool) (parts []turn.Part) {
	v := f.Peek("content")
	switch {
	case v.Type == gjson.String:
		return []turn.Part{{Text: f.Text("content"), Extra: turn.Extra{API: apiName, Path: path + ".content"}}}
	case !v.IsArray():
		return nil
	}
	for i, v := range v.Array() {
		parts = append(parts, readTurnPart(v, fmt.Sprintf("%s.content[%d]", path, i), result))
	}
	if parts != nil {
		f.Take("content")
	}
	return parts
}

func readTurnPart(v gjson.Result, path string, result bool) turn.Part {
	f := turn.FieldsOf(v)
	kind := f.Peek("type")
	is := func(name string, of gjson.Type) bool {
		return kind.Type == gjson.String && kind.Str == name && f.Peek(name).Type == of
	}
	var p turn.Part
	nested, in := "", turn.FieldsOf(gjson.Result{})
	switch {
	case is("text", gjson.String):
		p.Text = f.Text("text")
	case !result && is("thinking", gjson.String):
		p = turn.Part{Kind: turn.Thought, Name: "thinking", Text: f.Text("thinking")}
	case !result && is("image_url", gjson.JSON) && isText(f.Peek("image_url").Get("url")):
		nested, in = "image_url", turn.FieldsOf(f.Take("image_url"))
		p = turn.Part{Kind: turn.Image, Media: turn.MediaOf(in.Text("url"))}
		p.Media.Detail = word(in, "detail")
	case result && is("document", gjson.JSON) && f.Peek("document").Get("data").Type != gjson.Null:
		nested, in = "document", turn.FieldsOf(f.Take("document"))
		p.Text, p.Failed = textOf(in.Take("data"))
		p.Extra.Whole = v.Raw
	default:
		return turn.Part{Kind: turn.Other, Extra: turn.Extra{API: apiName, Path: path, Whole: v.Raw}}
	}
	f.Take("type")
	whole := p.Extra.Whole
	p.Extra = f.Rest(apiName, path)
	p.Extra.Whole = whole
	p.Extra.Nest(nested, in.Rest(apiName, "", "id")) // a document's, for citations
	return p
}

func isText(v gjson.Result) bool { return v.Type == gjson.String && v.Str != "" }

// textOf returns the data of a document, which a tool has given as its result: a text, or JSON. Data
// that is nothing but an error says that the tool failed; the API has no other place for it.
func textOf(data gjson.Result) (text string, failed bool) {
	if v := data.Get("error"); v.Type == gjson.String && turn.HasOnly(data, "error") {
		data, failed = v, true
	}
	return jsonedit.StringOf(chatjson.ValueText(data)), failed
}

// Word implements [turn.API].
func (chat) Word(f turn.Field) string { return fieldWords[f] }

var fieldWords = map[turn.Field]string{
	turn.OfStream: "stream", turn.OfChoice: "tool_choice", turn.OfThinking: "thinking", turn.OfFormat: "response_format",
	turn.OfMaxTokens: "max_tokens", turn.OfStop: "stop_sequences", turn.OfTemperature: "temperature", turn.OfTopP: "p", turn.OfTopK: "k",
	turn.OfPresence: "presence_penalty", turn.OfFrequency: "frequency_penalty", turn.OfSeed: "seed",
	turn.OfDetail: "image_url.detail", turn.OfStrict: "/strict_tools",
}
