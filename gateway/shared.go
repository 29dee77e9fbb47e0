package gateway

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/sealing"
)

// Shared is what the replicas of a gateway share: reasoning to be restored, and what
// they learned of how replies begin. It sees keys and sealed values, and no text. Its
// methods bound their own time. If it cannot be reached, it keeps nothing and finds
// nothing, and the gateway continues alone.
type Shared interface {
	history.Level
	// Change replaces the value of a field by what change makes of it, which is nil if
	// there is none. Nobody else's change is lost. It may call change several times.
	Change(field history.Key, change func(old []byte) []byte)
	// Follow calls seen with the fields that there are, then calls ready once, and then
	// calls seen with each that somebody changes, until the context ends.
	Follow(ctx context.Context, seen func(field history.Key, value []byte), ready func())
}

// startWait is how long a gateway waits at its start for what its replicas have
// learned.
const startWait = 2 * time.Second

// share connects the engine with its replicas. It returns when it knows what they have
// learned, or cannot find out.
func (e *engine) share() error {
	c := &e.config
	if c.Shared == nil {
		return nil
	}
	if err := e.store.Share(c.Shared, c.SharedSecret); err != nil {
		return err
	}
	if err := e.makers.share(c.Shared, c.SharedSecret); err != nil {
		return err
	}
	if err := e.owners.Share(c.Shared, c.SharedSecret); err != nil {
		return err
	}
	box, err := sealing.New(c.SharedSecret, "learned starts")
	if err != nil {
		return err
	}
	s := &sharedStarts{store: c.Shared, box: box}
	e.learned.shared = s
	ctx, stop := context.WithCancel(context.Background())
	ready := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		c.Shared.Follow(ctx, func(field history.Key, value []byte) {
			if entry, ok := s.read(field, value); ok {
				e.learned.hear(entry)
			}
		}, func() { close(ready) })
	})
	e.unshare = func() { stop(); done.Wait() }
	select {
	case <-ready:
	case <-time.After(startWait):
	}
	return nil
}

// sharedStarts are the learned starts of all replicas.
type sharedStarts struct {
	store Shared
	box   *sealing.Box
}

// tell adds what a reply showed to what the replicas have learned.
func (s *sharedStarts) tell(key learnedKey, what lesson) {
	text, err := json.Marshal(key)
	if err != nil {
		return // it is two names and a word
	}
	field := s.box.Name(text)
	s.store.Change(field, func(old []byte) []byte {
		e, ok := s.read(field, old)
		if !ok {
			e = &LearnedStart{learnedKey: key, Proved: true}
		}
		e.see(what)
		value, err := json.Marshal(e)
		if err != nil {
			return old
		}
		return s.box.Seal(field[:], value)
	})
}

// read returns the entry in a value. It is false for a value that no replica made.
func (s *sharedStarts) read(field history.Key, value []byte) (*LearnedStart, bool) {
	plain, ok := s.box.Open(field[:], value)
	if !ok {
		return nil, false
	}
	e := &LearnedStart{}
	if json.Unmarshal(plain, e) != nil || !e.isOwn() || len(e.Last) > 2 {
		return nil, false
	}
	e.doubt()
	return e, true
}

// hear takes over what another replica learned.
func (l *Learned) hear(e *LearnedStart) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries[e.learnedKey] == nil {
		l.bound(l.max - 1)
	}
	l.entries[e.learnedKey] = e
	l.file.unsaved[e.learnedKey] = true // saved with the next lesson, or at the end
}
