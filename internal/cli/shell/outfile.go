package shell

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sotto-llm/sotto/internal/base/decompress"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
)

// privateMode is the mode of new files. What commands write may hold the reasoning
// of models and the text of people, so a new file is accessible to its owner only.
// An existing file keeps its mode, and the user is told if others can read it. No
// other code of the command line makes files.
const privateMode fs.FileMode = 0o600

// An OutFile is a file that a command writes, compressed if its name ends in .gz or .zst.
type OutFile struct {
	File *os.File
	pack decompress.Writer // nil for plain bytes
}

// Stream returns where the plain bytes go.
func (o *OutFile) Stream() io.Writer {
	if o.pack != nil {
		return o.pack
	}
	return o.File
}

// Compressed reports whether the bytes in the file are not those that were written.
func (o *OutFile) Compressed() bool { return o.pack != nil }

// Flush makes what was written readable in the file.
func (o *OutFile) Flush() error {
	if o.pack == nil {
		return nil
	}
	return o.pack.Flush()
}

// Close ends the file.
func (o *OutFile) Close() error {
	var err error
	if o.pack != nil {
		err = o.pack.Close()
	}
	return errors.Join(err, o.File.Close())
}

// CreateFile opens a file for writing. It empties the file, unless its contents are
// to be kept. It may be a device or a named pipe.
func (sh *Shell) CreateFile(name string, keep bool) (*OutFile, error) {
	out := new(OutFile)
	if err := out.packInto(name, WriterTo(func(p []byte) error { _, err := out.File.Write(p); return err })); err != nil {
		return nil, err
	}
	if keep && out.pack != nil {
		return nil, errorhint.Usage(errors.New("a compressed file cannot be continued"), "leave out --resume, or the ending of the compression")
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
	out.File = file
	return out, nil
}

// packInto compresses into w if the name says so. It refuses names that cannot be
// written.
func (o *OutFile) packInto(name string, w io.Writer) (err error) {
	if err := checkOutput(name); err != nil {
		return err
	}
	if o.pack, err = decompress.NewWriter(name, w); err != nil {
		return errorhint.Usage(err, "")
	}
	return nil
}

// CreateNew makes a file that must not exist yet.
func CreateNew(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, privateMode)
}

// OpenAppend opens a file of the program's own to read it and to append to it.
func OpenAppend(name string) (*os.File, error) {
	if pack, err := decompress.NewWriter(name, io.Discard); err != nil || pack != nil {
		return nil, errorhint.Usage(cmp.Or(err, errors.New("a compressed file cannot be continued")), "leave out the ending of the compression")
	}
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
	r, err := sh.Replace(name)
	if err != nil {
		return err
	}
	if _, err := r.Write(text); err != nil {
		r.Discard()
		return fmt.Errorf("write %s: %w", name, files.Cause(err))
	}
	return r.Commit()
}

// A Replacement is a file that takes its name only when it is whole. Until then the
// name is free, or that of the file before it. A signal that ends the process leaves
// nothing of it.
type Replacement struct {
	io.Writer
	out   OutFile
	temp  *files.Temporary // nil if it is written in place
	shown *Printer         // of what is written in place, which may be a terminal
	name  string           // where it goes
	mode  fs.FileMode
}

// Replace begins a file, compressed if its name says so. A device or a named pipe gets
// the bytes directly.
func (sh *Shell) Replace(name string) (*Replacement, error) {
	r := new(Replacement)
	if err := r.out.packInto(name, WriterTo(func(p []byte) error { _, err := r.out.File.Write(p); return err })); err != nil {
		return nil, err
	}
	return r, r.open(sh, name, files.NewTemporary)
}

// ReplaceArchive is Replace for a command that compresses by itself, and that discards
// the file itself when a signal comes.
func (sh *Shell) ReplaceArchive(name string) (*Replacement, error) {
	if err := checkOutput(name); err != nil {
		return nil, err
	}
	r := new(Replacement)
	return r, r.open(sh, name, func(dir, pattern string) (*files.Temporary, error) {
		file, err := os.CreateTemp(dir, pattern) // 0600
		return &files.Temporary{File: file}, err
	})
}

func (r *Replacement) open(sh *Shell, name string, temporary func(dir, pattern string) (*files.Temporary, error)) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		target = name
	}
	r.name, r.mode = target, privateMode
	info, err := os.Stat(target)
	if err == nil && !info.Mode().IsRegular() {
		if r.out.File, err = os.OpenFile(name, os.O_WRONLY, 0); err != nil {
			return fmt.Errorf("open %s: %w", name, files.Cause(err))
		}
		r.shown = FilePrinter(r.out.Stream())
		r.Writer = r.shown
		return nil
	}
	if err == nil {
		sh.warnOfReaders(name, info)
		r.mode = info.Mode().Perm()
	}
	if r.temp, err = temporary(filepath.Dir(target), "."+filepath.Base(target)+".partial-*"); err != nil {
		return fmt.Errorf("open %s: %w", name, files.Cause(err))
	}
	r.out.File = r.temp.File
	r.Writer = r.out.Stream()
	return nil
}

// File returns the file itself.
func (r *Replacement) File() *os.File { return r.out.File }

// Commit gives the file its name.
func (r *Replacement) Commit() error {
	var err error
	if r.shown != nil {
		err = r.shown.Flush()
	}
	if r.temp != nil && r.mode != privateMode {
		err = r.out.File.Chmod(r.mode)
	}
	if err = errors.Join(err, r.out.Close()); err == nil && r.temp != nil {
		err = os.Rename(r.temp.Name(), r.name)
	}
	if err != nil {
		r.remove()
		return fmt.Errorf("write %s: %w", r.name, files.Cause(err))
	}
	if r.temp != nil {
		r.temp.Keep()
	}
	return nil
}

// Discard removes the file.
func (r *Replacement) Discard() {
	r.out.Close()
	r.remove()
}

func (r *Replacement) remove() {
	if r.temp != nil {
		r.temp.Remove()
	}
}

// FilePrinter writes data to a file, which may be a terminal.
func FilePrinter(stream io.Writer) *Printer {
	return &Printer{newTerminal(stream, os.Getenv), false}
}
