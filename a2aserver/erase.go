package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.etcd.io/bbolt"
)

// eraseTimes is how often Erase looks for tasks that have begun meanwhile.
const eraseTimes = 10

// Erase removes what the server keeps of a caller: the tasks of a context, or all if it is empty,
// with their messages, artifacts, push configurations and pushes, what their minds keep, and the logs
// of their turns. Tasks that are worked on are canceled first. In a file, the bytes are overwritten.
// It returns how many tasks there were. The record is another's to erase.
func (s *Server) Erase(ctx context.Context, owner, conversation string) (n int, err error) {
	for range eraseTimes {
		all, err := s.store.entries(owner)
		if err != nil {
			return n, err
		}
		var list []*listed
		for _, l := range all {
			if conversation != "" && l.context != conversation {
				continue
			}
			if !l.resting() || l.unread {
				if err := s.CancelTask(ctx, owner, l.id); err != nil && !errors.Is(err, a2a.ErrTaskNotFound) && !errors.Is(err, a2a.ErrTaskNotCancelable) {
					return n, err
				}
			}
			list = append(list, l)
		}
		if len(list) == 0 {
			return n, s.store.wipe()
		}
		if err := s.store.drop(list); err != nil {
			return n, err
		}
		n += len(list)
	}
	return n, a2a.NewError(a2a.ErrServerError, fmt.Sprintf("new tasks of %q come as fast as they are erased: take its token away, and try again", owner))
}

// wipe overwrites the pages of the file that hold nothing any more, but still have the bytes of what
// was removed. Nobody reads the file meanwhile.
func (f *fileKeeper) wipe() (err error) {
	if f.unnamed {
		return nil // it ends with the process
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reading.Lock()
	defer f.reading.Unlock()
	return f.db.Update(func(t *bbolt.Tx) error {
		out, err := os.OpenFile(f.name, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("overwrite what was erased: %w", err)
		}
		zeros := make([]byte, f.pageSize)
		for id := 0; err == nil; id++ {
			page, fault := t.Page(id)
			if page == nil || fault != nil {
				err = fault
				break
			}
			if page.Type == "free" {
				_, err = out.WriteAt(zeros, int64(id)*f.pageSize)
			}
		}
		if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
			return fmt.Errorf("overwrite what was erased: %w", err)
		}
		return nil
	})
}

// wipe does nothing: a store that deletes keeps nothing, and its log is its own to rewrite.
func (*sharedKeeper) wipe() error { return nil }
