package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// A quietError is an error of the connection to the upstream without what it
// quotes: an address with a key in its query, bytes that the upstream sent.
type quietError struct {
	text string
	err  error
}

func (e *quietError) Error() string { return e.text }
func (e *quietError) Unwrap() error { return e.err }

func quiet(err error) error {
	text := err.Error()
	var u *url.Error
	if errors.As(err, &u) {
		text = u.Err.Error()
	}
	return &quietError{unquoted(text), err}
}

// unquoted ends a text before what it quotes. Package net/http quotes a header's
// first line without quotes.
func unquoted(text string) string {
	const header = "malformed MIME header"
	if i := strings.Index(text, header); i >= 0 {
		text = text[:i+len(header)]
	}
	text, _, _ = strings.Cut(text, `"`)
	return strings.TrimRight(text, ": ")
}

// quietly is a transport whose errors are quiet.
type quietly struct{ http.RoundTripper }

func (t quietly) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, quiet(err)
	}
	return resp, nil
}
