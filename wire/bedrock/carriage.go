package bedrock

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// A carriage is one event stream. A message becomes a server-sent event whose name is
// that of the message's event. An exception is named exception/NAME, and an error that
// the API does not name error/CODE; the data of both is an object with a message.
type carriage struct {
	written bool // no message passes as it came

	total, headers int    // of the message under way, once its prelude is read
	event          []byte // the last message, as an event
	piece          []byte // what it came as, until it is written
}

// begin begins a stream. Where a reply is written from events, messages are encoded again:
// one that came may have headers in which the server says more.
func begin(s wire.Settings) wire.Carriage {
	return &carriage{written: s.Written}
}

const (
	exceptionPrefix = "exception/"
	errorPrefix     = "error/"
	jsonType        = "application/json"
	lineBreaks      = "\r\n"
)

var (
	errCut     = errors.New("the upstream broke off inside a message of the event stream")
	errKind    = errors.New("a message of the event stream has no known type")
	errPayload = errors.New("a message of the event stream holds no JSON")
)

// Next takes a message. Its checksum is computed once, when all of it is there.
func (c *carriage) Next(b []byte) (n int, event wire.Frame, err error) {
	if c.total == 0 {
		if len(b) < preludeSize {
			return 0, wire.Frame{}, nil
		}
		if c.total, c.headers, err = lengthOf(b); err != nil {
			return 0, wire.Frame{}, err
		}
	}
	if len(b) < c.total {
		return 0, wire.Frame{}, nil
	}
	b, c.total = b[:c.total], 0
	end := len(b) - 4
	if crc32.ChecksumIEEE(b[:end]) != binary.BigEndian.Uint32(b[end:]) {
		return 0, wire.Frame{}, fmt.Errorf("%w: %w", wire.ErrUnreadable, errSum)
	}
	h, err := readHeaders(b[preludeSize : preludeSize+c.headers])
	if err != nil {
		return 0, wire.Frame{}, err
	}
	name, data, err := eventOf(h, b[preludeSize+c.headers:end])
	if err != nil {
		return 0, wire.Frame{}, fmt.Errorf("%w: %w", wire.ErrUnreadable, err)
	}
	if !c.written {
		c.piece = b
	}
	return len(b), c.asEvent(name, data), nil
}

// eventOf returns the name and the data of a message.
func eventOf(h map[string]string, payload []byte) (name string, data []byte, err error) {
	data = payload
	switch h[messageType] {
	case "event":
		name = h[eventType]
	case "exception":
		name = h[exceptionType]
	case "error":
		name = h[errorCode]
		if data, err = json.Marshal(map[string]string{"message": h[errorMessage]}); err != nil {
			return "", nil, err
		}
	}
	if !isName(name) {
		return "", nil, errKind
	}
	switch h[messageType] {
	case "exception":
		name = exceptionPrefix + name
	case "error":
		name = errorPrefix + name
	}
	if len(data) == 0 {
		data = []byte("{}")
	}
	if bytes.ContainsAny(data, lineBreaks) { // between the tokens of JSON they are spaces, inside a string they are not
		if !foreignjson.Valid(data) {
			return "", nil, errPayload
		}
		data = bytes.Clone(data)
		for i, c := range data {
			if c == '\n' || c == '\r' {
				data[i] = ' '
			}
		}
	}
	return name, data, nil
}

// asEvent keeps a message as a server-sent event, and returns it.
func (c *carriage) asEvent(name string, data []byte) wire.Frame {
	c.event = append(append(c.event[:0], "event: "...), name...)
	c.event = append(c.event, "\ndata: "...)
	at := len(c.event)
	c.event = append(c.event, data...)
	end := len(c.event)
	c.event = append(c.event, "\n\n"...)
	return wire.Frame{Raw: c.event, Type: []byte(name), Data: c.event[at:end:end], At: at}
}

// Append appends the messages of events. If the last of them is the one that was read
// last, unchanged, its message is appended as it came.
func (c *carriage) Append(dst, events []byte) []byte {
	piece := c.piece
	c.piece = nil
	if piece != nil && bytes.HasSuffix(events, c.event) {
		if before := events[:len(events)-len(c.event)]; len(before) == 0 || bytes.HasSuffix(before, []byte("\n\n")) {
			return append(encode(dst, before), piece...)
		}
	}
	return encode(dst, events)
}

// encode appends the messages of events. Comments have none. An error becomes an
// exception, which has its message in the payload.
func encode(dst, events []byte) []byte {
	var scan sse.Scanner
	for {
		f, ok := scan.Next(events)
		if !ok {
			return dst
		}
		events = events[len(f.Raw):]
		name := string(f.Type)
		if f.Data == nil || name == "" {
			continue
		}
		header, kind := eventType, "event"
		for _, prefix := range []string{exceptionPrefix, errorPrefix} {
			if bare, ok := strings.CutPrefix(name, prefix); ok {
				header, kind, name = exceptionType, "exception", bare
				break
			}
		}
		dst = appendMessage(dst, []string{header, name, contentType, jsonType, messageType, kind}, f.Data)
	}
}

// Last says what is wrong if the stream ends inside a message.
func (c *carriage) Last(rest []byte) error {
	if len(rest) > 0 || c.total > 0 {
		return errCut
	}
	return nil
}

// End appends nothing: an event stream has no sign of its end.
func (c *carriage) End(dst []byte) []byte { return dst }

var _ wire.Carriage = (*carriage)(nil)
