package shown

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// A Value says which part of a JSON value a client may see when reasoning is
// hidden. What it does not name is left out, because servers put reasoning into
// members of many names. A codec declares what its API shows as data, made of the
// values and functions below.
type Value struct {
	scalar *scalar // of a value that is not an object or a list

	members map[string]*Value // of an object
	rest    *Value            // … of its other members, whose keys are names
	needs   []string          // … without which it says nothing, and is left out
	some    bool              // … of which it must have one
	types   map[string]*Value // of an object, by its member "type"

	each *Value // of a list, each element

	all    bool     // all of it, whatever it is
	blank  bool     // the member stays, empty: clients want it to be there
	beside []string // tokens: paths of the texts beside them that they must spell
}

// A scalar is a kind of values that are not objects or lists.
type scalar struct {
	name  string                    // what it is called in documents
	fits  func(v gjson.Result) bool // whether a value is of the kind
	text  bool                      // a string is text, which must be read
	piece bool                      // … which comes in pieces
}

// Members are those of an object. A key that ends in "!" is required: without that
// member the whole object is left out.
type Members map[string]*Value

var (
	// Text is a string of any length, a number, a boolean or null. Piece is the same for a
	// string that comes in pieces.
	Text  = &Value{scalar: &scalar{name: "text", fits: isScalar, text: true}}
	Piece = &Value{scalar: &scalar{name: "piece", fits: isScalar, text: true, piece: true}}
	// Word is a short string such as an id, a role or a time, a number, a boolean or null.
	// It has no white space and none of the characters that begin or end a marker.
	Word = &Value{scalar: &scalar{name: "word", fits: func(v gjson.Result) bool { return v.Type != gjson.String || IsWord(v.Str) }}}
	// Label is a name in a few words, such as that of a model.
	Label = &Value{scalar: &scalar{name: "label", fits: func(v gjson.Result) bool { return v.Type != gjson.String || isLabel(v.Str) }}}
	// Number is a number, a boolean or null.
	Number = &Value{scalar: &scalar{name: "number", fits: isNumber}}
	// Sealed is a string that could be signed or encrypted: a [Word] of any length.
	Sealed = &Value{scalar: &scalar{name: "sealed", fits: func(v gjson.Result) bool { return v.Type == gjson.Null || v.Type == gjson.String && isSealed(v.Str) }}}
	// Opaque is the whole value, whatever it is: a tool's arguments and results.
	Opaque = &Value{all: true}
	// Blank shows nothing of a value but keeps its member: a string becomes "", a
	// list [], an object null.
	Blank = &Value{blank: true}
	// Counts is an object with numbers and booleans under any names, with such
	// objects, and with lists of such objects. A list of numbers is excluded,
	// because it could be the tokens of a text.
	Counts = &Value{}
	// Texts is any JSON whose strings are texts, and whose keys are names.
	Texts = &Value{scalar: Text.scalar}
)

func init() { // they contain themselves
	Texts.rest, Texts.each = Texts, Texts
	*Counts = *Object("service_tier type inference_geo speed", nil)
	inList := *Counts
	Counts.rest, Counts.each = Counts, &inList
	inList.rest, inList.each = Counts, nil
	Counts.scalar = Number.scalar
}

func isScalar(v gjson.Result) bool { return !v.IsObject() && !v.IsArray() }

func isNumber(v gjson.Result) bool { return v.Type != gjson.String && isScalar(v) }

// Object is an object with some members that are a [Word], named in a list with
// spaces, and others.
func Object(words string, others Members) *Value {
	s := &Value{members: map[string]*Value{}}
	for _, name := range strings.Fields(words) {
		s.members[name] = Word
	}
	for name, m := range others {
		if bare, needed := strings.CutSuffix(name, "!"); needed {
			s.needs = append(s.needs, bare)
			name = bare
		}
		s.members[name] = m
	}
	return s
}

// OneOf is an object whose member says what it is. If none of the members is left, the
// object is left out.
func OneOf(members Members) *Value {
	s := Object("", members)
	s.some = true
	return s
}

// With is an object's members and further ones.
func (s *Value) With(words string, others Members) *Value {
	more := Object(words, others)
	for name, m := range s.members {
		if more.members[name] == nil {
			more.members[name] = m
		}
	}
	more.needs = append(more.needs, s.needs...)
	return more
}

// List is a list of such values; elements that are not shown are left out.
func List(each *Value) *Value { return &Value{each: each} }

// TextOr is a [Text], or another value.
func TextOr(s *Value) *Value { return Or(s, Text) }

// Or is a value of two kinds: an object or a list as the first says, and anything else as
// the second says.
func Or(s, scalar *Value) *Value {
	both := *s
	both.scalar = scalar.scalar
	return &both
}

// OneOrList is an object, or a list of such objects.
func OneOrList(s *Value) *Value {
	both := *s
	both.each = s
	return &both
}

// MapOf is an object of such values under any names.
func MapOf(s *Value) *Value { return &Value{rest: s} }

// ByType is an object whose kind its member "type" names. An object of another kind
// is left out.
func ByType(types map[string]*Value) *Value { return &Value{types: types} }

