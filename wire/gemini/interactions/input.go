package interactions

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// decidingKeys are the members of requests by which something is decided.
var decidingKeys = func() chatjson.Keys {
	content := chatjson.Keys{"type": nil, "text": nil}
	step := chatjson.Keys{
		"type": nil, "text": nil, "role": nil, "content": content, "summary": content, "signature": nil,
		"id": nil, "call_id": nil, "name": nil, "arguments": nil, "result": content,
	}
	return chatjson.Keys{
		"model": nil, "agent": nil, "stream": nil, "store": nil, "input": step, "system_instruction": nil,
		"tools":             {"type": nil, "name": nil, "parameters": nil},
		"generation_config": {"thinking_level": nil, "thinking_summaries": nil, "tool_choice": nil},
		"response_format":   {"type": nil, "mime_type": nil}, "response_mime_type": nil,
	}
}()

// Request has a message for each step of the input.
func (codec) Request(body []byte) (*wire.Request, error) {
	root, err := chatjson.ReadRequestOf(body, decidingKeys)
	if err != nil {
		return nil, err
	}
	steps, err := inputOf(root)
	if err != nil {
		return nil, err
	}
	q := &wire.Request{Model: root.Get("model").Str, Stream: root.Get("stream").Bool(), Stores: root.Get("store").Type != gjson.False, Items: true}
	if q.Model == "" {
		q.Model = root.Get("agent").Str
	}
	for _, s := range steps {
		q.Messages = append(q.Messages, s.Message)
	}
	q.Prefill = chatjson.PrefillOf(q.Messages)
	q.Switch = chatjson.SwitchOf(root, q.Messages)
	q.JSON = wantsJSON(root)
	for _, tool := range contents(root.Get("tools")) {
		if q.Tools = true; tool.Get("type").Str == "function" && tool.Get("name").Str != "" {
			q.Declared = append(q.Declared, wire.Tool{Name: tool.Get("name").Str, Schema: tool.Get("parameters").Raw})
		}
	}
	q.NoCalls = root.Get("generation_config.tool_choice").Str == "none"
	return q, nil
}

// wantsJSON reports whether a request asks for a text in JSON.
func wantsJSON(root gjson.Result) bool {
	const kind = "application/json"
	for _, f := range contents(root.Get("response_format")) {
		if f.Get("mime_type").Str == kind {
			return true
		}
	}
	return root.Get("response_mime_type").Str == kind
}

// A step is one of the input as a message, with the places of its texts.
type step struct {
	wire.Message
	texts []jsonedit.Span
	ids   []chatjson.IDPlace // of each of CallIDs
}

func inputOf(root gjson.Result) (all []step, err error) {
	input := root.Get("input")
	switch {
	case input.Type == gjson.String:
		one := step{Message: wire.Message{Role: "user"}}
		one.text(input)
		return []step{one}, nil
	case !says(input): // the conversation is continued
		return nil, nil
	case input.IsObject():
		return []step{stepOf(input)}, nil
	case !input.IsArray():
		return nil, errors.New("input is not a string, a content or a list")
	}
	for _, v := range input.Array() {
		all = append(all, stepOf(v))
	}
	return all, nil
}

// stepOf reads a step, or a content of the user's.
func stepOf(v gjson.Result) (s step) {
	switch kind := v.Get("type").Str; {
	case kind == thoughtStep:
		s.Role, s.Thoughts = "assistant", []wire.Thought{thoughtOf(v)}
	case kind == outputStep, kind == "" && v.Get("role").Str == "model":
		s.Role = "assistant"
		s.content(v.Get("content"))
	case strings.HasSuffix(kind, "_result"):
		s.Role, s.Results = "tool", true
		s.call(v, "call_id")
	case strings.HasSuffix(kind, "_call"):
		s.Role, s.Calls = "assistant", true
		s.call(v, "id")
		if name := v.Get("name").Str; name != "" {
			kind = name
		}
		s.Called = append(s.Called, kind)
	case isText(v):
		s.Role = "user"
		s.text(v.Get("text"))
	default: // user_input, a picture of the user's, and kinds to come
		s.Role = "user"
		s.content(v.Get("content"))
	}
	return s
}

func (s *step) content(list gjson.Result) {
	if list.Type == gjson.String {
		s.text(list)
		return
	}
	for _, c := range contents(list) {
		if isText(c) {
			s.text(c.Get("text"))
		}
	}
}

func (s *step) text(v gjson.Result) {
	if v.Type == gjson.String {
		s.Texts, s.texts = append(s.Texts, v.Str), append(s.texts, jsonedit.SpanOf(v))
	}
}

