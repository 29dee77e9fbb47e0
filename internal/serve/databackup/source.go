package databackup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
)

// maxLine bounds a line of a file that grows line by line. A line of a record may be as
// long.
const maxLine = 160 << 20

// A source is a file as it is copied: as many bytes as it says, at one moment.
type source struct {
	io.Reader
	size     int64
	modified time.Time
	close    func()
}

// A copier opens the files of a data folder to be copied.
type copier struct {
	dir  string
	root *os.Root
	temp string // a folder for copies of databases

	databases Databases
}

// open opens a file. The error is [fs.ErrNotExist] if it was removed meanwhile.
func (c *copier) open(ctx context.Context, p place) (*source, error) {
	if p.part == Tasks || p.part == Memory {
		return c.copied(p, func(to string) error { return c.copyDatabase(ctx, p, to) })
	}
	f, info, err := openRegular(c.root, p.name)
	if err != nil {
		return nil, err
	}
	s := &source{Reader: f, size: info.Size(), modified: info.ModTime(), close: func() { f.Close() }}
	if p.append {
		if s.size, err = wholeLines(f, s.size); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	s.Reader = io.LimitReader(f, s.size)
	return s, nil
}

// openRegular opens a regular file below a folder, and never blocks.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// copied opens a copy of a database, which it makes first. The copy is removed when the
// source is closed.
func (c *copier) copied(p place, write func(to string) error) (*source, error) {
	info, err := c.root.Stat(filepath.FromSlash(p.name))
	if err != nil {
		return nil, err
	}
	to := filepath.Join(c.temp, path.Base(p.name))
	if err := write(to); err != nil {
		os.Remove(to)
		return nil, err
	}
	f, err := os.Open(to)
	if err != nil {
		return nil, err
	}
	copied, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &source{f, copied.Size(), info.ModTime(), func() { f.Close(); os.Remove(to) }}, nil
}

// copyDatabase copies a database. A program that has no part for it must not take the file as
// it is: another program may change it meanwhile.
func (c *copier) copyDatabase(ctx context.Context, p place, to string) error {
	kind, ok := c.databases[p.part]
	if !ok {
		return errorhint.Add(fmt.Errorf("%s: this program cannot copy a database of %s as it is at one moment", p.name, p.part), `the program "sotto" can back up this folder`)
	}
	return kind.Copy(ctx, pathIn(c.dir, p.name), to, func(w io.Writer) error { return fetch(ctx, c.dir, p.name, w) })
}

// wholeLines returns the size of a file without an incomplete line at its end.
func wholeLines(f io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end := size; end > 0; {
		if size-end > maxLine {
			return 0, fmt.Errorf("the last %d bytes have no line end", size-end)
		}
		n := min(end, int64(len(buf)))
		if _, err := f.ReadAt(buf[:n], end-n); err != nil && err != io.EOF {
			return 0, files.Cause(err)
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return 0, nil
}

// tombstone returns the place of the tombstone of a segment that was pruned meanwhile.
func tombstone(p place) (place, bool) {
	name, ok := strings.CutSuffix(p.name, lineFile)
	return place{name: name + ".pruned", part: Record}, ok && p.part == Record
}
