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

	"github.com/sotto-llm/sotto/internal/boltfile"
	"github.com/sotto-llm/sotto/internal/files"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/metagraph"
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
}

// open opens a file. The error is [fs.ErrNotExist] if it was removed meanwhile.
func (c *copier) open(ctx context.Context, p place) (*source, error) {
	switch p.part {
	case Tasks:
		return c.copied(p, func(to string) error { return c.copyTasks(ctx, p.name, to) })
	case Memory:
		return c.copied(p, func(to string) error {
			err := metagraph.Backup(ctx, pathIn(c.dir, p.name), to)
			if errors.Is(err, metagraph.ErrFormat) {
				err = hint.Add(err, "a newer sotto wrote it, or another program: use that sotto, or move the file out of the folder")
			}
			return err
		})
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

// copyTasks copies a file of tasks: itself if no server has it open, and otherwise by
// that server. A server may start or end meanwhile, so that the other way is tried too.
func (c *copier) copyTasks(ctx context.Context, name, to string) error {
	var err error
	for range 3 {
		if err = writeFile(to, func(w io.Writer) error { return boltfile.Copy(pathIn(c.dir, name), w) }); !errors.Is(err, boltfile.ErrInUse) {
			break
		}
		if err = writeFile(to, func(w io.Writer) error { return fetch(ctx, c.dir, name, w) }); !errors.Is(err, errNoServer) {
			break
		}
	}
	if errors.Is(err, errNoServer) {
		err = hint.Add(errors.New("a server has the file open, and gives no copies of it"), "stop the server, or start it again with this version of sotto, and run the backup again")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
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
