package chatjson

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// maxFallbacks is the maximum number of models that a request may list.
const maxFallbacks = 64

// FallbacksOf returns the models of a request's list "models", any of which may
// answer. The list must hold only strings and must not be too long. Otherwise the
// result is an error, because the gateway could not say how to read the reply.
func FallbacksOf(root gjson.Result) ([]string, error) {
	list := root.Get("models")
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
