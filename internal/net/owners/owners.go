// Package owners remembers which caller of a gateway made what at an upstream: files,
// batches, stored responses. An upstream knows one account only, so nobody else can tell
// the callers' things apart.
//
// Of each kind of thing a bounded number is remembered, and the oldest is forgotten
// first. Ids are kept as digests. They are in memory, in a file of the data folder, and in
// the store that replicas share.
package owners

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/sealing"
)

const (
	// Most is how many things of one kind are remembered, if nothing else is said.
	Most = 32 << 10
	// MaxID bounds an id, in bytes. A longer one has no owner.
	MaxID = 256

	mostKinds = 64
	maxName   = 64 // of a kind, and of a caller
	// age is how long replicas remember an owner.
	age = 30 * 24 * time.Hour
)

// A digest stands for an id.
type digest [16]byte

func digestOf(id string) digest {
	sum := sha256.Sum256([]byte(id))
	return digest(sum[:16])
}

func (d digest) String() string { return base64.RawURLEncoding.EncodeToString(d[:]) }

// A shelf has the things of one kind.
type shelf struct {
	of    map[digest]string // the caller
	order []digest          // oldest first, from byte at on
	first int
}

// A Store remembers owners. It is safe for concurrent use.
type Store struct {
	most int

	mu      sync.Mutex
	shelves map[string]*shelf
	names   map[string]string // of callers, so that each is in memory once
	file    file

	shared history.Level // nil if replicas are told nothing
	box    *sealing.Box
}

// New returns a store that keeps at most so many things of each kind, in memory only.
func New(most int) *Store {
	return &Store{most: most, shelves: map[string]*shelf{}, names: map[string]string{}}
}

// Share lets replicas know the owners. Call it before the store is used.
func (s *Store) Share(level history.Level, secret []byte) error {
	box, err := sealing.New(secret, "owners of what upstreams made")
	if err != nil {
		return err
	}
	s.shared, s.box = level, box
	return nil
}

// Note remembers who made a thing. A thing that has an owner keeps it: some servers let
// clients choose ids.
func (s *Store) Note(kind, id, caller string) {
	if !isName(kind) || !isName(caller) || id == "" || len(id) > MaxID || s.Of(kind, id) != "" {
		return
	}
	if s.put(kind, digestOf(id), caller) {
		s.tell(kind, id, caller)
	}
}

// Of returns the caller who made a thing; empty if it is not known.
func (s *Store) Of(kind, id string) string {
	if id == "" || len(id) > MaxID {
		return ""
	}
	d := digestOf(id)
	caller := s.find(kind, d)
	if caller == "" && s.catchUp() {
		caller = s.find(kind, d)
	}
	if caller == "" {
		if caller = s.ask(kind, id); caller != "" {
			s.put(kind, d, caller)
		}
	}
	return caller
}

func (s *Store) find(kind string, d digest) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.shelves[kind]; l != nil {
		return l.of[d]
	}
	return ""
}

// put adds a thing that has no owner yet, and reports whether it did.
func (s *Store) put(kind string, d digest, caller string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.claim(kind, d, caller) {
		return false
	}
	s.changed(kind, d, caller)
	return true
}

// claim adds a thing under the lock.
func (s *Store) claim(kind string, d digest, caller string) bool {
	l := s.shelves[kind]
	if l == nil {
		if len(s.shelves) >= mostKinds {
			return false
		}
		l = &shelf{of: map[digest]string{}}
		s.shelves[kind] = l
	}
	if l.of[d] != "" {
		return false
	}
	if s.names[caller] == "" {
		if len(s.names) >= s.most { // callers that are gone
			s.names = map[string]string{}
		}
		caller = strings.Clone(caller)
		s.names[caller] = caller
	}
	l.of[d] = s.names[caller]
	l.order = append(l.order, d)
	for len(l.of) > s.most {
		delete(l.of, l.order[l.first])
		l.first++
	}
	if l.first > s.most {
		l.order, l.first = slices.Clone(l.order[l.first:]), 0
	}
	return true
}

// Len returns how many things are remembered.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.len()
}

func (s *Store) len() (n int) {
	for _, l := range s.shelves {
		n += len(l.of)
	}
	return n
}

// tell lets the replicas know an owner.
func (s *Store) tell(kind, id, caller string) {
	if s.shared == nil {
		return
	}
	group, key := s.keys(kind, id)
	s.shared.Put(history.LevelEntry{Group: group, Key: key, Value: s.box.Seal(key[:], []byte(caller)), Age: age, Most: s.most})
}

// ask asks the replicas for an owner.
func (s *Store) ask(kind, id string) string {
	if s.shared == nil || !isName(kind) {
		return ""
	}
	group, key := s.keys(kind, id)
	for _, value := range s.shared.Get(group, []history.Key{key}) {
		if caller, ok := s.box.Open(key[:], value); ok && isName(string(caller)) {
			return string(caller)
		}
	}
	return ""
}

func (s *Store) keys(kind, id string) (group, key history.Key) {
	return s.box.Name([]byte("kind " + kind)), s.box.Name([]byte(kind + "/" + id))
}

// isName reports whether a text may name a kind or a caller.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// errOdd is the error of a file that no gateway wrote.
var errOdd = errors.New("does not hold owners; to start again, remove the file: then things made before need the scope operator")
