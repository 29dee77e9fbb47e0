package jsonschema

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func isType(t string, v any) bool {
	if n, ok := v.(json.Number); ok && t == "integer" {
		x, ok := rat(n)
		return ok && x.IsInt()
	}
	return t == typeOf(v)
}

// rat returns the value of a number, if it is not too long to compute with.
func rat(n json.Number) (*big.Rat, bool) {
	text := n.String()
	number := jsontext.Limits{Number: maxDigits}
	if end, _, fault := number.Value([]byte(text), 0); fault != "" || end != len(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// shown returns a number of the schema as a message has it.
func shown(x *big.Rat) string {
	if x.IsInt() {
		return shorttext.Ellipsis(x.Num().String(), 40)
	}
	f, _ := x.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// equal compares two values: numbers by their value, and objects whatever the order
// of their members.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok || a == b {
			return ok
		}
		x, ok1 := rat(a)
		y, ok2 := rat(b)
		return ok1 && ok2 && x.Cmp(y) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// canonical appends a text that equal values have alike, and others not.
func canonical(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, 'n')
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		if x, ok := rat(v); ok {
			return append(dst, x.RatString()...)
		}
		return append(dst, v...)
	case string:
		return jsontext.AppendVerbatim(dst, v)
	case []any:
		dst = append(dst, '[')
		for _, x := range v {
			dst = append(canonical(dst, x), ',')
		}
		return append(dst, ']')
	}
	o := v.(map[string]any)
	dst = append(dst, '{')
	for _, name := range slices.Sorted(maps.Keys(o)) {
		dst = append(jsontext.AppendVerbatim(dst, name), ':')
		dst = append(canonical(dst, o[name]), ',')
	}
	return append(dst, '}')
}

// quoted returns a name as a message has it.
func quoted(name string) string { return "'" + shorttext.Ellipsis(name, 100) + "'" }

// plural joins names, at most five, after the word for one or for several.
func plural(names []string, one, several string) string {
	if len(names) == 1 {
		return one + " " + names[0]
	}
	more := ""
	if len(names) > 5 {
		names, more = names[:5], ", …"
	}
	return several + " " + strings.Join(names, ", ") + more
}

// listed returns values of the schema as a message has them.
func listed(values []any) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte("…")
		}
		b.WriteString(shorttext.Ellipsis(string(text), 60))
		if b.Len() > 200 {
			b.WriteString(", …")
			break
		}
	}
	return b.String()
}
