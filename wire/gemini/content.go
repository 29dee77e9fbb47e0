package gemini

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// The members of a part that say that it is reasoning, and that sign it.
const (
	thoughtMember   = "thought"
	signatureMember = "thoughtSignature"
)

// A message is what one side says before the other answers, with the places of its
// parts. A client that had a reply as a stream sends it back in as many contents, or
// in as many parts, as there were events. So the model's contents in a row are one
// message, and its texts in a row one text.
type message struct {
	wire.Message
	parts    []part
	texts    [][]int // the parts of each of Texts
	thoughts [][]int // … and of each of Thoughts
	calls    []int   // the part of each of CallIDs, if it is a call
	ids      []id    // the place of each of CallIDs
}

// An id of a call or of the call of a result stands in a part.
type id struct {
	part int
	chatjson.IDPlace
}

// A part is one of a message's.
type part struct {
	content int // among all contents
	jsonedit.Member
	kind   partKind
	signed bool
}

type partKind uint8

const (
	otherPart partKind = iota
	textPart
	thoughtPart
)

// readMessages reads the contents of a request.
func readMessages(list []gjson.Result) []*message {
	var all []*message
	for i, v := range list {
		role := "user" // also of a content without a role
		if v.Get("role").Str == "model" {
			role = "assistant"
		}
		if n := len(all); n == 0 || role != "assistant" || all[n-1].Role != role {
			all = append(all, &message{Message: wire.Message{Role: role}})
		}
		m := all[len(all)-1]
		for _, p := range jsonedit.Members(v.Get("parts")) {
			m.readPart(part{content: i, Member: p})
		}
	}
	return all
}

// readPart reads a part.
func (m *message) readPart(p part) {
	text, call, result := p.Value.Get("text"), chatjson.Either(p.Value, "functionCall"), chatjson.Either(p.Value, "functionResponse")
	p.signed = chatjson.Either(p.Value, signatureMember).Str != ""
	before, at := otherPart, len(m.parts)
	if at > 0 {
		before = m.parts[at-1].kind
	}
	switch {
	case call.IsObject():
		m.call(at, call, p.signed)
	case result.IsObject():
		m.Results = true
		m.name(at, result)
	case text.Type != gjson.String:
	case p.Value.Get(thoughtMember).Type == gjson.True:
		p.kind = thoughtPart
		if before != thoughtPart {
			m.Thoughts, m.thoughts = append(m.Thoughts, wire.Thought{Name: thoughtMember}), append(m.thoughts, nil)
		}
		n := len(m.Thoughts) - 1
		m.Thoughts[n].Sealed = m.Thoughts[n].Sealed || p.signed
		m.thoughts[n] = append(m.thoughts[n], at)
	default:
		p.kind = textPart
		if before != textPart {
			m.Texts, m.texts = append(m.Texts, ""), append(m.texts, nil)
		}
		m.texts[len(m.texts)-1] = append(m.texts[len(m.texts)-1], at)
	}
	m.parts = append(m.parts, p)
}

// join makes the texts and thoughts of their parts.
func (m *message) join() *message {
	for i, run := range m.texts {
		m.Texts[i] = m.joined(run)
	}
	for i, run := range m.thoughts {
		m.Thoughts[i].Text = m.joined(run)
	}
	return m
}

func (m *message) joined(run []int) string {
	if len(run) == 1 {
		return m.parts[run[0]].Value.Get("text").Str
	}
	var b strings.Builder
	for _, i := range run {
		b.WriteString(m.parts[i].Value.Get("text").Str)
	}
	return b.String()
}

func (m *message) call(at int, call gjson.Result, signed bool) {
	m.Calls = true
	m.Called = append(m.Called, call.Get("name").Str)
	if m.name(at, call); len(m.calls) < len(m.CallIDs) {
		m.calls = append(m.calls, at)
		m.Signed = append(m.Signed, signed)
	}
}

