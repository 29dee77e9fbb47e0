package servecmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// printChecked prints every fault. If there is none, it prints the settings as a
// configuration file.
func printChecked(sh *shell.Shell, s *settings.Setup) error {
	if len(s.Faults) == 0 { // the warning may be caused by a fault
		warnings := s.Warnings
		if lost := s.WithoutOperator(); lost != "" {
			warnings = append(slices.Clip(warnings), lost)
		}
		for _, w := range warnings {
			sh.Hintf("%s", named(w, nameOfWarning(w)))
		}
		for _, c := range s.Certificates() {
			sh.Hintf("%s", c)
		}
		_, err := sh.Out.Write(s.YAML())
		return err
	}
	for _, f := range s.Faults {
		fmt.Fprintln(sh.Err, named(f.Error(), nameOfFault(f)))
		if u, ok := errors.AsType[errorhint.UsageError](f.Err); ok {
			sh.Hintf("%s", u.Hint())
		}
	}
	return faultCount(s)
}

// faultCount is the error of settings with faults.
func faultCount(s *settings.Setup) error {
	return errorhint.Add(countFaults(len(s.Faults)), strings.Join(s.Hints, "; "))
}

func countFaults(n int) error {
	return errors.New(shorttext.Plural(n, "1 fault in the configuration", "%d faults in the configuration"))
}

// refuse is the error of a run whose settings are wrong. If no fault is in the
// file, or if it is about access control, a different command line can fix it.
func refuse(sh *shell.Shell, s *settings.Setup) error {
	outside := true
	for _, f := range s.Faults {
		if u, ok := errors.AsType[errorhint.UsageError](f.Err); ok && len(s.Faults) == 1 {
			return errorhint.Usage(f, u.Hint())
		}
		outside = outside && f.File == ""
	}
	last := s.Faults[len(s.Faults)-1]
	if outside {
		for _, f := range s.Faults[:len(s.Faults)-1] {
			sh.Errorf("%v", f)
		}
		return errorhint.Usage(last, `run "sotto serve --help"`)
	}
	for _, f := range s.Faults {
		fmt.Fprintln(sh.Err, named(f.Error(), nameOfFault(f)))
	}
	return faultCount(s)
}
