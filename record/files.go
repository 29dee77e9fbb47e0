package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// All files of a record are opened here. Anyone who can write its folder can
// replace a file with something else, so only regular files are opened: a named
// pipe would block for ever, and a symbolic link leads out of the folder.

// errNotRegular is in the error of a file that is a pipe, a device, a link, or a
// folder.
var errNotRegular = errors.New("not a regular file")

// openRegular opens a regular file, with the flags of [os.OpenFile], and never
// blocks.
func openRegular(path string, flag int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil {
		if err := checkRegular(path, info); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, flag|neverBlock, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat() // of what was opened, which may have been replaced meanwhile
	if err == nil {
		err = checkRegular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func checkRegular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w: %v", errNotRegular, info.Mode().Type())}
}

// readRegular reads a regular file of at most limit bytes.
func readRegular(path string, limit int64) ([]byte, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%d bytes, %d at most", info.Size(), limit)}
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// writableByOthers returns a remark if others than the owner can write to a folder,
// or to files in it. It returns "" if they cannot, or if the system cannot tell.
func writableByOthers(paths ...string) string {
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err == nil && modesCount && info.Mode().Perm()&0o022 != 0 {
			return fmt.Sprintf("other users can write to %s (mode %04o) and so change the record", filepath.Base(path), info.Mode().Perm())
		}
	}
	return ""
}

// eachName calls f with the names in a folder. It holds only some of them at a
// time.
func eachName(dir string, f func(name string)) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(1024)
		for _, e := range entries {
			f(e.Name())
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// syncDir syncs a folder, so that the names in it survive a loss of power.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// makeDir makes a folder, and its parents. It syncs every folder in which it made
// one.
func makeDir(dir string, sync func(dir string) error) error {
	var made []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, filepath.Dir(at))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, parent := range made {
		if err := sync(parent); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile puts a file in place completely or not at all. If durable, its
// content is on the disk before it gets its name, and its name is on the disk when
// replaceFile returns.
func replaceFile(path string, durable bool, parts ...[]byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // 0600
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err == nil {
			_, err = f.Write(p)
		}
	}
	if err == nil && durable {
		point("file written")
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		if durable {
			point("file synced")
		}
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	if durable {
		point("file named")
		return syncDir(filepath.Dir(path))
	}
	return nil
}
