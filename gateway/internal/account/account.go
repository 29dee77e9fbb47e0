// Package account reads what the record keeps of an exchange in addition to the
// texts of its choices, which the gateway's reading has: the reasoning that the
// upstream sent in members and blocks of its own, tool calls, token counts, and the
// messages of the request.
//
// It only observes: no reply depends on it. What it keeps is bounded by a [Room].
package account

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/internal/jsonedit"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire"
)

// A Room is how many bytes of an exchange may still be kept.
type Room struct {
	Left int
	// Cut says that something did not fit.
	Cut bool
}

// overhead is what an entry costs in addition to its text.
const overhead = 64

// Take returns as much of a text as there is room for, cut between characters.
func (r *Room) Take(text []byte) []byte {
	if len(text) <= r.Left {
		r.Left -= len(text)
		return text
	}
	n := max(r.Left, 0)
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	r.Left, r.Cut = 0, true
	return text[:n]
}

func (r *Room) take(text string) string { return string(r.Take(jsonedit.BytesOf(text))) }

// Entry reports whether there is room for one more.
func (r *Room) Entry() bool {
	if r.Left < overhead {
		r.Left, r.Cut = 0, true
		return false
	}
	r.Left -= overhead
	return true
}

// An Account collects what one reply brings in addition to its texts. It is not
// safe for concurrent use.
type Account struct {
	api   *api
	room  *Room
	texts int // texts that began before the current frame

	parts  []*part
	byKey  map[partKey]*part
	items  map[key]*part // of the responses API, by index and field only
	usage  record.Usage
	counts bool // a usage was sent
	faults []string

	news   int          // how many parts the current frame brought
	heard  *part        // a thought that the frame continued
	piece  gjson.Result // the JSON value that continued it
	shapes [4]shape
	next   int // the shape to replace next
	buf    []byte
}

// A shape is the form of an earlier frame that brought nothing, or only a piece of
// a thought.
type shape struct {
	jsonedit.Shape
	part *part
}

// A part is a thought or a call.
type part struct {
	key    key
	call   bool
	id     string
	name   string // of the call, or of the member that held the thought
	sealed bool
	text   []byte
	told   told // for text that may come whole with every frame
}

// A key identifies a part in its API's terms.
type key struct {
	choice int
	index  int
	field  string
}

type partKey struct {
	key
	call bool
}

// New returns the account of a reply of an API, which is named by its codec. What
// it keeps is taken from room.
func New(name string, room *Room) *Account {
	return &Account{api: apis[name], room: room}
}

// Frame reads a frame of a stream. texts is how many texts of the reply began
// before it.
func (a *Account) Frame(f wire.Frame, texts int) {
	if a.api == nil || len(f.Data) == 0 || a.api.skip != "" && bytes.Contains(f.Data, []byte(a.api.skip)) {
		return
	}
	for i := range a.shapes {
		if inside, ok := a.shapes[i].Find(f.Data); ok {
			if p := a.shapes[i].part; p != nil {
				var text []byte
				text, a.buf = jsonedit.TextOf(a.buf, inside.Of(f.Data))
				a.say(p, text)
			}
			return
		}
	}
	if f, ok := wire.Readable(f); ok {
		a.texts, a.news, a.heard = texts, 0, nil
		root := jsonedit.Parse(f.Data)
		a.read(root, jsonedit.StringOf(f.Type))
		a.learn(f.Data, root)
	}
}

