package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/sotto-llm/sotto/internal/access"
	"github.com/sotto-llm/sotto/internal/serving"
	"github.com/sotto-llm/sotto/internal/shorttext"
)

// A quietError is an error of the connection to the upstream without what the error
// quotes, such as an address with a key in its query, or bytes that the upstream
// sent.
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
	return &quietError{serving.Unquoted(text), err}
}

// quietly is a transport whose errors are quiet. It accepts no header of more than
// header bytes, whatever transport it wraps, and passes no trailers on by itself.
type quietly struct {
	http.RoundTripper
	header int
}

func (t quietly) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, quiet(err)
	}
	if access.HeaderSize(resp.Header) > t.header {
		resp.Body.Close()
		return nil, fmt.Errorf("the header of the response is larger than %d bytes", t.header)
	}
	return withoutTrailers(resp), nil
}

// maxMessage bounds a message, in bytes.
const maxMessage = 1 << 10

// plain makes a message fit for logs, records and answers, whatever values it
// holds. It is bounded, and characters that are not printable are escaped.
func plain(s string) string {
	shown := shorttext.Escape(s, maxMessage)
	if len(s) > maxMessage {
		shown += "..."
	}
	return shown
}
