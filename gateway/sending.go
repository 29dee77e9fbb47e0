package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// A sending is the transport of the proxy: it sends each request to its target, within the
// target's time limits.
type sending struct{ engine *engine }

func (s sending) RoundTrip(r *http.Request) (*http.Response, error) {
	to := targetOf(r.Context())
	return s.once(r, to)
}

// errNoHeader ends an attempt at an upstream that does not begin to answer.
var errNoHeader = errors.New("it sent no response")

// once sends a request once.
func (s sending) once(r *http.Request, to *target) (*http.Response, error) {
	t := quietly{to.transport, s.engine.config.Limits.Header}
	if to.headerTimeout == 0 {
		return t.RoundTrip(r)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	late := time.AfterFunc(to.headerTimeout, func() { cancel(errNoHeader) })
	resp, err := t.RoundTrip(r.WithContext(ctx))
	switch {
	case !late.Stop() && context.Cause(ctx) == errNoHeader:
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
