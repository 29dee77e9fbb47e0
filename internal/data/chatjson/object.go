package chatjson

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// nativeFields are the members in which servers send reasoning beside the text. The
// first that is not empty, in this order, is used. A server that sends several
// sends the same in each.
var nativeFields = []string{
	"reasoning_content",
	"reasoning",
	"thinking",
	"reasoning_text",
	"thinking_content",
	"thought",
	"tool_plan",
}

// IsNativeField reports whether servers send reasoning in a member of this name.
func IsNativeField(name string) bool { return slices.Contains(nativeFields, name) }

// NativeFields lists these members, in this order.
func NativeFields() []string { return slices.Clone(nativeFields) }

// DetailsField is the member for what a provider signed or encrypted.
const DetailsField = "reasoning_details"

// NarrationField is the member that narration is written to.
const NarrationField = "narration"

// An Object is the place in the JSON of a frame or body where one choice speaks: a
// chat's delta or message, or a completion's choice.
type Object struct {
	Choice  int
	Text    string            // the key of the member that holds the text
	Members []jsonedit.Member // all its members
	At      int               // offset after its opening brace
}

// Says returns the only string member by which the object speaks; ok is false if it
// has several, or none.
func (o Object) Says() (says jsonedit.Member, ok bool) {
	for _, m := range o.Members {
		if m.Key != o.Text && m.Key != "reasoning_details" && !IsNativeField(m.Key) {
			continue
		}
		if ok || m.Value.Type != gjson.String {
			return says, false
		}
		says, ok = m, true
	}
	return says, ok && says.Key != "reasoning_details"
}

// Speaks reports whether the object has a member by which it could say something.
func (o Object) Speaks() bool {
	return slices.ContainsFunc(o.Members, func(m jsonedit.Member) bool {
		return m.Value.Type != gjson.Null && (m.Key == o.Text || m.Key == "reasoning_details" || IsNativeField(m.Key))
	})
}

// A Speech is what an object's choice said, read and sorted by place. It is reused
// for each frame.
type Speech struct {
	Names []string // the members that reasoning is written to
	Hide  bool     // reasoning goes nowhere
	// Inline says that reasoning goes into the text, and that no member holds it.
	Inline bool
	// Quiet says that narration goes nowhere, also if the server has a member for it.
	Quiet bool
	Form  CallForm // of calls that the reader found in the text
	// Part returns what is shown of a part of the content that is neither text nor
	// reasoning, for a reply that is written from events. If nil, the part is only named.
	Part func(choice int, raw string, r wire.Reader) string

	choice                        int // whose object is read
	content, reasoning, narration []byte
	scratch                       []byte
	details                       map[int]details // of each choice
	inline                        inlineDetails
	text                          *jsonedit.Member // the member that holds the text
	array                         []byte           // content that stays an array: its new elements
	listed                        bool             // the text is a list
	listSame                      bool             // … that was not changed
	read                          int              // bytes of content before the choice was closed
	natives                       int
	nativeSame                    bool // the native reasoning was read unchanged
	nativeRead                    int  // bytes of reasoning that it gave
	changed                       bool
	more                          bool // something else was reported
	calls                         calls
	made                          made
}

// Changed reports whether [Speech.Edits] changed the object.
func (s *Speech) Changed() bool { return s.changed }

// Plain reports whether the object brought nothing except its text and reasoning in a
// member. Only frames of such objects may be recognised by their shape, because what
// a shape does not look at is not reported.
func (s *Speech) Plain() bool { return !s.more }

// Silent reports whether nothing of what was read goes to the client now.
func (s *Speech) Silent() bool {
	return len(s.content) == 0 && len(s.reasoning) == 0 && len(s.narration) == 0 && len(s.array) == 0 && len(s.made.out) == 0
}

