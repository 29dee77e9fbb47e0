package toolcall

import (
	"strings"
	"unsafe"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// A member is one of an object's, or an element of an array.
type member struct{ key, value string }

// value cuts the JSON value that s begins with.
func value(s string) (v, rest string, ok bool) {
	end, _, fault := limits.Value(unsafe.Slice(unsafe.StringData(s), len(s)), 0) // only read
	if fault != "" {
		return "", s, false
	}
	return strings.Trim(s[:end], white), s[end:], true
}

// members reads the members of an object, or the elements of an array, in valid JSON. ok
// is false for another value, and for an object that has a key twice.
func members(v string) (all []member, ok bool) {
	if v == "" || v[0] != '{' && v[0] != '[' {
		return nil, false
	}
	object := v[0] == '{'
	seen := map[string]bool{}
	b := []byte(v)
	for i := 1; ; i++ {
		if i = jsontext.Space(b, i); b[i] == '}' || b[i] == ']' {
			return all, true // an empty one
		}
		var m member
		if object {
			end, _ := jsontext.Scalar(b, i)
			m.key = jsontext.Unquote(b[i:end])
			if seen[m.key] {
				return nil, false
			}
			seen[m.key] = true
			i, _ = jsontext.Colon(b, end)
			i = jsontext.Space(b, i)
		}
		end, _, fault := limits.Value(b, i)
		if fault != "" {
			return nil, false
		}
		m.value = v[i:end]
		all = append(all, m)
		if i = jsontext.Space(b, end); b[i] != ',' {
			return all, true
		}
	}
}

// list reads calls in JSON: objects in a row, or lists of them.
func list(body string) (calls []Call, ok bool) {
	for body != "" {
		v, rest, ok := value(body)
		if !ok {
			return nil, false
		}
		all := []member{{value: v}}
		if v[0] == '[' {
			all, _ = members(v)
		}
		for _, m := range all {
			c, ok := object(m.value)
			if !ok || len(calls) == MaxCalls {
				return nil, false
			}
			calls = append(calls, c)
		}
		body = strings.TrimLeft(rest, white+",;")
	}
	return calls, true
}

// object reads a call that is a JSON object.
func object(v string) (c Call, ok bool) {
	all, ok := members(v)
	if !ok || v[0] != '{' {
		return c, false
	}
	args := ""
	for _, m := range all {
		switch m.key {
		case "function":
			if m.value[0] == '{' { // as in the field of the chat API
				return object(m.value)
			}
			c.Name = text(m.value)
		case "name", "tool_name":
			c.Name = text(m.value)
		case "arguments", "parameters", "args":
			if args != "" {
				return c, false
			}
			args = m.value
		}
	}
	if args == "" || args == "null" {
		args = "{}"
	}
	if args[0] == '"' { // JSON in a string, as in the field of the chat API
		args = text(args)
	}
	c.JSON, ok = arguments(args)
	return c, ok
}

// text returns the text of a JSON string, and nothing of another value.
func text(v string) string {
	if v[0] != '"' {
		return ""
	}
	return jsontext.Unquote([]byte(v))
}

// arguments checks arguments in JSON: they are one object and nothing else.
func arguments(s string) ([]byte, bool) {
	s = strings.Trim(s, white)
	if s == "" || s[0] != '{' {
		return nil, false
	}
	_, fault := limits.Whole([]byte(s))
	return []byte(s), fault == ""
}

// named reads name[ARGS]{…}, once or several times, with the id of the call between
// them in some versions: name[CALL_ID]id[ARGS]{…}.
func named(body string) (calls []Call, ok bool) {
	for body != "" {
		head, args, ok := strings.Cut(body, "[ARGS]")
		name, _, _ := strings.Cut(head, "[CALL_ID]")
		if !ok || len(calls) == MaxCalls {
			return nil, false
		}
		v, rest, ok := value(args)
		if !ok || v[0] != '{' {
			return nil, false
		}
		calls = append(calls, Call{Name: strings.Trim(name, white), JSON: []byte(v)})
		body = strings.TrimPrefix(strings.TrimLeft(rest, white), "[TOOL_CALLS]")
	}
	return calls, true
}
