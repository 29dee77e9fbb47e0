package shards

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sotto-llm/sotto/internal/base/files"
)

// A Folder is where shards write. A file in it is never replaced: of two processes that
// write the same name, one succeeds, and the other finds the file there.
type Folder interface {
	// Begin begins a file that takes its name when it is put.
	Begin(name string) (*Draft, error)
	// put gives the draft its name. The error is fs.ErrExist if the name is taken.
	put(ctx context.Context, d *Draft) error
	// Open opens a file. The error is fs.ErrNotExist if there is none.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Where names a file for messages.
	Where(name string) string
}

// A Draft is a file that is not whole yet.
type Draft struct {
	folder Folder
	name   string
	file   *files.Temporary
	size   int64
	hash   hash.Hash
}

func newDraft(f Folder, name, dir, pattern string) (*Draft, error) {
	file, err := files.NewTemporary(dir, pattern)
	if err != nil {
		return nil, fmt.Errorf("begin %s: %w", f.Where(name), files.Cause(err))
	}
	return &Draft{folder: f, name: name, file: file, hash: sha256.New()}, nil
}

func (d *Draft) Write(p []byte) (int, error) {
	n, err := d.file.Write(p)
	d.hash.Write(p[:n])
	d.size += int64(n)
	return n, err
}

// Describe describes the file as it is now.
func (d *Draft) Describe() File { return File{d.name, d.size, digest(d.hash.Sum(nil))} }

// Put gives the file its name. A file of that name with the same content is success, and
// there says that it was there.
func (d *Draft) Put(ctx context.Context) (there bool, err error) {
	defer d.Discard()
	err = d.folder.put(ctx, d)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	where := d.folder.Where(d.name)
	was, err := d.folder.Open(ctx, d.name)
	if err != nil {
		return false, err
	}
	defer was.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(was, d.size+1)); err != nil {
		return false, fmt.Errorf("read %s: %w", where, files.Cause(err))
	}
	if !bytes.Equal(h.Sum(nil), d.hash.Sum(nil)) {
		return false, fmt.Errorf("%s exists with other content, and is not replaced", where)
	}
	return true, nil
}

// Discard removes the file, if it has no name yet.
func (d *Draft) Discard() {
	d.file.Remove()
}

// Local is a folder of this machine.
type Local string

// Begin begins a file.
func (dir Local) Begin(name string) (*Draft, error) {
	return newDraft(dir, name, string(dir), "."+name+".partial-*")
}

// put links the file to its name, which fails if the name is taken. The bytes are on
// disk before: a manifest that exists is about an output that does.
func (dir Local) put(_ context.Context, d *Draft) error {
	if err := errors.Join(d.file.Sync(), d.file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", dir.Where(d.name), files.Cause(err))
	}
	err := os.Link(d.file.Name(), dir.Where(d.name))
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links. What replaces the file here is the same shard, so of
	// two processes at once one replaces the bytes by their equal.
	if _, err := os.Lstat(dir.Where(d.name)); err == nil {
		return fs.ErrExist
	}
	if err := os.Rename(d.file.Name(), dir.Where(d.name)); err != nil {
		return fmt.Errorf("write %s: %w", dir.Where(d.name), files.Cause(err))
	}
	return nil
}

// Open opens a file.
func (dir Local) Open(_ context.Context, name string) (io.ReadCloser, error) {
	file, err := os.Open(dir.Where(name))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir.Where(name), files.Cause(err))
	}
	return file, nil
}

// Where returns the name of a file.
func (dir Local) Where(name string) string { return filepath.Join(string(dir), name) }
