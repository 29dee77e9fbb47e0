package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/message"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A chat is the API of chat completions: its requests are conversations.
type chat struct{ choices }

var (
	_ turn.API       = chat{}
	_ wire.ListCodec = chat{}
)

// ThoughtLists implements [wire.ListCodec].
func (chat) ThoughtLists() (messages, list string) { return "messages", details }

// Slot implements [wire.ListCodec].
func (chat) Slot(element string) string { return jsonedit.Parse([]byte(element)).Get("data").Str }

// asides are members of a request on which the model's answer does not depend: who asks, what is
// kept of it, how it is billed and cached.
var asides = []string{
	"user", "metadata", "store", "service_tier", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", cacheHint,
	"safety_identifier", "stream_options",
	"prediction", // it makes the answer come sooner
}

// idle are values that say what a missing member says.
var idle = map[string]string{"logprobs": "false", "top_logprobs": "0", "logit_bias": "{}", "modalities": `["text"]`, "verbosity": `"medium"`}

// cacheHint marks where a prompt may be cached, on messages and parts.
const cacheHint = "cache_control"

// messageSource is what GitHub's Copilot CLI notes about a message for itself, in the messages of a
// session that it resumes.
const messageSource = "__copilotMessageSource"

const details = chatjson.Details

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
	for i := range q.Extra.Members {
		m := &q.Extra.Members[i]
		m.Aside = m.Aside || m.Value == idle[m.Key]
	}
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
		if list := c.readPictures(f.Peek(images), path); list != nil {
			f.Take(images)
			m.Parts = append(m.Parts, list...)
		}
		if v := f.Take("refusal", gjson.String); v.Type == gjson.String {
			m.Parts = append(m.Parts, turn.Part{Kind: turn.Refusal, Text: text(v)})
		}
		if calls := c.readCalls(f.Peek("tool_calls"), path); calls != nil {
			f.Take("tool_calls")
			m.Parts = append(m.Parts, calls...)
		}
	}
	m.Extra = f.Rest(c.name, path, cacheHint, messageSource)
	markSame(&m, f)
	message.NoCalls(&m.Extra)
	return m
}

// images is the member for the pictures that a model has made.
const images = "images"

// readPictures reads a list of pictures, or returns nil if something else is in it.
func (c chat) readPictures(list gjson.Result, path string) (parts []turn.Part) {
	if !list.IsArray() {
		return nil
	}
	for i, v := range list.Array() {
		media := turn.MediaOf(v.Get("image_url.url").Str)
		if media.Data == "" {
			return nil
		}
		extra := turn.Extra{API: c.name, Path: path + "." + images + "[" + strconv.Itoa(i) + "]", Whole: v.Raw}
		parts = append(parts, turn.Part{Kind: turn.Image, Name: images, Media: media, Extra: extra})
	}
	return parts
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

// markSame marks the members for reasoning that say the same as the one that was read: another API
// has one place for a thought.
func markSame(m *turn.Message, f *turn.Fields) {
	if len(m.Parts) == 0 || m.Parts[0].Kind != turn.Thought {
		return
	}
	for _, name := range chatjson.NativeFields() {
		if v := f.Peek(name); v.Type == gjson.String && text(v) == m.Parts[0].Text {
			m.Extra.Same(name, "")
		}
	}
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
	p.Extra = message.Nested(f, in, kind, v, c.name, path, cacheHint)
	if key, _ := chatjson.SignatureMember(""); p.Signature != "" {
		p.Extra.Same(key, "")
	}
	return p, true
}

// other is a part that only this API has.
func (c chat) other(v gjson.Result, path string) turn.Part {
	return turn.Part{Kind: turn.Other, Extra: turn.Extra{API: c.name, Path: path, Whole: v.Raw}}
}

// Word implements [turn.API].
func (chat) Word(f turn.Field) string { return fieldWords[f] }

var fieldWords = map[turn.Field]string{
	turn.OfStream: "stream", turn.OfChoice: "tool_choice", turn.OfParallel: "parallel_tool_calls", turn.OfThinking: "reasoning_effort",
	turn.OfFormat: "response_format", turn.OfMaxTokens: "max_tokens", turn.OfStop: "stop", turn.OfChoices: "n",
	turn.OfTemperature: "temperature", turn.OfTopP: "top_p", turn.OfTopK: "top_k", turn.OfMinP: "min_p",
	turn.OfPresence: "presence_penalty", turn.OfFrequency: "frequency_penalty", turn.OfSeed: "seed",
	turn.OfDetail: "image_url.detail", turn.OfStrict: "function.strict",
}
