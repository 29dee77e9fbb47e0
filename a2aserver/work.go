package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/record"
)

// With a store that replicas share, a task has a worker: the process that answers its last
// message. What a process does for a task counts only while it is the worker, and the transaction
// of each change checks that. A process that was taken for dead learns it by the next change.

// The buckets of work that is under way.
var (
	workBucket = []byte("work") // task id → work
	logBucket  = []byte("log")  // task id, 0, number → event of the turn
)

// A work is what another process needs to know to go on with a turn.
type work struct {
	Worker string `json:"worker,omitempty"` // "" if it has given the task up
	Cycle  int    `json:"cycle"`
	Events int    `json:"events,omitempty"` // of the log
	// Principal is who sent the message.
	Principal consent.Principal `json:"principal"`
	// Begins says that the record of the worker did not have the run before.
	Begins bool `json:"begins,omitempty"`
}

// errLost is the error of a worker whose task is no longer its own.
var errLost = errors.New("another process has the task now, or it has ended")

// assign makes this process the worker of a task, which has got a message of a visit.
func (s *store) assign(t tx, r *row, p consent.Principal) error {
	switch {
	case s.space == nil:
		return nil
	case s.leases.isLost(r.Owner, r.Task.ID):
		return errLost
	}
	return s.appoint(t, r, work{Cycle: messagesOf(r.Task), Principal: p})
}

// appoint makes this process the worker of a task.
func (s *store) appoint(t tx, r *row, w work) error {
	w.Worker, w.Begins = s.space.Holder(), false
	if id := s.runs.id(); id != "" && !slices.Contains(r.Records, id) {
		r.Records, w.Begins = append(r.Records, id), true
	}
	return putWork(t, r.Task.ID, w)
}

func putWork(t tx, id a2a.TaskID, w work) error {
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return t.put(workBucket, []byte(id), data)
}

// workIn returns the work on a task; the zero work if nobody works on it.
func workIn(t tx, id a2a.TaskID) (w work, err error) {
	if data := t.get(workBucket, []byte(id)); data != nil {
		err = json.Unmarshal(data, &w)
	}
	return w, err
}

// mine returns the work on a task. The error is errLost if this process is not the worker.
func (s *store) mine(t tx, id a2a.TaskID) (work, error) {
	if s.space == nil {
		return work{}, nil
	}
	w, err := workIn(t, id)
	if err == nil && w.Worker != s.space.Holder() {
		err = errLost
	}
	return w, err
}

// mayChange reports why a process must not make an event happen. Anybody may cancel a task, or
// send a message to it. Work that is lost changes nothing any more, even if no other process has
// the task yet.
func (s *store) mayChange(t tx, r *row, event a2a.Event) error {
	switch e := event.(type) {
	case *a2a.Message:
		return nil
	case *a2a.TaskStatusUpdateEvent:
		if e.Status.State == a2a.TaskStateCanceled {
			return nil
		}
	}
	if s.leases.isLost(r.Owner, r.Task.ID) {
		return errLost
	}
	_, err := s.mine(t, r.Task.ID)
	return err
}

// endWork forgets the work on a task that has come to rest.
func (s *store) endWork(t tx, id a2a.TaskID) error {
	if s.space == nil {
		return nil
	}
	w, err := workIn(t, id)
	for i := range w.Events {
		err = errors.Join(err, t.delete(logBucket, updateKey(id, int64(i))))
	}
	return errors.Join(err, t.delete(workBucket, []byte(id)))
}

// giveUp leaves a task to other processes.
func (s *store) giveUp(owner string, id a2a.TaskID) {
	_ = s.update(owner, func(t tx) error { // if it fails, they wait until the lease ends
		w, err := s.mine(t, id)
		if err != nil {
			return err
		}
		w.Worker = ""
		return putWork(t, id, w)
	})
}

// takeOver makes this process the worker of a task whose worker has ended. The error is
// errMoved if there is nothing to do.
func (s *store) takeOver(owner string, id a2a.TaskID) (r *row, w work, err error) {
	r, err = s.change(owner, id, nil, func(t tx, r *row) error {
		if resting(r.Task.Status.State) && !r.unread(nil) {
			return errMoved
		}
		if w, err = workIn(t, id); err != nil {
			return err
		}
		return s.appoint(t, r, w)
	})
	return r, w, err
}

// A turnLog is the log of a turn in the store.
type turnLog struct {
	s      *store
	owner  string
	id     a2a.TaskID
	cycle  int
	events int
}

var _ agent.TurnLog = (*turnLog)(nil)

// turnOf returns the log of the turn that this process works on, and whether the task's run
// begins with it in the record of this process.
func (s *store) turnOf(owner string, id a2a.TaskID) (l *turnLog, begins bool, err error) {
	err = s.view(owner, func(t tx) error {
		w, err := s.mine(t, id)
		l, begins = &turnLog{s: s, owner: owner, id: id, cycle: w.Cycle}, w.Begins
		return err
	})
	return l, begins, err
}

// ID implements [agent.TurnLog].
func (l *turnLog) ID() string { return fmt.Sprintf("%s/%d", l.id, l.cycle) }

// A logged is an event as it is kept.
type logged struct {
	Run     string          `json:"run"`
	Cycle   int             `json:"cycle"`
	Type    record.Type     `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// Past implements [agent.TurnLog].
func (l *turnLog) Past(context.Context) (past []record.Event, err error) {
	err = l.s.view(l.owner, func(t tx) error {
		w, err := l.s.mine(t, l.id)
		if err != nil {
			return err
		}
		for l.events = 0; l.events < w.Events; l.events++ {
			var e logged
			if err := json.Unmarshal(t.get(logBucket, updateKey(l.id, int64(l.events))), &e); err != nil {
				return fmt.Errorf("event %d of the turn: %w", l.events, err)
			}
			past = append(past, record.Event{V: record.Version, Seq: uint64(l.events + 1), Run: e.Run, Cycle: e.Cycle, Type: e.Type, Payload: record.ReadPayload(e.Type, e.Payload)})
		}
		return nil
	})
	return past, err
}

// Keep implements [agent.TurnLog].
func (l *turnLog) Keep(_ context.Context, e record.Event) error {
	payload, err := json.Marshal(e.Payload)
	if err != nil {
		return err
	}
	data, err := json.Marshal(logged{e.Run, e.Cycle, e.Payload.Type(), payload})
	if err != nil {
		return err
	}
	point("before keep")
	defer point("after keep")
	err = l.s.update(l.owner, func(t tx) error {
		w, err := l.s.mine(t, l.id)
		if err != nil {
			return err
		}
		if w.Cycle != l.cycle || w.Events != l.events {
			return errLost
		}
		w.Events++
		if err := t.put(logBucket, updateKey(l.id, int64(l.events)), data); err != nil {
			return err
		}
		return putWork(t, l.id, w)
	})
	if err == nil {
		l.events++
	}
	return err
}

// space of a keeper is where replicas share tasks; nil if they do not.
func spaceOf(k keeper) *transact.Space {
	if k, ok := k.(*sharedKeeper); ok {
		return k.space
	}
	return nil
}
