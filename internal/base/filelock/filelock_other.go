//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package filelock

import (
	"errors"
	"fmt"
	"os"
)

// Try refuses: without a lock that ends with its process, two writers could not be
// kept apart.
func Try(*os.File) error {
	return fmt.Errorf("a file cannot be locked on this system: %w", errors.ErrUnsupported)
}
