package bedrock

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// requestKeys are the members of a request by which something is decided.
var requestKeys = func() chatjson.Keys {
	text := chatjson.Keys{"text": nil}
	block := chatjson.Keys{
		textMember:      nil,
		reasoningMember: {"reasoningText": {"text": nil, "signature": nil}, "redactedContent": nil},
		citationsMember: {"content": text},
		callMember:      {"toolUseId": nil, "name": nil, "input": nil},
		resultMember:    {"toolUseId": nil, "content": {"text": nil, "json": nil}},
	}
	keys := chatjson.SwitchKeys("additionalModelRequestFields")
	keys["messages"] = chatjson.Keys{"role": nil, "content": block}
	keys["system"] = text
	keys["outputConfig"] = chatjson.Keys{"textFormat": {"type": nil}}
	keys["toolConfig"] = chatjson.Keys{
		"tools":      {"toolSpec": {"name": nil, "inputSchema": {"json": nil}}},
		"toolChoice": nil,
	}
	return keys
}()

// A placed is a Message with the places of its parts.
type placed struct {
	wire.Message
	content  gjson.Result
	blocks   []jsonedit.Member
	texts    []jsonedit.Span // of the JSON strings
	thoughts []int           // the block of each of Thoughts
	call     int             // the first block that calls a tool; -1 if none does
	ids      []chatjson.IDPlace
}

func readMessage(m gjson.Result) *placed {
	out := &placed{Message: wire.Message{Role: m.Get("role").Str}, content: m.Get("content"), call: -1}
	out.blocks = jsonedit.Members(out.content)
	for i, b := range out.blocks {
		out.read(i, b.Value)
	}
	return out
}

// read reads a block.
func (m *placed) read(i int, block gjson.Result) {
	reasoning, call, result := block.Get(reasoningMember), block.Get(callMember), block.Get(resultMember)
	switch text := block.Get(textMember); {
	case text.Type == gjson.String:
		m.text(text)
	case block.Get(citationsMember).IsObject():
		block.Get(citationsMember + ".content").ForEach(func(_, part gjson.Result) bool {
			if text := part.Get("text"); text.Type == gjson.String {
				m.text(text)
			}
			return true
		})
	case reasoning.IsObject():
		m.thought(i, reasoning)
	case call.IsObject():
		if m.Calls = true; m.call < 0 {
			m.call = i
		}
		m.id(call)
		m.Called = append(m.Called, call.Get("name").Str)
	case result.IsObject():
		m.Results = true
		m.id(result)
	}
}

// id notes the id of a call, or of the call of a result.
func (m *placed) id(of gjson.Result) {
	m.CallIDs = append(m.CallIDs, of.Get("toolUseId").Str)
	m.ids = append(m.ids, chatjson.IDPlace{Of: of, Member: "toolUseId"})
}

func (m *placed) text(v gjson.Result) {
	m.Texts = append(m.Texts, v.Str)
	m.texts = append(m.texts, jsonedit.SpanOf(v))
}

// thought reads a block of reasoning. One without a signature could be ours.
func (m *placed) thought(i int, v gjson.Result) {
	signature := v.Get("reasoningText.signature").Str
	made := signature == "" || signature == chatjson.Signature
	t := wire.Thought{Name: reasoningMember, Text: v.Get("reasoningText.text").Str, Sealed: !made, Minted: made}
	if v.Get("redactedContent").Exists() {
		t.Sealed, t.Minted = true, false
		signature = v.Get("redactedContent").Str
	}
	if t.Sealed {
		t.Proof = signature
	}
	m.Thoughts = append(m.Thoughts, t)
	m.thoughts = append(m.thoughts, i)
}

func (converse) Edit(dst, body []byte, changes []wire.Change) ([]byte, error) {
	all := jsonedit.Parse(body).Get("messages").Array()
	var edits []jsonedit.Edit
	for _, c := range changes {
		if c.Message < 0 || c.Message >= len(all) {
			return dst, fmt.Errorf("message %d of %d", c.Message, len(all))
		}
		more, err := readMessage(all[c.Message]).edits(c)
		if err != nil {
			return dst, fmt.Errorf("message %d: %w", c.Message, err)
		}
		edits = append(edits, more...)
	}
	return jsonedit.Splice(dst, body, edits), nil
}

