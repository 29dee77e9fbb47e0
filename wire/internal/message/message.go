// Package message writes the messages of APIs whose choices are objects with members: the
// text, reasoning, narration and calls.
package message

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// A Message is what one choice says in a frame or in a body.
type Message struct {
	Choice  int
	Text    []byte
	Refusal []byte
	Calls   []wire.Event
	// Members are JSON objects with members of the message that only the API has. Of and
	// Tokens are members of its choice, and the log probabilities of its text.
	Members    []string
	Of, Tokens string
	Ends       bool
	Finish     string // the provider's word
	End        sotto.Ending

	reasoning, narration []byte
	natives              []string // the members in which the upstream itself has the reasoning
	parts                []byte   // of the content, if not all are texts
	details              []string // lists of reasoning_details
	slot                 []byte   // what stands in place of a list that is hidden
	hasText, hasRole     bool     // it has these members, perhaps empty
	other                []wire.Event
	pictures             []wire.Event // of another API's reply
}

// A List is what the choices of a frame or a body say. It is reused for each.
type List struct {
	Messages []Message
	// Reply are the members of the frame or the body, and Fault is its error.
	Reply, Fault string
	Model        wire.Event
	Usage        *wire.Usage
	Complete     bool // the API's own sign of the end came
	Listed       bool // the body is a list
	Done         bool // the stream ends with [DONE]
}

// Take sorts events by their choices.
func (l *List) Take(events []wire.Event) {
	l.Messages, l.Reply, l.Fault, l.Usage, l.Complete, l.Listed, l.Done = l.Messages[:0], "", "", nil, false, false, false
	for i := range events {
		switch e := &events[i]; {
		case e.Kind == wire.EventModel:
			l.Model = *e
		case e.Kind == wire.EventFault:
			l.Fault = e.Raw
		case e.Kind == wire.EventUsage:
			l.Usage = &e.Usage
		case e.Kind == wire.EventEnd:
			l.Complete = true
		case e.Kind == wire.EventMembers && e.Name == wire.MembersOfReply:
			l.Reply = e.Raw
		case e.Kind == wire.EventMembers && e.Name == wire.MembersOfList:
			l.Listed = true
		case e.Kind == wire.EventMembers && e.Name == wire.MembersOfDone:
			l.Done = true
		default:
			l.of(e.Choice).note(e)
		}
	}
}

// Release lets go of the memory of large messages, and of what they refer to.
func (l *List) Release() {
	for i := range l.Messages {
		m := &l.Messages[i]
		if cap(m.Text)+cap(m.reasoning)+cap(m.narration)+cap(m.parts) > large {
			*m = Message{}
			continue
		}
		clear(m.Calls)
		clear(m.Members)
		clear(m.details)
		clear(m.other)
		clear(m.pictures)
		m.Of, m.Tokens = "", ""
	}
	l.Reply, l.Fault, l.Usage, l.Messages = "", "", nil, l.Messages[:0]
	l.Model = wire.Event{}
}

// large is the capacity above which buffers are not kept for later frames.
const large = 16 << 10

// of returns the message of a choice.
func (l *List) of(choice int) *Message {
	for i := range l.Messages {
		if l.Messages[i].Choice == choice {
			return &l.Messages[i]
		}
	}
	if n := len(l.Messages); n < cap(l.Messages) {
		l.Messages = l.Messages[:n+1]
		l.Messages[n].reset()
	} else {
		l.Messages = append(l.Messages, Message{})
	}
	m := &l.Messages[len(l.Messages)-1]
	m.Choice = choice
	return m
}

func (m *Message) reset() {
	*m = Message{
		Text: m.Text[:0], Refusal: m.Refusal[:0], Calls: m.Calls[:0], Members: m.Members[:0], reasoning: m.reasoning[:0],
		narration: m.narration[:0], natives: m.natives[:0], parts: m.parts[:0], details: m.details[:0], slot: m.slot[:0],
		other: m.other[:0], pictures: m.pictures[:0],
	}
}

