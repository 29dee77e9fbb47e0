package chatjson

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"
)

// Bounds of what a request may say about other models that may answer: their number, and
// how deep lists and objects may be nested.
const (
	maxFallbacks     = 64
	maxFallbackDepth = 6
)

// fallbackMembers are the members by which LiteLLM is told of other models that may
// answer. Each is a list of names, of requests with a member "model", or of objects that
// give the fallbacks of some models, by name. The last is such an object itself.
var fallbackMembers = []string{"fallbacks", "context_window_fallbacks", "content_policy_fallbacks", "context_window_fallback_dict"}

// answering are all members that name models which may answer.
var answering = append([]string{"models"}, fallbackMembers...)

// FallbacksOf returns the models that may answer in place of the one that a request
// names: those of its list "models", and LiteLLM's fallbacks. The result is an error if
// they are not of a known form or too many, because the gateway could not say how to read
// the reply.
func FallbacksOf(root gjson.Result) ([]string, error) {
	values := Members(root, answering...)
	names, err := listedModels(values[0])
	if err != nil {
		return nil, err
	}
	for i, member := range fallbackMembers {
		f := fallbacks{names: names}
		if v := values[i+1]; v.Type == gjson.String || !f.read(v, 0) {
			return nil, fmt.Errorf("%s: want at most %d models, in a form of LiteLLM's", member, maxFallbacks)
		}
		names = f.names
	}
	return names, nil
}

// listedModels returns the names in a list "models".
func listedModels(list gjson.Result) ([]string, error) {
	if !list.Exists() || list.Type == gjson.Null {
		return nil, nil
	}
	var names []string
	ok := list.IsArray()
	list.ForEach(func(_, v gjson.Result) bool {
		names = append(names, v.Str)
		ok = ok && v.Type == gjson.String && len(names) <= maxFallbacks
		return ok
	})
	if !ok {
		return nil, fmt.Errorf("models: want a list of at most %d names", maxFallbacks)
	}
	return names, nil
}

// fallbacks collects the names in LiteLLM's forms.
type fallbacks struct{ names []string }

// read reads a name, a list, or an object. It reports whether its form is known.
func (f *fallbacks) read(v gjson.Result, depth int) (ok bool) {
	switch {
	case !v.Exists(), v.Type == gjson.Null:
		return true
	case depth > maxFallbackDepth:
		return false
	case v.Type == gjson.String:
		f.names = append(f.names, v.Str)
		return len(f.names) <= maxFallbacks
	case v.IsArray():
		ok = true
		v.ForEach(func(_, e gjson.Result) bool {
			ok = f.read(e, depth+1)
			return ok
		})
		return ok
	case v.IsObject():
		return f.readObject(v, depth)
	}
	return false
}

// readObject reads the request that is sent in place of the first, or the fallbacks of
// some models. All members count that have the same key, whichever of them the upstream
// reads.
func (f *fallbacks) readObject(v gjson.Result, depth int) (ok bool) {
	request := false
	v.ForEach(func(key, e gjson.Result) bool {
		request = request || key.Str == "model" && e.Type == gjson.String
		return !request
	})
	ok = true
	v.ForEach(func(key, e gjson.Result) bool {
		if !request || key.Str == "model" || key.Str == "models" || slices.Contains(fallbackMembers, key.Str) {
			ok = f.read(e, depth+1)
		}
		return ok
	})
	return ok
}
