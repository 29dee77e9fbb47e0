package history

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/sotto-llm/sotto/internal/base/sealing"
)

// A Key names an entry of a [Level]. It is an HMAC: nobody without the secret can
// tell what it was made of.
type Key = [sha256.Size]byte

// A Level is a level below the memory of a [Store], which the stores of several
// processes share. It sees keys and sealed values, and no text. Its methods bound
// their own time. If it cannot be reached, it keeps nothing and finds nothing.
type Level interface {
	// Put keeps an entry.
	Put(e LevelEntry)
	// Get returns the value of each key, nil where there is none. The keys are of one
	// group.
	Get(group Key, keys []Key) [][]byte
	// Resolve returns the key of the entry that has each alias. It is zero if there is
	// none, or if two entries had the alias.
	Resolve(group Key, aliases []Key) []Key
}

// A LevelEntry is an entry of a [Level].
type LevelEntry struct {
	Group   Key // of all entries of one caller
	Key     Key
	Aliases []Key
	Value   []byte
	// Age is how long the entry is kept, and Most how many entries of its group are. If
	// zero, what the level has for all.
	Age  time.Duration
	Most int
}

// maxShared bounds the size of an entry in a level, and maxFetched the messages of a
// request that are looked up there: the last ones.
const (
	maxShared  = 1 << 20
	maxFetched = 128
)

// shared is what a store needs for a level.
type shared struct {
	Level
	box *sealing.Box
}

// Share puts a level below the memory of the store. All stores that share it have the
// same secret, of 16 bytes or more, from which their keys come: those of the entries,
// and the one that seals the values. Call it before the store is used.
func (s *Store) Share(l Level, secret []byte) error {
	box, err := sealing.New(secret, "restored reasoning")
	if err != nil {
		return err
	}
	s.secret, s.level = box.Names, &shared{l, box}
	return nil
}

// group is the group of a caller's entries.
func (s *Store) group(caller string) Key {
	c := &chain{mac: s.mac()}
	return c.next("group of a caller", caller, nil)
}

// share puts an entry into the level.
func (s *Store) share(caller string, e *entry) {
	if s.level == nil || e.size() > maxShared {
		return
	}
	put := LevelEntry{Group: s.group(caller), Key: e.key}
	for _, k := range e.others {
		if k != (key{}) {
			put.Aliases = append(put.Aliases, k)
		}
	}
	put.Value = s.level.box.Seal(e.key[:], e.encode())
	s.level.Put(put)
}

// opened returns the entry in a value of the level, or nil if the value is not one that
// a store with the same secret sealed under this key.
func (l *shared) opened(k key, value []byte) *entry {
	if len(value) == 0 || len(value) > 2*maxShared {
		return nil
	}
	plain, ok := l.box.Open(k[:], value)
	if !ok {
		return nil
	}
	e := &entry{key: k}
	if !e.decode(plain) {
		return nil
	}
	return e
}

// entryVersion is the first byte of an encoded entry. One of callsVersion has no list. One of wordsVersion has no calls either. One of blocksVersion has
// two other keys, and nothing of what the reply said. One of oldVersion has no blocks either.
const (
	entryVersion  = 6
	callsVersion  = 5
	wordsVersion  = 4
	blocksVersion = 3
	oldVersion    = 2
)

// encode writes an entry as bytes: its other keys, its calls, its texts, its list, its
// sealed items, its blocks and its signatures.
func (e *entry) encode() []byte {
	b := []byte{entryVersion}
	for _, k := range e.others {
		b = append(b, k[:]...)
	}
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	b = binary.AppendUvarint(b, uint64(len(e.Calls)))
	for _, call := range e.Calls {
		text(call.ID)
		b = append(b, call.Said[:]...)
	}
	b = binary.AppendUvarint(b, uint64(e.said))
	text(e.Thought)
	text(e.Raw)
	text(e.Listed)
	for _, list := range [][]string{e.Sealed, e.Blocks} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			text(s)
		}
	}
	for i, s := range e.Signatures {
		b = binary.AppendUvarint(b, uint64(i))
		text(s)
	}
	return b
}

// decode reads what encode wrote. It reports false for anything else.
func (e *entry) decode(b []byte) bool {
	ok := len(b) > 0 && oldVersion <= b[0] && b[0] <= entryVersion
	version, others := byte(0), otherKeys
	if ok {
		version = b[0]
	}
	if version < wordsVersion {
		others = 2
	}
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			ok = false
			return 0
		}
		b = b[size:]
		return n
	}
	text := func() string {
		n := number()
		if n > uint64(len(b)) {
			ok = false
			return ""
		}
		s := string(b[:n])
		b = b[n:]
		return s
	}
	if !ok || len(b) < 1+others*sha256.Size {
		return false
	}
	b = b[1:]
	for i := range others {
		b = b[copy(e.others[i][:], b):]
	}
	if version >= callsVersion {
		for n := number(); ok && n > 0; n-- {
			call := Call{ID: text()}
			ok = ok && len(b) >= len(call.Said)
			b = b[copy(call.Said[:], b):]
			e.Calls = append(e.Calls, call)
		}
	}
	if version >= wordsVersion {
		e.said = int(min(number(), maxShared))
	}
	e.Thought, e.Raw = text(), text()
	if version == entryVersion {
		e.Listed = text()
	}
	for n := number(); ok && n > 0; n-- {
		e.Sealed = append(e.Sealed, text())
	}
	if version > oldVersion {
		for n := number(); ok && n > 0; n-- {
			e.Blocks = append(e.Blocks, text())
		}
	}
	for ok && len(b) > 0 {
		if e.Signatures == nil {
			e.Signatures = map[int]string{}
		}
		i := number()
		e.Signatures[int(min(i, 1<<20))] = text()
	}
	return ok
}

// fetch looks in the level for what memory did not have, and keeps it in memory.
func (r *recall) fetch() {
	s, group := r.store, r.store.group(r.caller)
	missing := r.missing()
	asked := make([]Key, len(missing))
	for i, m := range missing {
		asked[i] = r.keys[m]
	}
	r.takeAll(missing, asked, s.level.Get(group, asked), false)

	var at []int // the messages of aliases
	var aliases []Key
	for _, m := range r.missing() {
		for _, k := range r.others[m] {
			if k != (key{}) {
				at, aliases = append(at, m), append(aliases, k)
			}
		}
	}
	if len(aliases) == 0 {
		return
	}
	var messages []int
	asked = asked[:0]
	for i, k := range s.level.Resolve(group, aliases) {
		if k != (key{}) && !r.taken[k] {
			messages, asked = append(messages, at[i]), append(asked, k)
		}
	}
	if len(asked) > 0 {
		r.takeAll(messages, asked, s.level.Get(group, asked), true)
		r.compare()
	}
}

// missing returns the last of the assistant's messages for which nothing is found.
func (r *recall) missing() (list []int) {
	for m := len(r.q.Messages) - 1; m >= 0 && len(list) < maxFetched; m-- {
		if _, has := r.found[m]; !has && r.q.Messages[m].Role == "assistant" {
			list = append(list, m)
		}
	}
	return list
}

// takeAll takes the values that the level has for messages.
func (r *recall) takeAll(messages []int, keys []Key, values [][]byte, changed bool) {
	for i, value := range values {
		m := messages[i]
		if _, has := r.found[m]; has || r.taken[keys[i]] {
			continue
		}
		if e := r.store.level.opened(keys[i], value); e != nil {
			r.use(m, e, changed)
			r.store.keep(e)
		}
	}
}
