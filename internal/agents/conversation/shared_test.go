package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A shelf is a level in this process. Its faults are those of a store that is not
// trusted, or not there.
type shelf struct {
	mu     sync.Mutex
	values map[Key][][]byte
	names  map[Key]Listed
	holder map[Key]string
	until  map[Key]time.Time

	down   bool // nothing can be asked
	unsure int  // so many appends are done, and said to have failed
}

func newShelf() *shelf {
	return &shelf{values: map[Key][][]byte{}, names: map[Key]Listed{}, holder: map[Key]string{}, until: map[Key]time.Time{}}
}

func (l *shelf) held(at Place, holder string) bool {
	return l.holder[at.Key] != "" && l.holder[at.Key] != holder && time.Now().Before(l.until[at.Key])
}

func (l *shelf) Lock(at Place, holder string, lease time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.down:
		return ErrUnreachable
	case l.held(at, holder):
		return ErrBusy
	}
	l.holder[at.Key], l.until[at.Key] = holder, time.Now().Add(lease)
	return nil
}

func (l *shelf) Unlock(at Place, holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder[at.Key] == holder {
		delete(l.holder, at.Key)
	}
}

func (l *shelf) Load(at Place, first int) ([][]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, ErrUnreachable
	}
	list := l.values[at.Key]
	return list[min(first, len(list)):min(first+2, len(list))], nil
}

func (l *shelf) Append(at Place, holder string, a Addition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.values[at.Key]
	n := len(list)
	switch {
	case l.down:
		return ErrUnreachable
	case l.held(at, holder):
		return ErrLost
	case n == a.After+len(a.Values) && bytes.Equal(list[n-1], a.Values[len(a.Values)-1]):
		return nil
	case n != a.After || n > 0 && !bytes.Equal(list[n-1], a.Last):
		return ErrLost
	}
	l.values[at.Key] = append(list, a.Values...)
	l.names[at.Key] = Listed{at.Key, a.Name, time.Now(), 0}
	if l.unsure--; l.unsure >= 0 {
		return ErrUnreachable
	}
	return nil
}

func (l *shelf) Remove(at Place) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.held(at, ""):
		return ErrBusy
	case l.values[at.Key] == nil:
		return ErrNotFound
	}
	delete(l.values, at.Key)
	delete(l.names, at.Key)
	return nil
}

func (l *shelf) List(Key) (list []Listed, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.names {
		list = append(list, one)
	}
	return list, nil
}

var secret = []byte("a secret of all replicas, 32 byte")

func sharing(t *testing.T, l Level, secret []byte) *Store {
	t.Helper()
	s := &Store{Secrets: record.NewSecrets("sk-of-the-agent")}
	if err := s.Share(l, secret); err != nil {
		t.Fatal(err)
	}
	return s
}

// everywhere runs a test with conversations in a folder, and with those in a level.
func everywhere(t *testing.T, f func(*testing.T, *Store)) {
	t.Run("folder", func(t *testing.T) { f(t, &Store{Folder: t.TempDir()}) })
	t.Run("level", func(t *testing.T) { f(t, sharing(t, newShelf(), secret)) })
	t.Run("memory", func(t *testing.T) {
		s := &Store{}
		if err := s.KeepInMemory(); err != nil {
			t.Fatal(err)
		}
		f(t, s)
	})
}