// Read reads what an object says: native reasoning first, then its text.
func (s *Speech) Read(o Object, r wire.Reader) {
	s.inline.list = nil
	s.content, s.reasoning, s.narration, s.array = s.content[:0], s.reasoning[:0], s.narration[:0], s.array[:0]
	s.text, s.natives, s.nativeSame, s.listed, s.listSame, s.more = nil, 0, true, false, true, false
	s.choice, s.made.out = o.Choice, s.made.out[:0]
	s.readNative(o, r)
	s.nativeRead = len(s.reasoning)
	for i := range o.Members {
		switch m := &o.Members[i]; {
		case m.Key == o.Text:
			s.text = m
			s.readText(o.Choice, m.Value, r)
		case m.Key == "tool_calls":
			s.more = s.more || m.Value.Get("0").Exists()
			s.calls.read(o.Choice, m.Value, r)
		case m.Key == "function_call" && m.Value.IsObject():
			s.more = true
			s.calls.legacy(o.Choice, m.Value, r)
		case m.Key == "refusal" && m.Value.Type == gjson.String:
			s.more = true
			r.Found(wire.Event{Kind: wire.EventRefusal, Choice: o.Choice, Text: ValueText(m.Value)})
		case m.Key == NarrationField:
			s.more = true
			if m.Value.Type == gjson.String {
				r.Found(wire.Event{Kind: wire.EventNarration, Choice: o.Choice, Text: ValueText(m.Value)})
			}
		case isMedia(m):
			s.more = true
			r.Found(wire.Event{Kind: wire.EventOther, Choice: o.Choice, Name: m.Key})
		}
	}
	s.read = len(s.content)
}

// isMedia reports whether a member is an image or audio that the model made.
func isMedia(m *jsonedit.Member) bool {
	switch m.Key {
	case "image":
		return m.Value.Type == gjson.String && m.Value.Str != ""
	case "images":
		return m.Value.Get("0").Exists()
	case "audio":
		return m.Value.IsObject()
	}
	return false
}

// Close ends the choice; its tail belongs to the object that was read last.
func (s *Speech) Close(choice int, end sotto.Ending, r wire.Reader) { s.append(r.Close(choice, end)) }

func (s *Speech) append(parts []wire.Part) {
	for _, p := range parts {
		switch p.Place {
		case wire.Reasoning:
			s.reasoning = append(s.reasoning, p.Text...)
		case wire.Narration:
			s.narration = append(s.narration, p.Text...)
		case wire.Call:
			s.call(s.choice, p)
		default:
			s.content = append(s.content, p.Text...)
		}
	}
}

// readNative reads the first of the native fields that is not empty.
func (s *Speech) readNative(o Object, r wire.Reader) {
	for _, m := range o.Members {
		if m.Value.Type == gjson.String && len(m.Value.Raw) > 2 && IsNativeField(m.Key) {
			s.natives++
		}
	}
	if s.natives == 0 {
		s.readDetails(o, r)
		return
	}
	first := firstNative(o)
	for i := range o.Members {
		m := &o.Members[i]
		if m.Value.Type != gjson.String || len(m.Value.Raw) <= 2 || !IsNativeField(m.Key) {
			continue
		}
		text := s.decode(m.Value)
		parts := r.Found(wire.Event{Kind: wire.EventThought, Choice: o.Choice, Name: m.Key, Member: true, Text: text, Again: i != first})
		if i == first {
			s.nativeSame = len(parts) == 1 && parts[0].Place == wire.Reasoning && bytes.Equal(parts[0].Text, text)
			s.append(parts)
		}
	}
	s.readDetails(o, r)
}

// firstNative returns the index of the native field that is read.
func firstNative(o Object) int {
	for _, name := range nativeFields {
		i := slices.IndexFunc(o.Members, func(m jsonedit.Member) bool { return m.Key == name })
		if i >= 0 && o.Members[i].Value.Type == gjson.String && len(o.Members[i].Value.Raw) > 2 {
			return i
		}
	}
	return -1
}

