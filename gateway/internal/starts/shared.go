package starts

import (
	"encoding/json"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/sealing"
)

// replicas is what holds the values that the replicas of a gateway share.
type replicas interface {
	// Change replaces the value of a field by what change makes of it, which is nil if
	// there is none.
	Change(field history.Key, change func(old []byte) []byte)
}

// sharedStarts are the learned starts of all replicas.
type sharedStarts struct {
	store replicas
	box   *sealing.Box
}

// tell adds what a reply showed to what the replicas have learned.
func (s *sharedStarts) tell(key Key, what Lesson) {
	text, err := json.Marshal(key)
	if err != nil {
		return // it is two names and a word
	}
	field := s.box.Name(text)
	s.store.Change(field, func(old []byte) []byte {
		e, ok := s.decode(field, old)
		if !ok {
			e = &Entry{Key: key, Proved: true}
		}
		e.see(what)
		value, err := json.Marshal(e)
		if err != nil {
			return old
		}
		return s.box.Seal(field[:], value)
	})
}

// Share tells the replicas what is learned from now on. hear is to be called with what they
// tell.
func (l *Table) Share(store replicas, secret []byte) (hear func(field history.Key, value []byte), err error) {
	box, err := sealing.New(secret, "learned starts")
	if err != nil {
		return nil, err
	}
	s := &sharedStarts{store: store, box: box}
	l.shared = s
	return func(field history.Key, value []byte) {
		if entry, ok := s.decode(field, value); ok {
			l.hear(entry)
		}
	}, nil
}

// decode returns the entry in a value. It is false for a value that no replica made.
func (s *sharedStarts) decode(field history.Key, value []byte) (*Entry, bool) {
	plain, ok := s.box.Open(field[:], value)
	if !ok {
		return nil, false
	}
	e := &Entry{}
	if json.Unmarshal(plain, e) != nil || !e.isOwn() || len(e.Last) > 2 {
		return nil, false
	}
	e.doubt()
	return e, true
}

// hear takes over what another replica learned.
func (l *Table) hear(e *Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries[e.Key] == nil {
		l.bound(l.max - 1)
	}
	l.entries[e.Key] = e
	l.file.unsaved[e.Key] = true // saved with the next lesson, or at the end
}