func (m *Message) note(e *wire.Event) {
	switch e.Kind {
	case wire.EventText:
		m.hasText = true
		m.Text = append(m.Text, e.Text...)
	case wire.EventThought:
		m.reasoning = append(m.reasoning, e.Text...)
		if e.Member && !slices.Contains(m.natives, e.Name) {
			m.natives = append(m.natives, e.Name)
		}
	case wire.EventNarration:
		m.narration = append(m.narration, e.Text...)
	case wire.EventRefusal:
		m.Refusal = append(m.Refusal, e.Text...)
	case wire.EventCall:
		m.Calls = append(m.Calls, *e)
	case wire.EventDetails:
		if e.Raw == "" {
			m.slot = append(m.slot, e.Text...)
			return
		}
		m.details = append(m.details, e.Raw)
	case wire.EventPicture:
		m.pictures = append(m.pictures, *e)
	case wire.EventOther:
		m.flush()
		m.parts = append(jsontext.AppendComma(m.parts, len(m.parts)), e.Raw...)
	case wire.EventFinish:
		m.Ends, m.Finish, m.End = true, e.Name, e.End
	case wire.EventMember:
		if e.Name == refusal {
			m.Refusal = append(m.Refusal, e.Text...)
			return
		}
		m.other = append(m.other, *e)
	case wire.EventMembers:
		switch e.Name {
		case wire.MembersOfChoice:
			m.Of = e.Raw
		case wire.MembersOfTokens:
			m.Tokens = e.Raw
		case wire.MembersOfRole:
			m.hasRole = true
		case wire.MembersOfMessage:
			m.Members = append(m.Members, e.Raw)
		}
	}
}

// refusal is the member of the text by which a model refuses.
const refusal = "refusal"

// flush makes the text so far a part of the content.
func (m *Message) flush() {
	if len(m.Text) > 0 {
		m.parts = appendPart(m.parts, m.Text)
		m.Text = m.Text[:0]
	}
}

func appendPart(dst, text []byte) []byte {
	dst = append(jsontext.AppendComma(dst, len(dst)), `{"type":"text","text":`...)
	return append(jsontext.AppendVerbatim(dst, text), '}')
}

// Begins reports whether the message says whose it is, perhaps without a text.
func (m *Message) Begins() bool { return m.hasRole }

// Plain reports whether the message is one piece of text or of reasoning, and nothing else.
func (m *Message) Plain() bool {
	return !m.Ends && len(m.Calls) == 0 && len(m.Members) == 0 && m.Of == "" && m.Tokens == "" && len(m.parts) == 0 &&
		len(m.details)+len(m.slot)+len(m.pictures) == 0 && len(m.other) == 0 && len(m.Refusal) == 0
}

// Says reports whether the message says anything.
func (m *Message) Says() bool {
	return !m.Plain() || len(m.Text) > 0 || len(m.reasoning) > 0 || len(m.narration) > 0
}

// Speaks reports whether the message says anything of its own, beside the members of its
// choice and the log probabilities.
func (m *Message) Speaks() bool {
	bare := *m
	bare.Of, bare.Tokens = "", ""
	return bare.Says()
}

// A Form says how an API writes a message.
type Form struct {
	Text  string   // the member of the text
	Names []string // the members of reasoning; if empty, those that the upstream uses
	Usual string   // … or, if it uses none, this one
	Calls chatjson.CallForm
}

// Append appends the members of a message, each with a comma before it. whole says that it
// is complete: then it has a text, unless it calls tools.
func (m *Message) Append(dst []byte, f Form, numbers *Numbers, whole bool) []byte {
	if len(m.reasoning) > 0 {
		for _, name := range f.Names {
			dst = appendMember(dst, name, m.reasoning)
		}
		for _, name := range m.natives {
			if !slices.Contains(f.Names, name) {
				dst = appendMember(dst, name, m.reasoning)
			}
		}
		if len(f.Names)+len(m.natives) == 0 {
			dst = appendMember(dst, f.Usual, m.reasoning)
		}
	}
	dst = m.appendDetails(dst)
	if len(m.narration) > 0 {
		dst = appendMember(dst, chatjson.NarrationField, m.narration)
	}
	dst = m.appendContent(dst, f, whole)
	if len(m.Refusal) > 0 {
		dst = appendMember(dst, refusal, m.Refusal)
	}
	if len(m.Calls) > 0 {
		dst = numbers.append(dst, m.Choice, m.Calls, f.Calls)
	}
	dst = m.appendPictures(dst, f.Calls == chatjson.CallOllama)
	for _, raw := range m.Members {
		dst = AppendMembers(dst, raw)
	}
	for _, e := range m.other {
		dst = appendAt(dst, e.Name, e.Text)
	}
	return dst
}

// appendPictures appends the list of pictures: of addresses that hold them, or bare.
func (m *Message) appendPictures(dst []byte, bare bool) []byte {
	if len(m.pictures) == 0 {
		return dst
	}
	dst = append(dst, `,"images":[`...)
	for i := range m.pictures {
		e := &m.pictures[i]
		if dst = jsontext.AppendComma(dst, i); bare {
			dst = jsontext.AppendVerbatim(dst, e.Text)
			continue
		}
		dst = append(append(append(dst, `{"type":"image_url","image_url":{"url":"data:`...), e.Name...), `;base64,`...)
		dst = append(append(dst, e.Text...), `"}}`...)
	}
	return append(dst, ']')
}

