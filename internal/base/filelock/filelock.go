// Package filelock locks files for this process. A lock ends with its process,
// however that ends.
package filelock

import "errors"

// ErrHeld is the error of a lock that another process, or another open file of this
// process, holds.
var ErrHeld = errors.New("the file is locked")
