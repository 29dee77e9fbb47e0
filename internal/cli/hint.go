package cli

import (
	"strings"
)

// A usageError is wrong usage: other words on the command line would mend it.
type usageError struct {
	error
	hint string
}

func (e usageError) Unwrap() error { return e.error }

func (e usageError) Hint() string { return e.hint }

// A hinted error is work that failed, with what may help.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

func (e hinted) Hint() string { return e.hint }

// withoutName says an error without the name that it begins with, where the key
// has just said it: start: start "x".
func withoutName(key string, err error) string {
	text := err.Error()
	name := key[strings.LastIndexByte(key, '.')+1:] + " "
	if strings.HasPrefix(text, name+`"`) {
		return text[len(name):]
	}
	return text
}

// usage returns an error of wrong usage, with what may help; "" is nothing.
func usage(err error, hint string) error { return usageError{err, hint} }

// withHint returns an error with what may help.
func withHint(err error, hint string) error { return hinted{err, hint} }
