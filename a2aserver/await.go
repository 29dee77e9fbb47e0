package a2aserver

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// tell wakes those that wait for a change of a task.
func (s *store) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.moved)
	s.moved = make(chan struct{})
}

// resumed waits until the file has it that a task has taken the message of a call, and no
// longer waits for one. What the message makes happen before that would happen again if the
// process were killed and the message came again. It ends with ctx, or with errClosing.
func (s *store) resumed(ctx context.Context, id a2a.TaskID, closing <-chan struct{}) error {
	m := visitFrom(ctx).message
	return s.await(ctx, id, closing, func(e entry, there bool) bool {
		return s.isNoted(m) && !(there && e.state == a2a.TaskStateInputRequired)
	})
}

// isNoted reports whether a task has taken the message of a call, if it brings one.
func (s *store) isNoted(m *sending) bool {
	if m == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return m.noted
}

// await waits until what is known of the caller's task is as wanted. It ends with ctx, or with
// errClosing.
func (s *store) await(ctx context.Context, id a2a.TaskID, closing <-chan struct{}, wanted func(e entry, there bool) bool) error {
	for {
		s.mu.Lock()
		moved := s.moved
		s.mu.Unlock()
		e, there, err := s.entry(visitFrom(ctx).caller, id)
		if err != nil || wanted(e, there) {
			return err
		}
		var look <-chan time.Time // at what other processes change
		if s.space != nil {
			look = time.After(lookEvery)
		}
		select {
		case <-moved:
		case <-look:
		case <-ctx.Done():
			return ctx.Err()
		case <-closing:
			return errClosing
		}
	}
}
