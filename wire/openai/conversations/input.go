package conversations

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// decidingKeys are the members of requests by which something is decided.
var decidingKeys = func() chatjson.Keys {
	text := chatjson.Keys{"type": nil, "text": nil}
	chunk := chatjson.Keys{"type": nil, "text": nil, "thinking": text, "signature": nil}
	entry := chatjson.Keys{
		"type": nil, "role": nil, "content": chunk, "tool_call_id": nil, "name": nil, "arguments": nil, "result": nil, "prefix": nil,
	}
	format := chatjson.Keys{"type": nil}
	return chatjson.Keys{
		"model": nil, "models": nil, "agent_id": nil, "stream": nil, "store": nil, "inputs": entry, "instructions": nil, "metadata": nil, "items": nil,
		"tools":           {"type": nil, "function": {"name": nil, "parameters": nil}},
		"completion_args": {"max_tokens": nil, "tool_choice": nil, "reasoning_effort": nil, "response_format": format},
	}
}()

// Request has a message for each entry of the inputs.
func (codec) Request(body []byte) (*wire.Request, error) {
	root, err := chatjson.ReadRequestOf(body, decidingKeys)
	if err != nil {
		return nil, err
	}
	entries, err := inputsOf(root)
	if err != nil {
		return nil, err
	}
	args := root.Get("completion_args")
	q := &wire.Request{Stream: root.Get("stream").Bool(), Stores: root.Get("store").Type != gjson.False, Limit: args.Get("max_tokens").Int()}
	if !says(root.Get("agent_id")) {
		q.Model = root.Get("model").Str
	}
	q.Unnamed = q.Model == ""
	if q.Fallbacks, err = chatjson.FallbacksOf(root); err != nil {
		return nil, err
	}
	for _, e := range entries {
		q.Messages = append(q.Messages, e.Message)
	}
	if n := len(entries); n > 0 && entries[n-1].begins {
		q.Prefill = chatjson.PrefillOf(q.Messages)
	}
	if q.Switch = chatjson.SwitchOf(args, q.Messages); q.Switch == "" {
		q.Switch = chatjson.SwitchOf(root, q.Messages) // of a server that has more than the API
	}
	q.JSON = chatjson.WantsJSON(args)
	chatjson.ReadTools(q, root)
	q.NoCalls = args.Get("tool_choice").Str == "none"
	return q, nil
}

// An entry is one of the inputs as a message, with the places of its parts.
type entry struct {
	wire.Message
	chunks   []jsonedit.Member // of its content, if that is a list
	texts    []jsonedit.Span
	thoughts []int              // the chunks of the thoughts
	ids      []chatjson.IDPlace // of each of CallIDs
	begins   bool               // it begins the reply
}

func inputsOf(root gjson.Result) (all []entry, err error) {
	switch inputs := root.Get("inputs"); {
	case inputs.Type == gjson.String:
		one := entry{Message: wire.Message{Role: "user"}}
		one.text(inputs)
		return []entry{one}, nil
	case !says(inputs): // the conversation is continued
		return nil, nil
	case !inputs.IsArray():
		return nil, errors.New("inputs is not a string or a list")
	default:
		for _, v := range inputs.Array() {
			all = append(all, entryOf(v))
		}
		return all, nil
	}
}

// entryOf reads an entry.
func entryOf(v gjson.Result) (e entry) {
	switch kindOf(v) {
	case messageOutput:
		e.Role, e.begins = "assistant", v.Get("prefix").Bool()
		e.content(v.Get("content"))
	case "tool.execution", "agent.handoff":
		e.Role = "assistant"
	case functionCall:
		e.Role, e.Calls, e.Called = "assistant", true, []string{v.Get("name").Str}
		if e.id(v); len(e.CallIDs) == 0 {
			e.CallIDs, e.Names, e.ids = e.Called, true, []chatjson.IDPlace{{}}
		}
	case resultOfCall:
		e.Role, e.Results = "tool", true
		e.id(v)
	default: // message.input, and kinds to come
		e.Role = "user"
		e.content(v.Get("content"))
	}
	return e
}

// id notes the id of a call or of its result.
func (e *entry) id(v gjson.Result) {
	if id := v.Get("tool_call_id").Str; id != "" {
		e.CallIDs, e.ids = append(e.CallIDs, id), append(e.ids, chatjson.IDPlace{Of: v, Member: "tool_call_id"})
	}
}

