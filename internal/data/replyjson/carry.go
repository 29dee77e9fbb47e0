package replyjson

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// MaxCarried bounds what a line carries of replies: the bytes of the members as JSON.
// A line must be short enough for the commands that read it again.
const MaxCarried = 64 << 20

// With says which members a line carries beside its result.
type With struct{ Raw, Reading bool }

// Named returns the members by their names: raw, reading. Other names are ignored.
func Named(names []string) (w With) {
	for _, name := range names {
		w.Raw, w.Reading = w.Raw || name == "raw", w.Reading || name == "reading"
	}
	return w
}

// Any reports whether there is a member to carry.
func (w With) Any() bool { return w.Raw || w.Reading }

// A Carried is what a line carries of a reply.
type Carried struct {
	// Raw is the reply as a text, in which bytes that are not UTF-8 are U+FFFD. If
	// there are such bytes, RawBase64 is the reply byte for byte.
	Raw       *string
	RawBase64 []byte
	// RawOmitted is the length in bytes of a reply that was too long to carry.
	RawOmitted int
	// Reading is the object that sotto split prints for the reply.
	Reading json.RawMessage
}

// Carry returns the members for a reply. read reads the reply, and is called only if
// its reading is a member; native is reasoning that a server has separated. If the
// members have more than limit bytes, only the length of the reply is carried. size
// is about how many bytes they have.
func (w With) Carry(raw, native string, limit int, read func() (*sotto.Reply, error)) (c Carried, size int, err error) {
	omitted := Carried{RawOmitted: len(raw)}
	if !w.Any() {
		return Carried{}, 0, nil
	}
	if len(raw) > limit {
		return omitted, 0, nil
	}
	if w.Raw {
		c.Raw = &raw
		if !utf8.ValidString(raw) {
			c.RawBase64 = []byte(raw)
		}
	}
	if w.Reading {
		reply, err := read()
		if err != nil {
			return Carried{}, 0, err
		}
		c.Reading = WithNative(Append(nil, nil, reply), native)
	}
	if size = len(c.Append(nil)); size > limit {
		return omitted, 0, nil
	}
	return c, size, nil
}

// Append appends the members to an object that is not closed yet.
func (c *Carried) Append(dst []byte) []byte {
	if c.Raw != nil {
		dst = jsontext.AppendString(append(dst, `,"raw":`...), *c.Raw)
	}
	if c.RawBase64 != nil {
		dst = append(base64.StdEncoding.AppendEncode(append(dst, `,"raw_base64":"`...), c.RawBase64), '"')
	}
	if c.RawOmitted > 0 {
		dst = strconv.AppendInt(append(dst, `,"raw_omitted":`...), int64(c.RawOmitted), 10)
	}
	if c.Reading != nil {
		dst = append(append(dst, `,"reading":`...), c.Reading...)
	}
	return dst
}

// WithNative adds the reasoning that a server has separated to the object of a
// reading. Without such reasoning the object stays as it is.
func WithNative(object []byte, native string) []byte {
	if native == "" {
		return object
	}
	object = jsontext.AppendString(append(object[:len(object)-1], `,"native_reasoning":`...), native)
	return append(object, '}')
}
