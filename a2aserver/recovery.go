package a2aserver

import (
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

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
	for _, l := range s.alone() {
		if !open[string(l.id)] || !l.state.Terminal() {
			continue
		}
		task, err := s.row(l.owner, l.id)
		if err != nil {
			return err
		}
		s.runs.ended(task)
	}
	return nil
}

// interrupted fails the tasks on which nobody works any more, and returns them.
func (s *store) interrupted() (lost []*a2a.Task, err error) {
	for _, l := range s.alone() {
		if l.resting() {
			continue
		}
		r, err := s.change(l.owner, l.id, nil, func(_ tx, r *row) error { fail(r.Task, Interrupted, interruptedMessage); return nil })
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
