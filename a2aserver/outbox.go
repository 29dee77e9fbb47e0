package a2aserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"
	"go.etcd.io/bbolt"

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
}

// kept reports whether a push is in the outbox.
func (l *letter) kept() bool { return l.key != nil }

// newLetter makes a push of what a receiver reads: the event, or in protocol 0.3
// the task.
func newLetter(c pushConfig, event a2a.Event, task *a2a.Task) (l letter, err error) {
	l = letter{ID: uuid.NewString(), Task: c.Config.TaskID, Config: c.Config.ID}
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
		return e.Status.State.Terminal() || e.Status.State == a2a.TaskStateInputRequired
	case *a2a.Task:
		return e.Status.State.Terminal() || e.Status.State == a2a.TaskStateInputRequired
	}
	return false
}

// enqueue puts into the outbox what a change of a task has to tell its receivers.
// If the task ended without an event that says so, the task itself is told.
func (s *store) enqueue(tx *bbolt.Tx, task *a2a.Task, event a2a.Event) (list []letter, err error) {
	if !rests(event) {
		if !task.Status.State.Terminal() {
			return nil, nil
		}
		event = task
	}
	for _, c := range configsOf(tx.Bucket(configsBucket), task.ID) {
		l, err := newLetter(c, event, task)
		if err == nil {
			err = putLetter(tx.Bucket(outboxBucket), &l)
		}
		if err != nil {
			return nil, fmt.Errorf("a push of task %s: %w", task.ID, err)
		}
		list = append(list, l)
	}
	return list, nil
}

// putLetter puts a push into the outbox, after the others of its task.
func putLetter(b *bbolt.Bucket, l *letter) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	l.key, l.Body = binary.BigEndian.AppendUint64(configPrefix(l.Task), n), nil
	return b.Put(l.key, data)
}

// unsent returns what is in the outbox, without the bodies, in the order of the
// pushes of each task.
func (s *store) unsent() (list []letter, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(outboxBucket).ForEach(func(k, v []byte) error {
			var l letter
			if err := json.Unmarshal(v, &l); err != nil {
				return fmt.Errorf("a push of an earlier server: %w", err)
			}
			l.key, l.Body = bytes.Clone(k), nil
			list = append(list, l)
			return nil
		})
	})
	return list, err
}

// unsentBody returns the body of a push in the outbox; nil if it was dropped with
// its task.
func (s *store) unsentBody(l letter) (body []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		data := tx.Bucket(outboxBucket).Get(l.key)
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
	err := s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(outboxBucket).Delete(l.key) })
	point("after sent")
	return err
}

// migrate moves the pushes of files that have no outbox into it.
func migrate(tx *bbolt.Tx) error {
	old := tx.Bucket(pendingBucket)
	if old == nil {
		return nil
	}
	err := old.ForEach(func(_, v []byte) error {
		var l letter
		if err := json.Unmarshal(v, &l); err != nil {
			return fmt.Errorf("a push of an earlier server: %w", err)
		}
		l.ID = uuid.NewString()
		return putLetter(tx.Bucket(outboxBucket), &l)
	})
	return errors.Join(err, tx.DeleteBucket(pendingBucket))
}
