package cli

import (
	"errors"
	"fmt"
	"strings"
)

// errNoVisible is the error of one reply that shows nothing.
var errNoVisible = errors.New("the reply shows no visible answer")

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

// The exit statuses.
const (
	statusDone      = 0
	statusFailed    = 1 // the work failed; in a batch: a line failed
	statusUsage     = 2 // the command line is wrong
	statusNoVisible = 3 // one reply, and no visible answer
)
