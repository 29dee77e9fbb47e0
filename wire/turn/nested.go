package turn

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
)

// Nest adds what is left of an object inside the extra's own, under its key.
func (e *Extra) Nest(key string, inner Extra) {
	if len(inner.Members) == 0 {
		return
	}
	var o jsonwrite.Object
	all := Member{Key: key, Aside: true, Same: true}
	for _, m := range inner.Members {
		o.Raw(m.Key, m.Value)
		all.Aside = all.Aside && (m.Aside || m.Same)
		all.Same = all.Same && m.Same
	}
	all.Value = string(o.End())
	e.Members = append(e.Members, all)
}

// An Object is an object of an API that is being written. It gets the members that the neutral form
// has, and then those of its [Extra].
type Object struct {
	jsonwrite.Object
	keys []string
}

// Add adds a member, in place of one of the extra that says nothing, such as an empty list or an
// empty text.
func (o *Object) Add(key, value string) {
	o.Raw(key, value)
	o.keys = append(o.keys, key)
}

// Text adds a string, likewise.
func (o *Object) Text(key, text string) { o.Add(key, string(jsonwrite.AppendText(nil, text))) }

// Rest adds the members of an extra, if it is the API's, without those of some keys.
func (o *Object) Rest(e *Extra, api string, but ...string) {
	if e.API != api {
		return
	}
	for _, m := range e.Members {
		if !slices.Contains(but, m.Key) {
			o.rest(m.Key, m.Value, m.Same)
		}
	}
}

// RestIn adds what [Extra.Nest] has kept of the object.
func (o *Object) RestIn(e *Extra, api, key string) {
	v := jsonedit.Parse([]byte(e.Member(api, key)))
	if !v.IsObject() {
		return // a member that stood twice, as something else
	}
	for _, m := range jsonedit.Members(v) {
		o.rest(m.Key, m.Value.Raw, false)
	}
}

func (o *Object) rest(key, value string, same bool) {
	again := slices.ContainsFunc(o.keys, func(name string) bool { return chatjson.Named(key, name) })
	if !again || !same && value != `""` && !Hollow(jsonedit.Parse([]byte(value))) {
		o.Raw(key, value)
	}
}

// Empty marks members of some keys that are empty lists or objects, or objects of nothing but null.
// It is for members that say nothing then.
func (e *Extra) Empty(keys ...string) {
	for i, m := range e.Members {
		if slices.Contains(keys, m.Key) && Hollow(jsonedit.Parse([]byte(m.Value))) {
			e.Members[i].Same = true
		}
	}
}

// Same marks the first member of a name, because the rest of the request says the same. If value is
// not empty, only a member with that value is marked.
func (e *Extra) Same(name, value string) {
	for i, m := range e.Members {
		if chatjson.Named(m.Key, name) {
			e.Members[i].Same = m.Same || value == "" || m.Value == value
			return
		}
	}
}

// Hollow reports whether a value is null, an empty list, or an object without a member that is not
// null.
func Hollow(v gjson.Result) bool {
	if v.IsArray() || v.IsObject() {
		hollow := true
		v.ForEach(func(_, of gjson.Result) bool {
			hollow = v.IsObject() && of.Type == gjson.Null
			return hollow
		})
		return hollow
	}
	return v.Type == gjson.Null
}

// HasOnly reports whether a value is an object without members of other names.
func HasOnly(v gjson.Result, names ...string) bool {
	return v.IsObject() && !slices.ContainsFunc(jsonedit.Members(v), func(m jsonedit.Member) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return chatjson.Named(m.Key, name) })
	})
}