// name notes the id of a call, or else its name.
func (m *message) name(at int, call gjson.Result) {
	place := id{at, chatjson.IDPlace{Of: call, Member: "id"}}
	switch id, name := call.Get("id").Str, call.Get("name").Str; {
	case id != "":
		m.CallIDs, m.ids = append(m.CallIDs, id), append(m.ids, place)
	case name != "":
		m.CallIDs, m.Names, m.ids = append(m.CallIDs, name), true, append(m.ids, place)
	}
}

func (codec) Edit(dst, body []byte, changes []wire.Change) ([]byte, error) {
	root := jsonedit.Parse(body).Get("contents")
	list := contents(root)
	all := readMessages(list)
	e := editing{contents: list, touched: map[int]*touched{}}
	for _, c := range changes {
		if c.Message < 0 || c.Message >= len(all) {
			return dst, fmt.Errorf("message %d of %d", c.Message, len(all))
		}
		if err := e.change(all[c.Message], c); err != nil {
			return dst, fmt.Errorf("message %d: %w", c.Message, err)
		}
	}
	return jsonedit.Splice(dst, body, e.edits(root)), nil
}

// An editing collects what is done to contents.
type editing struct {
	contents []gjson.Result
	touched  map[int]*touched
}

// A touched content gets parts before its own, loses some, and has others changed.
type touched struct {
	first  []byte
	drop   map[int]bool // by where a part begins
	inside []jsonedit.Edit
}

func (e *editing) of(p part) *touched {
	if e.touched[p.content] == nil {
		e.touched[p.content] = &touched{drop: map[int]bool{}}
	}
	return e.touched[p.content]
}

// change makes a change of one message.
func (e *editing) change(m *message, c wire.Change) error {
	if c.Field != "" && len(m.parts) > 0 {
		t := e.of(m.parts[0])
		t.first = appendPart(separated(t.first), []byte(c.Add), true)
	}
	for i, text := range c.Texts {
		switch {
		case i == 0 && len(m.texts) == 0 && m.Calls:
			t := e.of(m.parts[m.calls[0]])
			t.first = appendPart(separated(t.first), []byte(text), false)
		case i < 0 || i >= len(m.texts):
			return fmt.Errorf("text %d of %d", i, len(m.texts))
		default:
			e.text(m, m.texts[i], text)
		}
	}
	for _, i := range c.Drop {
		if i < 0 || i >= len(m.thoughts) {
			continue
		}
		for _, at := range m.thoughts[i] {
			e.of(m.parts[at]).drop[m.parts[at].At] = true
		}
	}
	for i, signature := range c.Sign {
		if i < 0 || i >= len(m.calls) {
			return fmt.Errorf("call %d of %d cannot be signed", i, len(m.calls))
		}
		p := m.parts[m.calls[i]]
		e.of(p).inside = append(e.of(p).inside, sign(p.Value, signature))
	}
	return e.ids(m, c.IDs)
}

// ids puts new ids into calls and results.
func (e *editing) ids(m *message, ids map[int]string) error {
	for i, id := range ids {
		if i < 0 || i >= len(m.ids) {
			return fmt.Errorf("id %d of %d", i, len(m.ids))
		}
		t := e.of(m.parts[m.ids[i].part])
		var err error
		if t.inside, err = chatjson.EditIDs(t.inside, []chatjson.IDPlace{m.ids[i].IDPlace}, map[int]string{0: id}); err != nil {
			return err
		}
	}
	return nil
}

// text puts a text into the first part of its run. The others go, except for those
// that are signed, which stay without theirs.
func (e *editing) text(m *message, run []int, text string) {
	for n, at := range run {
		p := m.parts[at]
		if n > 0 && !p.signed {
			e.of(p).drop[p.At] = true
			continue
		}
		with := jsontext.AppendVerbatim(nil, jsonedit.BytesOf(text))
		if n > 0 {
			with = []byte(`""`)
		}
		e.of(p).inside = append(e.of(p).inside, jsonedit.Edit{Span: jsonedit.SpanOf(p.Value.Get("text")), With: with})
	}
}

