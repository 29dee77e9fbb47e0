// Package sending sends requests to an upstream: within its time limits, and again if the
// response to one has not begun.
package sending

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/headers"
	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/base/sleep"
)

// A Way is how requests reach one upstream.
type Way struct {
	Transport     http.RoundTripper
	Header        int           // how many bytes the header of a response may have
	HeaderTimeout time.Duration // how long a response may take to begin; 0 for no limit
	Silence       time.Duration // how long nothing may move
	Retries       int           // how often a request is sent again
	Replays       bool          // a request on a kept connection that ends goes to another one: see Replayable
}

// The waits between attempts: the first, and the longest. patience is the longest wait
// that an upstream may ask for. If it asks for a longer one, the client gets its answer.
const (
	firstWait   = 250 * time.Millisecond
	longestWait = 4 * time.Second
	patience    = 10 * time.Second
)

// Send sends a request. It sends one again whose response has not begun, if the upstream's
// settings say so: nothing of any response has reached the client by then. repeatable says
// that the upstream may handle the request twice; resent is told why it is sent again.
func (w Way) Send(r *http.Request, repeatable bool, resent func(why string)) (*http.Response, error) {
	if w.Retries == 0 || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil { // a body that is streamed through cannot be sent again
		return w.attempt(r, resent)
	}
	informed := false
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error {
		informed = true // the client got it
		return nil
	}})
	// Beyond half of the time in which something must move, the exchange would end while
	// it waits.
	series := retry.Policy{Attempts: w.Retries + 1, First: firstWait, Longest: longestWait, Patience: patience, Total: w.Silence / 2}.Start()
	for {
		resp, err := w.attempt(r.WithContext(ctx), resent)
		why, asked := failure(repeatable, resp, err)
		if why == "" || informed || ctx.Err() != nil {
			return resp, err
		}
		wait, ok := series.Next(retry.Verdict{Again: true, After: asked})
		if end, limited := ctx.Deadline(); !ok || limited && time.Until(end) <= wait {
			return resp, err
		}
		if resp != nil {
			resp.Body.Close()
		}
		resent(why)
		if err := sleep.For(ctx, wait); err != nil {
			return nil, err
		}
		again := *r
		if r.GetBody != nil {
			if again.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		r = &again
	}
}

// attempt sends a request once, or, after a kept connection that has ended, once more.
func (w Way) attempt(r *http.Request, resent func(why string)) (*http.Response, error) {
	if w.Replays {
		r = Replayable(r, resent)
	}
	return w.Once(r)
}

// Replayable returns a request that net/http sends again, on another connection, if the one that it
// took was used before and ends before a byte of the response: the server closed it at that
// moment, and is likely not to have read the request. Without this, net/http does so for a
// GET, but not for a POST. resent is told of each further connection.
func Replayable(r *http.Request, resent func(why string)) *http.Request {
	if r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		return r
	}
	first := true
	again := r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if !first {
			resent(whyReset)
		}
		first = false
	}}))
	again.Header = maps.Clone(r.Header)
	if _, own := again.Header[replayed]; !own {
		again.Header[replayed] = nil // net/http looks for the key, and sends no line without a value
	}
	return again
}

// replayed is the header by which net/http takes a request for one that may be sent again.
const replayed = "X-Idempotency-Key"

// Why a request is sent again, for metrics and the record.
const (
	whyConnection = "connection" // it could not be connected to
	whyReset      = "reset"      // the connection broke before a response began
)

// failure says why an attempt may be repeated, and how long the upstream asks to wait. why
// is empty if the attempt is not to be repeated.
func failure(repeatable bool, resp *http.Response, err error) (why string, asked time.Duration) {
	if err != nil {
		switch {
		case isUnconnected(err):
			return whyConnection, 0
		case isReset(err) && repeatable:
			return whyReset, 0
		}
		return "", 0
	}
	asked = retry.After(resp.Header, time.Now())
	switch status := resp.StatusCode; {
	case !repeatable:
		return "", 0
	case status == http.StatusTooManyRequests && asked > 0,
		status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return fmt.Sprint(status), asked
	}
	return "", 0
}

// isUnconnected reports whether a request failed before anything was sent.
func isUnconnected(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect")
}

// isReset reports whether a connection ended before a response began.
func isReset(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return true
	}
	number, ok := errors.AsType[syscall.Errno](err)
	return ok && (number == wsaConnAborted || number == wsaConnReset)
}

// What Windows says of a connection that ended.
const wsaConnAborted, wsaConnReset = syscall.Errno(10053), syscall.Errno(10054)

// ErrNoHeader ends an attempt at an upstream that does not begin to answer.
var ErrNoHeader = errors.New("it sent no response")

// Once sends a request once.
func (w Way) Once(r *http.Request) (*http.Response, error) {
	t := headers.Quietly{RoundTripper: w.Transport, Header: w.Header}
	if w.HeaderTimeout == 0 {
		return t.RoundTrip(r)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	late := time.AfterFunc(w.HeaderTimeout, func() { cancel(ErrNoHeader) })
	resp, err := t.RoundTrip(r.WithContext(ctx))
	switch {
	case !late.Stop() && errors.Is(context.Cause(ctx), ErrNoHeader):
		if err == nil {
			resp.Body.Close()
		}
		return nil, fmt.Errorf("%w within %v", ErrNoHeader, w.HeaderTimeout)
	case err != nil:
		cancel(nil)
		return nil, err
	}
	return resp, nil // the body needs the context, which ends with the request's
}

// maxInformational bounds the responses of status 1xx before one reply. The proxy
// passes them on, and net/http does not limit how many there are.
const maxInformational = 16

// FewInformational returns a context in which a request fails if its upstream sends
// more informational responses than that.
func FewInformational(ctx context.Context) context.Context {
	n := 0
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error {
		if n++; n > maxInformational {
			return fmt.Errorf("more than %d informational responses", maxInformational)
		}
		return nil
	}})
}
