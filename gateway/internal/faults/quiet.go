package faults

import (
	"errors"
	"net/url"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/net/serving"
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

// Quiet returns an error of the connection to the upstream without what it quotes.
func Quiet(err error) error {
	text := err.Error()
	var u *url.Error
	if errors.As(err, &u) {
		text = u.Err.Error()
	}
	return &quietError{serving.Unquoted(text), err}
}

// maxMessage bounds a message, in bytes.
const maxMessage = 1 << 10

// Plain makes a message fit for logs, records and answers, whatever values it
// holds. It is bounded, and characters that are not printable are escaped.
func Plain(s string) string {
	shown := shorttext.Escape(s, maxMessage)
	if len(s) > maxMessage {
		shown += "..."
	}
	return shown
}
