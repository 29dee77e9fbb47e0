package chatjson

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// ErrNoMessages is the error of a body that is not a request of an API whose requests
// must have messages.
var ErrNoMessages = errors.New("messages: not a list")

// ReadConversation reads into q the messages of a request, and what it says about the
// reply to them: its beginning, thinking, JSON, tools.
func ReadConversation(q *wire.Request, root gjson.Result) {
	q.Messages = ReadMessages(root.Get("messages"))
	q.Prefill = PrefillOf(q.Messages)
	q.Switch = SwitchOf(root, q.Messages)
	q.JSON = WantsJSON(root)
	ReadTools(q, root)
}

// ReadMessages reads a list of messages as chat APIs have them: objects with a
// role, and content that is a string or a list of typed blocks.
func ReadMessages(list gjson.Result) []wire.Message {
	if !list.IsArray() {
		return nil
	}
	var all []wire.Message
	list.ForEach(func(_, m gjson.Result) bool {
		all = append(all, readMessage(m).Message)
		return true
	})
	return all
}

// A message is a Message with the places of its parts.
type message struct {
	wire.Message
	members []jsonedit.Member
	blocks  []jsonedit.Member // of its content, if that is a list
	emptied bool              // all of them are removed
	texts   []jsonedit.Span   // of the JSON strings
	// thoughts say where each of Thoughts is: a member, or a block.
	thoughts []thoughtPlace
	// signs are the calls that can be signed, by their index in CallIDs.
	signs map[int]gjson.Result
	ids   []IDPlace // of each of CallIDs
}

type thoughtPlace struct {
	block bool
	index int
}

func readMessage(m gjson.Result) *message {
	out := &message{members: jsonedit.Members(m)}
	for i, f := range out.members {
		v := f.Value
		switch f.Key {
		case "role":
			out.Role = v.Str
			out.Results = out.Results || v.Str == "tool" || v.Str == "function"
		case "content":
			out.readContent(v)
		case "tool_calls":
			for _, call := range v.Array() {
				out.signed(call)
				out.call(IDPlace{call, "id"}, call.Get("function.name"))
			}
		case "tool_call_id":
			out.result(IDPlace{m, f.Key}, v)
		case "function_call":
			if v.IsObject() {
				out.call(IDPlace{}, v.Get("name"))
			}
		case "reasoning_details":
			if v.IsArray() && v.Get("0").Exists() {
				out.thought(wire.Thought{Name: f.Key, Text: DetailsText(v), Sealed: sealedDetails(v), Proof: DetailsProof(v)}, false, i)
			}
		default:
			switch {
			case v.Type != gjson.String || !IsNativeField(f.Key):
			case v.Str == "":
				out.Empty = append(out.Empty, f.Key)
			default:
				out.thought(wire.Thought{Name: f.Key, Text: v.Str}, false, i)
			}
		}
	}
	return out
}

// call notes a tool call, by its id or else by its name.
func (m *message) call(at IDPlace, name gjson.Result) {
	m.Calls = true
	m.Called = append(m.Called, name.Str)
	id := ""
	if at.Member != "" {
		id = at.Of.Get(at.Member).Str
	}
	switch {
	case id != "":
		m.CallIDs, m.ids = append(m.CallIDs, id), append(m.ids, at)
	case name.Str != "":
		m.CallIDs, m.Names, m.ids = append(m.CallIDs, name.Str), true, append(m.ids, IDPlace{})
	}
}

// result notes a tool's result by the id of its call.
func (m *message) result(at IDPlace, id gjson.Result) {
	m.CallIDs, m.ids = append(m.CallIDs, id.Str), append(m.ids, at)
}

func (m *message) thought(t wire.Thought, block bool, index int) {
	m.Thoughts = append(m.Thoughts, t)
	m.thoughts = append(m.thoughts, thoughtPlace{block, index})
}

func (m *message) readContent(v gjson.Result) {
	if v.Type == gjson.String {
		m.Texts = append(m.Texts, v.Str)
		m.texts = append(m.texts, jsonedit.SpanOf(v))
		return
	}
	if !v.IsArray() {
		return
	}
	m.blocks = jsonedit.Members(v)
	for i, b := range m.blocks {
		e := b.Value
		switch e.Get("type").Str {
		case "text", "input_text", "output_text":
			t := e.Get("text")
			m.Texts = append(m.Texts, t.Str)
			m.texts = append(m.texts, jsonedit.SpanOf(t))
		case "thinking", "reasoning":
			sig := e.Get("signature")
			ours, passed := IsSignature(sig.Str)
			t := wire.Thought{
				Name: e.Get("type").Str, Text: ThoughtText(e),
				Sealed: sig.Str != "" && !ours,
				Minted: sig.Exists() && (sig.Str == "" || ours), Passed: passed,
			}
			if t.Sealed {
				t.Proof = sig.Str
			}
			m.thought(t, true, i)
		case "redacted_thinking":
			m.thought(wire.Thought{Name: "redacted_thinking", Sealed: true, Proof: e.Get("data").Str}, true, i)
		case "tool_use":
			m.call(IDPlace{e, "id"}, e.Get("name"))
		case "server_tool_use", "mcp_tool_use":
			m.call(IDPlace{e, "id"}, e.Get("name"))
			if n := len(m.ids); n > 0 {
				m.ids[n-1].Member = "" // its result, in the same message, has the id too
			}
		case "tool_result":
			m.Results = true
			m.result(IDPlace{e, "tool_use_id"}, e.Get("tool_use_id"))
		}
	}
}

