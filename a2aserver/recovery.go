package a2aserver

import (
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.etcd.io/bbolt"

	"github.com/sotto-llm/sotto/record"
)

// endRuns records the ends of tasks that a crash kept out of the record: it came after
// the end of the task was stored, and before it was recorded. An encrypted record does
// not show which runs have ended; it is left as it is.
func (s *store) endRuns() error {
	if s.runs == nil {
		return nil
	}
	open, err := s.runs.unended()
	if errors.Is(err, record.ErrSealed) {
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for run := range open {
		e, ok := s.index.get(a2a.TaskID(run))
		if !ok || !e.state.Terminal() {
			continue
		}
		task, err := s.record(a2a.TaskID(run))
		if err != nil {
			return err
		}
		s.runs.ended(task)
	}
	return nil
}

// interrupted fails the tasks on which nobody works any more, and returns them.
func (s *store) interrupted() ([]*a2a.Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var broken []a2a.TaskID
	for l := range s.index.all() {
		if !l.resting() {
			broken = append(broken, l.id)
		}
	}
	var lost []*a2a.Task
	for _, id := range broken {
		r, err := s.change(id, nil, func(_ *bbolt.Tx, r *row) error { fail(r.Task, Interrupted, interruptedMessage); return nil })
		if err != nil {
			return lost, err
		}
		lost = append(lost, r.Task)
	}
	return lost, nil
}

// fail ends a task in the same way as the update of a running server.
func fail(t *a2a.Task, why Ending, message string) {
	u := ended{ending: why, state: a2a.TaskStateFailed, message: message}.status(t)
	if t.Status.Message != nil {
		t.History = append(t.History, t.Status.Message)
	}
	t.Status = u.Status
	for k, v := range u.Metadata {
		t.SetMeta(k, v)
	}
}