// learn remembers the shape of a frame that brought nothing in addition to its
// text, or only a piece of a thought. Frames of the same shape need not be parsed.
func (a *Account) learn(data []byte, root gjson.Result) {
	var p *part
	v := root.Get(a.api.text)
	switch {
	case a.news == 1 && a.heard != nil:
		p, v = a.heard, a.piece
	case a.news > 0:
		return
	}
	at := v.Index
	if v.Type != gjson.String || at <= 0 || at+len(v.Raw) > len(data) || string(data[at:at+len(v.Raw)]) != v.Raw {
		return
	}
	var clock jsonedit.Span
	if c := root.Get("created_at"); a.api.clock && c.Type == gjson.String && c.Index < at {
		clock = jsonedit.Span{Start: c.Index + 1, End: c.Index + len(c.Raw) - 1}
	}
	s := &a.shapes[a.next]
	s.part = p
	s.Learn(data, jsonedit.Span{Start: at + 1, End: at + len(v.Raw) - 1}, clock)
	a.next = (a.next + 1) % len(a.shapes)
}

// Whole reads the body of a reply that is not streamed, which is valid JSON.
func (a *Account) Whole(body []byte) {
	if a.api != nil {
		a.read(jsonedit.Parse(body), "")
	}
}

func (a *Account) read(root gjson.Result, kind string) {
	a.fault(root.Get("error"))
	a.api.read(a, root, kind)
}

// maxFault bounds the text that an upstream gives as the kind of an error.
const maxFault = 64

// fault notes the kind of an error that the upstream reported. Its message may
// quote anything, and is not kept.
func (a *Account) fault(e gjson.Result) {
	for _, name := range []string{"type", "code", "status"} {
		word := e.Get(name).String()
		if word != "" && len(word) <= maxFault && isWord(word) && !slices.Contains(a.faults, word) && len(a.faults) < 8 {
			a.faults = append(a.faults, strings.Clone(word))
			a.news++
		}
	}
}

func isWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.'
	})
}

// Fault returns the kinds of error that the upstream reported, or "".
func (a *Account) Fault() string { return strings.Join(a.faults, " ") }

// Refused reads the body of an upstream's error.
func (a *Account) Refused(body []byte) {
	if foreignjson.Valid(body) {
		root := jsonedit.Parse(body)
		a.fault(root)
		a.fault(root.Get("error"))
	}
}

// Usage returns the tokens that the provider counted, or nil if it did not.
func (a *Account) Usage() *record.Usage {
	if !a.counts {
		return nil
	}
	u := a.usage
	return &u
}

// count notes a count; a later one takes precedence.
func (a *Account) count(to *int64, v gjson.Result) {
	if v.Type == gjson.Number {
		*to, a.counts = v.Int(), true
		a.news++
	}
}

// Choices returns the numbers of the choices that have parts.
func (a *Account) Choices() []int {
	var list []int
	for _, p := range a.parts {
		if !slices.Contains(list, p.key.choice) {
			list = append(list, p.key.choice)
		}
	}
	return list
}

// Sequence numbers the account's choices by the texts of the reply, in their order.
func (a *Account) Sequence() bool { return a.api != nil && a.api.sequence }

// Of returns the thoughts and calls of the choices that belong to one reply, in
// their order. A thought that came in two members is returned once.
func (a *Account) Of(belongs func(choice int) bool) (thoughts []record.Thought, calls []record.Call) {
	for _, p := range a.parts {
		switch {
		case !belongs(p.key.choice):
		case p.call:
			calls = append(calls, record.Call{ID: p.id, Name: p.name, Arguments: record.Say(string(p.text))})
		case len(p.text) == 0:
		case p.sealed || !slices.ContainsFunc(thoughts, func(t record.Thought) bool { return string(t.Text.Text) == string(p.text) && t.Field != p.name }):
			thoughts = append(thoughts, record.Thought{Field: p.name, Text: record.Say(string(p.text)), Sealed: p.sealed})
		}
	}
	return thoughts, calls
}

// part returns the part of a key, and makes it if it is new. It returns nil if
// there is no room.
func (a *Account) part(k key, call bool) *part {
	if p := a.byKey[partKey{k, call}]; p != nil {
		return p
	}
	return a.add(k, call)
}

// maxParts bounds the thoughts and calls of a reply. reach is how many of the
// latest parts a frame may continue if it does not name the part by a key.
const (
	maxParts = 4096
	reach    = 256
)

