package model

import (
	"bytes"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// A text is a string in a request. Unlike a string of encoding/json, it keeps half
// a surrogate pair as the escape that it came in.
type text string

func (t text) MarshalJSON() ([]byte, error) {
	return bytes.ToValidUTF8(jsontext.AppendVerbatim(nil, jsonedit.BytesOf(string(t))), []byte("\uFFFD")), nil
}