// Tokens are the log probabilities of the text beside them. That text is at one of
// some paths in the object that they are a member of. They stay if their tokens
// spell exactly that text. Otherwise they become [Blank], because they would spell
// what is hidden.
func Tokens(beside ...string) *Value {
	return &Value{beside: beside}
}

// tokens are log probabilities in the forms that APIs give them.
var tokens = func() *Value {
	token := Object("id logprob prob", Members{"token": Text, "bytes": List(Number)})
	// What the model might have written instead is not read: it is a token, without the
	// characters of markers.
	other := Object("id logprob prob", Members{"token!": {scalar: &scalar{name: "token", fits: func(v gjson.Result) bool { return v.Type == gjson.String && isToken(v.Str) }}}, "bytes": List(Number)})
	list := List(token.With("", Members{"top_logprobs": List(other), "top_probs": List(other)}))
	return &Value{each: list.each, members: map[string]*Value{
		"content": list, "refusal": Blank, "tokens": List(Text), "token_logprobs": List(Word), "text_offset": List(Word), "top_logprobs": Blank,
	}}
}()

// Shows reports whether an object's member is shown.
func (s *Value) Shows(member string) bool { return s.members[member] != nil }

// Has reports whether a kind of objects is shown.
func (s *Value) Has(kind string) bool { return s.types[kind] != nil }

// longestWord bounds a [Word]. longestName bounds a key of an object that may have
// keys of any name.
const (
	longestWord = 512
	longestName = 64
)

// isName reports whether a key is one that a program would choose.
func isName(s string) bool {
	return s != "" && len(s) <= longestName && isSealed(s) && ('a' <= s[0]|0x20 && s[0]|0x20 <= 'z')
}

// IsWord reports whether a string is a [Word].
func IsWord(s string) bool { return len(s) <= longestWord && isSealed(s) }

// isSealed reports whether a string has only characters of ids, times, media types and
// encoded data. No marker of a dialect is made of them alone.
func isSealed(s string) bool {
	for i := range len(s) {
		if !sealedByte[s[i]] {
			return false
		}
	}
	return true
}

var sealedByte = func() (is [256]bool) {
	for c := byte('!'); c <= '~'; c++ {
		is[c] = !strings.ContainsRune("<>[]{}|`\"\\", rune(c))
	}
	return is
}()

// longestToken bounds a token, in bytes.
const longestToken = 64

func isToken(s string) bool { return len(s) <= longestToken && !strings.ContainsAny(s, "<>[]{}|") }

// longestLabel bounds a [Label].
const longestLabel = 128

func isLabel(s string) bool {
	return len(s) <= longestLabel && isSealed(strings.ReplaceAll(s, " ", ""))
}

// errDouble is the error of a reply that has a shown member twice: its readers
// could use the one that was not read here.
var errDouble = errors.New("the upstream sent a member twice")

// A Read reads a text on its way to the client: a string at a place of a frame, such as
// "annotations.title". It returns what may be shown. A text that comes in pieces may be
// held until its choice ends.
type Read func(place string, text []byte, piece bool) []byte

// A pruner reduces JSON to what is shown of it.
type pruner struct {
	edits []jsonedit.Edit
	read  Read // nil if texts are shown as they are
	// members are those of the objects and lists that are being reduced, one after the other, and
	// drop says which of them are not shown.
	members []jsonedit.Member
	drop    []bool
}

// pruners are reused, since every frame of a written reply needs some.
var pruners = sync.Pool{New: func() any { return new(pruner) }}

// manyMembers is the number of members above which the memory for them is not kept.
const manyMembers = 256

func (p *pruner) release() {
	if cap(p.members) > manyMembers || cap(p.edits) > manyMembers {
		return
	}
	clear(p.members[:cap(p.members)]) // they refer to the frame
	clear(p.edits[:cap(p.edits)])
	*p = pruner{edits: p.edits[:0], members: p.members[:0], drop: p.drop[:0]}
	pruners.Put(p)
}

// open returns the members of an object or a list, none of them dropped. close lets go of them.
func (p *pruner) open(v gjson.Result) (list []jsonedit.Member, drop []bool) {
	n := len(p.members)
	p.members = jsonedit.AppendMembers(p.members, v)
	for range p.members[n:] {
		p.drop = append(p.drop, false)
	}
	return p.members[n:], p.drop[n:]
}

func (p *pruner) close(list []jsonedit.Member) {
	n := len(p.members) - len(list)
	p.members, p.drop = p.members[:n], p.drop[:n]
}