// readDetails reads reasoning_details. Their text is read if no plain field has
// reasoning. Some servers send all that was said so far with each frame. The details
// stay as they are, since the client may have to send them back.
func (s *Speech) readDetails(o Object, r wire.Reader) {
	i := slices.IndexFunc(o.Members, func(m jsonedit.Member) bool { return m.Key == "reasoning_details" })
	if i < 0 || o.Members[i].Value.Type == gjson.Null {
		return
	}
	s.more = s.more || o.Members[i].Value.Get("0").Exists()
	if s.Inline && !s.Hide {
		s.inline.read(o, o.Members[i].Value)
	}
	f := wire.Event{Kind: wire.EventDetails, Choice: o.Choice, Name: "reasoning_details", Member: true, Raw: o.Members[i].Value.Raw}
	if s.natives > 0 {
		r.Found(f)
		return
	}
	d := s.details[o.Choice]
	if f.Text = []byte(d.news(DetailsText(o.Members[i].Value))); len(f.Text) == 0 {
		r.Found(f)
		return
	}
	if s.details == nil {
		s.details = map[int]details{}
	}
	s.details[o.Choice] = d
	s.append(r.Found(f))
}

// Details are what reasoning_details have said, as long as each repeats it.
type details struct {
	said   string
	deltas bool // they do not repeat it
}

// news returns the part of a text that is new.
func (d *details) news(text string) string {
	switch {
	case d.deltas:
		return text
	case strings.HasPrefix(text, d.said):
		news := text[len(d.said):]
		d.said = text
		return news
	case text != "":
		d.said, d.deltas = "", true
	}
	return text
}

// stays reports whether native reasoning stays in the members that it came in.
func (s *Speech) stays() bool { return len(s.Names) == 0 && !s.removes() }

// removes reports whether no member may hold reasoning.
func (s *Speech) removes() bool { return s.Hide || s.Inline }

func (s *Speech) readText(choice int, v gjson.Result, r wire.Reader) {
	switch {
	case v.Type == gjson.String:
		text := s.decode(v)
		s.append(r.Found(wire.Event{Kind: wire.EventText, Choice: choice, Text: text}))
	case v.IsArray():
		s.listed = true
		s.readArray(choice, v, r)
	}
}

// readArray reads content that is a list of typed parts. It becomes a string if it
// held nothing except text and reasoning, and reasoning was found. A part that is signed
// stays as it came, for the client to return, unless no reasoning may be shown there.
func (s *Speech) readArray(choice int, v gjson.Result, r wire.Reader) {
	same, other := true, false
	var texts, rest []byte
	v.ForEach(func(_, e gjson.Result) bool {
		switch kind := e.Get("type").Str; kind {
		case "thinking", "reasoning", "reasoning_text":
			parts := r.Found(wire.Event{Kind: wire.EventThought, Choice: choice, Name: kind, Text: []byte(ThoughtText(e)), Raw: e.Raw})
			signature := e.Get("signature")
			if signature.Str != "" {
				r.Found(wire.Event{Kind: wire.EventSealed, Choice: choice, Name: "signature", Text: ValueText(signature)})
			}
			if s.stays() || signature.Str != "" && !s.removes() {
				break
			}
			same = false
			s.append(parts)
			return true
		case "text", "output_text":
			text := []byte(e.Get("text").Str)
			parts := r.Found(wire.Event{Kind: wire.EventText, Choice: choice, Text: text})
			at := len(s.content)
			if !Same(parts, text) {
				same = false
			}
			s.append(parts)
			texts = appendElement(texts, s.content[at:])
			return true
		default:
			part := wire.Event{Kind: wire.EventOther, Choice: choice, Name: kind}
			if s.Part != nil {
				part.Raw = s.Part(choice, e.Raw, r)
			}
			r.Found(part)
		}
		other = true
		if len(texts) > 0 {
			rest = append(append(rest, ','), texts...)
			texts = nil
		}
		rest = append(append(rest, ','), e.Raw...)
		return true
	})
	if other {
		if len(texts) > 0 {
			rest = append(append(rest, ','), texts...)
		}
		s.array = append(s.array, rest[1:]...)
		s.content = s.content[:0]
	}
	s.listSame = same
}