// Details is the member of a message that has a list of the parts of its reasoning.
const Details = "reasoning_details"

// DetailsOf returns details that say a text, and no more, for a server that reads its reasoning there and nowhere else.
func DetailsOf(text string) []byte {
	return append(jsontext.AppendVerbatim([]byte(`[{"type":"reasoning.text","text":`), jsonedit.BytesOf(text)), "}]"...)
}

// DetailsText is what details say.
func DetailsText(list gjson.Result) string {
	var b strings.Builder
	for _, d := range list.Array() {
		b.WriteString(d.Get("text").Str)
		b.WriteString(d.Get("summary").Str)
	}
	return b.String()
}

// sealedDetails reports whether a part of the details is signed or encrypted.
func sealedDetails(list gjson.Result) bool {
	for _, d := range list.Array() {
		if d.Get("signature").Str != "" || d.Get("data").Str != "" || d.Get("type").Str == "reasoning.encrypted" {
			return true
		}
	}
	return false
}

// DetailsProof is what a provider signed or encrypted details with. It is the same for a list and for its pieces.
func DetailsProof(list gjson.Result) string {
	var b strings.Builder
	list.ForEach(func(_, d gjson.Result) bool {
		b.WriteString(d.Get("signature").Str)
		b.WriteString(d.Get("data").Str)
		return true
	})
	return b.String()
}

// EditMessages appends body with changes made to the messages of list, which must
// have been parsed from it.
func EditMessages(dst, body []byte, list gjson.Result, changes []wire.Change) ([]byte, error) {
	return editMessages(dst, body, list, changes, (*message).change)
}

// EditBlocks is EditMessages for an API whose reasoning is in blocks.
func EditBlocks(dst, body []byte, list gjson.Result, changes []wire.Change) ([]byte, error) {
	return editMessages(dst, body, list, changes, (*message).addBlock)
}

// EditParts is EditBlocks for an API whose blocks of reasoning have no signature, and
// whose messages have their calls in a member.
func EditParts(dst, body []byte, list gjson.Result, changes []wire.Change) ([]byte, error) {
	return editMessages(dst, body, list, changes, (*message).addPart)
}

// An adder puts a change's reasoning into a message. dropped reports whether a member
// is removed.
type adder func(m *message, c wire.Change, dropped func(int) bool) []jsonedit.Edit

func editMessages(dst, body []byte, list gjson.Result, changes []wire.Change, add adder) ([]byte, error) {
	all := list.Array()
	var edits []jsonedit.Edit
	for _, c := range changes {
		if c.Message < 0 || c.Message >= len(all) {
			return dst, fmt.Errorf("message %d of %d", c.Message, len(all))
		}
		more, err := readMessage(all[c.Message]).edits(c, add)
		if err != nil {
			return dst, fmt.Errorf("message %d: %w", c.Message, err)
		}
		edits = append(edits, more...)
	}
	return jsonedit.Splice(dst, body, edits), nil
}

func (m *message) edits(c wire.Change, add adder) ([]jsonedit.Edit, error) {
	var edits []jsonedit.Edit
	drop := map[thoughtPlace]bool{}
	for _, t := range c.Drop {
		if t >= 0 && t < len(m.thoughts) {
			drop[m.thoughts[t]] = true
		}
	}
	dropped := func(block bool) func(int) bool {
		return func(i int) bool { return drop[thoughtPlace{block, i}] }
	}
	m.emptied = len(m.blocks) > 0
	for i := range m.blocks {
		m.emptied = m.emptied && dropped(true)(i)
	}
	for i, text := range c.Texts {
		if i == 0 && len(m.texts) == 0 && m.Calls {
			edits = append(edits, m.addText(text))
			continue
		}
		if i < 0 || i >= len(m.texts) {
			return nil, fmt.Errorf("text %d of %d", i, len(m.texts))
		}
		edits = append(edits, jsonedit.Edit{Span: m.texts[i], With: jsontext.AppendVerbatim(nil, jsonedit.BytesOf(text))})
	}
	edits = jsonedit.Cut(edits, m.blocks, dropped(true))
	edits = jsonedit.Cut(edits, m.members, dropped(false))
	if c.Listed != "" && len(m.members) > 0 {
		edits = append(edits, m.list(c.Listed))
	}
	if c.Field != "" && len(m.members) > 0 {
		edits = append(edits, add(m, c, dropped(false))...)
	}
	for i, signature := range c.Sign {
		call, ok := m.signs[i]
		if !ok {
			return nil, fmt.Errorf("call %d of %d cannot be signed", i, len(m.CallIDs))
		}
		edits = append(edits, sign(call, signature))
	}
	return EditIDs(edits, m.ids, c.IDs)
}

