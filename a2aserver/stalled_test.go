package a2aserver

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/internal/serve/replicas"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
)

// A slowLevel is the way of one replica to the store. It counts what passes, and stops at a commit
// that the test chooses.
type slowLevel struct {
	transact.Level
	beats, held, scans, claims atomic.Int64 // held are leases that were renewed
	dead                       atomic.Bool  // no heartbeat arrives
	deaf                       atomic.Bool  // it learns of no idle job
	before, after              atomic.Pointer[func()]
}

func (l *slowLevel) Commit(at transact.Place, c transact.Change) error {
	if stall := l.before.Swap(nil); stall != nil {
		(*stall)()
	}
	err := l.Level.Commit(at, c)
	if stall := l.after.Swap(nil); stall != nil {
		(*stall)()
	}
	return err
}

func (l *slowLevel) Beat(group transact.Key, lease transact.Lease, jobs []transact.Key) ([]transact.State, error) {
	if l.dead.Load() {
		return nil, transact.ErrUnreachable
	}
	states, err := l.Level.Beat(group, lease, jobs)
	for _, state := range states {
		if state == transact.Held {
			l.held.Add(1)
		}
	}
	l.beats.Add(1)
	return states, err
}

func (l *slowLevel) Idle(group transact.Key, most int) (map[transact.Key][]byte, time.Duration, error) {
	jobs, next, err := l.Level.Idle(group, most)
	l.scans.Add(1)
	if l.deaf.Load() {
		return nil, next, err
	}
	return jobs, next, err
}

func (l *slowLevel) Claim(group transact.Key, lease transact.Lease, job transact.Key) (bool, error) {
	mine, err := l.Level.Claim(group, lease, job)
	if mine {
		l.claims.Add(1)
	}
	return mine, err
}

// more waits until a counter has grown by n.
func more(t *testing.T, c *atomic.Int64, n int64) {
	t.Helper()
	for end, until := c.Load()+n, time.Now().Add(time.Minute); c.Load() < end; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Error("the replica does not ask the store")
			return
		}
	}
}

// TestStalled: however long a replica takes to store that it has taken a message, the message is
// answered once. From the commit on its lease is renewed, and the replica does not claim its own job
// if the lease ends. If another one does before the mind was asked, the task does not fail.
func TestStalled(t *testing.T) {
	mind, r := newHeld(), redisserver.Run(t)
	var levels [2]*slowLevel
	var h [2]*house
	for i := range h {
		level, err := replicas.Open(r.Address(), replicas.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = level.Close() })
		levels[i] = &slowLevel{Level: level}
		space, err := transact.New(levels[i], []byte("a secret of all replicas"), "tasks", transact.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		h[i] = serve(t, Config{Mind: mind, Shared: space, NoPush: true})
	}
	slow, other := levels[0], levels[1]
	c := client(t, h[0].url(), 0)
	silent := func(wait func()) func() {
		return func() {
			slow.dead.Store(true)
			wait()
			slow.dead.Store(false)
		}
	}
	for _, stall := range []struct {
		name  string
		at    *atomic.Pointer[func()]
		wait  func()
		other bool // another replica goes on
	}{
		{"before the message is stored", &slow.before, func() { more(t, &slow.beats, 3) }, false},
		{"after the message is stored", &slow.after, func() { more(t, &slow.held, 2) }, false},
		{"after that, until its lease has ended", &slow.after, silent(func() { more(t, &slow.scans, 16) }), false},
		{"after that, until another replica has the task", &slow.after, silent(func() { more(t, &other.claims, 1) }), true},
	} {
		other.deaf.Store(!stall.other)
		for _, answers := range []bool{false, true} {
			var task a2a.TaskID
			want := "So Hi after 0"
			if answers {
				task = send(t, c, message("Ask me.")).ID
				want = `So Hi after "memo"2`
			}
			what := fmt.Sprintf("it stalls %s, an answer: %v", stall.name, answers)
			asked, own := mind.times(), slow.claims.Load()
			stall.at.Store(&stall.wait)
			req := message("Hi")
			req.Message.TaskID = task
			got := send(t, c, req)
			if text, ending := answerOf(t, got); ending != Answered || text != want {
				t.Errorf("%s: it is %s (%s): %q", what, got.Status.State, ending, text)
			}
			if stall.other {
				continue
			}
			if n := mind.times() - asked; n != 1 {
				t.Errorf("%s: the mind was asked %d times", what, n)
			}
			if n := slow.claims.Load() - own; n != 0 {
				t.Errorf("%s: the replica claimed its own job %d times", what, n)
			}
		}
	}
}

// times is how often the mind was asked.
func (h *held) times() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.asked)
}
