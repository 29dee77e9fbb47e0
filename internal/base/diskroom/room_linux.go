// Package diskroom says how much room a disk has.
package diskroom

import "syscall"

// Free returns how much room the disk of a folder has; 0 if it is not known.
func Free(dir string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * s.Bsize
}
