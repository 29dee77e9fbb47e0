// Package account keeps what the record has of an exchange in addition to the texts
// of its choices, which the gateway's reading has: the reasoning that the upstream
// sent in members and blocks of its own, tool calls, token counts, and the messages
// of the request. It knows no provider's replies: their codecs report what is in
// them.
//
// It only observes: no reply depends on it. What it keeps is bounded by a [Room].
package account

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire"
)

// An Account collects what one reply brings in addition to its texts, as its codec
// reports it. It is not safe for concurrent use.
type Account struct {
	room  *Room
	texts bool // the choices are the texts of the reply, in order

	parts  []*part
	byKey  map[key]*part
	id     string
	faults []string
	last   struct { // the thought that was extended last
		part int // from 1
		from int
	}
}

// A part is a thought or a call.
type part struct {
	key    key
	number int // of the parts, from 1
	choice int
	id     string
	name   string // of the call, or of the member that held the thought
	sealed bool
	text   Kept
	growth growingText // for text that may come whole with every frame
}

// A key identifies a part. If the choices are texts, choice is 0: a piece of a part
// may come after the next text began.
type key struct {
	call    bool
	refusal bool
	choice  int
	index   int
	field   string
}

// New returns the account of a reply. What it keeps is taken from room.
func New(c wire.Capabilities, room *Room) *Account {
	return &Account{texts: c.Texts, room: room}
}

// Found takes what the codec found next. texts is how many texts of the reply have
// begun.
func (a *Account) Found(f wire.Event, texts int) {
	a.last.part = 0
	switch f.Kind {
	case wire.EventThought:
		if len(f.Text) > 0 {
			p := a.thought(&f, texts)
			a.add(p, &f)
			a.extended(p, len(f.Text))
		}
	case wire.EventSealed:
		if len(f.Text) > 0 {
			a.sealed(&f, texts)
		}
	case wire.EventDetails:
		a.details(f.Choice, jsonedit.Parse(jsonedit.BytesOf(f.Raw)))
	case wire.EventCall:
		a.call(&f, texts)
	case wire.EventRefusal:
		if len(f.Text) > 0 {
			a.add(a.refusal(&f, texts), &f)
		}
	case wire.EventModel:
		if a.id == "" && len(f.ID) <= maxID {
			a.id = a.room.word(f.ID)
		}
	case wire.EventFault:
		a.fault(jsonedit.Parse(jsonedit.BytesOf(f.Raw)).Get("error"))
	}
}

// ID returns the reply's id as the provider knows it.
func (a *Account) ID() string { return a.id }

// thought returns the part of a thought. If the choices are texts, a thought belongs
// to the text that follows it.
func (a *Account) thought(f *wire.Event, texts int) *part {
	k := key{choice: f.Choice, index: f.Index, field: f.Name}
	if !a.texts {
		return a.part(k, f.Choice)
	}
	k.choice = 0
	return a.part(k, texts)
}

// sealed appends signed or encrypted data. A signature seals its thought too.
func (a *Account) sealed(f *wire.Event, texts int) {
	if p := a.byKey[key{index: f.Index, field: "thinking"}]; p != nil && f.Name == "signature" {
		p.sealed = true
	}
	if p := a.thought(f, texts); p != nil {
		p.sealed = true
		a.add(p, f)
	}
}

// call adds a call, or a piece of one. If the choices are texts, a call belongs to
// the text before it.
func (a *Account) call(f *wire.Event, texts int) {
	k, choice := key{call: true, index: f.Index}, f.Choice
	if a.texts {
		choice = max(texts-1, 0)
	}
	p := a.part(k, choice)
	if p == nil {
		return
	}
	if p.id == "" {
		p.id = a.room.word(f.ID)
	}
	if p.name == "" {
		p.name = a.room.word(f.Name)
	}
	a.add(p, f)
}

// add appends to the text of a part, or replaces it.
func (a *Account) add(p *part, f *wire.Event) {
	switch {
	case p == nil:
	case !f.Whole:
		p.text.Add(f.Text, a.room)
	default:
		a.replace(&p.text, f.Text)
	}
}

// replace sets a text that came whole, and maybe again.
func (a *Account) replace(k *Kept, text []byte) {
	if k.Size() == len(text) && k.begins(text) {
		return
	}
	k.clear(a.room)
	k.Add(text, a.room)
}

// extended notes that a thought had bytes added to its end.
func (a *Account) extended(p *part, n int) {
	if p != nil && n > 0 && n <= p.text.Size() {
		a.last.part, a.last.from = p.number, p.text.Size()-n
	}
}

// Last returns the thought to which what was found last was added, its number, and from
// where on; nil if it was not.
func (a *Account) Last() (text *Kept, part, from int) {
	if a.last.part == 0 {
		return nil, 0, 0
	}
	return &a.parts[a.last.part-1].text, a.last.part, a.last.from
}