// call notes the id of a call or of its result.
func (s *step) call(v gjson.Result, member string) {
	if id := v.Get(member).Str; id != "" {
		s.CallIDs, s.ids = append(s.CallIDs, id), append(s.ids, chatjson.IDPlace{Of: v, Member: member})
	}
}

// thoughtOf reads a thought. One that nobody has signed is ours.
func thoughtOf(v gjson.Result) wire.Thought {
	proof := v.Get("signature").Str
	return wire.Thought{Name: thinking, Text: textsOf(v.Get("summary")), Proof: proof, Sealed: proof != "", Minted: proof == ""}
}

// Edit removes a thought with its step. A text for a call, and a thought, become steps before it.
func (codec) Edit(dst, body []byte, changes []wire.Change) ([]byte, error) {
	root := jsonedit.Parse(body)
	steps, err := inputOf(root)
	if err != nil {
		return dst, err
	}
	var edits []jsonedit.Edit
	drop := map[int]bool{}
	var list []jsonedit.Member
	if root.Get("input").IsArray() {
		list = jsonedit.Members(root.Get("input"))
	}
	for _, c := range changes {
		if c.Message < 0 || c.Message >= len(steps) {
			return dst, fmt.Errorf("step %d of %d", c.Message, len(steps))
		}
		s := &steps[c.Message]
		if before := s.before(&c); len(before) > 0 {
			if c.Message >= len(list) {
				return dst, errors.New("nothing can stand before an input that is not a list")
			}
			at := list[c.Message].At
			edits = append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: before})
		}
		if edits, err = s.edits(edits, c); err != nil {
			return dst, fmt.Errorf("step %d: %w", c.Message, err)
		}
		drop[c.Message] = len(c.Drop) > 0
	}
	edits = jsonedit.Cut(edits, list, func(i int) bool { return drop[i] })
	return jsonedit.Splice(dst, body, edits), nil
}

// before are the steps that a change puts before another, with a comma after each. What they have is done with.
func (s *step) before(c *wire.Change) (with []byte) {
	for _, raw := range c.Before {
		with = append(append(with, raw...), ',')
	}
	if c.Field == thinking {
		with = jsontext.AppendVerbatim(append(with, `{"type":"thought","summary":[{"type":"text","text":`...), jsonedit.BytesOf(c.Add))
		with = append(with, "}]},"...)
		c.Field = ""
	}
	if text, ok := c.Texts[0]; ok && s.Calls && len(s.texts) == 0 {
		with = jsontext.AppendVerbatim(append(with, `{"type":"model_output","content":[{"type":"text","text":`...), jsonedit.BytesOf(text))
		with = append(with, "}]},"...)
		c.Texts = nil
	}
	return with
}

func (s *step) edits(edits []jsonedit.Edit, c wire.Change) ([]jsonedit.Edit, error) {
	if c.Field != "" {
		return edits, fmt.Errorf("a step has no member %q for reasoning", c.Field)
	}
	for _, t := range c.Drop {
		if t < 0 || t >= len(s.Thoughts) {
			return edits, fmt.Errorf("thought %d of %d", t, len(s.Thoughts))
		}
	}
	for i, text := range c.Texts {
		if i < 0 || i >= len(s.texts) {
			return edits, fmt.Errorf("text %d of %d", i, len(s.texts))
		}
		edits = append(edits, jsonedit.Edit{Span: s.texts[i], With: jsontext.AppendVerbatim(nil, jsonedit.BytesOf(text))})
	}
	return chatjson.EditIDs(edits, s.ids, c.IDs)
}

// Transcribe reports the steps of a request. The system instruction becomes a message of the role system.
func (codec) Transcribe(body []byte, to wire.Transcript) {
	root := jsonedit.Parse(body)
	if text := chatjson.TextsOf(root.Get("system_instruction")); len(text) > 0 {
		to.Message("system", "", text...)
	}
	input := root.Get("input")
	if input.Type == gjson.String {
		to.Message("user", "", chatjson.ValueText(input))
		return
	}
	for _, v := range contents(input) {
		s := stepOf(v)
		switch {
		case len(s.Thoughts) > 0:
			to.Message(s.Role, "")
			to.Thought("summary", jsonedit.BytesOf(s.Thoughts[0].Text), s.Thoughts[0].Sealed)
			to.Thought("signature", jsonedit.BytesOf(s.Thoughts[0].Proof), true)
		case s.Calls:
			to.Message(s.Role, "")
			to.Call(v.Get("id").Str, s.Called[0], chatjson.ValueText(v.Get("arguments")))
		case s.Results:
			to.Message(s.Role, v.Get("call_id").Str, chatjson.TextsOf(v.Get("result"))...)
		default:
			var texts [][]byte
			for _, text := range s.Texts {
				texts = append(texts, jsonedit.BytesOf(text))
			}
			to.Message(s.Role, "", texts...)
		}
	}
}
