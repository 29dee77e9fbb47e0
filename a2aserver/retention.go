package a2aserver

import (
	"bytes"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.etcd.io/bbolt"
)

// resting says that nobody works on a task.
func (e entry) resting() bool { return e.state.Terminal() || e.state == a2a.TaskStateInputRequired }

// sweep drops the tasks that have rested for longer than they are kept.
func (s *store) sweep(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var old []a2a.TaskID
	for id, e := range s.index {
		if e.resting() && now.Sub(e.updated) > s.limits.Keep {
			old = append(old, id)
		}
	}
	return s.drop(old)
}

// room makes room for one more task: the ones that have ended longest ago go,
// a tenth of all at once. The caller has the lock.
func (s *store) room() error {
	if len(s.index) < s.limits.Tasks {
		return nil
	}
	var over []listed
	for id, e := range s.index {
		if e.state.Terminal() {
			over = append(over, listed{id, e})
		}
	}
	if len(over) == 0 {
		return a2a.NewError(a2a.ErrServerError, "the server keeps as many tasks as it may, and none of them is over: cancel some")
	}
	slices.SortFunc(over, newestFirst)
	n := min(len(over), max(1, s.limits.Tasks/10))
	var old []a2a.TaskID
	for _, l := range over[len(over)-n:] {
		old = append(old, l.id)
	}
	return s.drop(old)
}

// drop forgets tasks, and what was to be pushed of them. The caller has the
// lock.
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
			if err := dropPrefix(tx.Bucket(configsBucket), configPrefix(id)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		delete(s.index, id)
	}
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
