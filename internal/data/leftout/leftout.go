// Package leftout finds what a reply has that goes to no client of another API.
//
// Each codec declares, as data, which members of its API's replies it reads, or which say nothing to
// clients of another API: a tree of [Value]. Whatever else a server sends has a member that the tree does
// not name, and so does what no codec knows yet. [Value.Find] returns the paths of these members. It passes over the
// bookkeeping that a server puts into every reply ([Quiet]): a list that every reply fills is read by nobody.
//
// A path has the names of members and the words that say of what kind an object is, and no values. The
// events of a stream have the paths of the whole reply, so that a reply has the same ones in both forms.
package leftout

import (
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// A Value says what is read of a JSON value. The zero value is read completely.
type Value struct {
	open    bool // what it does not name is left out
	members Members
	rest    *Value                         // of members that it does not name; nil if they are lost
	each    *Value                         // of the elements of a list
	choose  func(v gjson.Result) *Value    // by what the value says
	picture func(v gjson.Result) (ok bool) // whether it is a picture that a codec reads
	lost    bool                           // it is left out
	answer  bool                           // … and is a part of the answer
	quiet   bool                           // it is left out, and is the same for every answer
	path    string                         // in place of its name
	named   bool                           // it has one
	text    bool                           // a string is read, too
}

// Members are those of an object, by their names.
type Members map[string]*Value

// Read is a value that is read completely, or that says nothing to a client of another API, such as when a
// reply was made.
var Read = &Value{}

// Lost is a value that is left out.
var Lost = &Value{lost: true}

// Quiet is a value that is left out, and that a server says in every reply whatever the answer is: the build of
// the server, how long it took, the tier of the service, details of the counts.
var Quiet = &Value{quiet: true}

// Answer is a part of the answer that has no counterpart in text. A client must not take the rest for the whole
// answer. If picture is not nil, it reports whether the part is a picture that the codec reads, so that it goes
// to clients whose API has a place for pictures.
func Answer(picture func(v gjson.Result) bool) *Value {
	return &Value{lost: true, answer: true, picture: picture}
}

// Object is an object of which some members are read completely, named in a list with spaces, and others
// are read as they say.
func Object(read string, others Members) *Value {
	v := &Value{open: true, members: Members{}}
	for _, name := range strings.Fields(read) {
		v.members[name] = Read
	}
	for name, of := range others {
		v.members[name] = of
	}
	return v
}

// WithQuiet returns the object with members that are [Quiet], named in a list with spaces.
func (v *Value) WithQuiet(names string) *Value {
	with := *v
	with.members = maps.Clone(v.members)
	for _, name := range strings.Fields(names) {
		with.members[name] = Quiet
	}
	return &with
}

// RestQuiet returns the object with all members that it does not name being [Quiet]: every server counts more
// than other APIs have a place for.
func (v *Value) RestQuiet() *Value {
	with := *v
	with.rest = Quiet
	return &with
}

// QuietUnless is a value that is [Quiet] unless a member with one of some names is true in it, such as the
// verdicts of a filter that each reply has, and that say something if one is against the reply.
func QuietUnless(names ...string) *Value {
	return Choose(func(v gjson.Result) *Value {
		if isTrue(v, names, 0) {
			return Lost
		}
		return Quiet
	})
}

func isTrue(v gjson.Result, names []string, depth int) (found bool) {
	if !v.IsObject() && !v.IsArray() {
		return false
	}
	if depth == 2*deepest { // what is deeper is not looked at
		return true
	}
	v.ForEach(func(key, e gjson.Result) bool {
		found = e.Type == gjson.True && slices.Contains(names, key.Str) || isTrue(e, names, depth+1)
		return !found
	})
	return found
}

// List is a list of such values.
func List(each *Value) *Value { return &Value{each: each} }

// TextOr is a string, which is read, or another value.
func TextOr(v *Value) *Value {
	or := *v
	or.text = true
	return &or
}

// Choose is a value that is read as choose says when it sees it. What choose says must not depend on the texts of the
// model in the value: a [Reply] looks at one of the frames that differ in these.
func Choose(choose func(v gjson.Result) *Value) *Value { return &Value{choose: choose} }

// ByType is an object whose kind its member "type" names. One of another kind is left out, by that name.
func ByType(kinds map[string]*Value) *Value {
	return Choose(func(v gjson.Result) *Value {
		if of, ok := kinds[v.Get("type").Str]; ok {
			return of
		}
		return Unknown(v)
	})
}

// Unknown is an object of a kind that nobody reads: it is left out, by the name of its kind.
func Unknown(v gjson.Result) *Value {
	kind := v.Get("type").Str
	if kind == "" {
		return Lost
	}
	return As("+."+word(kind), Lost)
}

// As is a value that has another name in its path. A name that begins with "+" continues the one before it, so
// that "+" alone adds nothing, and one that begins with "/" is the whole path.
func As(path string, v *Value) *Value {
	as := *v
	as.path, as.named = path, true
	return &as
}

// A Finding is what a reply has that goes to no client of another API.
type Finding struct {
	Path   string
	Answer bool // it is a part of the answer
}

// Find reports which members of some JSON are left out, to say. pictures says that the client's API has a place for
// pictures.
func (v *Value) Find(data []byte, pictures bool, say func(Finding)) {
	f := finder{pictures: pictures, say: say}
	f.find(v, jsonedit.Parse(data), nil)
}

// FindQuiet reports the paths of the members of some JSON that are [Quiet] and not empty, for documents and tests.
func (v *Value) FindQuiet(data []byte, say func(path string)) {
	f := finder{quiet: true, say: func(f Finding) { say(f.Path) }}
	f.find(v, jsonedit.Parse(data), nil)
}

type finder struct {
	pictures bool
	quiet    bool // what is quiet is looked for, and nothing else
	say      func(Finding)
}

func (f *finder) find(v *Value, at gjson.Result, path *step) {
	if v.choose != nil {
		of := v.choose(at)
		if of.named {
			path = &step{path, of.path, true}
		}
		f.find(of, at, path)
		return
	}
	switch {
	case v.quiet:
		if f.quiet && !isEmpty(at, 0) {
			f.say(Finding{Path: path.String()})
		}
	case v.lost:
		if !f.quiet && !isEmpty(at, 0) && (!f.pictures || v.picture == nil || !v.picture(at)) {
			f.say(Finding{path.String(), v.answer})
		}
	case v.text && at.Type == gjson.String:
	case v.each != nil && at.IsArray():
		within := step{path, "+[]", true}
		if v.each.named {
			within.name = v.each.path
		}
		at.ForEach(func(_, e gjson.Result) bool {
			f.find(v.each, e, &within)
			return true
		})
	case v.open && at.IsObject():
		at.ForEach(func(key, member gjson.Result) bool {
			of := v.of(key.Str)
			if of == Read {
				return true
			}
			within := path.to(key.Str, of)
			f.find(of, member, &within)
			return true
		})
	case v.open, v.each != nil: // it is not what it should be
		f.find(Lost, at, path)
	}
}

// of says what is read of a member, or of an element.
func (v *Value) of(name string) *Value {
	switch of := v.members[name]; {
	case v.each != nil:
		return v.each
	case of != nil:
		return of
	case v.rest != nil:
		return v.rest
	}
	return Lost
}

// A step is the way to a value: to what has it, and on. Most values are read, so that nobody
// needs the text of the path.
type step struct {
	from *step
	name string
	as   bool // the name is that of an [As]
}

// to returns the way to a value in another, by its name there if it has no other.
func (s *step) to(name string, of *Value) step {
	if of.named {
		name = of.path
	}
	return step{s, name, of.named}
}

func (s *step) String() string {
	if s == nil {
		return ""
	}
	name := s.name
	if whole, ok := strings.CutPrefix(name, "/"); ok && s.as {
		return whole
	}
	before := s.from.String()
	if more, ok := strings.CutPrefix(name, "+"); ok && s.as {
		return strings.TrimPrefix(before+more, ".")
	}
	if !s.as {
		name = word(name)
	}
	if before == "" {
		return name
	}
	return before + "." + name
}

// longest is the length of the longest name in a path.
const longest = 48

// word returns a name as it stands in a path: "*" if it is not a word in ASCII, because a server that is
// hostile may say anything there.
func word(name string) string {
	if name == "" || len(name) > longest {
		return "*"
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.':
		default:
			return "*"
		}
	}
	return strings.Clone(name)
}

// deepest bounds how deep a value is searched for something that it says.
const deepest = 4

// isEmpty reports whether a value says nothing: null, false, 0, a text without a character, and what has
// only such values.
func isEmpty(v gjson.Result, depth int) bool {
	switch v.Type {
	case gjson.Null, gjson.False:
		return true
	case gjson.Number:
		return v.Num == 0
	case gjson.String:
		return v.Str == ""
	case gjson.True:
		return false
	}
	empty := depth < deepest
	v.ForEach(func(_, e gjson.Result) bool {
		empty = empty && isEmpty(e, depth+1)
		return empty
	})
	return empty
}
