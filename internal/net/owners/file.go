package owners

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
)

const (
	// File is the file's name in the data folder.
	File = "owners.jsonl"
	// version is that of its format.
	version = 2
	// maxFile bounds its size, in bytes.
	maxFile = 256 << 20
	// maxLine bounds a line of it, in bytes.
	maxLine = 2 << 10
	// maxPending bounds what waits to be written, in bytes. If it cannot be written, the
	// whole file is, later.
	maxPending = 1 << 20

	lockFile = "owners.lock"
	// flushAfter is how long after a change the file is written at the latest. A crash
	// loses no more than that.
	flushAfter = 250 * time.Millisecond
)

// A file is where owners survive a restart. What is new is added to its end, and other
// processes with the same folder, as during a takeover, read on from where they were. When
// more than half of its lines are forgotten or come twice, it is written again.
type file struct {
	name string // empty if nothing is written
	fail func(error)

	waits   bool // a write is due
	timer   *time.Timer
	pending []byte    // lines that are not in the file
	anew    bool      // pending has not all that is not in the file
	looks   time.Time // when it was looked at last

	writing sync.Mutex // held while the file is read or written, before the store's lock
	at      fs.FileInfo
	read    int64 // bytes of it that the store has
	lines   int   // in them
}

// A line is an owner in the file. The first line has the version alone.
type line struct {
	V      int    `json:"v,omitempty"`
	Kind   string `json:"kind,omitempty"`
	ID     string `json:"id,omitempty"` // the digest of an id
	Caller string `json:"caller,omitempty"`
}

func (l line) append(to []byte) []byte {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // it has strings alone
	}
	return append(append(to, text...), '\n')
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
	if s.file.at == nil {
		if err := s.takeOver(filepath.Join(dir, FirstFile)); err != nil {
			return nil, fmt.Errorf("owners: %w", err)
		}
	}
	return s, nil
}

// Check reports the format of one of the files, and what is wrong with it.
func Check(name string) (format int, err error) {
	s := New(Most)
	if filepath.Base(name) == FirstFile {
		return 1, s.takeOver(name)
	}
	s.file.name = name
	return version, s.load()
}

// load adds what the file has, and the store has not read.
func (s *Store) load() error {
	s.file.writing.Lock()
	defer s.file.writing.Unlock()
	return s.merge()
}

// merge adds what the file has, from where it was read last. The caller holds the lock of
// the file.
func (s *Store) merge() error {
	f := &s.file
	from, err := os.OpenFile(f.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f.at = nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, files.Cause(err))
	}
	defer from.Close()
	info, err := from.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", f.name, files.Cause(err))
	case !info.Mode().IsRegular(), info.Size() > maxFile:
		return fmt.Errorf("%s %w", f.name, errOdd)
	}
	if f.at == nil || !os.SameFile(f.at, info) || info.Size() < f.read {
		f.read, f.lines = 0, 0
	}
	f.at = info
	in := bufio.NewReaderSize(io.NewSectionReader(from, f.read, maxFile), maxLine)
	for {
		text, err := in.ReadSlice('\n')
		if err == io.EOF && (f.lines > 0 || len(text) == 0) { // a line without an end is being written, or its writer was killed
			return nil
		}
		if err == nil {
			err = s.take(text)
		} else {
			err = errOdd
		}
		if errors.Is(err, errOdd) {
			return fmt.Errorf("%s:%d %w", f.name, f.lines+1, err)
		}
		if err != nil { // of a newer version, by name
			return err
		}
		f.read, f.lines = f.read+int64(len(text)), f.lines+1
	}
}

// take adds what a line says. The first says the version.
func (s *Store) take(text []byte) error {
	var l line
	if json.Unmarshal(text, &l) != nil {
		return errOdd
	}
	if s.file.lines == 0 {
		if err := datafolder.CheckVersion(s.file.name, l.V, version); err != nil {
			return err
		}
		if l != (line{V: version}) {
			return errOdd
		}
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(l.ID)
	if err != nil || len(raw) != len(digest{}) || !isName(l.Kind) || !isName(l.Caller) || l.V != 0 {
		return errOdd
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claim(l.Kind, digest(raw), l.Caller)
	return nil
}

// changed has a new owner written soon. The caller holds the store's lock.
func (s *Store) changed(kind string, d digest, caller string) {
	f := &s.file
	if f.name == "" {
		return
	}
	if f.pending = (line{Kind: kind, ID: d.String(), Caller: caller}).append(f.pending); len(f.pending) > maxPending {
		f.pending, f.anew = nil, true
	}
	s.due()
}

// due has the file written soon. The caller holds the store's lock.
func (s *Store) due() {
	if s.file.waits {
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

// Flush writes what is new to the file.
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
		s.due() // it is tried again
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

// save adds what is new to the file, or writes it again.
func (s *Store) save() error {
	if err := os.MkdirAll(filepath.Dir(s.file.name), 0o700); err != nil {
		return files.Cause(err)
	}
	defer filelock.Hold(filepath.Join(filepath.Dir(s.file.name), lockFile))()
	if err := s.merge(); err != nil {
		return err
	}
	s.mu.Lock()
	f := &s.file
	pending := f.pending
	added := bytes.Count(pending, []byte("\n"))
	all := f.anew || f.at == nil || f.lines == 0 || f.lines+added > 2*s.len()+1024
	if all {
		pending = s.content()
	}
	f.pending, f.anew = nil, false
	s.mu.Unlock()
	var err error
	if all {
		err = s.replace(pending)
	} else {
		err = s.extend(pending, added)
	}
	if err != nil {
		s.mu.Lock()
		f.pending, f.anew = nil, true
		s.mu.Unlock()
	}
	return err
}

// replace writes the file again, completely or not at all.
func (s *Store) replace(content []byte) error {
	info, err := files.Replace(s.file.name, content)
	if err != nil {
		return files.Cause(err)
	}
	s.file.at, s.file.read, s.file.lines = info, int64(len(content)), bytes.Count(content, []byte("\n"))
	return nil
}

// extend adds lines to the end of the file, in the place of a line that has no end.
func (s *Store) extend(pending []byte, lines int) error {
	f, err := os.OpenFile(s.file.name, os.O_WRONLY, 0)
	if err != nil {
		return files.Cause(err)
	}
	defer f.Close()
	err = f.Truncate(s.file.read)
	if err == nil {
		_, err = f.WriteAt(pending, s.file.read)
	}
	if err != nil {
		return files.Cause(err)
	}
	s.file.read, s.file.lines = s.file.read+int64(len(pending)), s.file.lines+lines
	return nil
}

// content returns the lines of all owners. The caller holds the store's lock.
func (s *Store) content() []byte {
	text := line{V: version}.append(nil)
	for kind, l := range s.shelves {
		for _, d := range l.order[l.first:] {
			text = line{Kind: kind, ID: d.String(), Caller: l.of[d]}.append(text)
		}
	}
	return text
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