func appendElement(dst, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, `{"type":"text","text":`...)
	return append(jsontext.AppendVerbatim(dst, text), '}')
}

// ThoughtText returns the text of a content part that is reasoning: its member
// thinking, text or reasoning, a string or a list of texts.
func ThoughtText(e gjson.Result) string {
	for _, key := range []string{"thinking", "text", "reasoning", "summary", "content"} {
		v := e.Get(key)
		if v.Type == gjson.String {
			return v.Str
		}
		var all strings.Builder
		if v.IsArray() {
			v.ForEach(func(_, t gjson.Result) bool {
				all.WriteString(t.Get("text").Str)
				return true
			})
		}
		if all.Len() > 0 {
			return all.String()
		}
	}
	return ""
}

// decode returns the text of a JSON string, valid until the next call.
func (s *Speech) decode(v gjson.Result) []byte {
	raw := jsonedit.BytesOf(v.Raw)
	text, scratch := jsonedit.TextOf(s.scratch, raw[1:len(raw)-1])
	s.scratch = scratch
	return text
}

// Edits appends the edits that write what was read into its object. A member that
// holds the text stays, also if nothing is left of its text, and an object without
// it gets one only for text. A member that holds the upstream's own reasoning keeps
// its name; the names that the object does not have are added.
func (s *Speech) Edits(edits []jsonedit.Edit, o Object) []jsonedit.Edit {
	from := len(edits)
	edits = jsonedit.Cut(edits, o.Members, func(i int) bool { return s.drops(o.Members[i]) })
	var add []byte
	names := s.Names
	if s.removes() {
		names = nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(o.Members, func(m jsonedit.Member) bool { return m.Key == name }) {
			add = s.appendNew(add, name, s.reasoning)
		}
	}
	add = s.appendNew(add, NarrationField, s.narration)
	edits, calls := s.addCalls(edits, o)
	if len(calls) > 0 {
		add = append(jsontext.AppendComma(add, len(add)), calls...)
	}
	at := -1 // the member that new ones come before
	for i, m := range o.Members {
		switch {
		case s.drops(m):
			continue
		case m.Key == Details && s.inline.list != nil:
			edits = append(edits, jsonedit.Edit{Span: m.ValueSpan(), With: s.inline.list})
		case m.Key == o.Text:
			at = i
			if text := s.appendText(nil, m.Value); text != nil {
				edits = append(edits, jsonedit.Edit{Span: m.ValueSpan(), With: text})
			}
		case IsNativeField(m.Key) && s.says(m, names):
			edits = append(edits, jsonedit.Edit{Span: m.ValueSpan(), With: jsontext.AppendVerbatim(nil, s.reasoning)})
		}
		if at < 0 && IsNativeField(m.Key) {
			at = i
		}
	}
	if s.text == nil {
		add = s.appendNew(add, o.Text, s.content)
	}
	if len(add) > 0 {
		edits = append(edits, s.insert(o, at, add))
	}
	s.changed = len(edits) > from
	return edits
}

// Release lets go of a frame, and of buffers that a large frame needed.
func (s *Speech) Release() {
	s.text = nil
	for _, b := range []*[]byte{&s.content, &s.reasoning, &s.narration, &s.scratch, &s.array, &s.made.out} {
		*b = Small(*b)
	}
}

// large is the capacity above which a buffer is not kept for later frames.
const large = 16 << 10

// Small returns a buffer if it may be kept for later frames, and otherwise nil.
func Small(b []byte) []byte {
	if cap(b) > large {
		return nil
	}
	return b
}

// drops reports whether a member must go because of what it holds: reasoning or
// narration, where no member may hold any. Details that are signed or encrypted stay, unless all
// reasoning is hidden, because the provider wants them back.
func (s *Speech) drops(m jsonedit.Member) bool {
	if m.Key == "reasoning_details" {
		return s.Hide || s.Inline && !sealedDetails(m.Value)
	}
	return s.removes() && IsNativeField(m.Key) || s.Quiet && m.Key == NarrationField
}

