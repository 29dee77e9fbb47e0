package bedrock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/sotto-llm/sotto/wire"
)

// A message of an event stream is, with numbers in network byte order:
//
//	4 bytes  length of the whole message
//	4 bytes  length of the headers
//	4 bytes  CRC32 of the 8 bytes before
//	         headers
//	         payload
//	4 bytes  CRC32 of everything before
//
// https://smithy.io/2.0/aws/amazon-eventstream.html
const (
	preludeSize = 12
	frameSize   = preludeSize + 4 // of a message without headers and payload
	// maxMessage and maxHeaders are the bounds that Amazon's own clients have.
	maxMessage = 16 << 20
	maxHeaders = 128 << 10
	maxName    = 64 // of an event: it stands in a line
)

var (
	errPrelude = errors.New("a message of the event stream has a broken prelude")
	errSum     = errors.New("a message of the event stream has a wrong checksum")
	errHeaders = errors.New("a message of the event stream has broken headers")
)

// lengthOf reads a prelude, which must be there whole.
func lengthOf(b []byte) (total, headers int, err error) {
	if crc32.ChecksumIEEE(b[:8]) != binary.BigEndian.Uint32(b[8:]) {
		return 0, 0, fmt.Errorf("%w: %w", wire.ErrUnreadable, errPrelude)
	}
	t, h := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if t > maxMessage || h > maxHeaders || t < frameSize || h > t-frameSize {
		return 0, 0, fmt.Errorf("%w: %w", wire.ErrUnreadable, errPrelude)
	}
	return int(t), int(h), nil
}

// The types of values of headers.
const (
	typeTrue = iota
	typeFalse
	typeByte
	typeShort
	typeInt
	typeLong
	typeBytes
	typeString
	typeTime
	typeUUID
)

// valueSizes are the sizes of values whose type decides it.
var valueSizes = [...]int{typeByte: 1, typeShort: 2, typeInt: 4, typeLong: 8, typeTime: 8, typeUUID: 16}

// The headers by which something is decided, and the one that says what a payload is.
const (
	messageType   = ":message-type"
	eventType     = ":event-type"
	exceptionType = ":exception-type"
	errorCode     = ":error-code"
	errorMessage  = ":error-message"
	contentType   = ":content-type"
)

// readHeaders reads all headers, and returns those that are known. Such a one must be a string and come once, since
// readers could disagree about it.
func readHeaders(b []byte) (known map[string]string, err error) {
	known = map[string]string{}
	bad := fmt.Errorf("%w: %w", wire.ErrUnreadable, errHeaders)
	for len(b) > 0 {
		n := int(b[0])
		if n == 0 || len(b) < 1+n+1 {
			return nil, bad
		}
		name, kind := string(b[1:1+n]), b[1+n]
		b = b[2+n:]
		if kind > typeUUID {
			return nil, bad
		}
		size := valueSizes[kind]
		if kind == typeBytes || kind == typeString {
			if len(b) < 2 {
				return nil, bad
			}
			size = int(binary.BigEndian.Uint16(b))
			b = b[2:]
		}
		if size > len(b) {
			return nil, bad
		}
		switch name {
		case messageType, eventType, exceptionType, errorCode, errorMessage, contentType:
			if _, twice := known[name]; twice || kind != typeString {
				return nil, bad
			}
			known[name] = string(b[:size])
		}
		b = b[size:]
	}
	return known, nil
}

// isName reports whether a value may name an event: it becomes a word in a line.
func isName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return s != "" && len(s) <= maxName
}

// appendMessage appends a message with headers, as pairs of names and values, and a
// payload.
func appendMessage(dst []byte, pairs []string, payload []byte) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, preludeSize)...)
	for i := 0; i < len(pairs); i += 2 {
		dst = append(append(dst, byte(len(pairs[i]))), pairs[i]...)
		dst = binary.BigEndian.AppendUint16(append(dst, typeString), uint16(len(pairs[i+1])))
		dst = append(dst, pairs[i+1]...)
	}
	size := len(dst) - at - preludeSize
	dst = append(dst, payload...)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at+4))
	binary.BigEndian.PutUint32(dst[at+4:], uint32(size))
	binary.BigEndian.PutUint32(dst[at+8:], crc32.ChecksumIEEE(dst[at:at+8]))
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[at:]))
}
