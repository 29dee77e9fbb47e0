package model

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/ndjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// transport is shared by all clients without one of their own. It keeps connections
// open, including those of many simultaneous calls to one server.
var transport = sync.OnceValue(func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 32
	t.MaxResponseHeaderBytes = maxHeader
	return t
})

// maxHeader bounds the header of a response, and the interim responses before it.
const maxHeader = 256 << 10

// How much of an error's body is read: the maximum number of bytes, and the maximum
// time.
const (
	maxError  = 64 << 10
	errorTime = 10 * time.Second
)

// How many bytes of a reply may be empty of content: comments, blank lines, frames
// without text, the JSON around each piece.
const (
	emptyBytes    = 16 << 20 // in any case
	emptyPerBytes = 1 << 10  // for each byte that is kept
)

// post sends a body by POST; see send.
func (c *client) post(ctx context.Context, path []string, body []byte, read func(*http.Response, io.Reader) error) error {
	return c.send(ctx, http.MethodPost, path, body, read)
}

// send sends a request and gives the response to read, if its status is a success.
// If the server is silent for too long, both end.
func (c *client) send(ctx context.Context, method string, path []string, body []byte, read func(*http.Response, io.Reader) error) error {
	asked := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &watch{limit: c.Silence, cancel: func() { cancel(ErrSilent) }}
	defer w.end()

	r, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath(path...).String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/event-stream, application/x-ndjson")
	r.Header.Set("User-Agent", "sotto")
	tracecontext.SetHeader(ctx, r.Header)
	c.api.authorize(r.Header, string(c.Key))
	w.start()
	resp, err := c.http.Do(r)
	w.stop()
	if err == nil {
		defer resp.Body.Close()
		watched := &watched{resp.Body, w}
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			w.within(errorTime)
			return c.refusal(resp, watched)
		}
		err = read(resp, watched)
	}
	switch {
	case err == nil:
		return nil
	case asked.Err() != nil:
		return cancelled(asked)
	case errors.Is(context.Cause(ctx), ErrSilent):
		return fmt.Errorf("%w: nothing came for %v", ErrSilent, c.Silence)
	case resp == nil:
		return unreached(err)
	}
	return err
}

// cancelled returns the error of a context that has ended, with its cause.
func cancelled(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// refusal returns the error of a response that is not a success.
func (c *client) refusal(resp *http.Response, body io.Reader) error {
	b, _ := io.ReadAll(io.LimitReader(body, maxError)) // use what came of it
	e := said(resp.StatusCode, b)
	e.Status = resp.StatusCode
	e.RetryAfter = retry.After(resp.Header, time.Now())
	if resp.StatusCode < 400 {
		e.Message = "the server redirects, which is not followed"
		if to, err := resp.Location(); err == nil {
			to.User, to.RawQuery, to.Fragment = nil, "", ""
			e.Message += clean(": " + to.String())
		}
		e.Retryable = false
	}
	return e
}

// unreached returns the error of a connection that brought no response. It does not
// quote what the server sent.
func unreached(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	e := &Error{Err: err, Retryable: true}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		e.Retryable = false
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		e.Retryable = false
	}
	if strings.Contains(err.Error(), "malformed") {
		e.Err, e.Retryable = ErrUnreadable, false
	}
	return e
}

// accumulate reads a successful response: frames, or one value.
func (c *client) accumulate(resp *http.Response, body io.Reader, l *listener, h *accumulator) error {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		b, err := readAll(body, c.Limits.Frame)
		if err != nil {
			return err
		}
		if f, ok := chatjson.Readable(wire.Frame{Data: bytes.TrimSpace(b)}); ok {
			err := l.whole(f.Data)
			if err == nil && !h.finished {
				err = ErrBrokenOff
			}
			return err
		}
		body = bytes.NewReader(b) // frames that are declared as a whole reply
	}
	finished := func() bool {
		if w, ok := body.(*watched); ok && h.finished {
			w.watch.within(finishTime)
		}
		return h.finished
	}
	err := c.frames(&bounded{Reader: body, h: h}, l, finished)
	if err == nil && !h.finished {
		err = ErrBrokenOff
	}
	if err == nil {
		drain(body)
	}
	return err
}

// How long a client reads on after a reply's finish reason, for the number of
// tokens; and after its last frame, to use the connection again.
const (
	finishTime = 2 * time.Second
	drainTime  = 100 * time.Millisecond
)

// drain reads the few bytes that may follow a reply, so that the connection can be
// used again.
func drain(body io.Reader) {
	if w, ok := body.(*watched); ok {
		w.watch.within(drainTime)
	}
	io.Copy(io.Discard, io.LimitReader(body, 16<<10))
}

func readAll(r io.Reader, limit int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrBrokenOff, err)
	case len(b) > limit:
		return nil, fmt.Errorf("%w: an answer of more than %d bytes", ErrTooLarge, limit)
	}
	return b, nil
}

// A scanner finds the frames in a buffer that grows.
type scanner interface {
	next(b []byte, last bool) (f wire.Frame, ok bool)
}

