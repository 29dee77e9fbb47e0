package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sotto-llm/sotto/internal/files"
)

// privateMode is the mode of new files. What commands write may hold the reasoning
// of models and the text of people, so a new file is accessible to its owner only.
// An existing file keeps its mode, and the user is told if others can read it. No
// other code of the command line makes files.
const privateMode fs.FileMode = 0o600

// CreateFile opens a file for writing. It empties the file, unless its contents are
// to be kept. It may be a device or a named pipe.
func (sh *Shell) CreateFile(name string, keep bool) (*os.File, error) {
	if err := checkOutput(name); err != nil {
		return nil, err
	}
	mode := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if keep {
		mode = os.O_RDWR | os.O_CREATE
	}
	file, err := os.OpenFile(name, mode, privateMode)
	if err != nil {
		return nil, files.Cause(err)
	}
	if info, err := file.Stat(); err == nil {
		sh.warnOfReaders(name, info)
	}
	return file, nil
}

// CreateNew makes a file that must not exist yet.
func CreateNew(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, privateMode)
}

// OpenAppend opens a file of the program's own to read it and to append to it.
func OpenAppend(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, privateMode)
}

// warnOfReaders warns about a file that every user can read. Who gave it to a group meant it.
func (sh *Shell) warnOfReaders(name string, info fs.FileInfo) {
	if mode := info.Mode(); mode.IsRegular() && mode.Perm()&0o004 != 0 && runtime.GOOS != "windows" {
		sh.Hintf("every user of this machine can read %s (mode %04o): use chmod o-rwx to keep it private", name, mode.Perm())
	}
}

// WriteFile writes a file in full or not at all. A device or a named pipe gets the
// bytes directly.
func (sh *Shell) WriteFile(name string, text []byte) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		target = name
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		err = replaceFile(target, text, privateMode)
	case info.Mode().IsRegular():
		sh.warnOfReaders(name, info)
		err = replaceFile(target, text, info.Mode().Perm())
	default:
		err = sh.writeThrough(name, text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, files.Cause(err))
	}
	return nil
}

// writeThrough writes to something that is not a regular file.
func (sh *Shell) writeThrough(name string, text []byte) error {
	file, err := sh.CreateFile(name, false)
	if err != nil {
		return err
	}
	out := FilePrinter(file)
	_, err = out.Write(text)
	return errors.Join(err, out.Flush(), file.Close())
}

// replaceFile writes a file by replacing it with a new one.
func replaceFile(name string, text []byte, mode fs.FileMode) error {
	file, err := os.CreateTemp(filepath.Dir(name), ".sotto-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	if err == nil && mode != privateMode {
		err = file.Chmod(mode)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// A Replacement is a file that takes its name only when it is whole. Until then the
// name is free, or that of the file before it.
type Replacement struct {
	*os.File
	name string // where it goes; "" if it is written in place
	mode fs.FileMode
}

// Replace begins a file. A device or a named pipe gets the bytes directly.
func (sh *Shell) Replace(name string) (*Replacement, error) {
	if err := checkOutput(name); err != nil {
		return nil, err
	}
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		target = name
	}
	r := &Replacement{name: target, mode: privateMode}
	info, err := os.Stat(target)
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		sh.warnOfReaders(name, info)
		r.mode = info.Mode().Perm()
	default:
		r.name = ""
		r.File, err = sh.CreateFile(name, false)
		return r, err
	}
	if r.File, err = os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".partial-*"); err != nil { // 0600
		return nil, fmt.Errorf("open %s: %w", name, files.Cause(err))
	}
	return r, nil
}

// Commit gives the file its name.
func (r *Replacement) Commit() error {
	if r.name == "" {
		return r.Close()
	}
	var err error
	if r.mode != privateMode {
		err = r.Chmod(r.mode)
	}
	if err = errors.Join(err, r.Close()); err == nil {
		err = os.Rename(r.File.Name(), r.name)
	}
	if err != nil {
		os.Remove(r.File.Name())
		return fmt.Errorf("write %s: %w", r.name, files.Cause(err))
	}
	return nil
}

// Discard removes the file.
func (r *Replacement) Discard() {
	r.Close()
	if r.name != "" {
		os.Remove(r.File.Name())
	}
}

// FilePrinter writes data to a file, which may be a terminal.
func FilePrinter(file *os.File) *Printer {
	return &Printer{newTerminal(file, os.Getenv), false}
}
