package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrMoved is the error of appends to a record whose segment or lock was deleted,
// moved or replaced while it is written: what is written there would be
// acknowledged, and never found. Appends work again when the files are back, or
// after Open.
var ErrMoved = errors.New("it was moved or deleted while the record was open")

// A stand says where a file was when the writer opened it.
type stand struct {
	path string
	info fs.FileInfo
}

func standsAt(path string, f interface{ Stat() (fs.FileInfo, error) }) (stand, error) {
	info, err := f.Stat()
	return stand{path, info}, err
}

// check returns ErrMoved if another file is there now, or none. If that is not
// known it returns nil.
func (s stand) check() error {
	info, err := os.Lstat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(s.info, info) {
		return fmt.Errorf("%s: %w", s.path, ErrMoved)
	}
	return nil
}

// inPlace returns ErrMoved if the writer's files are no longer the record's.
func (w *Writer) inPlace() error {
	for _, s := range w.stands {
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}
