package servecmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/settings"
)

// printChecked prints every fault, or else the settings as a configuration
// file.
func printChecked(sh *shell.Shell, s *settings.Setup) error {
	if len(s.Faults) == 0 { // a fault may be what the warning comes from
		for _, w := range s.Warnings {
			sh.Hintf("%s", w)
		}
		_, err := sh.Out.Write(s.YAML())
		return err
	}
	for _, f := range s.Faults {
		fmt.Fprintln(sh.Err, f)
		if u, ok := errors.AsType[hint.UsageError](f.Err); ok {
			sh.Hintf("%s", u.Hint())
		}
	}
	return faultCount(s)
}

// faultCount is the error of settings with faults.
func faultCount(s *settings.Setup) error {
	return hint.Add(countFaults(len(s.Faults)), strings.Join(s.Hints, "; "))
}

func countFaults(n int) error {
	return errors.New(shell.Plural(n, "1 fault in the configuration", "%d faults in the configuration"))
}

// refuse is the error of a run whose settings are wrong. Other words on the
// command line mend it where no fault stands in the file, and for access control.
func refuse(sh *shell.Shell, s *settings.Setup) error {
	outside := true
	for _, f := range s.Faults {
		if u, ok := errors.AsType[hint.UsageError](f.Err); ok && len(s.Faults) == 1 {
			return hint.Usage(f, u.Hint())
		}
		outside = outside && f.File == ""
	}
	last := s.Faults[len(s.Faults)-1]
	if outside {
		for _, f := range s.Faults[:len(s.Faults)-1] {
			sh.Errorf("%v", f)
		}
		return hint.Usage(last, `run "sotto serve --help"`)
	}
	for _, f := range s.Faults {
		fmt.Fprintln(sh.Err, f)
	}
	return faultCount(s)
}
