// Package errorhint has errors that carry a hint: what the user can do about them.
// The command line prints the hint below the error.
package errorhint

import (
	"strings"
)

// A UsageError is wrong usage: a different command line would fix it.
type UsageError struct {
	error
	hint string
}

func (e UsageError) Unwrap() error { return e.error }

// Hint returns the hint.
func (e UsageError) Hint() string { return e.hint }

// An Error is a failure of the work, with a hint.
type Error struct {
	error
	hint string
}

func (e Error) Unwrap() error { return e.error }

// Hint returns the hint.
func (e Error) Hint() string { return e.hint }

// WithoutName returns the text of an error without the name that it begins with,
// for use after a key of that name. Otherwise the name would appear twice: start:
// start "x".
func WithoutName(key string, err error) string {
	text := err.Error()
	name := key[strings.LastIndexByte(key, '.')+1:] + " "
	if strings.HasPrefix(text, name+`"`) {
		return text[len(name):]
	}
	return text
}

// Usage returns an error of wrong usage, with a hint. "" means no hint.
func Usage(err error, hint string) error { return UsageError{err, hint} }

// Add returns an error with a hint.
func Add(err error, hint string) error { return Error{err, hint} }
