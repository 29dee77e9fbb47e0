package turn

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
)

// An Extra is what only one API has in an object.
type Extra struct {
	API string // the codec's name
	// Path says where the object is in the request, in the API's own words:
	// "messages[2].content[0]". It is empty for the request itself.
	Path    string
	Members []Member
	// Whole is the object itself as it came, as JSON. A writer of the same API writes it in
	// place of everything else in the part, so whoever changes the part clears it.
	Whole string
	// Aside says that another API may do without the whole object.
	Aside bool
}

// A Member is a member of an object.
type Member struct {
	Key, Value string // the value is JSON
	// Aside says that the model's answer does not depend on it: metadata, a hint for a cache.
	Aside bool
	// Same says that it adds nothing to the rest of the request: it is another form of the same, or
	// empty. Writers of other APIs go without it, and nobody is told.
	Same bool
}

// Of reports whether the extra is that of an API, and has something.
func (e *Extra) Of(api string) bool { return e.API == api && (len(e.Members) > 0 || e.Whole != "") }

// Write adds the members to an object of an API, if the extra is that API's.
func (e *Extra) Write(o *jsonwrite.Object, api string) {
	if e.API != api {
		return
	}
	for _, m := range e.Members {
		o.Raw(m.Key, m.Value)
	}
}

// Has reports whether it has a member of an API's own.
func (e *Extra) Has(api, key string) bool { return e.Member(api, key) != "" }

// Member returns the value of a member of an API's own, or "".
func (e *Extra) Member(api, key string) string {
	if e.API == api {
		for _, m := range e.Members {
			if m.Key == key {
				return m.Value
			}
		}
	}
	return ""
}

// For makes the request one that the codec of an API can write: what only other APIs have is
// removed. It returns the paths of the removed members on which the answer does not depend. If
// it depends on one, the error is a [*ForeignError], and the request is not to be sent.
func (q *Request) For(api string) (left []string, err error) {
	if e := &q.Thinking.Extra; e.API != api {
		path := e.Path
		if len(e.Members) > 0 {
			path = strings.TrimPrefix(path+"."+e.Members[0].Key, ".")
		}
		*e = Extra{} // the setting says the same
		if q.Located {
			e.Path = path
		}
	}
	q.Tools = slices.DeleteFunc(q.Tools, func(t Tool) bool {
		aside := t.Extra.Aside && t.Extra.API != api
		if aside {
			left = append(left, t.Extra.Path)
		}
		return aside
	})
	q.extras(func(e *Extra, only bool) {
		if e.API == api || e.API == "" {
			return
		}
		if only && err == nil {
			err = &ForeignError{Path: e.Path, API: e.API, Type: e.kind()}
		}
		for _, m := range e.Members {
			if m.Same {
				continue
			}
			path := m.Key
			if e.Path != "" {
				path = e.Path + "." + m.Key
			}
			if m.Aside {
				left = append(left, path)
			} else if err == nil {
				err = &ForeignError{Path: path, API: e.API}
			}
		}
		path := e.Path
		if *e = (Extra{}); q.Located {
			e.Path = path
		}
	})
	return left, err
}

// A ForeignError is an error of a member that has no counterpart in other APIs.
type ForeignError struct {
	Path string // in the words of API
	API  string // the codec's name
	Type string // of an object: "web_search"; empty if it has none
}

func (e *ForeignError) Error() string {
	what := e.Path
	if e.Type != "" {
		what += " (" + e.Type + ")"
	}
	return what + ": only " + e.API + " has it, and the API of the upstream has nothing for it; send the request without it"
}

// kind returns the type of the object, if it is a word.
func (e *Extra) kind() string {
	kind := jsonedit.Parse([]byte(e.Whole)).Get("type").Str
	for _, m := range e.Members {
		if m.Key == "type" {
			kind = jsonedit.Parse([]byte(m.Value)).Str
		}
	}
	foreign := func(r rune) bool { return r != '_' && r != '-' && r != '.' && (r < '0' || r > 'z') }
	if len(kind) > 64 || strings.ContainsFunc(kind, foreign) {
		return ""
	}
	return strings.Clone(kind)
}

