package study

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Record says how the records of a study are kept.
type Record struct {
	// Recipient is the age recipient for which they are encrypted, or a file of recipients.
	// The private key is never needed to run the study.
	Recipient string `yaml:"recipient"`
	// Reasoning is how much of what models think is recorded.
	Reasoning string `yaml:"reasoning"`
}

// levels are those of --record-reasoning.
var levels = []string{"full", "redacted", "digest", "off"}

func (f *File) checkRecord() {
	level := f.Record.Reasoning
	switch {
	case level == "":
	case !slices.Contains(levels, level):
		f.document.FaultAt("record.reasoning", "%q: want %s", level, strings.Join(levels, ", "))
	case f.Kind == Runs && level != "full":
		f.document.FaultAt("record.reasoning", "a run is resumed from its record, so only full will do; record.recipient encrypts it")
	}
}

// recordFlags are the flags of a cell's record.
func (f *File) recordFlags() (args []string) {
	if to := f.Record.Recipient; to != "" {
		if !strings.HasPrefix(to, "age1") {
			to = f.Path(to)
		}
		args = append(args, "--record-recipient="+to)
	}
	if level := f.Record.Reasoning; level != "" {
		args = append(args, "--record-reasoning="+level)
	}
	return args
}

// recordOf returns the name of the record of a cell. A worker has one for its cells. A run
// reads the record that it goes on with, which nobody can do who has no private key: if
// records are encrypted, each run has one of its own.
func (r *Runner) recordOf(c *Cell, s *State) string {
	if r.Sealed && r.File.Kind == Runs {
		return RunName(c.ID, s)
	}
	return fmt.Sprintf("worker-%d", s.Worker)
}

// beginAgain moves aside the encrypted record of a run that was interrupted: without the
// private key it cannot be resumed, and begins again from its first cycle.
func (r *Runner) beginAgain(c *Cell, s *State) error {
	if !r.Sealed || r.File.Kind != Runs {
		return nil
	}
	was := RecordFolder(r.Dir, r.recordOf(c, s))
	if _, err := os.Stat(was); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	old := filepath.Join(r.Dir, "old")
	if err := os.MkdirAll(old, 0o700); err != nil {
		return err
	}
	return os.Rename(was, filepath.Join(old, fmt.Sprintf("%s.attempt-%d", RunName(c.ID, s), s.Attempts-1)))
}
