package ollama

import (
	"encoding/json"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire/internal/message"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A chat is the API whose requests are conversations.
type chat struct{ api }

var _ turn.API = chat{}

// options is the object of the numbers. running are those of them that say how the server runs
// the model.
const options = "options"

var running = []string{"num_ctx", "num_keep", "num_batch", "num_gpu", "main_gpu", "num_thread", "numa", "use_mmap", "use_mlock", "low_vram", "vocab_only"}

// ReadTurn implements [turn.API].
func (c chat) ReadTurn(body []byte) (*turn.Request, error) {
	root, err := chatjson.ReadRequest(body)
	if err != nil {
		return nil, err
	}
	list := root.Get("messages")
	if !list.IsArray() {
		return nil, chatjson.ErrNoMessages
	}
	f := turn.FieldsOf(root)
	f.Take("messages")
	q := &turn.Request{Model: f.Text("model"), Stream: true}
	if stream := f.Bool("stream"); stream != nil {
		q.Stream = *stream
	}
	for i, m := range list.Array() {
		q.Messages = append(q.Messages, c.readMessage(m, "messages["+strconv.Itoa(i)+"]"))
	}
	if tools := f.Peek("tools"); tools.IsArray() {
		f.Take("tools")
		q.Tools = message.ReadTools(tools, c.name)
	}
	switch v := f.Peek("format"); {
	case v.Str == "json":
		f.Take("format")
		q.Format.Mode = turn.JSON
	case v.IsObject():
		q.Format = turn.Format{Mode: turn.Schema, Schema: f.Take("format").Raw}
	}
	if o := f.Peek(options); o.IsObject() && !o.Get("think").Exists() {
		f.Take(options)
		c.readOptions(q, o)
	}
	if err := q.ReadThinking(f, body, c.name); err != nil {
		return nil, err
	}
	q.Extra = f.Rest(c.name, "", "keep_alive") // how long the model stays loaded
	return q, nil
}

func (c chat) readOptions(q *turn.Request, o gjson.Result) {
	f := turn.FieldsOf(o)
	n := func(name string) json.Number { return json.Number(f.Number(name)) }
	q.MaxTokens, q.Stop = n("num_predict"), f.TextOrTexts("stop")
	q.Sampling = turn.Sampling{
		Temperature: n("temperature"), TopP: n("top_p"), TopK: n("top_k"), MinP: n("min_p"),
		PresencePenalty: n("presence_penalty"), FrequencyPenalty: n("frequency_penalty"), Seed: n("seed"),
	}
	q.Sampling.Extra = f.Rest(c.name, options, running...)
}

func (c chat) readMessage(v gjson.Result, path string) turn.Message {
	f := turn.FieldsOf(v)
	m := turn.Message{Role: turn.Role(f.Text("role"))}
	content := f.Take("content", gjson.String)
	said := turn.Part{Text: jsonedit.StringOf(chatjson.ValueText(content))}
	switch m.Role {
	case turn.ToolRole:
		p := turn.Part{Kind: turn.Result, ID: f.Text("tool_call_id"), Name: f.Text("tool_name")}
		if content.Type == gjson.String {
			p.Results = []turn.Part{said}
		}
		p.Results = append(p.Results, c.readImages(f, path)...)
		m.Parts = []turn.Part{p}
	case turn.System, turn.User, turn.Assistant:
		if v := f.Take(thinking, gjson.String); v.Type == gjson.String {
			m.Parts = append(m.Parts, turn.Part{Kind: turn.Thought, Name: thinking, Text: jsonedit.StringOf(chatjson.ValueText(v)), Extra: turn.Extra{API: c.name}})
		}
		if content.Type == gjson.String {
			m.Parts = append(m.Parts, said)
		}
		m.Parts = append(m.Parts, c.readImages(f, path)...)
		if calls := c.readCalls(f.Peek("tool_calls"), path); calls != nil {
			f.Take("tool_calls")
			m.Parts = append(m.Parts, calls...)
		}
	default:
		return turn.Message{Extra: turn.Extra{API: c.name, Path: path, Whole: v.Raw}}
	}
	m.Extra = f.Rest(c.name, path)
	message.NoCalls(&m.Extra)
	return m
}

// readImages reads images, whose types the API does not say.
func (c chat) readImages(f *turn.Fields, path string) []turn.Part {
	var parts []turn.Part
	for i, data := range f.Texts("images") {
		m := turn.Media{Data: data}
		m.Type = m.Kind()
		parts = append(parts, turn.Part{Kind: turn.Image, Media: m, Extra: turn.Extra{API: c.name, Path: path + ".images[" + strconv.Itoa(i) + "]"}})
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
		f := turn.FieldsOf(v)
		in := turn.FieldsOf(f.Peek("function"))
		p := turn.Part{Kind: turn.Call, ID: f.Text("id"), Name: in.Text("name"), Signature: chatjson.SignatureOf(v)}
		arguments := in.Peek("arguments")
		if p.Name == "" || !arguments.IsObject() {
			return nil
		}
		in.Take("arguments")
		f.Take("function")
		p.Arguments = arguments.Raw
		p.Extra = message.Nested(f, in, "function", v, c.name, path+".tool_calls["+strconv.Itoa(i)+"]", "type") // as clients of other APIs send it
		if key, _ := chatjson.SignatureMember(""); p.Signature != "" {
			p.Extra.Same(key, "")
		}
		p.Extra.Same("function.index", strconv.Itoa(i)) // where the call stands
		calls = append(calls, p)
	}
	return calls
}

// Word implements [turn.API].
func (chat) Word(f turn.Field) string { return fieldWords[f] }

var fieldWords = map[turn.Field]string{
	turn.OfStream: "stream", turn.OfThinking: "think", turn.OfFormat: "format", turn.OfMaxTokens: options + ".num_predict",
	turn.OfStop: options + ".stop", turn.OfTemperature: options + ".temperature", turn.OfTopP: options + ".top_p",
	turn.OfTopK: options + ".top_k", turn.OfMinP: options + ".min_p", turn.OfPresence: options + ".presence_penalty",
	turn.OfFrequency: options + ".frequency_penalty", turn.OfSeed: options + ".seed",
	turn.OfStrict: "function.strict",
}
