// Package datafolder has the format of the folder for data that is kept (--data): its
// number, the refusal of a folder that a newer program wrote, and the steps that bring
// an older folder up to date.
//
// The file format.json holds the number. A folder without one is of format 0, which
// versions before the number wrote. The parts of a folder, such as a record, have
// versions of their own. The number of the folder changes when a program that knows
// only the old number could misread or damage the folder: when a part moves, or when
// a part without a version of its own changes. docs/data.md lists the parts.
package datafolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

const (
	// File is the name of the file with the number.
	File = "format.json"
	// Unfinished is the name of a folder that is in a data folder while a backup is
	// restored into it.
	Unfinished = ".restoring"
	// Finished is its name when everything was restored, until it is removed.
	Finished = ".restored"

	lockFile = "format.lock"
	maxFile  = 4 << 10
)

// steps[n] changes a folder of format n to format n+1. A step may be interrupted at
// any point, and is then run again. A step that was released is never edited: a new
// format is a new step.
var steps = []func(dir string) error{
	func(string) error { return nil }, // 0 to 1: the folder gets a number
}

// Format returns the format that this program writes.
func Format() int { return len(steps) }

// A NewerError is the error of data that a newer program wrote.
type NewerError struct {
	What  string // the data, such as the name of a folder
	Has   int    // its format
	Reads int    // the newest format that this program reads
	By    string // the version of sotto that wrote it, if it is known
}

func (e *NewerError) Error() string {
	by := "a newer sotto"
	if e.By != "" {
		by = "sotto " + e.By
	}
	return fmt.Sprintf("%s was written by %s and has format %d; sotto %s reads formats up to %d", e.What, by, e.Has, Version(), e.Reads)
}

// Hint names the program that reads the data.
func (e *NewerError) Hint() string {
	if strings.HasPrefix(e.By, "v") {
		return "use sotto " + e.By + " or later"
	}
	return "use the sotto that wrote it, or a later one"
}

// CheckVersion returns a [*NewerError] if data has a newer version than this program
// reads.
func CheckVersion(what string, has, reads int) error {
	if has > reads {
		return &NewerError{What: what, Has: has, Reads: reads}
	}
	return nil
}

// Version returns the version of this program.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// A number is what format.json holds.
type number struct {
	V         int    `json:"v"`
	WrittenBy string `json:"written_by"`
}

// Check returns an error if this program must not use a folder: a newer one wrote it,
// or a backup was not restored to its end. A folder that does not exist passes, and so
// does the empty name, which stands for no folder.
func Check(dir string) error {
	if dir == "" { // nothing is kept
		return nil
	}
	_, err := FormatOf(dir)
	return err
}

// Open checks a folder that the caller is going to write to. It makes a folder that does
// not exist, and brings one of an older format up to date.
func Open(dir string) error {
	has, err := FormatOf(dir)
	if err != nil {
		return err
	}
	_ = os.RemoveAll(filepath.Join(dir, Finished)) // a restore was killed after its end
	if has == Format() {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the data folder %s: %w", dir, files.Cause(err))
	}
	unlock, err := lock(dir)
	if err != nil {
		return fmt.Errorf("the data folder %s: %w", dir, files.Cause(err))
	}
	defer unlock()
	has, err = FormatOf(dir) // another process may have changed it meanwhile
	for ; err == nil && has < Format(); has++ {
		if err = steps[has](dir); err != nil {
			return fmt.Errorf("bring the data folder %s from format %d to %d: %w", dir, has, has+1, err)
		}
		err = write(dir, has+1)
	}
	return err
}

// FormatOf reads the format of a folder, 0 if it has no number.
func FormatOf(dir string) (int, error) {
	if _, err := os.Lstat(filepath.Join(dir, Unfinished)); err == nil {
		return 0, errorhint.Add(fmt.Errorf("a backup was not restored to its end in %s", dir), "run the same sotto data restore again")
	}
	data, err := files.ReadRegular(filepath.Join(dir, File), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", filepath.Join(dir, File), files.Cause(err))
	}
	n, err := Parse(data)
	if err != nil {
		return 0, fmt.Errorf("%s %w", filepath.Join(dir, File), err)
	}
	if n.V > Format() {
		return 0, &NewerError{dir, n.V, Format(), n.WrittenBy}
	}
	return n.V, nil
}

// Parse reads the contents of format.json. Its errors are the end of a sentence about
// the file.
func Parse(data []byte) (number, error) {
	var n number
	if err := foreignjson.Check(data); err != nil {
		return n, err
	}
	if json.Unmarshal(data, &n) != nil || n.V < 1 || len(n.WrittenBy) > 128 {
		return n, errors.New("does not hold the format of a data folder")
	}
	return n, nil
}

// write writes the number, completely or not at all.
func write(dir string, format int) error {
	data, err := json.Marshal(number{format, Version()})
	if err != nil {
		return err
	}
	name := filepath.Join(dir, File)
	temp := name + ".new" // the caller has the lock
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, files.Cause(err))
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, files.Cause(err))
	}
	if err := os.Rename(temp, name); err != nil {
		return fmt.Errorf("write %s: %w", name, files.Cause(err))
	}
	return nil
}

// lockWait is how long Open waits for another process that changes the folder.
const lockWait = 30 * time.Second

// lock locks a folder for one process that changes its format. Where the system has
// no locks, two processes may run a step at the same time.
func lock(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		switch err := filelock.Try(f); {
		case err == nil, errors.Is(err, errors.ErrUnsupported):
			return func() { f.Close() }, nil
		case !errors.Is(err, filelock.ErrHeld):
			f.Close()
			return nil, err
		case time.Now().After(end):
			f.Close()
			return nil, errors.New("another process is bringing it up to date")
		}
	}
}
