package filelock

import (
	"errors"
	"os"
	"time"
)

// holdWait is how long Hold waits for another process.
const holdWait = time.Second

// Hold locks the file of this name, which it makes, until unlock is called: for processes
// that read a file, add to it and replace it. It waits a second at most, and where files
// cannot be locked not at all; then, what two processes write at the same moment can be lost.
func Hold(name string) (unlock func()) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return func() {}
	}
	for end := time.Now().Add(holdWait); errors.Is(Try(f), ErrHeld) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	return func() { f.Close() }
}