// value reduces a value. keep is false if nothing is shown. holder is the object that the
// value is a member of, and place the names of the members that lead to it.
func (p *pruner) value(s *Value, place string, v, holder gjson.Result) (keep bool, err error) {
	switch {
	case s.all:
		return true, nil
	case s.blank:
		p.blank(v)
		return true, nil
	case s.beside != nil:
		if !says(v) {
			return v.Type == gjson.Null, nil
		}
		if !spells(v, holder, s.beside) {
			p.blank(v)
			return true, nil
		}
		return p.value(tokens, place, v, holder)
	case v.IsArray():
		if s.each == nil {
			return false, nil
		}
		return p.list(s, place, v)
	case v.IsObject() && s.types != nil:
		kind := s.types[v.Get("type").Str]
		if kind == nil {
			return false, nil
		}
		return p.object(kind, place, v)
	case v.IsObject():
		if s.members == nil && s.rest == nil {
			return false, nil
		}
		return p.object(s, place, v)
	}
	if s.scalar != nil && s.scalar.text && v.Type == gjson.String && p.read != nil {
		return p.text(s.scalar, place, v), nil
	}
	return s.scalar != nil && s.scalar.fits(v), nil
}

// text has a text read. A piece of which nothing may be shown is left out.
func (p *pruner) text(s *scalar, place string, v gjson.Result) (keep bool) {
	text, _ := jsonedit.TextOf(nil, jsonedit.BytesOf(v.Raw[1:len(v.Raw)-1]))
	if left := p.read(place, text, s.piece); !bytes.Equal(left, text) {
		p.edits = append(p.edits, jsonedit.Edit{Span: jsonedit.SpanOf(v), With: jsontext.AppendVerbatim(nil, left)})
		return !s.piece || len(left) > 0
	}
	return true
}

func says(v gjson.Result) bool { return v.Exists() && v.Type != gjson.Null }

func (p *pruner) blank(v gjson.Result) {
	as := "null"
	switch {
	case v.Type == gjson.String:
		as = `""`
	case v.IsArray():
		as = "[]"
	}
	if v.Raw != as {
		p.edits = append(p.edits, jsonedit.Edit{Span: jsonedit.SpanOf(v), With: []byte(as)})
	}
}

func (p *pruner) list(s *Value, place string, v gjson.Result) (keep bool, err error) {
	list, drop := p.open(v)
	defer p.close(list)
	for i, m := range list {
		if keep, err = p.inner(s.each, place, m.Value, v); err != nil {
			return false, err
		}
		drop[i] = !keep
	}
	p.edits = jsonedit.Cut(p.edits, list, func(i int) bool { return drop[i] })
	return true, nil
}

// inner reduces a value inside another. If nothing of it is shown, it leaves no edits.
func (p *pruner) inner(s *Value, place string, v, holder gjson.Result) (keep bool, err error) {
	n := len(p.edits)
	if keep, err = p.value(s, place, v, holder); !keep {
		p.edits = p.edits[:n]
	}
	return keep, err
}

func (p *pruner) object(s *Value, place string, v gjson.Result) (keep bool, err error) {
	list, drop := p.open(v)
	defer p.close(list)
	var few [16]string
	seen := few[:0] // it holds no more entries than there are members
	for i, m := range list {
		inner := s.members[m.Key]
		switch {
		case inner != nil:
			if slices.Contains(seen, m.Key) {
				return false, errDouble
			}
			seen = append(seen, m.Key)
		case s.rest != nil && isName(m.Key):
			inner = s.rest
		default:
			drop[i] = true
			continue
		}
		at := place
		if p.read != nil && (inner.scalar != nil && inner.scalar.text || !isScalar(m.Value)) {
			at = join(place, m.Key)
		}
		if keep, err = p.inner(inner, at, m.Value, v); err != nil {
			return false, err
		}
		drop[i] = !keep
	}
	if s.some && !slices.Contains(drop, false) {
		return false, nil
	}
	for _, name := range s.needs {
		if !slices.ContainsFunc(list, func(m jsonedit.Member) bool { return m.Key == name }) ||
			drop[slices.IndexFunc(list, func(m jsonedit.Member) bool { return m.Key == name })] {
			return false, nil
		}
	}
	p.edits = jsonedit.Cut(p.edits, list, func(i int) bool { return drop[i] })
	return true, nil
}

func join(place, name string) string {
	if place == "" {
		return name
	}
	return place + "." + name
}

// spells reports whether the tokens of log probabilities, joined, are the text that
// stands beside them.
func spells(v, holder gjson.Result, beside []string) bool {
	for _, path := range beside {
		if t := holder.Get(path); t.Type == gjson.String {
			return spell(v, t.Str)
		}
	}
	return false
}

// spell reports whether the tokens of log probabilities, joined, are a text.
func spell(v gjson.Result, text string) bool {
	list := v
	if v.IsObject() {
		if list = v.Get("content"); !list.IsArray() {
			list = v.Get("tokens")
		}
	}
	same := list.IsArray()
	list.ForEach(func(_, t gjson.Result) bool {
		token, found := t.Str, false
		if t.IsObject() {
			token = t.Get("token").Str
		}
		text, found = strings.CutPrefix(text, token)
		same = same && found
		return same
	})
	return same && text == ""
}

// Probabilities returns the log probabilities of tokens, if they spell a text that is
// shown, and otherwise null.
func Probabilities(data []byte, text []byte) []byte {
	v := jsonedit.Parse(data)
	if says(v) && spell(v, string(text)) {
		if shown, ok := tokens.Of(data); ok {
			return shown
		}
	}
	return []byte("null")
}