// extras calls yield for each extra of the request. only says that the object has nothing but
// its extra.
func (q *Request) extras(yield func(e *Extra, only bool)) {
	yield(&q.Extra, false)
	yield(&q.Sampling.Extra, false)
	yield(&q.Choice.Extra, false)
	yield(&q.Format.Extra, false)
	for i := range q.Tools {
		yield(&q.Tools[i].Extra, q.Tools[i].Name == "")
	}
	for i := range q.Messages {
		m := &q.Messages[i]
		yield(&m.Extra, len(m.Parts) == 0 && m.Extra.Whole != "")
		for j := range m.Parts {
			p := &m.Parts[j]
			yield(&p.Extra, p.Kind == Other)
			for k := range p.Results {
				yield(&p.Results[k].Extra, p.Results[k].Kind == Other)
			}
		}
	}
}

// Fields are the members of an object that is being read. Each is taken once, and what is left
// is the object's [Extra].
type Fields struct {
	members []jsonedit.Member
	taken   []bool
}

// FieldsOf returns the members of an object, or none if the value is not an object.
func FieldsOf(v gjson.Result) *Fields {
	list := jsonedit.Members(v)
	return &Fields{list, make([]bool, len(list))}
}

// Take returns the value of a member and takes it, if the value is of one of the types. A value
// of another type is left, so that it stays in the extra. A member that is null is taken.
func (f *Fields) Take(name string, types ...gjson.Type) gjson.Result {
	for i, m := range f.members {
		if f.taken[i] || !chatjson.Named(m.Key, name) {
			continue
		}
		if m.Value.Type == gjson.Null || len(types) == 0 || slices.Contains(types, m.Value.Type) {
			f.taken[i] = true
			return m.Value
		}
		return gjson.Result{}
	}
	return gjson.Result{}
}

// Text takes a string.
func (f *Fields) Text(name string) string {
	return jsonedit.StringOf(chatjson.ValueText(f.Take(name, gjson.String)))
}

// Number takes a number, as it was spelled.
func (f *Fields) Number(name string) string {
	if v := f.Take(name, gjson.Number); v.Type == gjson.Number {
		return v.Raw
	}
	return ""
}

// Bool takes true or false; nil if the member is neither.
func (f *Fields) Bool(name string) *bool {
	if v := f.Take(name, gjson.True, gjson.False); v.Type != gjson.Null {
		is := v.Type == gjson.True
		return &is
	}
	return nil
}

// Object takes an object that has a member that is not null. Any other stays, as it says nothing.
func (f *Fields) Object(name string) gjson.Result {
	if v := f.Peek(name); v.IsObject() && !Hollow(v) {
		return f.Take(name)
	}
	return gjson.Result{}
}

// Texts takes a list of strings that is not empty.
func (f *Fields) Texts(name string) []string {
	v := f.Peek(name)
	if !v.IsArray() {
		return nil
	}
	texts := TextsOf(v)
	if texts != nil {
		f.Take(name)
	}
	return texts
}

// TextsOf returns the elements of a list, or nil if one is not a string.
func TextsOf(list gjson.Result) (texts []string) {
	list.ForEach(func(_, v gjson.Result) bool {
		if v.Type != gjson.String {
			texts = nil
			return false
		}
		texts = append(texts, jsonedit.StringOf(chatjson.ValueText(v)))
		return true
	})
	return texts
}

// Peek returns the value of a member that was not taken, without taking it.
func (f *Fields) Peek(name string) gjson.Result {
	for i, m := range f.members {
		if !f.taken[i] && chatjson.Named(m.Key, name) {
			return m.Value
		}
	}
	return gjson.Result{}
}

// Rest returns the members that were not taken, as the extra of an API. aside are the names of
// those on which the answer does not depend.
func (f *Fields) Rest(api, path string, aside ...string) Extra {
	e := Extra{API: api, Path: path}
	for i, m := range f.members {
		if !f.taken[i] {
			e.Members = append(e.Members, Member{Key: m.Key, Value: m.Value.Raw, Aside: m.Value.Type == gjson.Null || slices.Contains(aside, m.Key)})
		}
	}
	return e
}
