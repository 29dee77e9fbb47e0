package checking

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/cli/shell"
)

// A Report is what a command found out about a server.
type Report interface {
	Made() *checks.List
}

// An Examination is one that a command makes.
type Examination[R Report] struct {
	// Command is the command in full, such as "sotto a2a probe".
	Command string
	// Make makes the checks. It may return a report and an error.
	Make func(context.Context) (R, error)
	// JSON says that the report is printed as JSON. Otherwise Print prints it.
	JSON  bool
	Print func(w io.Writer, r R) error
}

// Run makes the checks until the user interrupts them, and prints the report. Its error says
// what was found.
func (e Examination[R]) Run(sh *shell.Shell) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := e.Make(ctx)
	if errors.Is(err, checks.ErrURL) {
		return errorhint.Usage(err, fmt.Sprintf("run %q", e.Command+" --help"))
	}
	missing := errors.Is(err, checks.ErrUnreachable)
	if missing {
		err = shell.Unreachable(err)
		if do := r.Made().Checks[0].Do; do != "" {
			err = errorhint.Add(err, do)
		}
	}
	switch {
	case err != nil && !(missing && e.JSON):
		return err
	case e.JSON:
		err = errors.Join(json.NewEncoder(sh.Out).Encode(r), err)
	default:
		var b strings.Builder
		if err = e.Print(&b, r); err == nil {
			_, err = io.WriteString(sh.Text, sh.Named(b.String()))
		}
	}
	if findings := r.Made().Findings; err == nil && findings > 0 {
		err = errors.New(shorttext.Count(findings, "finding"))
	}
	return err
}