type sseScanner struct{ sse.Scanner }

func (s *sseScanner) next(b []byte, last bool) (wire.Frame, bool) {
	f, ok := s.Next(b)
	if !ok && last {
		f, ok = s.Last(b)
	}
	return wire.Frame{Raw: f.Raw, Type: f.Type, Data: f.Data, At: f.At}, ok
}

type lineScanner struct{ ndjson.Scanner }

func (s *lineScanner) next(b []byte, last bool) (wire.Frame, bool) {
	l, ok := s.Next(b)
	if !ok && last {
		l, ok = s.Last(b)
	}
	return wire.Frame{Raw: l.Raw, Data: l.Data, At: l.At}, ok
}

// frames reads a stream to the end of its reply. It calls finished after each frame
// until that returns true.
func (c *client) frames(body io.Reader, l *listener, finished func() bool) error {
	var s scanner = &sseScanner{}
	if c.api.codec().Framing() == wire.NDJSON {
		s = &lineScanner{}
	}
	var b []byte
	for ended := error(nil); ; {
		f, ok := s.next(b, false)
		size := len(f.Raw)
		if !ok {
			size = len(b)
		}
		if size > c.Limits.Frame {
			return fmt.Errorf("%w: a frame of more than %d bytes", ErrTooLarge, c.Limits.Frame)
		}
		last := !ok && ended != nil
		if last {
			f, ok = s.next(b, true)
		}
		switch {
		case ok:
			done, err := l.frame(f)
			if last && errors.Is(err, ErrUnreadable) {
				err = ErrBrokenOff // in the middle of a frame
			}
			if done || err != nil {
				return err
			}
			if finished != nil && finished() {
				finished = nil
			}
			b = b[len(f.Raw):]
		case errors.Is(ended, io.EOF):
			return nil
		case ended != nil:
			return fmt.Errorf("%w: %w", ErrBrokenOff, ended)
		default:
			if b, ended = more(b, body); errors.Is(ended, ErrTooLarge) {
				return ended
			}
		}
	}
}

// more reads further after b, whose memory it uses.
func more(b []byte, body io.Reader) ([]byte, error) {
	if cap(b)-len(b) < 4<<10 {
		b = append(make([]byte, 0, 2*len(b)+32<<10), b...)
	}
	n, err := body.Read(b[len(b):cap(b)])
	return b[:len(b)+n], err
}

var doneMark = []byte("[DONE]")

// str returns a string's text, byte for byte, in memory of its own.
func str(v gjson.Result) string {
	switch {
	case v.Type != gjson.String:
		return ""
	case len(v.Raw) < 2 || strings.IndexByte(v.Raw, '\\') < 0:
		return strings.Clone(v.Str)
	}
	return string(jsontext.AppendText(nil, jsonedit.BytesOf(v.Raw[1:len(v.Raw)-1])))
}

// says reports whether a member is present, and not null.
func says(v gjson.Result) bool { return v.Exists() && v.Type != gjson.Null }

// each calls f with the elements of an array until one fails. It makes no list of
// them: a frame may hold a million.
func each(list gjson.Result, f func(gjson.Result) error) (err error) {
	if list.IsArray() {
		list.ForEach(func(_, v gjson.Result) bool {
			err = f(v)
			return err == nil
		})
	}
	return err
}

// maxName is far above the length of any name.
const maxName = 4 << 10

// short returns a name that a server gives, cut to a bounded length.
func short(name string) string { return shorttext.Cut(name, maxName) }

// A bounded body ends if a reply holds too many bytes without content.
type bounded struct {
	io.Reader
	h    *accumulator
	came int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.came += int64(n)
	if b.came > emptyBytes+emptyPerBytes*int64(b.h.size) {
		return 0, fmt.Errorf("%w: %d bytes, of which %d were a reply", ErrTooLarge, b.came, b.h.size)
	}
	return n, err
}

// A watch ends reads that wait for the server for too long. The time that the
// client itself takes does not count.
type watch struct {
	limit  time.Duration
	cancel func()
	timer  *time.Timer
	fixed  bool // the time is for all further reads together, not for each
}

func (w *watch) start() {
	switch {
	case w.fixed:
	case w.timer == nil:
		w.timer = time.AfterFunc(w.limit, w.cancel)
	default:
		w.timer.Reset(w.limit)
	}
}

func (w *watch) stop() {
	if w.timer != nil && !w.fixed {
		w.timer.Stop()
	}
}

// within gives all further reads together a time limit, instead of an earlier one.
func (w *watch) within(d time.Duration) {
	w.limit, w.fixed = min(w.limit, d), false
	w.start()
	w.fixed = true
}

// end stops the watch for good.
func (w *watch) end() {
	w.fixed = false
	w.stop()
}

// A watched body must not be silent for too long.
type watched struct {
	io.Reader
	watch *watch
}

func (b *watched) Read(p []byte) (int, error) {
	b.watch.start()
	defer b.watch.stop()
	return b.Reader.Read(p)
}