func (e *entry) content(v gjson.Result) {
	if v.IsArray() {
		e.chunks = jsonedit.Members(v)
	}
	for i, c := range chunks(v) {
		switch k, text := chunkOf(c); k {
		case blocks.Text:
			e.text(text)
		case blocks.Thinking:
			proof := c.Get("signature").Str
			e.Thoughts = append(e.Thoughts, wire.Thought{Name: thinking, Text: string(saidBy(k, c, text)), Proof: proof, Sealed: proof != ""})
			e.thoughts = append(e.thoughts, i)
		}
	}
}

func (e *entry) text(v gjson.Result) {
	if v.Type == gjson.String {
		e.Texts, e.texts = append(e.Texts, v.Str), append(e.texts, jsonedit.SpanOf(v))
	}
}

// Edit removes a thought with its chunk. A thought, and a text for a call, are added in an entry before the message.
func (codec) Edit(dst, body []byte, changes []wire.Change) ([]byte, error) {
	root := jsonedit.Parse(body)
	entries, err := inputsOf(root)
	if err != nil {
		return dst, err
	}
	var list []jsonedit.Member
	if root.Get("inputs").IsArray() {
		list = jsonedit.Members(root.Get("inputs"))
	}
	var edits []jsonedit.Edit
	for _, c := range changes {
		if c.Message < 0 || c.Message >= len(entries) {
			return dst, fmt.Errorf("entry %d of %d", c.Message, len(entries))
		}
		e := &entries[c.Message]
		if before := e.before(&c); len(before) > 0 {
			if c.Message >= len(list) {
				return dst, errors.New("nothing can stand before inputs that are not a list")
			}
			at := list[c.Message].At
			edits = append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: before})
		}
		if edits, err = e.edits(edits, c); err != nil {
			return dst, fmt.Errorf("entry %d: %w", c.Message, err)
		}
	}
	return jsonedit.Splice(dst, body, edits), nil
}

// before is the entry that a change puts before another, with a comma after it. What it has is done with.
func (e *entry) before(c *wire.Change) (with []byte) {
	add := func(k blocks.Kind, text string) {
		with = append(with, `{"type":"`+messageOutput+`","role":"assistant","content":[`...)
		with = append(appendChunk(with, k, jsontext.AppendVerbatim(nil, text), true), "]},"...)
	}
	if c.Field == thinking {
		add(blocks.Thinking, c.Add)
		c.Field = ""
	}
	if text, ok := c.Texts[0]; ok && e.Calls && len(e.texts) == 0 {
		add(blocks.Text, text)
		c.Texts = nil
	}
	return with
}

func (e *entry) edits(edits []jsonedit.Edit, c wire.Change) ([]jsonedit.Edit, error) {
	if c.Field != "" {
		return edits, fmt.Errorf("an entry has no member %q for reasoning", c.Field)
	}
	drop := map[int]bool{}
	for _, t := range c.Drop {
		if t < 0 || t >= len(e.thoughts) {
			return edits, fmt.Errorf("thought %d of %d", t, len(e.thoughts))
		}
		drop[e.thoughts[t]] = true
	}
	edits = jsonedit.Cut(edits, e.chunks, func(i int) bool { return drop[i] })
	for i, text := range c.Texts {
		if i < 0 || i >= len(e.texts) {
			return edits, fmt.Errorf("text %d of %d", i, len(e.texts))
		}
		edits = append(edits, jsonedit.Edit{Span: e.texts[i], With: jsontext.AppendVerbatim(nil, text)})
	}
	return chatjson.EditIDs(edits, e.ids, c.IDs)
}

// Transcribe reports the entries of a request. The instructions become a message of the role system.
func (codec) Transcribe(body []byte, to wire.Transcript) {
	root := jsonedit.Parse(body)
	if text := root.Get("instructions"); text.Type == gjson.String {
		to.Message("system", "", chatjson.ValueText(text))
	}
	inputs := root.Get("inputs")
	if inputs.Type == gjson.String {
		to.Message("user", "", chatjson.ValueText(inputs))
	}
	for _, v := range inputs.Array() {
		if inputs.Type == gjson.String {
			break
		}
		e := entryOf(v)
		switch {
		case e.Results:
			to.Message(e.Role, v.Get("tool_call_id").Str, chatjson.ValueText(v.Get("result")))
		case e.Calls:
			to.Message(e.Role, "")
			to.Call(v.Get("tool_call_id").Str, e.Called[0], callText(v.Get("arguments")))
		default:
			to.Message(e.Role, "", chatjson.TextsOf(v.Get("content"))...)
			if content := v.Get("content"); content.IsArray() {
				chatjson.TranscribeThinking(content, to)
			}
		}
	}
}
