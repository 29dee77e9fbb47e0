package transact_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/internal/serve/replicas"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
)

// space opens the space of one replica.
func space(t *testing.T, r *redisserver.Server, limits transact.Limits) *transact.Space {
	t.Helper()
	level, err := replicas.Open(r.Address(), replicas.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = level.Close() })
	s, err := transact.New(level, []byte("a secret of all replicas"), "test", limits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOneAfterAnother: whatever replicas do at once, the values are as if one transaction had come
// after another: every transfer moves what it took, and nobody sees money that is nowhere. The
// server is killed meanwhile.
func TestOneAfterAnother(t *testing.T) {
	r := redisserver.RunPersistent(t)
	const accounts, each, transfers = 4, 100, 60
	one := space(t, r, transact.Limits{})
	name := func(i int) []byte { return fmt.Appendf(nil, "account %d", i) }
	balance := func(x *transact.Tx, i int) int {
		n, _ := strconv.Atoi(string(x.Get(name(i))))
		return n
	}
	if err := one.Update("ann", func(x *transact.Tx) error {
		for i := range accounts {
			if err := x.Put(name(i), []byte(strconv.Itoa(each))); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var moved sync.WaitGroup
	for w := range 3 {
		s, rnd := space(t, r, transact.Limits{}), rand.New(rand.NewPCG(1, uint64(w)))
		moved.Go(func() {
			for range transfers {
				from, to, n := rnd.IntN(accounts), rnd.IntN(accounts), rnd.IntN(50)
				err := s.Update("ann", func(x *transact.Tx) error {
					x.Put(name(from), []byte(strconv.Itoa(balance(x, from)-n)))
					return x.Put(name(to), []byte(strconv.Itoa(balance(x, to)+n)))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3 {
		r.Kill()
		r.Start()
	}
	moved.Wait()
	total := 0
	if err := one.View("ann", func(x *transact.Tx) error {
		for i := range accounts {
			total += balance(x, i)
		}
		return nil
	}); err != nil || total != accounts*each {
		t.Errorf("%d in all, %v", total, err)
	}
}

// TestModel: random changes of two replicas leave what a map would have. What one owner has, another
// one does not see.
func TestModel(t *testing.T) {
	r := redisserver.Run(t)
	both := []*transact.Space{space(t, r, transact.Limits{}), space(t, r, transact.Limits{})}
	model := map[string]map[string]string{"": {}, "ann": {}}
	rows := map[string]map[string]string{"": {}, "ann": {}}
	rnd := rand.New(rand.NewPCG(3, 4))
	fails := errors.New("no")
	for step := range 300 {
		s, owner := both[rnd.IntN(2)], []string{"", "ann"}[rnd.IntN(2)]
		next, nextRows := maps.Clone(model[owner]), maps.Clone(rows[owner])
		result := error(nil)
		if rnd.IntN(4) == 0 {
			result = fails
		}
		err := s.Update(owner, func(x *transact.Tx) error {
			for range 1 + rnd.IntN(4) {
				k := strconv.Itoa(rnd.IntN(6))
				switch v := strings.Repeat("v", rnd.IntN(3)) + strconv.Itoa(step); rnd.IntN(4) {
				case 0:
					x.Delete([]byte(k))
					delete(next, k)
				case 1:
					x.PutRow([]byte(k), []byte(v))
					nextRows[k] = v
				case 2:
					x.DeleteRow([]byte(k))
					delete(nextRows, k)
				default:
					if err := x.Put([]byte(k), []byte(v)); err != nil {
						return err
					}
					next[k] = v
				}
				if got, want := string(x.Get([]byte(k))), next[k]; got != want {
					t.Fatalf("step %d: %q within the transaction, want %q", step, got, want)
				}
			}
			return result
		})
		if !errors.Is(err, result) {
			t.Fatal(err)
		}
		if result == nil {
			model[owner], rows[owner] = next, nextRows
		}
		for _, s := range both {
			for i := range 6 {
				k := strconv.Itoa(i)
				var got string
				if err := s.View(owner, func(x *transact.Tx) error { got = string(x.Get([]byte(k))); return nil }); err != nil || got != model[owner][k] {
					t.Fatalf("step %d: %q, %v, want %q", step, got, err, model[owner][k])
				}
			}
			all, err := s.AllRows(owner)
			if n, _, sizeErr := s.Size(owner); err != nil || sizeErr != nil || n != len(all) || n != len(rows[owner]) {
				t.Fatalf("step %d: %d rows, want %d, %v %v", step, n, len(rows[owner]), err, sizeErr)
			}
		}
	}
}

// TestBounds: an owner has no more bytes than it may, everything goes with time, and what was
// deleted makes room.
func TestBounds(t *testing.T) {
	r := redisserver.Run(t)
	s := space(t, r, transact.Limits{Bytes: 10 << 10, Keep: time.Hour, Value: 4 << 10})
	put := func(k string, n int) error {
		return s.Update("ann", func(x *transact.Tx) error { return x.Put([]byte(k), make([]byte, n)) })
	}
	if err := put("a", 4<<10+1); !errors.Is(err, transact.ErrFull) {
		t.Errorf("a large value: %v", err)
	}
	for _, k := range []string{"a", "b"} {
		if err := put(k, 4<<10); err != nil {
			t.Fatal(err)
		}
	}
	if err := put("c", 4<<10); !errors.Is(err, transact.ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	if err := s.Update("ann", func(x *transact.Tx) error { x.Delete([]byte("a")); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := put("c", 4<<10); err != nil {
		t.Error(err)
	}
	if _, bytes, err := s.Size("ann"); err != nil || bytes < 8<<10 || bytes > 9<<10 {
		t.Errorf("%d bytes, %v", bytes, err)
	}
	for _, key := range strings.Fields(r.Command("KEYS", "*")) {
		if ttl, err := strconv.Atoi(r.Command("PTTL", key)); err != nil || ttl <= 0 || ttl > 3600_000 {
			t.Errorf("%s is kept for %d ms, %v", key, ttl, err)
		}
	}
}

// TestHostileValues: a value that nobody with the secret wrote, or that stands elsewhere, is an
// error, and text and names do not show in the store.
func TestHostileValues(t *testing.T) {
	r := redisserver.Run(t)
	s := space(t, r, transact.Limits{})
	if err := s.Update("ann", func(x *transact.Tx) error {
		x.Open("work", "CANARY")
		x.PutRow([]byte("CANARY"), []byte("CANARY"))
		return errors.Join(x.Put([]byte("CANARY"), []byte("CANARY")), x.Put([]byte("other"), []byte("CANARY")))
	}); err != nil {
		t.Fatal(err)
	}
	hash, fields := "", []string(nil)
	for _, key := range strings.Fields(r.Command("KEYS", "*")) {
		if r.Command("TYPE", key) != "hash" {
			continue
		}
		if all := r.Command("HGETALL", key); strings.Contains(all, "CANARY") || strings.Contains(key, "ann") {
			t.Errorf("%s shows %s", key, all)
		}
		if strings.Contains(key, "}v:") {
			hash = key
			for _, f := range strings.Fields(r.Command("HKEYS", key)) {
				if f != "*" {
					fields = append(fields, f)
				}
			}
		}
	}
	if len(fields) != 2 {
		t.Fatal(fields)
	}
	read := func() error {
		return s.View("ann", func(x *transact.Tx) error { x.Get([]byte("CANARY")); x.Get([]byte("other")); return nil })
	}
	for what, hostile := range map[string][]string{
		"of another place": {"EVAL", "redis.call('HSET',KEYS[1],ARGV[1],redis.call('HGET',KEYS[1],ARGV[2]))", "1", hash, fields[0], fields[1]},
		"empty":            {"HSET", hash, fields[0], ""},
		"short":            {"HSET", hash, fields[0], "x"},
		"other bytes":      {"HSET", hash, fields[0], strings.Repeat("\xff", 100)},
	} {
		r.Command(hostile...)
		if err := read(); !errors.Is(err, transact.ErrForeign) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, key := range strings.Fields(r.Command("KEYS", "*jobs*")) { // what nobody opened is left out
		r.Command("HSET", key, "no name", "x", strings.Repeat("A", 43), "x")
	}
	if jobs, _, err := s.Idle(10); err != nil || len(jobs) > 0 {
		t.Errorf("%v, %v", jobs, err)
	}
	for _, key := range strings.Fields(r.Command("KEYS", "*")) {
		r.Command("DEL", key)
		r.Command("SET", key, "a value of another type")
	}
	if err := read(); err == nil {
		t.Error("a key of another type is read")
	}
}

// TestJobs: a job belongs to whoever opened it, until its lease ends or is given back. Then one of
// those who claim it gets it, and the one who had it learns that.
func TestJobs(t *testing.T) {
	r := redisserver.Run(t)
	a, b, c := space(t, r, transact.Limits{}), space(t, r, transact.Limits{}), space(t, r, transact.Limits{})
	j := transact.Job{Owner: "ann", Kind: "work", ID: "1"}
	state := func(s *transact.Space) transact.State {
		t.Helper()
		states, err := s.Beat([]transact.Job{j})
		if err != nil || len(states) != 1 {
			t.Fatal(states, err)
		}
		return states[0]
	}
	idle := func() int {
		t.Helper()
		jobs, next, err := c.Idle(10)
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs) == 1 && next >= 0 || next > 3*time.Second {
			t.Errorf("%d idle jobs, and the next lease ends after %v", len(jobs), next)
		}
		return len(jobs)
	}
	set := func(f func(*transact.Tx)) {
		t.Helper()
		if err := a.Update("ann", func(x *transact.Tx) error { f(x); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if got := state(a); got != transact.Closed {
		t.Errorf("before it is opened: %c", got)
	}
	set(func(x *transact.Tx) { x.Open(j.Kind, j.ID) })
	if mine, err := b.Claim(j); mine || err != nil || idle() != 0 || state(a) != transact.Held {
		t.Errorf("the job of another is claimed: %v, %v", mine, err)
	}
	if _, next, err := c.Idle(10); next <= 0 || err != nil {
		t.Errorf("the lease of a job ends after %v, %v", next, err)
	}
	a.Release([]transact.Job{j})
	if n := idle(); n != 1 {
		t.Errorf("%d idle jobs", n)
	}
	mine, err := b.Claim(j)
	others, err2 := c.Claim(j)
	if !mine || others || errors.Join(err, err2) != nil || state(a) != transact.Lost || state(b) != transact.Held {
		t.Errorf("%v %v %v %v", mine, others, err, err2)
	}
	a.Release([]transact.Job{j}) // not its own any more
	if state(b) != transact.Held || idle() != 0 {
		t.Error("somebody else gave the lease back")
	}
	set(func(x *transact.Tx) { x.Open(j.Kind, j.ID) }) // by somebody who does not have the lease
	if state(b) != transact.Held {
		t.Error("the lease went to somebody else")
	}
	set(func(x *transact.Tx) { x.Close(j.Kind, j.ID) })
	if mine, err := c.Claim(j); mine || err != nil || state(b) != transact.Closed || idle() != 0 {
		t.Errorf("closed: %v, %v", mine, err)
	}
	set(func(x *transact.Tx) { x.Open("mail", "2") })
	for until := time.Now().Add(time.Minute); idle() == 0; time.Sleep(50 * time.Millisecond) { // nobody beats
		if time.Now().After(until) {
			t.Fatal("a lease that nobody renews does not end")
		}
	}
}

// TestRepeatedCommit: a commit whose answer was lost is sent again, and has no effect.
func TestRepeatedCommit(t *testing.T) {
	r := redisserver.Run(t)
	level, err := replicas.Open(r.Address(), replicas.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer level.Close()
	at := transact.Place{Group: transact.Key{1}, Owner: transact.Key{2}}
	value := bytes.Repeat([]byte("x"), 40)
	c := transact.Change{
		Checks: []transact.Check{{Name: transact.Key{3}}},
		Writes: []transact.Write{{Table: transact.Values, Name: transact.Key{3}, Value: value}},
		Lease:  transact.Lease{Holder: "a", For: time.Second}, Keep: time.Hour, Bytes: 1000,
	}
	for range 3 {
		if err := level.Commit(at, c); err != nil {
			t.Fatal(err)
		}
	}
	if _, n, err := level.Size(at); err != nil || n != 40 {
		t.Errorf("%d bytes, %v", n, err)
	}
	c.Writes[0].Value = bytes.Repeat([]byte("y"), 40)
	if err := level.Commit(at, c); !errors.Is(err, transact.ErrChanged) {
		t.Error(err)
	}
}
