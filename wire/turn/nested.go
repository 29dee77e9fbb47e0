package turn

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/jsonedit"
	"github.com/sotto-llm/sotto/internal/jsonwrite"
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

// WriteNested adds to an object what [Extra.Nest] has kept of it.
func (e *Extra) WriteNested(o *jsonwrite.Object, api, key string) {
	for _, m := range e.nested(api, key) {
		o.Raw(m.Key, m.Value.Raw)
	}
}

func (e *Extra) nested(api, key string) []jsonedit.Member {
	v := jsonedit.Parse([]byte(e.Member(api, key)))
	if !v.IsObject() {
		return nil
	}
	return jsonedit.Members(v)
}

// WriteBut is Write without the members of some keys, which the writer has written.
func (e *Extra) WriteBut(o *jsonwrite.Object, api string, keys ...string) {
	if e.API != api {
		return
	}
	for _, m := range e.Members {
		if !slices.Contains(keys, m.Key) {
			o.Raw(m.Key, m.Value)
		}
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