// edits are the edits of all contents. A content that has lost all its parts goes too.
func (e *editing) edits(list gjson.Result) (edits []jsonedit.Edit) {
	gone := map[int]bool{}
	for i, t := range e.touched {
		parts := jsonedit.Members(e.contents[i].Get("parts"))
		dropped := func(i int) bool { return t.drop[parts[i].At] }
		if len(t.drop) == len(parts) && t.first == nil {
			gone[i] = true
			continue
		}
		if t.first != nil {
			if len(t.drop) < len(parts) {
				t.first = append(t.first, ',')
			}
			at := parts[0].At
			edits = append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: t.first})
		}
		edits = jsonedit.Cut(append(edits, t.inside...), parts, dropped)
	}
	if !list.IsArray() || len(gone) == len(e.contents) {
		return edits // there would be nothing left
	}
	return jsonedit.Cut(edits, jsonedit.Members(list), func(i int) bool { return gone[i] })
}

// separated appends a comma to a list that has elements.
func separated(list []byte) []byte {
	if len(list) > 0 {
		return append(list, ',')
	}
	return list
}

// sign returns the edit that puts a signature on a call.
func sign(part gjson.Result, signature string) jsonedit.Edit {
	value := jsontext.AppendVerbatim(nil, jsonedit.BytesOf(signature))
	if old := chatjson.Either(part, signatureMember); old.Exists() {
		return jsonedit.Edit{Span: jsonedit.SpanOf(old), With: value}
	}
	at := part.Index + 1
	with := append(append([]byte(`"`+signatureMember+`":`), value...), ',')
	return jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: with}
}

// appendPart appends a part that holds a text or a thought.
func appendPart(dst, text []byte, thought bool) []byte {
	dst = jsontext.AppendVerbatim(append(dst, `{"text":`...), text)
	if thought {
		dst = append(dst, `,"`+thoughtMember+`":true`...)
	}
	return append(dst, '}')
}

// Transcribe reports the contents of a request. The system instruction becomes a
// message of that role, and each result of a tool a message of its own.
func (codec) Transcribe(body []byte, to wire.Transcript) {
	root := jsonedit.Parse(body)
	if system := textsOf(chatjson.Either(root, "systemInstruction")); len(system) > 0 {
		to.Message("system", "", system...)
	}
	for _, v := range contents(root.Get("contents")) {
		transcribe(v, to)
	}
}

func transcribe(v gjson.Result, to wire.Transcript) {
	role := v.Get("role").Str
	switch role {
	case "":
		role = "user"
	case "model":
		role = "assistant"
	}
	parts, results := v.Get("parts").Array(), 0
	for _, p := range parts {
		if r := chatjson.Either(p, "functionResponse"); r.IsObject() {
			results++
			id := r.Get("id").Str
			if id == "" {
				id = r.Get("name").Str
			}
			to.Message("tool", id, chatjson.ValueText(r.Get("response")))
		}
	}
	texts := textsOf(v)
	if results > 0 && len(texts) == 0 {
		return
	}
	to.Message(role, "", texts...)
	for _, p := range parts {
		signature := chatjson.ValueText(chatjson.Either(p, signatureMember))
		if isThought(p) {
			to.Thought(thoughtMember, chatjson.ValueText(p.Get("text")), len(signature) > 0)
		}
		to.Thought(signatureMember, signature, true)
		if call := chatjson.Either(p, "functionCall"); call.IsObject() {
			to.Call(call.Get("id").Str, call.Get("name").Str, chatjson.ValueText(call.Get("args")))
		}
	}
}

func isThought(part gjson.Result) bool {
	return part.Get(thoughtMember).Type == gjson.True && part.Get("text").Type == gjson.String
}

// textsOf returns the texts of a content, without its thoughts.
func textsOf(content gjson.Result) (texts [][]byte) {
	content.Get("parts").ForEach(func(_, p gjson.Result) bool {
		if t := p.Get("text"); t.Type == gjson.String && !isThought(p) {
			texts = append(texts, chatjson.ValueText(t))
		}
		return true
	})
	return texts
}