// addText puts a text into a message that calls tools and has none: before the
// blocks of its content, or as the content.
func (m *message) addText(text string) jsonedit.Edit {
	value := jsontext.AppendVerbatim(nil, jsonedit.BytesOf(text))
	for _, f := range m.members {
		switch {
		case f.Key != "content":
		case len(m.blocks) > 0:
			at := m.blocks[0].At
			with := append(append([]byte(`{"type":"text","text":`), value...), '}')
			return jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: m.beforeBlocks(with)}
		default:
			return jsonedit.Edit{Span: f.ValueSpan(), With: value}
		}
	}
	at := m.members[0].At
	return jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: append(append([]byte(`"content":`), value...), ',')}
}

// list puts a list of details into its member.
func (m *message) list(details string) jsonedit.Edit {
	for _, f := range m.members {
		if f.Key == Details {
			return jsonedit.Edit{Span: f.ValueSpan(), With: []byte(details)}
		}
	}
	at := m.members[0].At
	return jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: []byte(`"` + Details + `":` + details + `,`)}
}

// change puts reasoning into its member: some clients send it back empty.
func (m *message) change(c wire.Change, dropped func(int) bool) []jsonedit.Edit {
	text := jsontext.AppendVerbatim(nil, jsonedit.BytesOf(c.Add))
	if c.Field == Details {
		text = DetailsOf(c.Add)
	}
	for i, f := range m.members {
		if f.Key == c.Field && !dropped(i) {
			return []jsonedit.Edit{{Span: f.ValueSpan(), With: text}}
		}
	}
	with := append(jsontext.AppendVerbatim(nil, jsonedit.BytesOf(c.Field)), ':')
	at := m.members[0].At
	return []jsonedit.Edit{{Span: jsonedit.Span{Start: at, End: at}, With: append(append(with, text...), ',')}}
}

// addBlock puts reasoning into a block before the others. A content that is a string
// becomes a block, too.
func (m *message) addBlock(c wire.Change, _ func(int) bool) []jsonedit.Edit {
	return m.before(append(thinkingOf(c), `,"signature":""}`...))
}

// beforeBlocks is a block with the comma that it needs before the others, if any stay.
func (m *message) beforeBlocks(block []byte) []byte {
	if m.emptied {
		return block
	}
	return append(block, ',')
}

// addPart is addBlock without a signature. A message without content gets one.
func (m *message) addPart(c wire.Change, _ func(int) bool) []jsonedit.Edit {
	part := append(thinkingOf(c), '}')
	if edits := m.before(part); edits != nil {
		return edits
	}
	content := append(append([]byte{'['}, part...), ']')
	for _, f := range m.members {
		if f.Key == "content" {
			return []jsonedit.Edit{{Span: f.ValueSpan(), With: content}}
		}
	}
	at := m.members[0].At
	return []jsonedit.Edit{{Span: jsonedit.Span{Start: at, End: at}, With: append(append([]byte(`"content":`), content...), ',')}}
}

// thinkingOf is a block with the reasoning of a change, without its end.
func thinkingOf(c wire.Change) []byte {
	b := append(jsontext.AppendVerbatim([]byte(`{"type":`), jsonedit.BytesOf(c.Field)), `,"thinking":`...)
	return jsontext.AppendVerbatim(b, jsonedit.BytesOf(c.Add))
}

// before returns the edits that put a block before the others.
func (m *message) before(block []byte) []jsonedit.Edit {
	insert := func(at int, with []byte) jsonedit.Edit {
		return jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: with}
	}
	if len(m.blocks) > 0 {
		return []jsonedit.Edit{insert(m.blocks[0].At, m.beforeBlocks(block))}
	}
	if len(m.texts) == 0 {
		return nil
	}
	at := m.texts[0]
	return []jsonedit.Edit{
		insert(at.Start, append(append([]byte{'['}, block...), `,{"type":"text","text":`...)),
		insert(at.End, []byte("}]")),
	}
}

// PrefillOf returns the text with which the last message begins the reply. That
// message must be the assistant's, without calls or results.
func PrefillOf(messages []wire.Message) string {
	if len(messages) == 0 {
		return ""
	}
	last := messages[len(messages)-1]
	if last.Role != "assistant" || last.Calls || last.Results || len(last.Texts) == 0 {
		return ""
	}
	return last.Texts[len(last.Texts)-1]
}
