// Package sealing encrypts what is added to a file, line by line, for the holder of an age
// identity. A program that adds lines needs no private key, and reads nothing of what is there.
//
// A sealed line is an object:
//
//	{"v":1,"type":"sealed","plain":{…},"age":"…"}
//
// age is an age file in base64. plain, if there is one, is what programs may know that have no
// identity, such as figures. Who can write the file can also replace lines: sealing keeps
// secrets, and does not prove who wrote them.
package sealing

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/batch"
)

// ErrSealed is in the error of a reader that has no identity for what it reads.
var ErrSealed = errors.New("it is encrypted")

// Hint adds what to do about [ErrSealed] to an error, where a command has --identity.
func Hint(err error) error {
	if errors.Is(err, ErrSealed) {
		return errorhint.Add(err, "give the age identity that decrypts it with --identity FILE")
	}
	return err
}

// begin begins every sealed line.
const begin = `{"v":1,"type":"sealed",`

// Is reports whether a line, or the beginning of one, is sealed.
func Is(line []byte) bool { return bytes.HasPrefix(line, []byte(begin)) }

// AppendLine appends a sealed line with its newline. plain is JSON, or empty.
func AppendLine(dst, plain, secret []byte, to []age.Recipient) ([]byte, error) {
	dst = append(dst, begin...)
	if len(plain) > 0 {
		dst = append(append(append(dst, `"plain":`...), bytes.TrimSpace(plain)...), ',')
	}
	b := bytes.NewBuffer(append(dst, `"age":"`...))
	text := base64.NewEncoder(base64.StdEncoding, b)
	enc, err := age.Encrypt(text, to...)
	if err == nil {
		_, err = enc.Write(secret)
	}
	if err == nil {
		err = enc.Close()
	}
	if err == nil {
		err = text.Close()
	}
	if err != nil {
		return dst, fmt.Errorf("encrypt: %w", err)
	}
	b.WriteString("\"}\n")
	return b.Bytes(), nil
}

// A Line is a sealed line.
type Line struct {
	Plain json.RawMessage `json:"plain"`
	Age   []byte          `json:"age"`
}

// Parse reads a sealed line.
func Parse(line []byte) (*Line, error) {
	l := new(Line)
	if err := json.Unmarshal(line, l); err != nil || !Is(line) {
		return nil, errors.Join(errors.New("not a sealed line"), err)
	}
	return l, nil
}

// Open decrypts what the line holds.
func (l *Line) Open(ids []age.Identity) ([]byte, error) {
	if len(ids) == 0 {
		return nil, ErrSealed
	}
	r, err := age.Decrypt(bytes.NewReader(l.Age), ids...)
	var other *age.NoIdentityMatchError
	if errors.As(err, &other) {
		return nil, fmt.Errorf("%w for another identity", ErrSealed)
	}
	if err != nil {
		return nil, err
	}
	return files.ReadAll(r, int64(len(l.Age))) // it is shorter than its ciphertext
}

// A Reader gives the lines of a file as they were before they were sealed. The bytes of a file
// that does not begin with a sealed line pass as they are.
type Reader struct {
	from  *bufio.Reader
	open  func(*Line) ([]byte, error)
	known bool // whether the file is sealed
	plain bool // it is not
	rest  []byte
	n     int
}

// NewReader returns a reader that decrypts with identities.
func NewReader(r io.Reader, ids []age.Identity) *Reader {
	return &Reader{from: bufio.NewReaderSize(r, 64<<10), open: func(l *Line) ([]byte, error) { return l.Open(ids) }}
}

// NewPlainReader returns a reader that gives what programs without an identity may know.
func NewPlainReader(r io.Reader) *Reader {
	return &Reader{from: bufio.NewReaderSize(r, 64<<10), open: func(l *Line) ([]byte, error) { return l.Plain, nil }}
}

// Sealed reports whether the file begins with a sealed line.
func (r *Reader) Sealed() bool {
	if !r.known {
		head, _ := r.from.Peek(len(begin))
		r.known, r.plain = true, !Is(head)
	}
	return !r.plain
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	if !r.Sealed() {
		return r.from.Read(p)
	}
	for len(r.rest) == 0 {
		line, err := batch.NextLine(r.from, maxLine)
		if err != nil {
			return 0, err
		}
		r.n++
		if r.rest, err = r.line(line); err != nil {
			return 0, fmt.Errorf("line %d: %w", r.n, err)
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// maxLine bounds a sealed line: base64 makes what it holds a third longer.
const maxLine = batch.OwnLine/3*4 + 4096

// line opens one line. One that is still being written passes as it is, so that the reader of
// lines treats it as any other.
func (r *Reader) line(line []byte) ([]byte, error) {
	whole := bytes.HasSuffix(line, []byte("\n"))
	if !Is(line) {
		if whole && len(bytes.TrimSpace(line)) > 0 {
			return nil, errors.New("a line in plain among sealed ones")
		}
		return line, nil
	}
	l, err := Parse(line)
	if err != nil {
		if !whole {
			return line, nil
		}
		return nil, err
	}
	text, err := r.open(l)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return append(bytes.TrimSuffix(text, []byte("\n")), '\n'), nil
}

// A Writer seals each text that is written to it.
type Writer struct {
	W  io.Writer
	To []age.Recipient
}

// Write writes one sealed line.
func (w *Writer) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	line, err := AppendLine(nil, nil, p, w.To)
	if err == nil {
		_, err = w.W.Write(line)
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}
