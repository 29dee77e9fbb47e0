// Package foreignhttp has HTTP clients for servers of others: every size is bounded,
// no redirect is followed, and the credentials go to the host that they are for and to
// no other.
package foreignhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/sotto-llm/sotto/internal/base/tracecontext"
)

// ErrElsewhere says that a request is for another host than the client's.
var ErrElsewhere = errors.New("the request is for another host")

// A Config describes a client of one server.
type Config struct {
	// Base is the server. Requests for another scheme, host or port fail.
	Base *url.URL
	// Header is added to each request, except for headers that it has.
	Header http.Header
	// Elsewhere is the error of a request for another server. If nil, ErrElsewhere.
	Elsewhere error
	// Body bounds a response in bytes, of a stream too. If zero, MaxBody.
	Body int64
	// Cuts says that a longer response is cut at Body, and that one that breaks off ends
	// there: the client needs the status, and of the body what there is. If false, both are
	// errors.
	Cuts bool
	// Transport reaches the server. If nil, one for all clients.
	Transport http.RoundTripper
}

// Client returns the client.
func (c Config) Client() *http.Client {
	if c.Transport == nil {
		c.Transport = shared()
	}
	if c.Body == 0 {
		c.Body = MaxBody
	}
	if c.Elsewhere == nil {
		c.Elsewhere = ErrElsewhere
	}
	return &http.Client{
		Transport:     &bounded{c},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type bounded struct{ Config }

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != b.Base.Scheme || r.URL.Host != b.Base.Host { // the token does not go by plain HTTP either
		return nil, fmt.Errorf("%w: %.200q", b.Elsewhere, r.URL.Scheme+"://"+r.URL.Host)
	}
	if place := tracecontext.From(r.Context()).String(); len(b.Header) > 0 || place != "" {
		r = r.Clone(r.Context())
		tracecontext.SetHeader(r.Context(), r.Header)
		for name, values := range b.Header {
			if r.Header.Get(name) == "" {
				r.Header[name] = values
			}
		}
	}
	res, err := b.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if b.Cuts {
		var body bytes.Buffer
		_, _ = io.CopyN(&body, res.Body, b.Body)
		_ = res.Body.Close()
		res.Body = io.NopCloser(&body)
		return res, nil
	}
	if err := check(res, b.Body); err != nil {
		return nil, err
	}
	return res, nil
}
