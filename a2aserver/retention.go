package a2aserver

import (
	"errors"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// resting reports that nobody works on a task.
func (e entry) resting() bool { return resting(e.state) }

func resting(s a2a.TaskState) bool { return s.Terminal() || s == a2a.TaskStateInputRequired }

// sweep drops the tasks that have rested for longer than they are kept.
func (s *store) sweep(now time.Time) error {
	old := map[string][]*listed{}
	for _, l := range s.alone() {
		if l.resting() && now.Sub(l.updated) > s.limits.Keep {
			old[l.owner] = append(old[l.owner], l)
		}
	}
	var all []error
	for _, list := range old {
		all = append(all, s.drop(list))
	}
	return errors.Join(all...)
}

// endWaiting ends the oldest waiting tasks of an owner, if it has more than are
// allowed. The one that has just begun to wait stays.
func (s *store) endWaiting(owner string, stays a2a.TaskID) error {
	list, err := s.entries(owner)
	if err != nil {
		return err
	}
	var waiting []*listed // newest first
	for _, l := range list {
		if l.state == a2a.TaskStateInputRequired && l.id != stays {
			waiting = append(waiting, l)
		}
	}
	if len(waiting) < s.limits.Waiting {
		return nil
	}
	for _, l := range waiting[s.limits.Waiting-1:] {
		_, err := s.change(owner, l.id, nil, func(_ tx, r *row) error {
			if r.Task.Status.State != a2a.TaskStateInputRequired {
				return errMoved
			}
			fail(r.Task, Dropped, droppedMessage)
			return nil
		})
		if err != nil && !errors.Is(err, errMoved) && !errors.Is(err, a2a.ErrTaskNotFound) {
			return err
		}
	}
	return nil
}

// errMoved is the error of a change that is no longer wanted.
var errMoved = errors.New("the task has changed meanwhile")

// admit makes room for an existing task to grow.
func (s *store) admit(owner string, id a2a.TaskID) error { return s.room(owner, 0, id) }

// room makes room for a number of new tasks of an owner, or for one task to grow, which stays.
// Tasks that come at the same moment may exceed the bound by their number.
func (s *store) room(owner string, more int, stays a2a.TaskID) error {
	for {
		full, old, err := s.crowded(owner, more, stays)
		if err != nil || !full {
			return err
		}
		if len(old) == 0 {
			return a2a.NewError(a2a.ErrServerError, "the server has no room for another task, and can remove none: cancel some, or try again later")
		}
		if err := s.drop(old); err != nil {
			return err
		}
	}
}

// oldest returns the tasks to drop first: a tenth of the tasks that have ended,
// those that ended longest ago. If no task has ended, it returns one that waits. most returns
// tasks of a kind of one owner, oldest first.
func oldest(most func(kind func(*listed) bool) []*listed, stays a2a.TaskID) []*listed {
	if over := most(func(l *listed) bool { return l.state.Terminal() && l.id != stays }); len(over) > 0 {
		return over[:max(1, len(over)/10)]
	}
	waiting := most(func(l *listed) bool { return l.state == a2a.TaskStateInputRequired && l.id != stays })
	return waiting[:min(1, len(waiting))]
}

// oldestOf returns the tasks of a kind, oldest first.
func oldestOf(newest []*listed, kind func(*listed) bool) (list []*listed) {
	for _, l := range slices.Backward(newest) {
		if kind(l) {
			list = append(list, l)
		}
	}
	return list
}

// drop removes tasks of one owner, the pushes that wait for them, and what is noted of their
// messages, unless they are no longer at rest.
func (s *store) drop(list []*listed) error {
	if len(list) == 0 {
		return nil
	}
	owner := list[0].owner
	err := s.update(owner, func(t tx) error {
		for _, l := range list {
			if err := dropTask(t, owner, l.id); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.tell()
	}
	return err
}

// dropTask removes a task, unless somebody has begun to work on it.
func dropTask(t tx, owner string, id a2a.TaskID) error {
	switch r, err := rowIn(t, id); {
	case errors.Is(err, a2a.ErrTaskNotFound):
	case err != nil:
		return err
	case !resting(r.Task.Status.State):
		return nil
	default:
		if err := t.forget(id, r.Version); err != nil {
			return err
		}
	}
	if err := errors.Join(t.delete(tasksBucket, []byte(id)), t.delete(extensionsBucket, []byte(id)), dropMemos(t, id)); err != nil {
		return err
	}
	for _, name := range [][]byte{configsBucket, outboxBucket} {
		if err := dropPrefix(t, name, configPrefix(id)); err != nil {
			return err
		}
	}
	if err := forgetMessages(t, id); err != nil {
		return err
	}
	return t.list(owner, id, nil)
}
