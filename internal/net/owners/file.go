package owners

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

const (
	// File is the file's name in the data folder.
	File = "owners.json"
	// version is that of its format.
	version = 1
	// maxFile bounds its size, in bytes.
	maxFile = 256 << 20
	// mostEntries bounds what is read of it.
	mostEntries = mostKinds * Most

	lockFile = "owners.lock"
	// flushAfter is how long after a change the file is written at the latest. A crash
	// loses no more than that.
	flushAfter = 250 * time.Millisecond
)

// A file is where owners survive a restart. Several processes may use one file, as during
// a takeover: each adds what it finds there before it writes.
type file struct {
	name string // empty if nothing is written
	fail func(error)

	waits bool // a write is due
	timer *time.Timer
	seen  fs.FileInfo // of the file as it was read or written last
	looks time.Time   // when it was looked at last

	writing sync.Mutex // held while the file is read or written, before the store's lock
}

// content is what the file holds. An entry is the digest of an id and its owner.
type content struct {
	V      int                 `json:"v"`
	Owners map[string][]string `json:"owners"`
}

// Open reads the owners from the data folder. If there is nothing, the store begins empty.
// fail is told why a write failed. An empty folder name keeps owners in memory.
func Open(dir string, most int, fail func(error)) (*Store, error) {
	s := New(most)
	if dir == "" {
		return s, nil
	}
	s.file.name, s.file.fail = filepath.Join(dir, File), fail
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("owners: %w", err)
	}
	return s, nil
}

// Check reports what is wrong with the file in a folder.
func Check(dir string) error {
	_, err := read(filepath.Join(dir, File))
	return err
}

// load adds what the file has.
func (s *Store) load() error {
	s.file.writing.Lock()
	defer s.file.writing.Unlock()
	return s.merge()
}

// merge adds what the file has, if it is not the one that was read or written last. The
// caller holds the lock of the file.
func (s *Store) merge() error {
	info, err := os.Stat(s.file.name)
	s.mu.Lock()
	known := err == nil && files.Unchanged(info, s.file.seen)
	s.mu.Unlock()
	if known || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return files.Cause(err)
	}
	c, err := read(s.file.name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file.seen = info
	for kind, entries := range c.Owners {
		for _, e := range entries {
			if d, caller, ok := entry(e); ok {
				s.add(kind, d, caller)
			}
		}
	}
	return nil
}

// read reads a file, which anybody may have changed.
func read(name string) (content, error) {
	var c content
	data, err := files.ReadRegular(name, maxFile)
	if err != nil {
		return c, fmt.Errorf("%s: %w", name, files.Cause(err))
	}
	if err := (foreignjson.Limits{Depth: 8, Members: mostEntries + mostKinds + 16}).Check(data); err != nil {
		return c, fmt.Errorf("%s %w", name, err)
	}
	if json.Unmarshal(data, &c) != nil {
		return c, fmt.Errorf("%s %w", name, errOdd)
	}
	if err := datafolder.CheckVersion(name, c.V, version); err != nil {
		return c, err
	}
	if c.V != version || len(c.Owners) > mostKinds {
		return c, fmt.Errorf("%s %w", name, errOdd)
	}
	for kind, entries := range c.Owners {
		for _, e := range entries {
			if _, _, ok := entry(e); !ok || !isName(kind) {
				return c, fmt.Errorf("%s %w", name, errOdd)
			}
		}
	}
	return c, nil
}

// entry reads an entry of the file.
func entry(text string) (d digest, caller string, ok bool) {
	short, caller, ok := strings.Cut(text, " ")
	raw, err := base64.RawURLEncoding.DecodeString(short)
	if !ok || err != nil || len(raw) != len(d) || !isName(caller) {
		return d, "", false
	}
	return digest(raw), caller, true
}

// changed has the file written soon. The caller holds the store's lock.
func (s *Store) changed() {
	if s.file.name == "" || s.file.waits {
		return
	}
	s.file.waits = true
	s.file.timer = time.AfterFunc(flushAfter, func() { s.failed(s.Flush()) })
}

func (s *Store) failed(err error) {
	if err != nil && s.file.fail != nil {
		s.file.fail(err)
	}
}

// Flush writes the file, if anything is new.
func (s *Store) Flush() error {
	s.file.writing.Lock()
	defer s.file.writing.Unlock()
	s.mu.Lock()
	due := s.file.waits
	if due {
		s.file.waits = false
		s.file.timer.Stop()
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	if err := s.save(); err != nil {
		s.mu.Lock()
		s.changed() // it is tried again
		s.mu.Unlock()
		return fmt.Errorf("owners: %w", err)
	}
	return nil
}

// Close writes what is not written yet.
func (s *Store) Close() error {
	err := s.Flush()
	s.file.writing.Lock()
	defer s.file.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file.timer != nil {
		s.file.timer.Stop()
	}
	return err
}

// save replaces the file, completely or not at all.
func (s *Store) save() error {
	if err := os.MkdirAll(filepath.Dir(s.file.name), 0o700); err != nil {
		return files.Cause(err)
	}
	defer filelock.Hold(filepath.Join(filepath.Dir(s.file.name), lockFile))()
	if err := s.merge(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(s.content(), "", " ")
	if err != nil {
		return err
	}
	info, err := files.Replace(s.file.name, append(data, '\n'))
	if err != nil {
		return files.Cause(err)
	}
	s.mu.Lock()
	s.file.seen = info
	s.mu.Unlock()
	return nil
}

// content returns what the file is to hold.
func (s *Store) content() content {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := content{V: version, Owners: map[string][]string{}}
	for kind, l := range s.shelves {
		list := make([]string, 0, len(l.of))
		for _, d := range l.order[l.first:] {
			list = append(list, d.String()+" "+l.of[d])
		}
		c.Owners[kind] = list
	}
	return c
}

// catchUp adds what another process wrote, and reports whether there may be something new.
func (s *Store) catchUp() bool {
	s.mu.Lock()
	name, early := s.file.name, time.Since(s.file.looks) < flushAfter/4
	if !early {
		s.file.looks = time.Now()
	}
	s.mu.Unlock()
	if name == "" || early {
		return false
	}
	if err := s.load(); err != nil {
		s.failed(fmt.Errorf("owners: %w", err))
		return false
	}
	return true
}
