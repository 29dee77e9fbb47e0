// Package files reads whole files given to a command, each within a bound, and
// names the folders for its state.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Bounds in bytes on files that are read whole. JSON Lines have no such bound.
const (
	MaxSettings = 1 << 20  // a configuration, task, schema, instruction or price list; keys and patterns
	MaxDialects = 8 << 20  // a file of dialects
	MaxReply    = 64 << 20 // one reply, or a line of a file
)

// Read reads a whole file. Errors say what the file is for, and its name. It may be
// a named pipe, such as the shell makes for a command. It must end within the given
// number of bytes.
func Read(what, name string, most int64) ([]byte, error) {
	data, err := openAndRead(name, most)
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", what, name, err)
	}
	return data, nil
}

// ReadSecret reads the file of a token or an API key. Errors do not contain the
// file's name, because a user may have typed the key in its place.
func ReadSecret(name string) ([]byte, error) {
	data, err := openAndRead(name, MaxSettings)
	if err != nil {
		return nil, nameless(err)
	}
	return data, nil
}

func nameless(err error) error {
	return fmt.Errorf("the file cannot be read: %w; its name is not shown, because it may be a key", err)
}

// WarnOpen returns a warning if every user of the machine can read the file of a secret,
// and "" if not.
func WarnOpen(name string) string {
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm()&0o007 == 0 || runtime.GOOS == "windows" {
		return ""
	}
	return name + " holds a secret and can be read by every user of this machine: chmod o-rwx it"
}

// ReadKey reads a file with keys of a record, or one of the files beside them. It
// must be a regular file, because a pipe in its place could block a check forever.
func ReadKey(name string) ([]byte, error) {
	data, err := ReadRegular(name, MaxSettings)
	switch pathError, ok := errors.AsType[*fs.PathError](err); {
	case ok:
		return nil, nameless(pathError.Err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// CheckRegular reports a file that is there and is not a regular file: it may have no end.
func CheckRegular(name string) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return errors.New("is not a regular file, and cannot be read again without a restart")
	}
	return nil
}

// ReadRegular reads a regular file. A pipe in its place is an error, and does not
// block.
func ReadRegular(name string, most int64) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return ReadAll(file, most)
}

// opens reports whether a file can be opened for reading.
func opens(name string) bool {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	file.Close()
	return true
}

func openAndRead(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, Cause(err)
	}
	defer file.Close()
	return ReadAll(file, most)
}

// ReadAll reads a stream to its end, which must come within the given number of
// bytes.
func ReadAll(from io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return nil, Cause(err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return data, nil
}

// Cause removes the operation and the path that an os error repeats.
func Cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// StateFolder returns the folder for state that outlives a run, by the XDG base
// directories. It returns "" if there is no home.
func StateFolder(getenv func(string) string) string {
	if base := getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "sotto")
	}
	home := getenv("HOME")
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".local", "state", "sotto")
}

// CheckSecret reports a secret that cannot be put into a header.
func CheckSecret(text string) error {
	if text == "" {
		return errors.New("the secret is empty")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the secret holds white space, control characters or non-ASCII characters")
	}
	return nil
}

// SameFile reports whether two names refer to one file.
func SameFile(a, b string) bool {
	first, err := os.Stat(a)
	second, err2 := os.Stat(b)
	return err == nil && err2 == nil && first.Mode().IsRegular() && os.SameFile(first, second)
}