func (m *Message) appendContent(dst []byte, f Form, whole bool) []byte {
	switch {
	case len(m.parts) > 0:
		m.flush()
		dst = append(append(append(dst, `,"`...), f.Text...), `":[`...)
		return append(append(dst, m.parts...), ']')
	case whole && len(m.Text) == 0 && (len(m.Calls) > 0 || len(m.Refusal) > 0) && f.Calls == chatjson.CallWhole:
		return append(append(append(dst, `,"`...), f.Text...), `":null`...)
	case whole, m.hasText:
		return appendMember(dst, f.Text, m.Text)
	}
	return dst
}

// Piece appends the members of a message that is one piece of its text or of its reasoning, as
// most are, without sorting the events. They have a comma before them. ok is false if it is
// more than that; said is false if it has no text.
func Piece(dst []byte, f Form, events []wire.Event) (_ []byte, said, ok bool) {
	hasText := len(events) > 0 && events[0].Kind == wire.EventText
	switch {
	case len(events) == 1 && hasText:
		if len(events[0].Text) == 0 {
			return dst, false, true
		}
		return appendMember(dst, f.Text, events[0].Text), true, true
	case len(events) == 2 && hasText && len(events[0].Text) == 0 && events[0].Choice == events[1].Choice:
		events = events[1:]
	case len(events) != 1:
		return dst, false, false
	}
	e := &events[0]
	if e.Kind != wire.EventThought || len(e.Text) == 0 || len(f.Names) != 1 || e.Name != "" && e.Name != f.Names[0] {
		return dst, false, false
	}
	dst = appendMember(dst, f.Names[0], e.Text)
	if hasText || f.Calls == chatjson.CallOllama {
		dst = appendMember(dst, f.Text, nil)
	}
	return dst, true, true
}

// appendMember appends a member with a text, and a comma before it.
func appendMember(dst []byte, name string, text []byte) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	return append(jsontext.AppendInside(dst, text), '"')
}

// appendAt appends a text at its place in the message, such as "message.audio.transcript".
func appendAt(dst []byte, place string, text []byte) []byte {
	_, place, _ = strings.Cut(place, ".") // the object, which is this one
	names := strings.Split(place, ".")
	for i, name := range names {
		dst = append(append(append(dst, ",{"[min(i, 1)], '"'), name...), `":`...)
	}
	dst = jsontext.AppendVerbatim(dst, text)
	for range names[1:] {
		dst = append(dst, '}')
	}
	return dst
}

// AppendMembers appends the members of a JSON object, with a comma before them.
func AppendMembers(dst []byte, object string) []byte {
	if len(object) <= len("{}") {
		return dst
	}
	return append(append(dst, ','), object[1:len(object)-1]...)
}

// ShownDetail is what is shown of an element of reasoning_details besides its text.
var ShownDetail = shown.Object("type id format index", shown.Members{"data": shown.Sealed, "signature": shown.Sealed})

// appendDetails appends reasoning_details: what is sealed, and what says exactly the
// reasoning that goes to the client with it.
func (m *Message) appendDetails(dst []byte) []byte {
	var list []byte
	for _, raw := range m.details {
		jsonedit.Parse([]byte(raw)).ForEach(func(_, v gjson.Result) bool {
			left, ok := ShownDetail.Of([]byte(v.Raw))
			text := v.Get("text")
			said := text.Type == gjson.String && text.Str != "" && text.Str == string(m.reasoning)
			if !ok || !said && !v.Get("data").Exists() && !v.Get("signature").Exists() {
				return true
			}
			if said {
				left = appendMember(slices.Clone(left[:len(left)-1]), "text", m.reasoning)
				left = append(left, '}')
			}
			list = append(jsontext.AppendComma(list, len(list)), left...)
			return true
		})
	}
	if len(m.slot) > 0 { // clients know this kind of element, and keep it
		list = append(jsontext.AppendComma(list, len(list)), `{"type":"reasoning.encrypted","format":"unknown","index":0,"data":`...)
		list = append(jsontext.AppendVerbatim(list, m.slot), '}')
	}
	if len(list) == 0 {
		return dst
	}
	return append(append(append(dst, `,"reasoning_details":[`...), list...), ']')
}

// Numbers are the places of the calls of a reply, which come in pieces.
type Numbers struct{ choices map[int]*places }

type places struct {
	of   map[int]int // a call's place by the codec's number
	next int
	made bool // it has a call that was in the text
}

