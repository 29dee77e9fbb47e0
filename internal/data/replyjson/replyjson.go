// Package replyjson writes the reading of a reply as JSON, with what belongs to it.
package replyjson

import (
	"slices"

	"github.com/sotto-llm/sotto"
)

// Append appends a reading as [sotto.Reply.MarshalJSON] writes it, with an id. Without
// one, it leaves that key out.
func Append(dst, id []byte, r *sotto.Reply) []byte {
	spans := len(r.Segments) + len(r.Diagnostics)
	dst = slices.Grow(dst, len(r.Raw)+len(id)+64*spans+256) // so that a long text is not copied as it grows
	from := len(dst)
	dst = r.AppendJSON(dst)
	if id == nil {
		return dst
	}
	member := append([]byte(`,"id":`), id...)
	return slices.Insert(dst, from+len(`{"v":1`), member...)
}
