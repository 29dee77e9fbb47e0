// Package secretfile edits files of secrets that other programs read while they are edited,
// perhaps as another user.
package secretfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/base/files"
)

// lockWait is how long another edit of the file may take.
const lockWait = time.Minute

// Edit replaces the text of a file by what change makes of it. A file that is not there is
// made; change then gets no text. The file is for its owner only. In a folder that gives its
// group to new files (setgid), the group may read it: so a service can read what root adds.
// A link is followed.
//
// Who reads the file sees the old text or the new one, also if the process ends in between.
// The owner, the group and the mode stay; lists of further users (ACL) do not. Edits of
// several processes come one after the other, where the system has locks. If change fails,
// the file stays as it is.
func Edit(name string, change func(old []byte) ([]byte, error)) error {
	return edit(name, os.O_CREATE|os.O_EXCL, change)
}

// Change is Edit for a file that must be there.
func Change(name string, change func(old []byte) ([]byte, error)) error {
	return edit(name, 0, change)
}

// edit edits a file. With the flags, it may be made.
func edit(name string, creating int, change func(old []byte) ([]byte, error)) error {
	file, made, err := lock(name, creating)
	if err != nil {
		return files.Cause(err)
	}
	defer file.Close()
	old, err := files.ReadAll(file, files.MaxSettings)
	if err != nil {
		return err
	}
	text, err := change(old)
	if err != nil || bytes.Equal(text, old) && !made {
		if made {
			err = errors.Join(err, os.Remove(file.Name()))
		}
		return err
	}
	return replace(file, text)
}

// lock opens a file and locks it. made says that it was not there. Another edit may replace
// the file while this one waits: then the new file is locked.
func lock(name string, creating int) (file *os.File, made bool, err error) {
	for until := time.Now().Add(lockWait); ; {
		if file, made, err = open(name, creating); err != nil {
			return nil, false, err
		}
		err = filelock.Try(file)
		switch {
		case err == nil && isStill(file), errors.Is(err, errors.ErrUnsupported):
			return file, made, nil
		case err != nil && !errors.Is(err, filelock.ErrHeld):
			file.Close()
			return nil, false, err
		case time.Now().After(until):
			file.Close()
			return nil, false, fmt.Errorf("another program has edited the file for %v", lockWait)
		}
		file.Close()
		time.Sleep(10 * time.Millisecond)
	}
}

func open(name string, creating int) (file *os.File, made bool, err error) {
	path, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		path, err = name, nil
	}
	if err != nil {
		return nil, false, err
	}
	if err := files.CheckRegular(path); err != nil {
		return nil, false, errors.New("not a regular file")
	}
	if creating != 0 {
		if file, err = os.OpenFile(path, os.O_RDWR|creating, 0o600); err == nil {
			if err = shareWithGroup(file); err != nil {
				return nil, false, errors.Join(err, file.Close(), os.Remove(path))
			}
			return file, true, nil
		}
	}
	file, err = os.OpenFile(path, os.O_RDWR, 0)
	return file, false, err
}

// shareWithGroup lets the group of a new file read it if the folder chose the group.
func shareWithGroup(file *os.File) error {
	folder, err := os.Stat(filepath.Dir(file.Name()))
	if err != nil || folder.Mode()&os.ModeSetgid == 0 {
		return err
	}
	return file.Chmod(0o640) // whatever the umask is: the folder is the wish
}

// isStill reports whether the file of an open file has not been replaced.
func isStill(file *os.File) bool {
	open, err1 := file.Stat()
	now, err2 := os.Stat(file.Name())
	return err1 == nil && err2 == nil && os.SameFile(open, now)
}

// replace writes a new file in place of an open one.
func replace(old *os.File, text []byte) (err error) {
	info, err := old.Stat()
	if err != nil {
		return err
	}
	folder := filepath.Dir(old.Name())
	next, err := os.CreateTemp(folder, "."+filepath.Base(old.Name())+".*")
	if err != nil {
		return fmt.Errorf("its folder: %w", files.Cause(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(next.Name()))
		}
	}()
	if err := errors.Join(keepOwner(next, info), next.Chmod(info.Mode().Perm())); err != nil {
		next.Close()
		return fmt.Errorf("the file cannot keep its owner and group: %w; edit it as its owner or as root", files.Cause(err))
	}
	_, err = next.Write(text)
	if err = errors.Join(err, next.Sync(), next.Close()); err != nil {
		return err
	}
	if err := os.Rename(next.Name(), old.Name()); err != nil {
		return fmt.Errorf("the file cannot be replaced: %w; is it a mount of its own?", errors.Unwrap(err))
	}
	return syncFolder(folder)
}
