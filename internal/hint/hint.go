// Package hint has errors that carry a hint: what the user can do about them.
// The command line prints the hint below the error.
package hint

import (
	"strings"
)

// A UsageError is wrong usage: other words on the command line would mend it.
type UsageError struct {
	error
	hint string
}

func (e UsageError) Unwrap() error { return e.error }

// Hint returns what may help.
func (e UsageError) Hint() string { return e.hint }

// A Error error is work that failed, with what may help.
type Error struct {
	error
	hint string
}

func (e Error) Unwrap() error { return e.error }

// Hint returns what may help.
func (e Error) Hint() string { return e.hint }

// WithoutName says an error without the name that it begins with, where the key
// has just said it: start: start "x".
func WithoutName(key string, err error) string {
	text := err.Error()
	name := key[strings.LastIndexByte(key, '.')+1:] + " "
	if strings.HasPrefix(text, name+`"`) {
		return text[len(name):]
	}
	return text
}

// Usage returns an error of wrong usage, with what may help; "" is nothing.
func Usage(err error, hint string) error { return UsageError{err, hint} }

// Add returns an error with what may help.
func Add(err error, hint string) error { return Error{err, hint} }
