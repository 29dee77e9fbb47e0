package errortext

import (
	"bytes"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// Reading returns a reply whose errors are read before its codec sees them. texts returns their
// reader, also after the reply has begun to hide reasoning. found is set if one had a thought.
func Reading(y wire.Reply, hide bool, texts func(hide bool) *Reader, found *bool) wire.Reply {
	return &reply{Reply: y, reader: texts, found: found, hide: hide}
}

// A reply reads the errors in the frames and the body of a reply.
type reply struct {
	wire.Reply
	reader func(hide bool) *Reader
	found  *bool
	hide   bool
	usual  Usual
	texts  *Reader // nil until there is an error
}

// Hide begins to hide reasoning.
func (y *reply) Hide() {
	wire.Hide(y.Reply)
	y.hide, y.texts = true, nil
}

// Held returns about how many bytes the reply keeps.
func (y *reply) Held() int { return wire.Held(y.Reply) }

// Cut returns the frames that end the reply.
func (y *reply) Cut(dst []byte, r wire.Reader) []byte {
	frames, _ := wire.Cut(y.Reply, r)
	return append(dst, frames...)
}

func (y *reply) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	return y.Reply.Frame(dst, y.frame(f), r)
}

func (y *reply) Whole(dst, body []byte, r wire.Reader) []byte {
	return y.Reply.Whole(dst, y.redact(nil, body), r)
}

// redact returns JSON without the thoughts of its errors.
func (y *reply) redact(kind, data []byte) []byte {
	if !MayBeError(kind, data) {
		return data
	}
	if y.texts == nil {
		y.texts = y.reader(y.hide)
	}
	data = y.texts.Reply(string(kind), data)
	*y.found = *y.found || y.texts.Found
	return data
}

// frame returns a frame without the thoughts of its errors. A frame that cannot be read is
// the codec's to judge, unless it is a text, which a codec lets pass.
func (y *reply) frame(f wire.Frame) wire.Frame {
	if f.Data == nil || !y.usual.MayBeError(f.Type, f.Data) {
		return f
	}
	readable, ok := chatjson.Readable(f)
	var left []byte
	switch {
	case ok:
		left = y.redact(f.Type, readable.Data)
	case bytes.HasPrefix(bytes.TrimLeft(f.Data, " \t\r\n"), []byte("{")):
		return f
	default:
		left = y.reader(y.hide).Text(f.Data)
	}
	if bytes.Equal(left, readable.Data) {
		return f
	}
	if f.At >= 0 {
		raw := append([]byte(nil), f.Raw[:f.At]...)
		raw = append(append(raw, left...), f.Raw[f.At+len(f.Data):]...)
		return wire.Frame{Raw: raw, Type: f.Type, Data: left, At: f.At}
	}
	f.Raw, f.Data, f.At = sse.Append(nil, string(f.Type), left), left, -1
	return f
}
