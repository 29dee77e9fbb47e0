// Package checks makes the checks of a server, whichever protocol it speaks: in steps,
// within a time, and with one form of report, as JSON and as a table.
package checks

import (
	"context"
	"fmt"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// A Status is how a check ended.
type Status string

const (
	OK      Status = "ok"
	Finding Status = "finding"
	Skipped Status = "skipped" // it could not be made, or does not apply
	Unknown Status = "unknown" // it was made, and does not tell
	Mended  Status = "mended"  // something is wrong with the server, and Sotto in front of it mends it
)

// A Check is one thing that was looked at.
type Check struct {
	// Interface is the binding and version, such as "JSONRPC 1.0"; empty for checks
	// of the server as a whole.
	Interface string `json:"interface,omitempty"`
	Name      string `json:"check"`
	Status    Status `json:"status"`
	// Detail says what was seen, and for a failure what was expected. It quotes the
	// server: escape it where it is shown.
	Detail string `json:"detail,omitempty"`
	// Do says what to do about it.
	Do string `json:"do,omitempty"`
	// Explain is the name of what was found, which sotto explain says more about.
	Explain Name `json:"explain,omitempty"`
}

// A List has the checks that were made, in order.
type List struct {
	// Findings counts the checks that found something wrong which Sotto does not mend by
	// itself, Unknown those that could not tell or could not be made.
	Findings int     `json:"findings"`
	Unknown  int     `json:"unknown"`
	Checks   []Check `json:"checks"`
}

// maxWords bounds the detail of a check, and what to do about it, in bytes.
const maxWords = 500

// Add adds a check.
func (l *List) Add(c Check) {
	switch c.Status {
	case Finding:
		l.Findings++
	case Unknown, Skipped:
		l.Unknown++
	}
	c.Detail, c.Do = shorttext.Ellipsis(c.Detail, maxWords), shorttext.Ellipsis(c.Do, maxWords)
	l.Checks = append(l.Checks, c)
}

// A Step makes some of the checks.
type Step struct {
	// Name is the check that is skipped if the step is not made. Interface is its interface.
	Interface, Name string
	// Make makes the checks. It returns why the steps after it cannot be made, or "".
	Make func() (stop string)
}

// Make makes steps in order. If one says why no more can be made, or the time is over, the
// others are skipped for this reason.
func (l *List) Make(ctx context.Context, steps []Step) {
	stop := ""
	for _, s := range steps {
		if stop == "" && ctx.Err() != nil {
			stop = "the time was over"
		}
		if stop != "" {
			l.Add(Check{Interface: s.Interface, Name: s.Name, Status: Skipped, Detail: "not asked: " + stop})
			continue
		}
		stop = s.Make()
	}
}

// Bounds are those of the checks of a server in time.
type Bounds struct {
	Each  time.Duration // a request
	Whole time.Duration // all of them
}

// Or returns the bounds, where those that are zero are the defaults: a time for each
// request, and ten times that for all.
func (b Bounds) Or(each time.Duration) Bounds {
	if b.Each <= 0 {
		b.Each = each
	}
	if b.Whole <= 0 {
		b.Whole = 10 * b.Each
	}
	return b
}

// Within runs what makes the checks, for the time of all of them. If that ends first, this
// is a finding. An error is the run's own, or says that the caller ended it.
func (l *List) Within(ctx context.Context, b Bounds, run func(context.Context) error) error {
	whole, cancel := context.WithTimeout(ctx, b.Whole)
	defer cancel()
	if err := run(whole); err != nil {
		return err
	}
	if ctx.Err() == nil && whole.Err() != nil {
		l.Add(Check{Name: "time", Status: Finding, Explain: OutOfTime, Detail: fmt.Sprintf("the checks did not end within %s", b.Whole), Do: "allow more with --time"})
	}
	return ctx.Err()
}
