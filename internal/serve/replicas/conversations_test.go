package replicas

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
	"github.com/sotto-llm/sotto/model"
)

var someLimits = conversation.Limits{Number: 3, Bytes: 1 << 20, Keep: time.Minute}

// place is a conversation of one caller.
func place(n byte) conversation.Place {
	return conversation.Place{Group: conversation.Key{1}, Key: conversation.Key{n}}
}

// add appends values, and returns what is seen then.
func add(t *testing.T, s *Store, at conversation.Place, holder string, seen [][]byte, values ...string) [][]byte {
	t.Helper()
	a := conversation.Addition{After: len(seen), Name: []byte("name"), Limits: someLimits}
	if len(seen) > 0 {
		a.Last = seen[len(seen)-1]
	}
	for _, v := range values {
		a.Values = append(a.Values, []byte(v))
	}
	if err := s.Append(at, holder, a); err != nil {
		t.Fatal(err)
	}
	return append(seen, a.Values...)
}

// TestLock: a lock has one holder, until it is given back or its time ends. Nobody else
// can append meanwhile, and a holder whose time has ended only if nobody has appended.
func TestLock(t *testing.T) {
	r := redisserver.Run(t)
	a, b := open(t, r.Address(), patient), open(t, r.Address(), patient)
	at := place(1)
	lock := func(s *Store, holder string, want error) {
		t.Helper()
		if err := s.Lock(at, holder, time.Minute); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", holder, err, want)
		}
	}
	lock(a, "a", nil)
	lock(a, "a", nil)
	lock(b, "b", conversation.ErrBusy)
	b.Unlock(at, "b") // it is not theirs
	lock(b, "b", conversation.ErrBusy)
	seen := add(t, a, at, "a", nil, "1", "2")
	if err := b.Append(at, "b", conversation.Addition{After: 2, Last: []byte("2"), Values: [][]byte{[]byte("b")}, Limits: someLimits}); !errors.Is(err, conversation.ErrLost) {
		t.Error(err)
	}
	a.Unlock(at, "a")
	lock(b, "b", nil)
	if err := a.Append(at, "a", conversation.Addition{After: 2, Last: []byte("2"), Values: [][]byte{[]byte("late")}, Limits: someLimits}); !errors.Is(err, conversation.ErrLost) {
		t.Error(err)
	}
	add(t, b, at, "b", seen, "3")
	add(t, b, at, "b", seen, "3") // its confirmation was lost
	b.Unlock(at, "b")
	for _, last := range []conversation.Addition{{After: 2, Last: []byte("2")}, {After: 3, Last: []byte("2")}, {}} {
		last.Values, last.Limits = [][]byte{[]byte("late"), []byte("late")}, someLimits
		if err := a.Append(at, "a", last); !errors.Is(err, conversation.ErrLost) {
			t.Errorf("after %d: %v", last.After, err)
		}
	}
	if got, err := a.Load(at, 1); fmt.Sprintf("%s", got) != "[2 3]" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if err := a.Lock(at, "a", 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		if err := b.Lock(at, "b", time.Minute); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	lock(b, "b", nil)
	lock(a, "a", conversation.ErrBusy)
}

