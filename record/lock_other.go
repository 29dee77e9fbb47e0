//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package record

import (
	"errors"
	"fmt"
	"os"
)

// lock refuses: without a lock that ends with its process, two writers could not be
// kept apart.
func lock(string) (*os.File, error) {
	return nil, fmt.Errorf("a record cannot be locked on this system: %w", errors.ErrUnsupported)
}