// edits returns the edits of a change.
func (m *placed) edits(c wire.Change) (edits []jsonedit.Edit, err error) {
	if len(c.Sign) > 0 {
		return nil, fmt.Errorf("calls cannot be signed")
	}
	drop := map[int]bool{}
	for _, t := range c.Drop {
		if t >= 0 && t < len(m.thoughts) {
			drop[m.thoughts[t]] = true
		}
	}
	var first []byte // the blocks that come before the others
	if c.Field != "" {
		first = append(appendReasoning(first, []byte(c.Add), ""), ',')
	}
	for i, text := range c.Texts {
		value := jsontext.AppendVerbatim(nil, jsonedit.BytesOf(text))
		switch {
		case i == 0 && len(m.texts) == 0 && m.Calls:
			block := append(append([]byte(`{"`+textMember+`":`), value...), "},"...)
			at := m.blocks[m.call].At
			if m.call == 0 {
				first = append(first, block...)
				continue
			}
			edits = append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: block})
		case i < 0 || i >= len(m.texts):
			return nil, fmt.Errorf("text %d of %d", i, len(m.texts))
		default:
			edits = append(edits, jsonedit.Edit{Span: m.texts[i], With: value})
		}
	}
	if len(first) > 0 && len(m.blocks) > 0 {
		if len(drop) == len(m.blocks) {
			first = first[:len(first)-1]
		}
		at := m.blocks[0].At
		edits = append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: first})
	}
	edits = jsonedit.Cut(edits, m.blocks, func(i int) bool { return drop[i] })
	return chatjson.EditIDs(edits, m.ids, c.IDs)
}

// appendReasoning appends a block of reasoning.
func appendReasoning(dst, text []byte, signature string) []byte {
	dst = append(dst, `{"`+reasoningMember+`":{"reasoningText":{"text":`...)
	dst = jsontext.AppendVerbatim(dst, text)
	if signature != "" {
		dst = append(append(append(dst, `,"signature":"`...), signature...), '"')
	}
	return append(dst, "}}}"...)
}

// Transcribe reports the messages of a request. The member system becomes a message
// of that role. Tool results in a message become separate messages before it.
func (converse) Transcribe(body []byte, to wire.Transcript) {
	root := jsonedit.Parse(body)
	if system := textsOf(root.Get("system")); len(system) > 0 {
		to.Message("system", "", system...)
	}
	root.Get("messages").ForEach(func(_, m gjson.Result) bool {
		transcribe(m, to)
		return true
	})
}

func transcribe(m gjson.Result, to wire.Transcript) {
	blocks, results := m.Get("content").Array(), 0
	for _, b := range blocks {
		if r := b.Get(resultMember); r.IsObject() {
			results++
			to.Message("tool", r.Get("toolUseId").Str, resultsOf(r.Get("content"))...)
		}
	}
	texts := textsOf(m.Get("content"))
	if results > 0 && len(texts) == 0 {
		return
	}
	to.Message(m.Get("role").Str, "", texts...)
	for _, b := range blocks {
		if v := b.Get(reasoningMember); v.IsObject() {
			signature, redacted := chatjson.ValueText(v.Get("reasoningText.signature")), chatjson.ValueText(v.Get("redactedContent"))
			to.Thought(reasoningMember, chatjson.ValueText(v.Get("reasoningText.text")), len(signature) > 0)
			to.Thought("signature", signature, true)
			to.Thought("redactedContent", redacted, true)
		}
	}
	for _, b := range blocks {
		if call := b.Get(callMember); call.IsObject() {
			to.Call(call.Get("toolUseId").Str, call.Get("name").Str, chatjson.ValueText(call.Get("input")))
		}
	}
}

// textsOf returns the texts of a list of blocks.
func textsOf(list gjson.Result) (texts [][]byte) {
	list.ForEach(func(_, b gjson.Result) bool {
		if t := b.Get(textMember); t.Type == gjson.String {
			texts = append(texts, chatjson.ValueText(t))
		}
		if c := b.Get(citationsMember); c.IsObject() {
			texts = append(texts, textsOf(c.Get("content"))...)
		}
		return true
	})
	return texts
}

// resultsOf returns the texts of a tool's result, and its JSON.
func resultsOf(list gjson.Result) (texts [][]byte) {
	list.ForEach(func(_, b gjson.Result) bool {
		for _, name := range []string{"text", "json"} {
			if v := b.Get(name); v.Exists() {
				texts = append(texts, chatjson.ValueText(v))
			}
		}
		return true
	})
	return texts
}
