package a2aserver

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// tell wakes those that wait for a change of a task. The caller holds the lock.
func (s *store) tell() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// resumed waits until the file has it that a task has taken the message of a call, and no
// longer waits for one. What the message makes happen before that would happen again if the
// process were killed and the message came again. It ends with ctx, or with errClosing.
func (s *store) resumed(ctx context.Context, id a2a.TaskID, closing <-chan struct{}) error {
	m := visitFrom(ctx).message
	return s.await(ctx, id, closing, func(e entry, there bool) bool {
		return (m == nil || m.noted) && !(there && e.state == a2a.TaskStateInputRequired)
	})
}

// await waits until what is known of a task is as wanted, which is asked under the lock. It ends with ctx, or with errClosing.
func (s *store) await(ctx context.Context, id a2a.TaskID, closing <-chan struct{}, wanted func(e entry, there bool) bool) error {
	for {
		s.mu.Lock()
		e, there := s.index.get(id)
		moved, ok := s.moved, wanted(e, there)
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		case <-closing:
			return errClosing
		}
	}
}
