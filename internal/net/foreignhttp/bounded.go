package foreignhttp

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/sse"
)

// What a server may send.
const (
	MaxBody   = 16 << 20  // bytes of a response, if the client has no other bound
	maxHeader = 256 << 10 // bytes of its header
)

// Shape bounds the JSON of a response, or of one event of a stream: a client holds
// a hundred bytes for each value that it reads.
var Shape = foreignjson.Limits{Depth: 64, Members: 100_000}

// shared is the transport of clients that have none of their own.
var shared = sync.OnceValue(func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxHeader
	return t
})

// check bounds the body of a response before a client decodes it.
func check(res *http.Response, most int64) error {
	body := &limited{res.Body, most, most}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/event-stream" {
		res.Body = &stream{body: body}
		return nil
	}
	data, err := files.ReadAll(body, most)
	_ = body.Close()
	if err == nil {
		if over := Shape.Check(data); foreignjson.OverLimit(over) {
			err = fmt.Errorf("the response %w", over)
		}
	}
	if err != nil {
		return err
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	return nil
}

// A LongError is the error of a response that is longer than the client takes.
type LongError struct{ Most int64 } // in bytes

func (e *LongError) Error() string {
	return fmt.Sprintf("the response is longer than %d bytes", e.Most)
}

type limited struct {
	io.ReadCloser
	left, most int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, &LongError{l.most}
	}
	n, err := l.ReadCloser.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// A stream gives the events of another as they come, each when it is whole and
// its JSON was checked.
type stream struct {
	body  io.ReadCloser
	s     sse.Scanner
	held  []byte // that came, and was not looked at
	ready []byte // that was, and is to be read
	ended error  // of the body
	err   error  // after what is ready
}

func (s *stream) Close() error { return s.body.Close() }

func (s *stream) Read(p []byte) (int, error) {
	for len(s.ready) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.next()
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

// next finds the next event, or reads more.
func (s *stream) next() {
	f, ok := s.s.Next(s.held)
	if !ok && s.ended != nil {
		f, ok = s.s.Last(s.held)
		s.err = s.ended
	}
	if ok {
		if over := Shape.Check(f.Data); len(f.Data) > 0 && foreignjson.OverLimit(over) {
			s.err = fmt.Errorf("an event of the stream %w", over)
			return
		}
		s.ready, s.held = f.Raw, s.held[len(f.Raw):]
		return
	}
	if s.ended != nil {
		return
	}
	if cap(s.held)-len(s.held) < 4<<10 {
		s.held = append(make([]byte, 0, 2*len(s.held)+16<<10), s.held...)
	}
	var n int
	n, s.ended = s.body.Read(s.held[len(s.held):cap(s.held)])
	s.held = s.held[:len(s.held)+n]
}
