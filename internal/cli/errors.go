package cli

import (
	"errors"
	"fmt"
	"strings"
)

// A usageError is wrong usage: other words on the command line would mend it.
type usageError struct {
	error
	hint string
}

func (e usageError) Unwrap() error { return e.error }
func (e usageError) Hint() string  { return e.hint }

// A hinted error is work that failed, with what may help.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }
func (e hinted) Hint() string  { return e.hint }

var (
	// errNoVisible is the error of one reply that shows nothing.
	errNoVisible = errors.New("the reply shows no visible answer")
	// errReported is the error of a batch whose failures were reported line by line.
	errReported = errors.New("some lines failed")
)

// report prints an error and its hint, and returns the exit status.
func (sh *shell) report(err error) int {
	if err == nil {
		return statusDone
	}
	sh.flush() // what was certain before the error is still the verdict
	if !errors.Is(err, errReported) {
		sh.errorf("%v", err)
	}
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" {
		sh.hintf("%s", h.Hint())
	}
	var usage usageError
	switch {
	case errors.As(err, &usage):
		return statusUsage
	case errors.Is(err, errNoVisible):
		return statusNoVisible
	}
	return statusFailed
}

func (sh *shell) errorf(format string, args ...any) {
	sh.say("error", fmt.Sprintf(format, args...))
}

// lineError prints the error of one line of a batch.
func (sh *shell) lineError(number int, err error) {
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		sh.errorf("line %d, %v", number, err)
	} else {
		sh.errorf("line %d: %v", number, err)
	}
}

func (sh *shell) hintf(format string, args ...any) {
	sh.say("hint", fmt.Sprintf(format, args...))
}

// say prints a remark. Its further lines are indented: what an error quotes must
// not look like a remark of ours.
func (sh *shell) say(kind, text string) {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
	fmt.Fprintf(sh.err, "sotto: %s: %s\n", kind, text)
}
