package wire

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/sotto-llm/sotto/internal/foreignjson"
)

// ErrUnreadable is why a reply fails of which a frame is broken JSON, or JSON
// over the bounds of what is read: nobody can say what text it holds.
var ErrUnreadable = errors.New("the upstream sent broken JSON")

// ErrUpstream is why a reply fails whose upstream said so.
var ErrUpstream = errors.New("the upstream ended the reply with an error")

// Readable returns a frame in a form that can be parsed; ok is false where there
// is none: it is broken JSON, or nests too deep, or has too many members. Its
// Data has null for the numbers that JSON lacks and Python writes.
func Readable(f Frame) (readable Frame, ok bool) {
	if foreignjson.Valid(f.Data) {
		return f, true
	}
	if data := Mend(f.Data); foreignjson.Valid(data) {
		f.Data, f.At = data, -1
		return f, true
	}
	return f, false
}

// Unread appends what becomes of a frame that is not [Readable]: it passes if it
// holds no object at all, or if the reply passes as it is; else the reply fails.
func Unread(dst []byte, f Frame, s Settings, r Reader) []byte {
	data := bytes.TrimLeft(f.Data, " \t\r\n")
	if s.Keep || len(data) == 0 || data[0] != '{' {
		return append(dst, f.Raw...)
	}
	r.Fail(unreadable(Mend(f.Data)))
	return dst
}

// unreadable is ErrUnreadable with the reason.
func unreadable(data []byte) error {
	if err := foreignjson.Check(data); err != nil {
		return fmt.Errorf("%w: a frame %w", ErrUnreadable, err)
	}
	return ErrUnreadable
}

// strangers are numbers that some encoders write and JSON lacks.
var strangers = [][]byte{[]byte("NaN"), []byte("Infinity"), []byte("-Infinity")}

// Mend returns JSON with null in the place of NaN and the infinities, and
// without a byte order mark.
func Mend(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	var out []byte
	from := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '"':
			end := StringEnd(data, i+1)
			if end < 0 {
				return data
			}
			i = end
		case 'N', 'I', '-':
			for _, s := range strangers {
				if bytes.HasPrefix(data[i:], s) {
					out = append(append(out, data[from:i]...), "null"...)
					from = i + len(s)
					i = from - 1
					break
				}
			}
		}
	}
	if out == nil {
		return data
	}
	return append(out, data[from:]...)
}