// maxCalls bounds the calls of a choice that have a place of their own.
const maxCalls = 4096

func (n *Numbers) choice(i int) *places {
	p := n.choices[i]
	if p == nil {
		if n.choices == nil {
			n.choices = map[int]*places{}
		}
		p = &places{of: map[int]int{}}
		n.choices[i] = p
	}
	return p
}

// Made reports whether a choice has a call that was in its text.
func (n *Numbers) Made(choice int) bool {
	p := n.choices[choice]
	return p != nil && p.made
}

// Called reports whether a choice has any call.
func (n *Numbers) Called(choice int) bool {
	p := n.choices[choice]
	return p != nil && p.next > 0
}

// place returns the place of a call, and whether the call begins.
func (p *places) place(e *wire.Event) (at int, begins bool) {
	if e.Index >= 0 {
		if at, ok := p.of[e.Index]; ok {
			return at, false
		}
	}
	at = p.next
	if len(p.of) < maxCalls {
		p.next++
		if e.Index >= 0 {
			p.of[e.Index] = at
		}
	}
	p.made = p.made || e.Index < 0
	return at, true
}

// append appends the calls of a message.
func (n *Numbers) append(dst []byte, choice int, calls []wire.Event, form chatjson.CallForm) []byte {
	p := n.choice(choice)
	from := len(dst)
	dst = append(dst, `,"tool_calls":[`...)
	empty := len(dst)
	for i := range calls {
		e := &calls[i]
		if e.Member { // a function_call of older servers, which a message has one of
			continue
		}
		at, begins := p.place(e)
		dst = appendCall(jsontext.AppendComma(dst, len(dst)-empty), e, at, begins, form)
	}
	if len(dst) == empty {
		dst = dst[:from]
	} else {
		dst = append(dst, ']')
	}
	for i := range calls {
		if e := &calls[i]; e.Member {
			dst = appendFunction(append(dst, `,"function_call":`...), e)
		}
	}
	return dst
}

func appendCall(dst []byte, e *wire.Event, at int, begins bool, form chatjson.CallForm) []byte {
	dst = append(dst, '{')
	v := jsonedit.Parse([]byte(e.Raw))
	if form == chatjson.CallDelta || form == chatjson.CallWhole && v.Get("index").Exists() {
		dst = append(strconv.AppendInt(append(dst, `"index":`...), int64(at), 10), ',')
	}
	if e.ID != "" && shown.IsWord(e.ID) {
		dst = append(jsontext.AppendVerbatim(append(dst, `"id":`...), e.ID), ',')
	}
	switch {
	case e.Free, v.Get("custom").IsObject():
		dst = jsontext.AppendVerbatim(append(dst, `"type":"custom","custom":{"name":`...), e.Name)
		dst = append(jsontext.AppendVerbatim(append(dst, `,"input":`...), e.Text), '}')
	case form == chatjson.CallOllama:
		dst = strconv.AppendInt(append(dst, `"function":{"index":`...), int64(at), 10)
		dst = jsontext.AppendVerbatim(append(dst, `,"name":`...), e.Name)
		dst = append(appendArguments(append(dst, `,"arguments":`...), e.Text), '}')
	default:
		if begins || v.Get("type").Exists() {
			dst = append(dst, `"type":"function",`...)
		}
		dst = appendFunction(append(dst, `"function":`...), e)
	}
	if signed, ok := ShownSignature.Of([]byte(v.Get("extra_content").Raw)); ok && v.Get("extra_content").IsObject() {
		dst = append(append(dst, `,"extra_content":`...), signed...)
	}
	return append(dst, '}')
}

// ShownSignature is a signature of Gemini's, which it wants back with its calls.
var ShownSignature = shown.Object("", shown.Members{
	"google!": shown.Object("", shown.Members{"thought_signature!": shown.Sealed}),
})

// appendFunction appends the function of a call. A piece of a call has no name.
func appendFunction(dst []byte, e *wire.Event) []byte {
	dst = append(dst, '{')
	if e.Name != "" {
		dst = append(jsontext.AppendVerbatim(append(dst, `"name":`...), e.Name), ',')
	}
	return append(jsontext.AppendVerbatim(append(dst, `"arguments":`...), e.Text), '}')
}

// appendArguments appends a call's arguments as JSON.
func appendArguments(dst, arguments []byte) []byte {
	switch {
	case len(arguments) == 0:
		return append(dst, "{}"...)
	case foreignjson.Valid(arguments):
		return append(dst, arguments...)
	}
	return jsontext.AppendVerbatim(dst, arguments)
}
