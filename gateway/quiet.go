package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
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
	return &quietError{unquoted(text), err}
}

// unquoted cuts a text before the part that it quotes. Package net/http quotes a
// header's first line without quotation marks.
func unquoted(text string) string {
	const header = "malformed MIME header"
	if i := strings.Index(text, header); i >= 0 {
		text = text[:i+len(header)]
	}
	text, _, _ = strings.Cut(text, `"`)
	return strings.TrimRight(text, ": ")
}

// quietly is a transport whose errors are quiet. It accepts no header of more than
// header bytes, whatever transport it wraps.
type quietly struct {
	http.RoundTripper
	header int
}

func (t quietly) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, quiet(err)
	}
	if headerSize(resp.Header) > t.header {
		resp.Body.Close()
		return nil, fmt.Errorf("the header of the response is larger than %d bytes", t.header)
	}
	return resp, nil
}

// headerSize returns approximately how many bytes a header had.
func headerSize(h http.Header) (n int) {
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

const (
	maxQuoted  = 64      // bytes of a quoted value that are shown
	maxMessage = 1 << 10 // bytes of a message
)

// quote returns a value that a peer wrote in a form fit for a message: its
// beginning, in quotes, with characters that are not printable escaped.
func quote(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:maxQuoted]) + "... (" + strconv.Itoa(len(s)) + " bytes)"
}

// plain makes a message fit for logs, records and answers, whatever values it
// holds. It is bounded, and characters that are not printable are escaped.
func plain(s string) string {
	shown := escape(s, maxMessage)
	if len(s) > maxMessage {
		shown += "..."
	}
	return shown
}

// escape escapes characters that are not printable, and returns at most limit
// bytes.
func escape(s string, limit int) string {
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < limit; {
		r, size := utf8.DecodeRuneInString(s[i:])
		part := s[i : i+size]
		if !strconv.IsPrint(r) || r == utf8.RuneError && size == 1 {
			part = strconv.Quote(part)
			part = part[1 : len(part)-1]
		}
		if b.Len()+len(part) > limit {
			break
		}
		b.WriteString(part)
		i += size
	}
	return b.String()
}
