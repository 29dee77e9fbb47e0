package study

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/data/sealing"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
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
		args = append(args, "--record-recipient="+f.recipient())
	}
	if level := f.Record.Reasoning; level != "" {
		args = append(args, "--record-reasoning="+level)
	}
	return args
}

// recipient is the recipient, or the path of the file of recipients.
func (f *File) recipient() string {
	if to := f.Record.Recipient; !strings.HasPrefix(to, "age1") {
		return f.Path(to)
	}
	return f.Record.Recipient
}

// SealFor seals the study for a recipient, unless its file names another. A file of recipients
// is relative to the working directory.
func (f *File) SealFor(recipient string) error {
	if f.Record.Recipient != "" || recipient == "" {
		return nil
	}
	if !strings.HasPrefix(recipient, "age1") {
		var err error
		if recipient, err = filepath.Abs(recipient); err != nil {
			return err
		}
	}
	f.Record.Recipient = recipient
	return nil
}

// Sealed reports whether the study is encrypted.
func (f *File) Sealed() bool { return f.Record.Recipient != "" }

// recipients reads the recipients; none if the study is not sealed.
func (f *File) recipients() ([]age.Recipient, error) {
	if !f.Sealed() {
		return nil, nil
	}
	to, err := recording.ReadRecipients(f.recipient())
	if err != nil {
		return nil, fmt.Errorf("%s: record.recipient: %w", f.FileName(), err)
	}
	return to, nil
}

// sameSeal refuses to go on in plain in a folder that is sealed, or the other way round: what the
// one keeps secret would stand beside it.
func (r *Runner) sameSeal(old *Study) error {
	if old.Sealed == r.File.Sealed() {
		return nil
	}
	err := fmt.Errorf("%s: the study was begun in plain, and its file now says record.recipient", r.Dir)
	if old.Sealed {
		err = fmt.Errorf("%s: the study was begun with record.recipient, and its file has none now", r.Dir)
	}
	return errorhint.Add(err, "give another folder with -o")
}

// recordOf returns the name of the record of a cell. A worker has one for its cells. A run
// reads the record that it goes on with, which nobody can do who has no private key: if
// records are encrypted, each run has one of its own.
func (r *Runner) recordOf(c *Cell, s *State) string {
	if r.File.Sealed() && r.File.Kind == Runs {
		return RunName(c.ID, s)
	}
	return fmt.Sprintf("worker-%d", s.Worker)
}

// beginAgain moves aside what an interrupted cell of a sealed study left, if it cannot be
// resumed without the private key: the record of a run, and the output of a stream whose memory
// must be read. Such a cell begins again.
func (r *Runner) beginAgain(c *Cell, s *State) error {
	if !r.File.Sealed() || len(r.Identity) > 0 {
		return nil
	}
	var left []string
	switch {
	case r.File.Kind == Runs:
		left = []string{RecordFolder(r.Dir, r.recordOf(c, s))}
	case r.Plans.Of[c.ID].Remembers:
		left = []string{MemoryFile(r.Dir, c.ID), StreamFile(r.Dir, c.ID)} // the output last: it says what there is
	}
	return moveTo(filepath.Join(r.Dir, "old", fmt.Sprintf("%s.attempt-%d", RunName(c.ID, s), s.Attempts-1)), left...)
}

// moveTo moves files and folders into a folder, those that there are.
func moveTo(dir string, names ...string) error {
	for _, name := range names {
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := os.Rename(name, filepath.Join(dir, filepath.Base(name))); err != nil {
			return err
		}
	}
	return nil
}

// logWriter returns what the log of a cell is written to: a sealed study encrypts each piece
// that the command writes, because errors quote what servers say.
func (r *Runner) logWriter(log io.Writer) io.Writer {
	if len(r.to) == 0 {
		return log
	}
	return &sealing.Writer{W: log, To: r.to}
}