// says reports whether a native member must get the reasoning as its text. One that
// is empty gets it only if it is one of the names.
func (s *Speech) says(m jsonedit.Member, names []string) bool {
	named := slices.Contains(names, m.Key)
	switch {
	case s.stays():
		return false
	case m.Value.Type == gjson.Null:
		return named && len(s.reasoning) > 0
	case m.Value.Type != gjson.String:
		return false
	case len(m.Value.Raw) <= len(`""`):
		return named && len(s.reasoning) > 0
	}
	return !s.nativeSame || len(s.reasoning) != s.nativeRead
}

// appendText appends the text member's new value, or returns nil if it stays.
func (s *Speech) appendText(dst []byte, v gjson.Result) []byte {
	tail := len(s.content) > s.read
	switch {
	case v.Type == gjson.String:
		if bytes.Equal(s.content, s.decode(v)) {
			return nil
		}
	case s.listed && s.listSame && !tail:
		return nil
	case s.listed && len(s.array) > 0:
		dst = append(append(dst, '['), s.array...)
		if len(s.content) > 0 { // the tail
			dst = append(dst, ',')
			dst = appendElement(dst, s.content)
		}
		return append(dst, ']')
	case !s.listed && len(s.content) == 0:
		return nil
	}
	return jsontext.AppendVerbatim(dst, s.content)
}

// appendNew appends a member, if it holds text.
func (s *Speech) appendNew(dst []byte, key string, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	return appendMember(dst, 0, key, []wire.Part{{Text: text}}, 0)
}

// insert puts new members before the one at index at, or at the object's beginning.
func (s *Speech) insert(o Object, at int, add []byte) jsonedit.Edit {
	offset := o.At
	if at >= 0 {
		offset = o.Members[at].At
	}
	left := slices.ContainsFunc(o.Members, func(m jsonedit.Member) bool { return !s.drops(m) })
	if left {
		add = append(add, ',')
	}
	return jsonedit.Edit{Span: jsonedit.Span{Start: offset, End: offset}, With: add}
}

// AppendParts appends parts as members of an object: reasoning under each of the
// names, narration, and the content under the key text, also if it is empty.
func AppendParts(dst []byte, text string, names []string, parts []wire.Part) []byte {
	from := len(dst)
	for _, name := range names {
		dst = appendMember(dst, from, name, parts, wire.Reasoning)
	}
	dst = appendMember(dst, from, NarrationField, parts, wire.Narration)
	if was := len(dst); len(appendMember(dst, from, text, parts, wire.Content)) > was {
		return appendMember(dst, from, text, parts, wire.Content)
	}
	if len(dst) > from {
		dst = append(dst, ',')
	}
	return append(append(append(dst, '"'), text...), `":""`...)
}

// AppendThought appends what became of a native member that held the only text of
// its object.
func AppendThought(dst []byte, text, native string, parts []wire.Part) []byte {
	from := len(dst)
	dst = appendMember(dst, from, native, parts, wire.Reasoning)
	dst = appendMember(dst, from, NarrationField, parts, wire.Narration)
	dst = appendMember(dst, from, text, parts, wire.Content)
	if len(dst) == from {
		dst = append(append(append(dst, '"'), native...), `":""`...)
	}
	return dst
}

// appendMember appends the parts of one place as a member, if they hold text.
func appendMember(dst []byte, from int, key string, parts []wire.Part, place wire.Place) []byte {
	begun := false
	for _, p := range parts {
		if p.Place != place || len(p.Text) == 0 {
			continue
		}
		if !begun {
			begun = true
			if len(dst) > from {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, '"'), key...), `":"`...)
		}
		dst = jsontext.AppendInside(dst, p.Text)
	}
	if begun {
		dst = append(dst, '"')
	}
	return dst
}
