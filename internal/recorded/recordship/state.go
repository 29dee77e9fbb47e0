package recordship

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/record"
)

// A state is what was confirmed by the store. It is a file in the folder of the
// record, and only saves work: without it, everything is shipped again, under the
// same names.
type state struct {
	V      int    `json:"v"`
	To     string `json:"to"`     // the address
	Record string `json:"record"` // the record's identity
	// Done is the last event of the segments and tombstones that are there.
	Done uint64 `json:"done"`
	// Stones is the first event of the last tombstone that is there.
	Stones uint64 `json:"stones,omitempty"`
	// Sidecars is the first event of the last segment whose sidecar is there, or which has
	// none.
	Sidecars uint64 `json:"sidecars,omitempty"`
	// Unmerged are segments whose sidecars are there, and are to be merged.
	Unmerged []member `json:"unmerged,omitempty"`
	// Segment is the segment that grows. Its first From bytes are there, and the
	// last line of these begins at Line.
	Segment uint64      `json:"segment,omitempty"`
	From    int64       `json:"from,omitempty"`
	Line    int64       `json:"line,omitempty"`
	Head    record.Head `json:"head"` // the last event that is there
	Kept    record.Head `json:"kept"` // the last head that is there as an object
}

const (
	statePrefix = "ship-"
	stateExt    = ".json"
	maxState    = 64 << 10
)

// statePath is the file of the state for an address.
func statePath(dir, to string) string {
	digest := sha256.Sum256([]byte(to))
	return filepath.Join(dir, fmt.Sprintf("%s%x%s", statePrefix, digest[:8], stateExt))
}

func readState(path string) (state, error) {
	var s state
	data, err := files.Read("the state of shipping", path, maxState)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil || s.V != 1 || s.From < 0 || s.Line < 0 || s.Line > s.From || s.Record != "" && !idPattern.MatchString(s.Record) {
		return state{}, fmt.Errorf("%s is not the state of a record that was shipped: remove it, and everything is shipped again", path)
	}
	return s, nil
}

// save replaces the file. It need not survive a loss of power.
func (s *state) save(path string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // the writer of the record sweeps these
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// ErrShipping is the error of a record that another process ships to the same place.
var ErrShipping = errors.New("another process ships this record to the same place")

// lock makes this process the only one that ships a record to an address.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(strings.TrimSuffix(path, stateExt)+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = filelock.Try(f)
	if errors.Is(err, filelock.ErrHeld) {
		err = ErrShipping
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ErrNeverShipped is the error of a record of which nothing was shipped.
var ErrNeverShipped = errors.New("the record was never shipped")

// Shipped returns the first event of a record that some store lacks: every segment
// with an event before it only is confirmed by every store that the record was ever
// shipped to.
func Shipped(dir string) (needed uint64, err error) {
	names, err := filepath.Glob(filepath.Join(globEscape(dir), statePrefix+"*"+stateExt))
	if err != nil {
		return 0, err
	}
	if len(names) == 0 {
		return 0, fmt.Errorf("%s: %w", dir, ErrNeverShipped)
	}
	needed = math.MaxUint64
	for _, name := range slices.Sorted(slices.Values(names)) {
		s, err := readState(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		needed = min(needed, s.Done+1)
	}
	return needed, nil
}

// globEscape makes a pattern that matches a path only.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
