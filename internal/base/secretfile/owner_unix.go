//go:build unix

package secretfile

import (
	"os"
	"syscall"
)

// keepOwner gives a file the owner and the group of another.
func keepOwner(file *os.File, like os.FileInfo) error {
	from, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return file.Chown(int(from.Uid), int(from.Gid))
}

// syncFolder makes a rename in a folder outlast a crash of the machine.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return nil // the folder may be written and not read
	}
	defer folder.Close()
	return folder.Sync()
}