// TestConversationBounds: the conversations of a caller are bounded in number, in bytes
// and in time. The oldest make room, but for those that have a turn. Those of others are
// not touched.
func TestConversationBounds(t *testing.T) {
	r := redisserver.Run(t)
	s := open(t, r.Address(), patient)
	other := conversation.Place{Group: conversation.Key{2}, Key: conversation.Key{9}}
	add(t, s, other, "h", nil, "other")
	for n := range byte(5) {
		if n == 1 {
			if err := s.Lock(place(n), "h", time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		seen := add(t, s, place(n), "h", nil, strings.Repeat("x", 100))
		time.Sleep(2 * time.Millisecond) // the order is that of the times
		if n == 1 {
			add(t, s, place(n), "h", seen, "more")
			time.Sleep(2 * time.Millisecond)
		}
	}
	list, err := s.List(conversation.Key{1})
	got := ""
	for _, c := range list {
		got += fmt.Sprintf(" %d:%d:%s", c.Key[0], c.Bytes, c.Name)
	}
	if err != nil || got != " 4:100:name 3:100:name 1:104:name" {
		t.Errorf("%s, %v", got, err)
	}
	if values, err := s.Load(place(0), 0); len(values) > 0 || err != nil {
		t.Errorf("the oldest is there: %q, %v", values, err)
	}
	if err := s.Remove(place(1)); !errors.Is(err, conversation.ErrBusy) {
		t.Error(err)
	}
	if err := s.Remove(place(2)); !errors.Is(err, conversation.ErrNotFound) {
		t.Error(err)
	}
	large := conversation.Addition{Values: [][]byte{bytes.Repeat([]byte("x"), 1<<20-150)}, Name: []byte("name"), Limits: someLimits}
	if err := s.Append(place(6), "h", large); err != nil {
		t.Error(err)
	}
	if list, err := s.List(conversation.Key{1}); len(list) != 2 || err != nil { // that with a turn, and the large one
		t.Errorf("%v, %v", list, err)
	}
	large.Values = append(large.Values, large.Values...)
	if err := s.Append(place(7), "h", large); !errors.Is(err, conversation.ErrNoRoom) {
		t.Error(err)
	}
	if values, err := s.Load(other, 0); len(values) != 1 || err != nil {
		t.Errorf("of another caller: %q, %v", values, err)
	}
	for _, key := range strings.Fields(r.Command("KEYS", "*")) {
		if ttl, err := strconv.Atoi(r.Command("PTTL", key)); err != nil || ttl <= 0 || ttl > 60_000 {
			t.Errorf("%s lives for %d ms (%v)", key, ttl, err)
		}
		if !strings.HasPrefix(key, groupName(conversation.Key{1})) && !strings.HasPrefix(key, groupName(conversation.Key{2})) {
			t.Errorf("%s would be on another node of a cluster", key)
		}
	}
}

// TestEvicted: a conversation that the server has removed to make room is not listed,
// and can begin again.
func TestEvicted(t *testing.T) {
	r := redisserver.Run(t)
	s := open(t, r.Address(), patient)
	add(t, s, place(1), "h", nil, "1", "2")
	add(t, s, place(2), "h", nil, "1")
	r.Command("DEL", groupName(conversation.Key{1})+"c:"+name(conversation.Key{1}))
	if list, err := s.List(conversation.Key{1}); len(list) != 1 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	add(t, s, place(1), "h", nil, "again")
	list, err := s.List(conversation.Key{1})
	if len(list) != 2 || err != nil || list[0].Bytes != 5 {
		t.Errorf("%v, %v", list, err)
	}
	if all := r.Command("HGET", groupName(conversation.Key{1})+"sizes", "*"); all != "6" {
		t.Errorf("all have %s bytes", all)
	}
}

// kept is a store of conversations of a replica.
func kept(t *testing.T, address string) *conversation.Store {
	t.Helper()
	s := &conversation.Store{}
	if err := s.Share(open(t, address, patient), secret); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLargeConversation: a conversation of more than one answer of the server is read
// whole.
func TestLargeConversation(t *testing.T) {
	r := redisserver.Run(t)
	w := conversation.Wish{Agent: "a", Name: "n"}
	text := strings.Repeat(rand.Text(), 1<<20/26)
	for turn := range 4 {
		x, err := kept(t, r.Address()).Begin(w)
		if err != nil {
			t.Fatal(err)
		}
		said := []conversation.Message{{Role: model.User, Text: text[:500<<10]}, {Role: model.Assistant, Text: text[:500<<10]}}
		if turn == 3 {
			said = append(said, conversation.Message{Role: model.User, Text: strings.Repeat(text, 5)})
		}
		if err := x.Commit(said, nil); err != nil {
			t.Fatal(err)
		}
		x.Close()
	}
	keys, err := kept(t, r.Address()).Keys("")
	if err != nil || len(keys) != 1 || keys[0].Bytes < maxAnswer {
		t.Fatalf("%v, %v", keys, err)
	}
	f, err := kept(t, r.Address()).Get("", keys[0].Key)
	if err != nil || len(f.Messages) != 9 || f.Messages[8].Text != strings.Repeat(text, 5) {
		t.Errorf("%v", err)
	}
	if _, err := kept(t, r.Address()).Begin(w); !errors.Is(err, conversation.ErrFull) {
		t.Error(err)
	}
}

// TestManyReplicas: of the turns that replicas try at the same time, each one that is
// kept is there once, in the order in which they were kept.
func TestManyReplicas(t *testing.T) {
	r := redisserver.Run(t)
	var all sync.WaitGroup
	var count atomic.Int64
	for range 4 {
		s := kept(t, r.Address())
		all.Go(func() {
			for mine := 0; mine < 8; {
				x, err := s.Begin(conversation.Wish{Agent: "a", Name: "n"})
				if errors.Is(err, conversation.ErrBusy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if len(x.Messages) != x.Number-1 {
					t.Errorf("turn %d sees %d messages", x.Number, len(x.Messages))
				}
				if err := x.Commit([]conversation.Message{{Role: model.User, Text: fmt.Sprint(x.Number)}}, nil); err != nil {
					t.Error(err)
				}
				count.Add(1)
				mine++
				x.Close()
			}
		})
	}
	all.Wait()
	x, err := kept(t, r.Address()).Begin(conversation.Wish{Agent: "a", Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if n := count.Load(); n != 32 || len(x.Messages) != int(n) {
		t.Errorf("%d turns, %d messages", n, len(x.Messages))
	}
	for i, m := range x.Messages {
		if m.Text != fmt.Sprint(i+1) {
			t.Errorf("message %d is %s", i+1, m.Text)
		}
	}
}
