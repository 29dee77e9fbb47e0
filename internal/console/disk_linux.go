package console

import "syscall"

// freeOf returns how much room the disk of a folder has; 0 if it is not known.
func freeOf(dir string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * s.Bsize
}
