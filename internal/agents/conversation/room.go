package conversation

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/files"
)

// scanEvery is how often old conversations are removed, at least, while new ones
// begin.
const scanEvery = time.Hour

func (s *Store) add(number int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number += number
	s.bytes += bytes
}

// room makes room for one more conversation.
func (s *Store) room() error {
	if s.level != nil {
		return nil // it makes room itself
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.Limits.filled()
	full := func() bool { return s.number >= l.Number || s.bytes >= l.Bytes }
	if full() || time.Since(s.scanned) > scanEvery {
		if err := s.scan(l); err != nil {
			return err
		}
	}
	if full() {
		return ErrNoRoom
	}
	s.number++
	return nil
}

// A stored conversation is one in the folder.
type stored struct {
	path string
	size int64
	last time.Time
}

// scan reads the folder, and removes what is old. If there is too much, it removes the
// conversations whose last turn is longest ago, of the caller whose conversations hold
// the most, until a tenth of the room is free. So no caller's conversations displace
// those of a caller that holds less.
func (s *Store) scan(l Limits) error {
	callers, err := s.list()
	if err != nil {
		return err
	}
	s.number, s.bytes, s.scanned = 0, 0, time.Now()
	for i, list := range callers {
		callers[i] = slices.DeleteFunc(list, func(c stored) bool {
			if time.Since(c.last) > l.Keep && remove(c.path) {
				return true
			}
			s.number++
			s.bytes += c.size
			return false
		})
	}
	if s.number < l.Number && s.bytes < l.Bytes {
		return nil
	}
	for s.number > l.Number*9/10 || s.bytes > l.Bytes/10*9 {
		most := slices.MaxFunc(callers, func(a, b []stored) int { return cmp.Compare(weight(a), weight(b)) })
		if len(most) == 0 {
			return nil // those that are left are in use
		}
		i := slices.IndexFunc(callers, func(c []stored) bool { return len(c) > 0 && &c[0] == &most[0] })
		if callers[i] = most[1:]; remove(most[0].path) {
			s.number--
			s.bytes -= most[0].size
		}
	}
	return nil
}

// cost is what a conversation counts in addition to its bytes when callers are
// compared.
const cost = 16 << 10

func weight(list []stored) (n int64) {
	for _, c := range list {
		n += c.size + cost
	}
	return n
}

// list returns the conversations of each caller, the one that rests longest first.
func (s *Store) list() (callers [][]stored, err error) {
	folders, err := os.ReadDir(s.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, files.Cause(err)
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(s.Folder, folder.Name()))
		if err != nil {
			continue // not a folder, or gone
		}
		var list []stored
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), ".jsonl") {
				list = append(list, stored{filepath.Join(s.Folder, folder.Name(), e.Name()), info.Size(), info.ModTime()})
			}
		}
		slices.SortFunc(list, func(a, b stored) int { return a.last.Compare(b.last) })
		callers = append(callers, list)
	}
	return callers, nil
}
