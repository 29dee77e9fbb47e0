//go:build unix

package serving

import (
	"math"
	"syscall"
)

// openFiles returns how many files the process may have open. Go raises the limit
// as far as the system allows.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return defaultFiles
	}
	n := uint64(limit.Cur)
	return int(min(n, math.MaxInt32))
}

const defaultFiles = 1024