// A conversation continues in another process with the same level and secret. The
// level sees no text, and no secret of the agent is kept.
func TestOtherProcess(t *testing.T) {
	l := newShelf()
	w := Wish{Caller: "ann", Agent: "a", Name: "CANARY name"}
	for n := range 4 {
		talk(t, sharing(t, l, secret), w, fmt.Sprint("CANARY sk-of-the-agent ", n), "said", nil)
	}
	large := strings.Repeat("CANARY large ", maxValue/6)
	talk(t, sharing(t, l, secret), w, large, "said", nil)
	s := sharing(t, l, secret)
	texts, _ := said(t, s, w)
	same(t, len(texts), 10)
	same(t, texts[6], "CANARY [secret] 3")
	same(t, texts[8], large)
	for key, list := range l.values {
		if len(list) < 6 || bytes.Contains(slices.Concat(list...), []byte("CANARY")) || bytes.Contains(l.names[key].Name, []byte("CANARY")) {
			t.Errorf("%d values, or a text", len(list))
		}
	}
	if texts, _ := said(t, sharing(t, newShelf(), secret), w); len(texts) > 0 {
		t.Errorf("another level has %q", texts)
	}
	if texts, _ := said(t, sharing(t, l, []byte("another secret of the replicas")), w); len(texts) > 0 {
		t.Errorf("with another secret: %q", texts)
	}
	keys, err := s.Keys("ann")
	if err != nil || len(keys) != 1 {
		t.Fatalf("%v, %v", keys, err)
	}
	if f, err := s.Get("ann", keys[0].Key); err != nil || f.Head.Name != w.Name || len(f.Messages) != 10 {
		t.Errorf("%+v, %v", f, err)
	}
	if list, _ := s.Keys("bob"); len(list) > 0 {
		t.Errorf("bob has %v", list)
	}
	if err := s.Remove("bob", keys[0].Key); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if err := s.Remove("ann", keys[0].Key); err != nil {
		t.Error(err)
	}
	if _, err := s.Get("ann", keys[0].Key); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// What a level changes, moves, leaves out at the begin or in the middle, or takes from
// another conversation, is not continued.
func TestForgedConversation(t *testing.T) {
	l := newShelf()
	s := sharing(t, l, secret)
	w := Wish{Agent: "a", Name: "n"}
	for n := range 3 {
		talk(t, s, w, fmt.Sprint(n), "said", nil)
		talk(t, s, Wish{Agent: "a", Name: "other"}, fmt.Sprint("other ", n), "said", nil)
	}
	key := func(name string) Key { return s.level.of("", keyOf("a", name)).place.Key }
	was, other := slices.Clone(l.values[key("n")]), l.values[key("other")]
	changed := bytes.Clone(was[1])
	changed[len(changed)/2] ^= 1
	for what, list := range map[string][][]byte{
		"changed": {was[0], changed, was[2]}, "moved": {was[0], was[2], was[1]}, "without the first": was[1:], "without one": {was[0], was[2]},
		"twice": {was[0], was[1], was[1]}, "of another": {was[0], other[1], was[2]}, "all of another": other, "made up": {was[0], []byte("{}\n")}, "cut": {was[0], was[1][:5]},
		"empty": {was[0], {}},
	} {
		l.values[key("n")] = list
		if x, err := s.Begin(w); err == nil {
			t.Errorf("%s: continued: %v", what, x.Messages)
			x.Close()
		}
		if len(l.holder) > 0 {
			t.Errorf("%s: the lock is kept", what)
			clear(l.holder)
		}
	}
	endless := &endless{shelf: l, value: other[0]}
	if _, err := sharing(t, endless, secret).Begin(w); err == nil || endless.loads > 3 {
		t.Errorf("%d loads, %v", endless.loads, err)
	}
	l.values[key("n")] = was
	if texts, _ := said(t, s, w); len(texts) != 6 {
		t.Errorf("%q", texts)
	}
}

// An endless level always has one more value.
type endless struct {
	*shelf
	value []byte
	loads int
}

func (l *endless) Load(Place, int) ([][]byte, error) {
	l.loads++
	return [][]byte{l.value}, nil
}

// TestLate: of two processes that hold a conversation, since the lease of the first
// ended, only one keeps its turn. So the first cannot undo what the second did.
func TestLate(t *testing.T) {
	for _, first := range []string{"the late one", "the new one"} {
		t.Run(first, func(t *testing.T) {
			l := newShelf()
			w := Wish{Agent: "a", Name: "n"}
			talk(t, sharing(t, l, secret), w, "1", "one", nil)
			late, err := sharing(t, l, secret).Begin(w)
			if err != nil {
				t.Fatal(err)
			}
			defer late.Close()
			l.mu.Lock()
			clear(l.until) // the lease has ended
			l.mu.Unlock()
			now, err := sharing(t, l, secret).Begin(w)
			if err != nil {
				t.Fatal(err)
			}
			defer now.Close()
			commit := func(x *Turn, text string) error { return x.Commit([]Message{{Role: model.User, Text: text}}, nil) }
			if first == "the late one" {
				if err := commit(late, "late"); !errors.Is(err, ErrLost) {
					t.Error(err)
				}
			}
			if err := commit(now, "now"); err != nil {
				t.Error(err)
			}
			if first == "the new one" {
				now.Close()
				if err := commit(late, "late"); !errors.Is(err, ErrLost) {
					t.Error(err)
				}
			}
			f, err := sharing(t, l, secret).Get("", keyOf("a", "n"))
			if err != nil || len(f.Messages) != 3 || f.Messages[2].Text != "now" {
				t.Errorf("%+v, %v", f, err)
			}
		})
	}
}

// TestUnsure: a turn that was kept, but whose confirmation was lost, is there once.
func TestUnsure(t *testing.T) {
	l := newShelf()
	s := sharing(t, l, secret)
	w := Wish{Agent: "a", Name: "n"}
	l.unsure = 1
	talk(t, s, w, "1", "one", nil)
	l.unsure = 1
	talk(t, s, w, "2", "two", nil)
	texts, _ := said(t, s, w)
	same(t, texts, []string{"1", "one", "2", "two"})
	l.down = true
	if _, err := s.Begin(w); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
}

// TestRecords: the run of a conversation begins once in the record of each process.
func TestRecords(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store) {
		w := Wish{Agent: "a", Name: "n"}
		var begun []string
		for _, record := range []string{"r1", "r1", "r2", "r1", "r2", "r3"} {
			x, err := s.Begin(w)
			if err != nil {
				t.Fatal(err)
			}
			if x.Begins(record) {
				begun = append(begun, record)
			}
			if err := x.Commit([]Message{{Role: model.User, Text: "?"}}, nil); err != nil {
				t.Fatal(err)
			}
			x.Close()
		}
		same(t, begun, []string{"r1", "r2", "r3"})
	})
}

// TestBranches: what one process begins, another one branches, and a third one reads.
func TestBranches(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store) {
		message := func(text string, parent int) Message {
			return Message{Role: model.User, Text: text, Parent: parent}
		}
		key, err := s.Create("ann", "chat", Change{Title: "T", Add: []Message{message("1", 0)}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []Message{message("2", 1), message("2b", 1), message("3b", 3)} {
			err := s.Change("ann", key, func(f *File) (Change, error) {
				if busy := s.Change("ann", key, nil); !errors.Is(busy, ErrBusy) {
					t.Error(busy)
				}
				return Change{Add: []Message{m}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		f, err := s.Get("ann", key)
		if err != nil || f.Title() != "T" {
			t.Fatalf("%+v, %v", f, err)
		}
		same(t, Branch(f.Messages, 4), []int{1, 3, 4})
		same(t, Beside(f.Messages, []int{2})[2], []int{2, 3})
		same(t, Newest(f.Messages, 2), 2)
		if err := s.Change("bob", key, nil); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		if err := s.Change("ann", newKey(), nil); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		list, err := s.Keys("ann")
		if err != nil || len(list) != 1 || list[0].Key != key {
			t.Errorf("%v, %v", list, err)
		}
	})
}
