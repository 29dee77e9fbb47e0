package a2aserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/sotto-llm/sotto/a2aserver/internal/v03"
)

// The outbox holds the pushes that say that a task has ended or waits for input. A
// push gets into it by the transaction that changes its task, and out of it when it
// has arrived or was given up. So a process that is killed at any point leaves
// either both, the change and the push, or neither. A push that had arrived when the
// process was killed is sent again, with the same ID.

// A letter is one push that is to be delivered.
type letter struct {
	// ID is sent with each attempt to deliver the push.
	ID     string          `json:"id"`
	Task   a2a.TaskID      `json:"task"`
	Config string          `json:"config"`
	Body   json.RawMessage `json:"body"` // nil while it is in the outbox
	key    []byte          // of the outbox; nil if it is not there
	owner  string          // of the task
}

// kept reports whether a push is in the outbox.
func (l *letter) kept() bool { return l.key != nil }

// newLetter makes a push of what a receiver reads: the event, or in protocol 0.3
// the task.
func newLetter(owner string, c pushConfig, event a2a.Event, task *a2a.Task) (l letter, err error) {
	l = letter{ID: uuid.NewString(), Task: c.Config.TaskID, Config: c.Config.ID, owner: owner}
	if c.Legacy {
		l.Body, err = v03.TaskJSON(task)
	} else {
		l.Body, err = json.Marshal(a2a.StreamResponse{Event: event})
	}
	return l, err
}

// rests reports that nothing follows until somebody acts.
func rests(event a2a.Event) bool {
	switch e := event.(type) {
	case *a2a.TaskStatusUpdateEvent:
		return resting(e.Status.State)
	case *a2a.Task:
		return resting(e.Status.State)
	}
	return false
}

// enqueue puts into the outbox what a change of a task has to tell its receivers.
// If the task ended without an event that says so, the task itself is told.
func enqueue(t tx, r *row, event a2a.Event) (list []letter, err error) {
	if !rests(event) {
		if !r.Task.Status.State.Terminal() {
			return nil, nil
		}
		event = r.Task
	}
	for _, c := range configsOf(t, r.Task.ID) {
		l, err := newLetter(r.Owner, c, event, r.Task)
		if err == nil {
			err = putLetter(t, &l, r.Version)
		}
		if err != nil {
			return nil, fmt.Errorf("a push of task %s: %w", r.Task.ID, err)
		}
		list = append(list, l)
	}
	return list, nil
}

// putLetter puts a push into the outbox, after the others of its task.
func putLetter(t tx, l *letter, version int64) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	n, err := t.sequence(outboxBucket, version)
	if err != nil {
		return err
	}
	l.key, l.Body = binary.BigEndian.AppendUint64(configPrefix(l.Task), n), nil
	return t.put(outboxBucket, l.key, data)
}

// unsent returns what is in the outbox for a task, without the bodies, in order.
func (s *store) unsent(owner string, id a2a.TaskID) (list []letter, err error) {
	err = s.view(owner, func(t tx) error {
		return t.each(outboxBucket, configPrefix(id), func(k, v []byte) error {
			var l letter
			if err := json.Unmarshal(v, &l); err != nil {
				return fmt.Errorf("a push of an earlier server: %w", err)
			}
			l.key, l.Body, l.owner = bytes.Clone(k), nil, owner
			list = append(list, l)
			return nil
		})
	})
	return list, err
}

// unsentBody returns the body of a push in the outbox; nil if it was dropped with
// its task.
func (s *store) unsentBody(l letter) (body []byte, err error) {
	err = s.view(l.owner, func(t tx) error {
		data := t.get(outboxBucket, l.key)
		if data == nil {
			return nil
		}
		if err := json.Unmarshal(data, &l); err != nil {
			return fmt.Errorf("a stored push: %w", err)
		}
		body = l.Body
		return nil
	})
	return body, err
}

// sent removes a push from the outbox.
func (s *store) sent(l letter) error {
	if !l.kept() {
		return nil
	}
	point("before sent")
	err := s.update(l.owner, func(t tx) error { return t.delete(outboxBucket, l.key) })
	point("after sent")
	return err
}

// migrate moves the pushes of files that have no outbox into it.
func migrate(t *fileTx) error {
	old := t.Bucket(pendingBucket)
	if old == nil {
		return nil
	}
	err := old.ForEach(func(_, v []byte) error {
		var l letter
		if err := json.Unmarshal(v, &l); err != nil {
			return fmt.Errorf("a push of an earlier server: %w", err)
		}
		l.ID = uuid.NewString()
		return putLetter(t, &l, 0)
	})
	return errors.Join(err, t.DeleteBucket(pendingBucket))
}
