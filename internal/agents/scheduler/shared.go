package scheduler

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/data/transact"
)

// Limits are those of a space for schedules. What is known of a schedule is written once a day
// at least.
func Limits() transact.Limits {
	return transact.Limits{Bytes: 64 << 20, Keep: 90 * 24 * time.Hour}
}

// Shared keeps schedules in a store that replicas share. Whoever works on one has the lease of
// a job, and is named in its state, which each change checks.
type Shared struct{ Space *transact.Space }

const jobKind = "schedule"

var stateName = []byte("state")

func owner(id name) string { return id.key() }

func (k Shared) take(id name) (hold, error) {
	job := transact.Job{Owner: owner(id), Kind: jobKind, ID: jobKind}
	state, err := k.beat(job)
	if err == nil && state == transact.Closed { // nobody has had it yet
		err = k.Space.Update(owner(id), func(t *transact.Tx) error {
			t.Open(jobKind, jobKind)
			return nil
		})
		if err == nil {
			state, err = k.beat(job)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case state != transact.Held:
		return nil, errElsewhere
	}
	h := &sharedHold{k: k, id: id, job: job, gone: make(chan struct{}), end: make(chan struct{})}
	err = k.Space.Update(owner(id), func(t *transact.Tx) error {
		s, err := stateIn(t)
		if h.known = s; err != nil || s == nil {
			return err
		}
		s.Holder = k.Space.Holder()
		return putState(t, s)
	})
	if err != nil {
		k.Space.Release([]transact.Job{job})
		return nil, err
	}
	h.beating.Go(h.beat)
	return h, nil
}

func (k Shared) beat(job transact.Job) (transact.State, error) {
	states, err := k.Space.Beat([]transact.Job{job})
	if err != nil {
		return 0, err
	}
	return states[0], nil
}

func (k Shared) read(id name) (s *state, err error) {
	err = k.Space.View(owner(id), func(t *transact.Tx) error {
		s, err = stateIn(t)
		return err
	})
	return s, err
}

func stateIn(t *transact.Tx) (*state, error) {
	data := t.Get(stateName)
	if data == nil {
		return nil, nil
	}
	return parseState(data)
}

func putState(t *transact.Tx, s *state) error {
	data, err := s.encode()
	if err != nil {
		return err
	}
	t.Open(jobKind, jobKind) // so that it lasts as long as the state
	return t.Put(stateName, data)
}

// A sharedHold is a schedule whose lease this process has.
type sharedHold struct {
	k     Shared
	id    name
	job   transact.Job
	known *state

	beating sync.WaitGroup
	once    sync.Once
	gone    chan struct{} // closed when another process has it
	end     chan struct{}
}

func (h *sharedHold) state() *state         { return h.known }
func (h *sharedHold) lost() <-chan struct{} { return h.gone }

func (h *sharedHold) lose() { h.once.Do(func() { close(h.gone) }) }

// beat renews the lease. While the store cannot be reached, no other process takes it.
func (h *sharedHold) beat() {
	tick := time.NewTicker(h.k.Space.Heartbeat())
	defer tick.Stop()
	for {
		select {
		case <-h.end:
			return
		case <-tick.C:
		}
		if state, err := h.k.beat(h.job); err == nil && state != transact.Held {
			h.lose()
			return
		}
	}
}

func (h *sharedHold) release() {
	close(h.end)
	h.beating.Wait()
	select {
	case <-h.gone:
	default:
		h.k.Space.Release([]transact.Job{h.job})
	}
}

// change makes a change if this process has the schedule.
func (h *sharedHold) change(f func(*transact.Tx) error) error {
	err := h.k.Space.Update(owner(h.id), func(t *transact.Tx) error {
		now, err := stateIn(t)
		if err != nil {
			return err
		}
		if now != nil && now.Holder != h.k.Space.Holder() {
			return errLost
		}
		return f(t)
	})
	if errors.Is(err, errLost) {
		h.lose()
	}
	return err
}

func (h *sharedHold) put(s *state) error {
	err := h.change(func(t *transact.Tx) error {
		s.Holder = h.k.Space.Holder()
		return putState(t, s)
	})
	if err == nil {
		h.known = s
	}
	return err
}

func lineName(due time.Time, n int) []byte { return fmt.Appendf(nil, "log/%d/%d", due.Unix(), n) }

// The number of lines stands beside them.
func countName(due time.Time) []byte { return fmt.Appendf(nil, "log/%d", due.Unix()) }

func linesIn(t *transact.Tx, due time.Time) (n int, err error) {
	data := t.Get(countName(due))
	if data == nil {
		return 0, nil
	}
	_, err = fmt.Sscanf(string(data), "%d", &n)
	return n, err
}

func (h *sharedHold) add(due time.Time, n int, line []byte) error {
	return h.change(func(t *transact.Tx) error {
		if err := t.Put(lineName(due, n), line); err != nil {
			return err
		}
		return t.Put(countName(due), fmt.Appendf(nil, "%d", n+1))
	})
}

func (h *sharedHold) log(due time.Time) (lines [][]byte, err error) {
	err = h.k.Space.View(owner(h.id), func(t *transact.Tx) error {
		n, err := linesIn(t, due)
		lines = nil
		for i := range n {
			lines = append(lines, t.Get(lineName(due, i)))
		}
		return err
	})
	return lines, err
}

func (h *sharedHold) drop(due time.Time) error {
	return h.change(func(t *transact.Tx) error {
		n, err := linesIn(t, due)
		for i := range n {
			t.Delete(lineName(due, i))
		}
		t.Delete(countName(due))
		return err
	})
}
