package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// unreadMembers are members of an API's replies that nobody reads, so that a reply that is
// written from what was read has others in their place; nil if it has none.
var unreadMembers = map[string]map[string]any{}

// meaningOf is what a client makes of a reply, whole or streamed: its JSON, whatever the
// order of the members, in which a member that is null is like one that is missing. It does
// not have the padding of Bedrock's events, nor the numbers of events, which an upstream may
// leave out and a writer does not.
func meaningOf(s speaker, body string) string {
	unread := unreadMembers[s.name()]
	if gjson.Valid(body) {
		return meaning(body, unread)
	}
	var b strings.Builder
	pings := "" // where one stands means nothing
	for f := range framesOf(s.codec, []byte(body)) {
		if data := string(f.Data); string(f.Type) == "ping" {
			pings += "ping\n"
		} else if gjson.Valid(data) {
			fmt.Fprintf(&b, "%s %s\n", f.Type, meaning(data, unread))
		} else if data != "" {
			fmt.Fprintf(&b, "%s %s\n", f.Type, data)
		}
	}
	return b.String() + pings
}

func meaning(data string, unread map[string]any) string {
	var v any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		return data
	}
	if root, ok := v.(map[string]any); ok {
		for name, blank := range unread {
			if _, has := root[name]; has {
				root[name] = blank
			}
		}
		delete(root, "sequence_number")
	}
	sorted, err := json.Marshal(withoutNulls(v))
	if err != nil {
		return data
	}
	return string(sorted)
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if inner == nil || key == "p" {
				delete(v, key)
			} else {
				v[key] = withoutNulls(inner)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}
