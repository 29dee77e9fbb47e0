package files

import (
	"errors"
	"io/fs"
	"os"
)

// Replace replaces a file of the program's own, completely or not at all, and returns what
// the system says of the new one. Where several processes write, the caller holds a lock.
func Replace(name string, data []byte) (fs.FileInfo, error) {
	temp := name + ".new"
	_ = os.Remove(temp) // of a process that was killed
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	info, err := os.Stat(temp)
	if err != nil {
		return nil, err
	}
	return info, os.Rename(temp, name)
}

// Unchanged reports whether a file is the one that it was: nobody replaced or changed it.
func Unchanged(now, was fs.FileInfo) bool {
	return now != nil && was != nil && os.SameFile(now, was) && now.ModTime().Equal(was.ModTime()) && now.Size() == was.Size()
}