// Runs returns the texts that may lose their middle.
func (a *Account) Runs() (list []Runs) {
	if a == nil {
		return nil
	}
	for _, p := range a.parts {
		all := []record.Span{{End: p.text.Size()}}
		if p.key.call || p.key.refusal {
			list = append(list, Runs{Kept: &p.text, Others: all})
		} else {
			list = append(list, Runs{Kept: &p.text, Thoughts: all})
		}
	}
	return list
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

// Choices returns the numbers of the choices that have parts.
func (a *Account) Choices() []int {
	var list []int
	for _, p := range a.parts {
		if !slices.Contains(list, p.choice) {
			list = append(list, p.choice)
		}
	}
	return list
}

// Of returns the thoughts and calls of the choices that belong to one reply, in
// their order. A thought that came in two members is returned once. at, if it is not nil,
// gets which thought the text of each part is in, by the part's number.
func (a *Account) Of(belongs func(choice int) bool, at map[int]int) (thoughts []record.Thought, calls []record.Call) {
	for _, p := range a.parts {
		switch {
		case !belongs(p.choice) || p.key.refusal:
		case p.key.call:
			calls = append(calls, record.Call{ID: p.id, Name: p.name, Arguments: p.text.Content()})
		case p.text.Size() == 0:
		default:
			i := slices.IndexFunc(thoughts, func(t record.Thought) bool { return !p.sealed && p.text.is(t.Text) && t.Field != p.name })
			if i < 0 {
				i = len(thoughts)
				thoughts = append(thoughts, record.Thought{Field: p.name, Text: p.text.Content(), Sealed: p.sealed})
			}
			if at != nil {
				at[p.number] = i
			}
		}
	}
	return thoughts, calls
}

// refusal returns the part of a refusal. If the choices are texts, it belongs to the
// text before it.
func (a *Account) refusal(f *wire.Event, texts int) *part {
	choice := f.Choice
	if a.texts {
		choice = max(texts-1, 0)
	}
	return a.part(key{refusal: true, choice: choice}, choice)
}

// Refusal returns the text by which the model refused, in the choices that belong to
// one reply.
func (a *Account) Refusal(belongs func(choice int) bool) record.Content {
	for _, p := range a.parts {
		if p.key.refusal && belongs(p.choice) {
			return p.text.Content()
		}
	}
	return record.Content{}
}

// maxParts bounds the thoughts and calls of a reply.
const maxParts = 4096

// part returns the part of a key, and makes it if it is new. It returns nil if there
// is no room.
func (a *Account) part(k key, choice int) *part {
	if p := a.byKey[k]; p != nil {
		return p
	}
	if len(a.parts) == maxParts {
		a.room.Cut = true
		return nil
	}
	if !a.room.ReserveEntry() {
		return nil
	}
	k.field = strings.Clone(k.field)
	p := &part{key: k, number: len(a.parts) + 1, choice: choice, name: k.field}
	a.parts = append(a.parts, p)
	if a.byKey == nil {
		a.byKey = map[key]*part{}
	}
	a.byKey[k] = p
	return p
}

// details reads reasoning_details. Some servers repeat its texts with every frame.
// Signed or encrypted data is kept apart.
func (a *Account) details(choice int, list gjson.Result) {
	var text []byte
	sealed := false
	list.ForEach(func(_, d gjson.Result) bool {
		text = append(append(text, chatjson.ValueText(d.Get("text"))...), chatjson.ValueText(d.Get("summary"))...)
		for _, name := range []string{"signature", "data"} {
			if blob := d.Get(name); blob.Str != "" {
				sealed = true
				a.blob(key{choice: choice, index: int(d.Get("index").Int()), field: "reasoning_details." + name}, blob)
			}
		}
		return true
	})
	if len(text) == 0 {
		return
	}
	p := a.part(key{choice: choice, field: "reasoning_details"}, choice)
	if p == nil {
		return
	}
	p.sealed = p.sealed || sealed
	before := p.text.Size()
	p.growth.add(&p.text, text, a.room)
	a.extended(p, p.text.Size()-before)
}

// blob notes signed or encrypted data. The same data may come again.
func (a *Account) blob(k key, v gjson.Result) {
	text := chatjson.ValueText(v)
	if p := a.part(k, k.choice); p != nil && (p.text.Size() != len(text) || !p.text.begins(text)) {
		p.sealed = true
		p.text.Add(text, a.room)
	}
}

// A growingText comes in deltas, or whole with every frame. Only later frames show
// which. Until then it is taken to come whole, and the lengths record what the
// deltas would have been.
type growingText struct {
	lengths []int
	deltas  bool
}

// add extends the text so far by the next piece.
func (t *growingText) add(so *Kept, text []byte, room *Room) {
	switch {
	case t.deltas:
		so.Add(text, room)
		return
	case so.begins(text) && len(t.lengths) < 1<<12:
		t.lengths = append(t.lengths, len(text))
		so.Add(text[so.Size():], room)
		return
	}
	first := *so
	*so = Kept{}
	room.Left += len(first.bytes)
	for _, n := range t.lengths {
		if room.Left < 0 { // no text that comes in deltas is so long
			room.Cut = true
			break
		}
		so.addStart(&first, n, room)
	}
	so.Add(text, room)
	t.deltas, t.lengths = true, nil
}
