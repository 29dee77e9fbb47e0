package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// A sending is the transport of the proxy: it sends each request to its target, within the
// target's time limits. If the target wants that, it sends a request again whose response
// has not begun: nothing of any response has reached the client by then.
type sending struct{ engine *engine }

// The waits between attempts: the first, and the longest. patience is the longest wait
// that an upstream may ask for. If it asks for a longer one, the client gets its answer.
const (
	firstWait   = 250 * time.Millisecond
	longestWait = 4 * time.Second
	patience    = 10 * time.Second
)

func (s sending) RoundTrip(r *http.Request) (*http.Response, error) {
	to := targetOf(r.Context())
	if to.retries == 0 || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil { // a body that is streamed through cannot be sent again
		return s.once(r, to)
	}
	informed := false
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error {
		informed = true // the client got it
		return nil
	}})
	// Beyond half of the time in which something must move, the exchange would end while
	// it waits.
	series := retry.Policy{Attempts: to.retries + 1, First: firstWait, Longest: longestWait, Patience: patience, Total: to.silence / 2}.Start()
	for {
		resp, err := s.once(r.WithContext(ctx), to)
		why, asked := s.failure(r, resp, err)
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
		s.engine.resent(r, to, why)
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

// Why a request is sent again, for metrics and the record.
const (
	whyConnection = "connection" // it could not be connected to
	whyReset      = "reset"      // the connection broke before a response began
)

// failure says why an attempt may be repeated, and how long the upstream asks to wait. why
// is empty if the attempt is not to be repeated. A request that may have had an effect is
// repeated only if it asks a model, which has none besides its cost.
func (s sending) failure(r *http.Request, resp *http.Response, err error) (why string, asked time.Duration) {
	if err != nil {
		switch {
		case isUnconnected(err):
			return whyConnection, 0
		case isReset(err) && repeatable(r):
			return whyReset, 0
		}
		return "", 0
	}
	asked = retry.After(resp.Header, time.Now())
	switch status := resp.StatusCode; {
	case !repeatable(r):
		return "", 0
	case status == http.StatusTooManyRequests && asked > 0,
		status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return fmt.Sprint(status), asked
	}
	return "", 0
}

// repeatable reports whether a request that the upstream may have handled can be sent
// again.
func repeatable(r *http.Request) bool {
	if x := exchangeOf(r.Context()); x != nil {
		return !x.stored || r.Method == http.MethodGet
	}
	return r.Method == http.MethodGet || r.Method == http.MethodHead || passageOf(r.Context()).harmless
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

// resent tells the observers that a request is sent again.
func (e *engine) resent(r *http.Request, to *target, why string) {
	if x := exchangeOf(r.Context()); x != nil {
		x.retries++
		x.debug("the request is sent to the upstream again", "upstream", to.name, "why", why, "retry", x.retries)
	}
	e.observers.resent(to, why)
}

// errNoHeader ends an attempt at an upstream that does not begin to answer.
var errNoHeader = errors.New("it sent no response")

// once sends a request once.
func (s sending) once(r *http.Request, to *target) (*http.Response, error) {
	t := headers.Quietly{RoundTripper: to.transport, Header: s.engine.config.Limits.Header}
	if to.headerTimeout == 0 {
		return t.RoundTrip(r)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	late := time.AfterFunc(to.headerTimeout, func() { cancel(errNoHeader) })
	resp, err := t.RoundTrip(r.WithContext(ctx))
	switch {
	case !late.Stop() && errors.Is(context.Cause(ctx), errNoHeader):
		if err == nil {
			resp.Body.Close()
		}
		return nil, fmt.Errorf("%w within %v", errNoHeader, to.headerTimeout)
	case err != nil:
		cancel(nil)
		return nil, err
	}
	return resp, nil // the body needs the context, which ends with the request's
}
