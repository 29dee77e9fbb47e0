package chatjson

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// Same reports that parts are the text as it was read: its frame needs no change.
func Same(parts []wire.Part, text []byte) bool {
	switch len(parts) {
	case 0:
		return len(text) == 0
	case 1:
		return parts[0].Place == wire.Content && len(parts[0].Text) == len(text) && string(parts[0].Text) == string(text)
	}
	return false
}

// Count returns a count of tokens, or -1 if the value is not a number.
func Count(v gjson.Result) int64 {
	if v.Type != gjson.Number {
		return -1
	}
	return v.Int()
}

// ValueText returns the text of a string, including half a surrogate pair. For
// another value it returns its JSON, and for null nothing.
func ValueText(v gjson.Result) []byte {
	switch v.Type {
	case gjson.Null:
		return nil
	case gjson.String:
		return jsontext.AppendText(nil, jsonedit.BytesOf(v.Raw[1:len(v.Raw)-1]))
	}
	return jsonedit.BytesOf(v.Raw)
}
