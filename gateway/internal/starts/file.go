package starts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
)

const (
	// learnedFile is the file's name in the data folder.
	learnedFile = "starts.json"
	learnedLock = "starts.lock"
)

// A startsFile is where learned starts survive a restart. Several gateways may have the
// same data folder: each reads what the others wrote before it adds a lesson.
type startsFile struct {
	name    string       // empty if nothing is written
	seen    fs.FileInfo  // of the file as it was read or written last
	has     map[Key]bool // what it had then
	unsaved map[Key]bool // what was learned or heard since; to be forgotten too
}

// Open reads what was learned from the data folder. If there is nothing, it
// begins empty. An empty folder name keeps it in memory.
func Open(dir string, limit int) (*Table, error) {
	l := &Table{max: limit, entries: map[Key]*Entry{}}
	l.file.unsaved = map[Key]bool{}
	if dir == "" {
		return l, nil
	}
	l.file.name = filepath.Join(dir, learnedFile)
	if err := l.load(); err != nil {
		return nil, fmt.Errorf("learned starts: %w", err)
	}
	return l, nil
}

// load takes over what is in the file, unless it is as this process left it. What this
// process has not saved yet stays. What another process has removed is removed.
func (l *Table) load() error {
	info, err := os.Stat(l.file.name)
	if errors.Is(err, fs.ErrNotExist) {
		l.file.seen, l.file.has = nil, nil
		return nil
	}
	if err != nil || files.Unchanged(info, l.file.seen) {
		return err
	}
	starts, err := readStarts(l.file.name)
	if err != nil {
		return err
	}
	has := map[Key]bool{}
	for _, s := range starts {
		if !s.isOwn() { // an entry of an earlier version, which kept what clients wrote, is dropped
			continue
		}
		has[s.Key] = true
		if l.file.unsaved[s.Key] {
			continue
		}
		s.doubt()
		if old := l.entries[s.Key]; old != nil && old.Seen.After(s.Seen) {
			s.Seen = old.Seen
		}
		l.entries[s.Key] = &s
	}
	for key := range l.file.has {
		if !has[key] && !l.file.unsaved[key] {
			delete(l.entries, key)
		}
	}
	l.file.seen, l.file.has = info, has
	l.bound(l.max)
	return nil
}

// readStarts reads a file, which anybody may have changed.
func readStarts(name string) ([]Entry, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all struct {
		V      int
		Starts []Entry
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s: %w; to start again, remove the file", name, err)
	}
	return all.Starts, datafolder.CheckVersion(name, all.V, 1)
}

// changing keeps other processes from writing the file, and reads what they wrote. After
// an error, what follows counts in memory only.
func (l *Table) changing() (unlock func(), err error) {
	if l.file.name == "" {
		return func() {}, nil
	}
	dir := filepath.Dir(l.file.name)
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return func() {}, fmt.Errorf("learned starts: %w", err)
	}
	unlock = filelock.Hold(filepath.Join(dir, learnedLock))
	if err = l.load(); err != nil {
		err = fmt.Errorf("learned starts: %w", err)
	}
	return unlock, err
}

// save replaces the file, completely or not at all. The caller has the lock of changing.
func (l *Table) save() error {
	if l.file.name == "" || len(l.file.unsaved) == 0 {
		clear(l.file.unsaved)
		return nil
	}
	data, err := json.MarshalIndent(struct {
		V      int     `json:"v"`
		Starts []Entry `json:"starts"`
	}{1, l.sorted()}, "", "  ")
	if err != nil {
		return err
	}
	if l.file.seen, err = files.Replace(l.file.name, append(data, '\n')); err != nil {
		return fmt.Errorf("learned starts: %w", err)
	}
	clear(l.file.unsaved)
	l.file.has = map[Key]bool{}
	for key := range l.entries {
		l.file.has[key] = true
	}
	return nil
}

// Flush saves what is not saved yet.
func (l *Table) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.file.unsaved) == 0 {
		return nil
	}
	unlock, err := l.changing()
	defer unlock()
	if err != nil {
		return err
	}
	return l.save()
}
