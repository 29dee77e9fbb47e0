package conversation

import (
	"bytes"
	"crypto/rand"
	"slices"
	"sync"
	"time"
)

// KeepInMemory keeps the conversations in the memory of this process, and in no folder. They end with
// it. The bounds of number and bytes hold for all callers together.
func (s *Store) KeepInMemory() error {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	return s.Share(&memory{limits: s.Limits.filled(), all: map[Key]*inMemory{}}, secret)
}

// A memory is a [Level] in this process.
type memory struct {
	limits Limits

	mu    sync.Mutex
	all   map[Key]*inMemory
	bytes int64
}

// An inMemory is one conversation in a memory.
type inMemory struct {
	group  Key
	name   []byte
	values [][]byte
	bytes  int64
	last   time.Time

	holder string
	until  time.Time
}

func (c *inMemory) heldBy(other string) bool {
	return c.holder != "" && c.holder != other && time.Now().Before(c.until)
}

// Lock implements [Level].
func (m *memory) Lock(at Place, holder string, lease time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.all[at.Key]
	switch {
	case c == nil:
		c = &inMemory{group: at.Group, last: time.Now()}
		m.all[at.Key] = c
	case c.heldBy(holder):
		return ErrBusy
	case time.Since(c.last) > m.limits.Keep:
		m.bytes -= c.bytes
		c.values, c.bytes = nil, 0
	}
	c.holder, c.until = holder, time.Now().Add(lease)
	return nil
}

// Unlock implements [Level].
func (m *memory) Unlock(at Place, holder string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.all[at.Key]; c != nil && c.holder == holder {
		if c.holder = ""; len(c.values) == 0 {
			delete(m.all, at.Key)
		}
	}
}

// Load implements [Level].
func (m *memory) Load(at Place, first int) ([][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.all[at.Key]
	if c == nil || time.Since(c.last) > m.limits.Keep {
		return nil, nil
	}
	return slices.Clone(c.values[min(first, len(c.values)):]), nil
}

// Append implements [Level]. To make room, the conversation that has rested longest is removed.
func (m *memory) Append(at Place, holder string, a Addition) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.all[at.Key]
	if c == nil || c.heldBy(holder) || len(c.values) != a.After || a.After > 0 && !bytes.Equal(c.values[a.After-1], a.Last) {
		return ErrLost
	}
	n := int64(0)
	for _, v := range a.Values {
		n += int64(len(v))
	}
	for len(m.all) > m.limits.Number || m.bytes+n > m.limits.Bytes {
		if !m.drop() {
			return ErrNoRoom
		}
	}
	c.values, c.name, c.last = append(c.values, a.Values...), a.Name, time.Now()
	c.bytes += n
	m.bytes += n
	return nil
}

// drop removes the conversation that nobody holds and that has rested longest.
func (m *memory) drop() bool {
	var oldest Key
	found := false
	for key, c := range m.all {
		if !c.heldBy("") && (!found || c.last.Before(m.all[oldest].last)) {
			oldest, found = key, true
		}
	}
	if found {
		m.bytes -= m.all[oldest].bytes
		delete(m.all, oldest)
	}
	return found
}

// Remove implements [Level].
func (m *memory) Remove(at Place) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch c := m.all[at.Key]; {
	case c == nil || len(c.values) == 0:
		return ErrNotFound
	case c.heldBy(""):
		return ErrBusy
	default:
		m.bytes -= c.bytes
		delete(m.all, at.Key)
	}
	return nil
}

// List implements [Level].
func (m *memory) List(group Key) (list []Listed, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, c := range m.all {
		if c.group == group && len(c.values) > 0 {
			list = append(list, Listed{key, c.name, c.last, c.bytes})
		}
	}
	return list, nil
}
