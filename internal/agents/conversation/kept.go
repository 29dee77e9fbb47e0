package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// maxTitle bounds the title of a conversation in a list, in bytes.
const maxTitle = 120

// isKey reports whether a text is the key of a conversation. It is part of the name of
// a file.
func isKey(key string) bool {
	return len(key) == 32 && strings.Trim(key, "0123456789abcdef") == ""
}

// Create keeps a new conversation with its first change, and returns its key.
func (s *Store) Create(caller, agent string, first Change) (key string, err error) {
	key = newKey()
	t, err := s.open(Wish{Caller: caller}, key)
	if t, err = s.beginNew(t, err, Wish{Caller: caller, Agent: agent}); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	first.Head = t.head
	was := t.file.size
	if err := t.file.Append(first); err != nil {
		return "", err
	}
	s.add(0, t.file.size-was)
	return key, nil
}

// Change adds a change to a kept conversation. The function gets what is kept, and
// returns the change. The error is [ErrBusy] if somebody else changes it, [ErrNotFound]
// if there is no such conversation, and [ErrFull] if it has reached its bound and the
// change adds a message of the user.
func (s *Store) Change(caller, key string, f func(*File) (Change, error)) (err error) {
	if _, err := s.stat(caller, key); err != nil {
		return err
	}
	t, err := s.open(Wish{Caller: caller}, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if t.file.Head == nil {
		return ErrNotFound
	}
	x, err := f(t.file)
	if err != nil {
		return err
	}
	if len(x.Add) > 0 && x.Add[0].Reply == nil && t.file.size >= s.limits().Each {
		return ErrFull
	}
	was := t.file.size
	if err := t.file.Append(x); err != nil {
		return err
	}
	s.add(0, t.file.size-was)
	return nil
}

// stat finds the file of a conversation that is not too old. A level does not have to
// be asked beforehand.
func (s *Store) stat(caller, key string) (fs.FileInfo, error) {
	if !isKey(key) {
		return nil, ErrNotFound
	}
	if s.level != nil {
		return nil, nil
	}
	info, err := os.Stat(s.path(caller, key))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotFound
	case err != nil:
		return nil, files.Cause(err)
	case s.old(info):
		return nil, ErrNotFound
	}
	return info, nil
}

// Get reads a kept conversation. It takes no lock, since only the end of the file can
// change.
func (s *Store) Get(caller, key string) (*File, error) {
	if _, err := s.stat(caller, key); err != nil {
		return nil, err
	}
	data, err := s.data(caller, key)
	if err != nil {
		return nil, err
	}
	var f File
	if err := f.parse(data, 0); err != nil {
		return nil, fmt.Errorf("conversation %s: %w", key, err)
	}
	if f.Head == nil {
		return nil, ErrNotFound
	}
	return &f, nil
}

// KeyOfName returns the key of a conversation that its client has named.
func KeyOfName(agent, name string) string { return keyOf(agent, name) }

// KeyOfResponse returns the key of the conversation that has a response, if a text is the id of one.
func KeyOfResponse(id string) (key string, ok bool) {
	key, _, ok = parseResponse(id)
	return key, ok
}

// data returns the whole lines of a conversation.
func (s *Store) data(caller, key string) ([]byte, error) {
	if s.level != nil {
		c := s.level.of(caller, key)
		data, err := c.load(s.limits())
		if err == nil && len(data) == 0 {
			err = ErrNotFound
		}
		return data, err
	}
	data, err := files.Read("conversation", s.path(caller, key), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return data[:bytes.LastIndexByte(data, '\n')+1], nil
}

// Remove removes a kept conversation.
func (s *Store) Remove(caller, key string) error {
	if _, err := s.stat(caller, key); err != nil {
		return err
	}
	if s.level != nil {
		return s.level.to.Remove(s.level.of(caller, key).place)
	}
	if !remove(s.path(caller, key)) {
		return ErrBusy
	}
	s.mu.Lock()
	s.scanned = time.Time{} // so that the next one that begins counts what is left
	s.mu.Unlock()
	return nil
}

// Keys lists the conversations of a caller, the one that changed last first.
func (s *Store) Keys(caller string) ([]Summary, error) {
	if s.level != nil {
		return s.level.list(caller)
	}
	folder := filepath.Dir(s.path(caller, ""))
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, files.Cause(err)
	}
	var list []Summary
	for _, e := range entries {
		key, ok := strings.CutSuffix(e.Name(), ".jsonl")
		info, err := e.Info()
		if ok && err == nil && isKey(key) && info.Mode().IsRegular() && !s.old(info) {
			list = append(list, Summary{Key: key, Last: info.ModTime(), Bytes: info.Size()})
		}
	}
	sortSummaries(list)
	return list, nil
}

func sortSummaries(list []Summary) {
	slices.SortFunc(list, func(a, b Summary) int {
		if c := b.Last.Compare(a.Last); c != 0 {
			return c
		}
		return strings.Compare(a.Key, b.Key)
	})
}

// Title returns the title of a conversation: the one that the user gave it, or else
// the beginning of its first message.
func (f *File) Title() string {
	if f.Named != "" {
		return f.Named
	}
	for _, m := range f.Messages {
		if line := shorttext.OneLine(shorttext.Cut(m.Text, 4*maxTitle)); line != "" {
			return shorttext.Ellipsis(line, maxTitle)
		}
	}
	return ""
}
