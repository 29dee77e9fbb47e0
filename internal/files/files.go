// Package files reads the files that a command is given whole, each within a
// bound, and names the folders of its state.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The most bytes that are read of a file that is read whole. JSON Lines have no
// such bound.
const (
	MaxSettings = 1 << 20   // a configuration, task, schema, instruction or price list; keys and patterns
	MaxDialects = 8 << 20   // a file of dialects
	MaxReply    = 256 << 20 // one reply
)

// Read reads a file whole; errors say what it is, and its name. It may be a
// named pipe, such as a shell makes of a command, and must end within most bytes.
func Read(what, name string, most int64) ([]byte, error) {
	data, err := openAndRead(name, most)
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", what, name, err)
	}
	return data, nil
}

// ReadSecret reads the file of a token or an API key. Errors do not tell the
// file's name: it may be the key, in the wrong place.
func ReadSecret(name string) ([]byte, error) {
	data, err := openAndRead(name, MaxSettings)
	if err != nil {
		return nil, nameless(err)
	}
	return data, nil
}

func nameless(err error) error {
	return fmt.Errorf("the file cannot be read: %w; its name is not shown, since it may be a key", err)
}

// ReadKey reads a file of keys of a record, or of what stands beside them: a
// regular file, since a pipe in its place could keep a check waiting for good.
func ReadKey(name string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nameless(Cause(err))
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	data, err := ReadAll(file, MaxSettings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

func openAndRead(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, Cause(err)
	}
	defer file.Close()
	return ReadAll(file, most)
}

// ReadAll reads a stream to its end, which must come within most bytes.
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

// Cause strips the operation and the path that an os error repeats.
func Cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// StateFolder returns the folder of the XDG base directories for what outlives
// a run, or "" where there is no home.
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

// CheckSecret reports a secret that no header can hold.
func CheckSecret(text string) error {
	if text == "" {
		return errors.New("the secret is empty")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the secret holds white space, control characters or letters beyond ASCII")
	}
	return nil
}

// SameFile reports whether two names are of one file.
func SameFile(a, b string) bool {
	first, err := os.Stat(a)
	second, err2 := os.Stat(b)
	return err == nil && err2 == nil && first.Mode().IsRegular() && os.SameFile(first, second)
}
