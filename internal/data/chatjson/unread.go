package chatjson

import (
	"bytes"
	"fmt"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Readable returns a frame in a form that can be parsed. ok is false if it is
// broken JSON, nests too deep, or has too many members. In its Data, null replaces
// numbers that JSON does not have and Python writes.
func Readable(f wire.Frame) (readable wire.Frame, ok bool) {
	if foreignjson.Valid(f.Data) {
		return f, true
	}
	if data := jsonedit.Mend(f.Data); foreignjson.Valid(data) {
		f.Data, f.At = data, -1
		return f, true
	}
	return f, false
}

// Unread appends the output for a frame that is not [Readable]. The frame passes if
// it holds no object at all, or if the reply passes unchanged. Otherwise the reply
// fails.
func Unread(dst []byte, f wire.Frame, s wire.Settings, r wire.Reader) []byte {
	data := bytes.TrimLeft(f.Data, " \t\r\n")
	if s.Keep && !s.Written || len(data) == 0 || data[0] != '{' {
		return append(dst, f.Raw...)
	}
	r.Fail(unreadable(jsonedit.Mend(f.Data)))
	return dst
}

// unreadable is ErrUnreadable with the reason.
func unreadable(data []byte) error {
	if err := foreignjson.Check(data); err != nil {
		return fmt.Errorf("%w: a frame %w", wire.ErrUnreadable, err)
	}
	return wire.ErrUnreadable
}