// latestParts are the parts that a frame may continue.
func (a *Account) latestParts() []*part { return a.parts[max(len(a.parts)-reach, 0):] }

func (a *Account) add(k key, call bool) *part {
	if len(a.parts) == maxParts {
		a.room.Cut = true
		return nil
	}
	if !a.room.Entry() {
		return nil
	}
	a.news++
	k.field = strings.Clone(k.field)
	p := &part{key: k, call: call, name: k.field}
	a.parts = append(a.parts, p)
	if a.byKey == nil {
		a.byKey = map[partKey]*part{}
	}
	a.byKey[partKey{k, call}] = p
	return p
}

// thought appends a value to a thought.
func (a *Account) thought(k key, v gjson.Result) {
	text := textOf(v)
	if len(text) == 0 {
		return
	}
	p := a.part(k, false)
	a.say(p, text)
	a.heard, a.piece = p, v
}

// sealed appends signed or encrypted data.
func (a *Account) sealed(k key, v gjson.Result) {
	if text := textOf(v); len(text) > 0 {
		if p := a.part(k, false); p != nil {
			p.sealed = true
			a.say(p, text)
		}
	}
}

// say appends to the text of a part.
func (a *Account) say(p *part, text []byte) {
	a.news++
	if p != nil {
		p.text = append(p.text, a.room.Take(text)...)
	}
}

// called sets the id and the name of a call, each unless it is already set.
func (a *Account) called(p *part, id, name string) {
	a.news++
	if p == nil {
		return
	}
	if p.id == "" {
		p.id = a.room.take(id)
	}
	if p.name == "" {
		p.name = a.room.take(name)
	}
}

// textOf returns the bytes of a string, including half a surrogate pair. For
// another value it returns its JSON.
func textOf(v gjson.Result) []byte {
	switch v.Type {
	case gjson.Null:
		return nil
	case gjson.String:
		return jsonedit.AppendText(nil, jsonedit.BytesOf(v.Raw[1:len(v.Raw)-1]))
	}
	return jsonedit.BytesOf(v.Raw)
}

// A told text comes in deltas, or whole with every frame. Only later frames show
// which. Until then it is taken to come whole, and the lengths record what the
// deltas would have been.
type told struct {
	lengths []int
	deltas  bool
}

// add returns the text so far, extended by the next piece.
func (t *told) add(so, text []byte) []byte {
	switch {
	case t.deltas:
		return append(so, text...)
	case bytes.HasPrefix(text, so) && len(t.lengths) < 1<<12:
		t.lengths = append(t.lengths, len(text))
		return append(so, text[len(so):]...)
	}
	var all []byte
	for _, n := range t.lengths {
		all = append(all, so[:min(n, len(so))]...) // less if there was no room
	}
	t.deltas, t.lengths = true, nil
	return append(all, text...)
}

// An api says how an account reads the JSON of one API.
type api struct {
	text  string // the path of a frame's text
	clock bool   // frames differ by a time before that path
	skip  string // found only in frames of nothing except text
	// sequence says that the choices are numbered by the texts.
	sequence bool
	read     func(a *Account, root gjson.Result, kind string)
	messages func(m *messages, root gjson.Result)
}

// apis are keyed by the names of the codecs.
var apis = map[string]*api{
	"openai.chat":        {text: "choices.0.delta.content", read: (*Account).choices, messages: (*messages).chat},
	"openai.completions": {text: "choices.0.text", read: (*Account).choices, messages: (*messages).prompt},
	"openai.responses":   {skip: `"response.output_text.delta"`, sequence: true, read: (*Account).response, messages: (*messages).input},
	"ollama.chat":        {text: "message.content", clock: true, read: (*Account).ollama, messages: (*messages).chat},
	"ollama.generate":    {text: "response", clock: true, read: (*Account).ollama, messages: (*messages).prompt},
	"anthropic.messages": {text: "delta.text", sequence: true, read: (*Account).message, messages: (*messages).blocks},
}
