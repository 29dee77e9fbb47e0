package shell

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/explain"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
)

// ErrNoVisible is the error of one reply without visible text.
var ErrNoVisible = errors.New("the reply has no visible answer")

// Report prints an error, its hint, and on a terminal the command that says more about it. It
// returns the exit status.
func (sh *Shell) Report(err error) int {
	if err == nil {
		return StatusDone
	}
	sh.Flush() // what was certain before the error still counts
	if !errors.Is(err, batch.ErrFailed) {
		sh.Errorf("%v", err)
	}
	var h interface{ Hint() string }
	hint := ""
	if errors.As(err, &h) && h.Hint() != "" {
		hint = h.Hint()
		sh.Hintf("%s", hint)
	}
	sh.more(err, hint)
	var usage errorhint.UsageError
	switch {
	case errors.As(err, &usage):
		return StatusUsage
	case errors.Is(err, ErrNoVisible):
		return StatusNoVisible
	case errors.As(err, new(unreachable)):
		return StatusUnreachable
	case errors.As(err, new(gateFailed)):
		return StatusGate
	case errors.As(err, new(unproven)):
		return StatusUnproven
	}
	return StatusFailed
}

// more names the entry about an error, on a terminal: what reads a pipe gets the lines that it
// always got.
func (sh *Shell) more(err error, hint string) {
	if !sh.Err.TTY {
		return
	}
	if e, ok := explain.OfText(err.Error() + "\n" + hint); ok {
		sh.say("more", "sotto explain "+e.Name)
	}
}

// Missing returns the error of something that this program does not have, and the program
// with all commands does.
func Missing(what string) error {
	return errorhint.Usage(fmt.Errorf(`%s: this program does not have it; the program "sotto" does`, what), "")
}

// Unreachable returns the error of a server that cannot be reached, for commands
// that check servers.
func Unreachable(err error) error { return unreachable{err} }

// GateFailed returns the error of a run that worked, with results that are worse
// than the user allows.
func GateFailed(err error) error { return gateFailed{err} }

type gateFailed struct{ error }

func (g gateFailed) Unwrap() error { return g.error }

// Unproven returns the error of a record of which no signature covers the end.
func Unproven(err error) error { return unproven{err} }

type unproven struct{ error }

func (u unproven) Unwrap() error { return u.error }

type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

// Errorf prints an error.
func (sh *Shell) Errorf(format string, args ...any) {
	sh.say("error", fmt.Sprintf(format, args...))
}

// LineError prints the error of one line of a batch.
func (sh *Shell) LineError(number int, err error) {
	sh.PlaceError(fmt.Sprintf("line %d", number), err)
}

// PlaceError prints the error of one record of a batch, which is at a place such as
// "row 3".
func (sh *Shell) PlaceError(place string, err error) {
	between := ":"
	var syntax *jsonpath.SyntaxError
	if errors.As(err, &syntax) {
		between = ","
	}
	sh.Errorf("%s%s %v", place, between, err)
}

// Hintf prints a hint.
func (sh *Shell) Hintf(format string, args ...any) {
	sh.say("hint", fmt.Sprintf(format, args...))
}

// say prints a message, on a line of its own. Its further lines are indented, because text quoted in an
// error must not look like our own message.
func (sh *Shell) say(kind, text string) {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
	sh.Err.endLine(sh.Out.terminal)
	fmt.Fprintf(sh.Err, "%s: %s: %s\n", sh.Name(), kind, sh.Named(text))
}

// The exit statuses.
const (
	StatusDone        = 0
	StatusFailed      = 1 // the work failed; in a batch: a line failed
	StatusUsage       = 2 // the command line is wrong
	StatusNoVisible   = 3 // there was one reply, without a visible answer
	StatusUnreachable = 4 // the server that was to be checked cannot be reached
	StatusGate        = 5 // the results are worse than a gate allows
	StatusUnproven    = 6 // no signature covers the last events of a record
)
