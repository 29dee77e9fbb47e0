package mcptools

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/foreignhttp"
)

// traffic counts what a server sends between two calls, and knows which bound it broke.
type traffic struct {
	messages, requests, bytes atomic.Int64
	fault                     atomic.Pointer[string]
}

// broke notes the bound that ends the session, for the model and the operator.
func (t *traffic) broke(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	t.fault.CompareAndSwap(nil, &text)
	return errors.New("the server " + text)
}

// broken returns the bound that the server broke, or "".
func (t *traffic) broken() string {
	if text := t.fault.Load(); text != nil {
		return *text
	}
	return ""
}

// tooLong notes a message, or a response with all its progress, that is longer than the bound.
func (t *traffic) tooLong(limit int64) error {
	return t.broke("sent more than %d bytes in one answer: raise limit of this server in the agent's file, or ask for less", limit)
}

func newTraffic() *traffic {
	t := &traffic{}
	t.refill()
	return t
}

// refill is called before each request.
func (t *traffic) refill() {
	t.messages.Store(maxMessages)
	t.requests.Store(maxRequests)
	t.bytes.Store(maxBytes)
}

func (t *traffic) line(bytes int) error {
	if t.messages.Add(-1) < 0 || t.bytes.Add(-int64(bytes)) < 0 {
		return t.broke("sent more than %d messages or %d bytes between two calls", maxMessages, maxBytes)
	}
	return nil
}

// admit reports whether the client needs a message: an answer, the progress of a call,
// or a request, which is answered.
func (t *traffic) admit(m gjson.Result) (bool, error) {
	switch method := m.Get("method"); {
	case m.Get("jsonrpc").Str != "2.0":
		return false, nil
	case !method.Exists() || method.Str == "notifications/progress":
		return true, nil
	case !m.Get("id").Exists():
		return false, nil
	}
	if t.requests.Add(-1) < 0 {
		return false, t.broke("sent more than %d requests between two calls", maxRequests)
	}
	return true, nil
}

// lines passes on the messages of a process, each within the bounds. Lines that do
// not begin an object are left out: some servers write their log there.
type lines struct {
	from    *bufio.Reader
	closer  io.Closer
	traffic *traffic
	limit   int64
	line    []byte // what is left of the line to pass on
}

func newLines(from io.ReadCloser, t *traffic, limit int64) *lines {
	return &lines{from: bufio.NewReaderSize(from, 64<<10), closer: from, traffic: t, limit: limit}
}

// Read returns bytes of the next message.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.line) == 0 {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.line)
	l.line = l.line[n:]
	return n, nil
}

// next reads a line, and keeps it if it is a message.
func (l *lines) next() error {
	var line []byte
	for {
		piece, err := l.from.ReadSlice('\n')
		if int64(len(line)+len(piece)) > l.limit {
			return l.traffic.tooLong(l.limit)
		}
		line = append(line, piece...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	if err := l.traffic.line(len(line)); err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("{")) {
		return nil
	}
	message, err := shape.Parse(line)
	if err != nil {
		return l.traffic.broke("sent a message that %v", err)
	}
	wanted, err := l.traffic.admit(message)
	if wanted {
		l.line = line
	}
	return err
}

// Close closes the stream.
func (l *lines) Close() error { return l.closer.Close() }

// client returns the HTTP client of a server that is reached by its URL.
func (s *server) client(t *traffic) *http.Client {
	base, err := url.Parse(s.URL)
	if err != nil {
		base = &url.URL{} // no request is for it
	}
	c := foreignhttp.Config{Base: base, Header: s.Header, Body: s.Limit}.Client()
	c.Transport = &noting{c.Transport, t}
	return c
}

// noting notes which bound a response breaks.
type noting struct {
	http.RoundTripper
	traffic *traffic
}

func (n *noting) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := n.RoundTripper.RoundTrip(r)
	if err != nil {
		n.traffic.note(err)
		return nil, err
	}
	res.Body = &notedBody{res.Body, n.traffic}
	return res, nil
}

type notedBody struct {
	io.ReadCloser
	traffic *traffic
}

func (b *notedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.traffic.note(err)
	return n, err
}

// note notes the bound that an error is about, if it is about one.
func (t *traffic) note(err error) {
	if long, ok := errors.AsType[*foreignhttp.LongError](err); ok {
		_ = t.tooLong(long.Most)
	} else if err != nil && foreignjson.OverLimit(err) {
		_ = t.broke("sent a message that is nested too deeply or has too many members")
	}
}
