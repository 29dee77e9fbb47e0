package leak

import (
	"strings"

	"github.com/tidwall/gjson"
)

// An object is the members of a JSON object in their order, read once: gjson looks for each
// path from the beginning of the object.
type object []member

type member struct {
	name  string
	value gjson.Result
}

// objectOf returns the members of a value, or nil if it is no object. It keeps no more members
// than values of a record are looked at.
func objectOf(v gjson.Result) (o object) {
	if !v.IsObject() {
		return nil
	}
	v.ForEach(func(name, value gjson.Result) bool {
		o = append(o, member{name.Str, value})
		return len(o) < maxValues
	})
	return o
}

// get returns what stands at a path with dots. The first of several members with one name counts.
func (o object) get(path string) gjson.Result {
	name, rest, nested := strings.Cut(path, ".")
	for _, m := range o {
		if m.name != name {
			continue
		}
		if nested {
			return m.value.Get(rest)
		}
		return m.value
	}
	return gjson.Result{}
}

// first returns the first of some members that there is, and is not null.
func (o object) first(paths ...string) gjson.Result {
	for _, path := range paths {
		if found := o.get(path); found.Exists() && found.Type != gjson.Null {
			return found
		}
	}
	return gjson.Result{}
}
