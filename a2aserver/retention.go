package a2aserver

import (
	"bytes"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.etcd.io/bbolt"
)

// resting reports that nobody works on a task.
func (e entry) resting() bool { return e.state.Terminal() || e.state == a2a.TaskStateInputRequired }

// sweep drops the tasks that have rested for longer than they are kept.
func (s *store) sweep(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var old []a2a.TaskID
	for l := range s.index.all() {
		if l.resting() && now.Sub(l.updated) > s.limits.Keep {
			old = append(old, l.id)
		}
	}
	return s.drop(old)
}

// endWaiting ends the oldest waiting tasks of an owner, if it has more than are
// allowed. The one that has just begun to wait stays. The caller holds the lock.
func (s *store) endWaiting(owner string, stays a2a.TaskID) error {
	var waiting []*listed // newest first
	for _, l := range s.index.of(owner) {
		if l.state == a2a.TaskStateInputRequired && l.id != stays {
			waiting = append(waiting, l)
		}
	}
	if len(waiting) < s.limits.Waiting {
		return nil
	}
	for _, l := range waiting[s.limits.Waiting-1:] {
		if _, err := s.change(l.id, nil, func(_ *bbolt.Tx, r *row) error { fail(r.Task, Dropped, droppedMessage); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// admit makes room for an existing task to grow.
func (s *store) admit(id a2a.TaskID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room(0, id)
}

// room makes room for a number of new tasks, or for one task to grow, which stays.
// The caller holds the lock.
func (s *store) room(more int, stays a2a.TaskID) error {
	for {
		used, err := s.used()
		if err != nil {
			return err
		}
		if s.index.len()+more <= s.limits.Tasks && used < s.limits.Bytes {
			return nil
		}
		old := s.oldest(stays)
		if len(old) == 0 {
			return a2a.NewError(a2a.ErrServerError, "the server has no room for another task, and can remove none: cancel some, or try again later")
		}
		if err := s.drop(old); err != nil {
			return err
		}
	}
}

// used is how many bytes of the file hold something.
func (s *store) used() (bytes int64, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		bytes = tx.Size()
		return nil
	})
	st := s.db.Stats()
	return bytes - int64(st.FreePageN+st.PendingPageN)*s.pageSize, err
}

// oldest returns the tasks to drop first: a tenth of the tasks that have ended,
// those that ended longest ago. If no task has ended, it returns one that waits.
// The tasks belong to the owner whose tasks of that kind hold the most. So no
// owner's tasks displace those of an owner that hold less.
func (s *store) oldest(stays a2a.TaskID) []a2a.TaskID {
	if over := s.most(func(l *listed) bool { return l.state.Terminal() && l.id != stays }); len(over) > 0 {
		return over[:max(1, len(over)/10)]
	}
	waiting := s.most(func(l *listed) bool { return l.state == a2a.TaskStateInputRequired && l.id != stays })
	return waiting[:min(1, len(waiting))]
}

// taskCost is what a task counts in addition to its bytes when owners are compared:
// an owner of many small tasks takes the places of others too.
const taskCost = 16 << 10

// most returns the tasks of a kind of the owner whose tasks of it hold the most,
// oldest first.
func (s *store) most(kind func(*listed) bool) (ids []a2a.TaskID) {
	held, greatest, owner := map[string]int{}, 0, ""
	for l := range s.index.all() {
		if !kind(l) {
			continue
		}
		if held[l.owner] += l.size + taskCost; held[l.owner] > greatest {
			greatest, owner = held[l.owner], l.owner
		}
	}
	for _, l := range slices.Backward(s.index.of(owner)) {
		if kind(l) {
			ids = append(ids, l.id)
		}
	}
	return ids
}

// drop removes tasks, the pushes that wait for them, and what is noted of their messages. The caller holds the lock.
func (s *store) drop(ids []a2a.TaskID) error {
	if len(ids) == 0 {
		return nil
	}
	err := s.db.Update(func(tx *bbolt.Tx) error {
		for _, id := range ids {
			for _, name := range [][]byte{tasksBucket, memosBucket} {
				if err := tx.Bucket(name).Delete([]byte(id)); err != nil {
					return err
				}
			}
			for _, name := range [][]byte{configsBucket, outboxBucket} {
				if err := dropPrefix(tx.Bucket(name), configPrefix(id)); err != nil {
					return err
				}
			}
			if err := forgetMessages(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		s.index.drop(id)
	}
	s.tell()
	return nil
}

func dropPrefix(b *bbolt.Bucket, prefix []byte) error {
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
