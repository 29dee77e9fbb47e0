package record

import (
	"errors"
	"os"

	"github.com/sotto-llm/sotto/internal/base/filelock"
)

// lock locks the record for this process. The lock ends with the process, however
// that ends.
func lock(path string) (*os.File, error) {
	f, err := openRegular(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := filelock.Try(f); err != nil {
		f.Close()
		if errors.Is(err, filelock.ErrHeld) {
			return nil, ErrLocked
		}
		return nil, err
	}
	return f, nil
}
