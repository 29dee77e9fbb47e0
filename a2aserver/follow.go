package a2aserver

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// lookEvery is how often a process looks for changes that others make.
const lookEvery = 50 * time.Millisecond

// follow streams a task that another process works on: the task as it is, and then what happens
// to it, until it rests. What is missing, because it is too long ago, the task itself replaces.
// The memory of what it reads counts to the request until it has been sent.
func (h *handler) follow(ctx context.Context, id a2a.TaskID, yield func(a2a.Event, error) bool) {
	st, err := h.s.store.Get(ctx, id)
	if err != nil {
		yield(nil, err)
		return
	}
	if !yield(st.Task, nil) || rests(st.Task) {
		return
	}
	for seen := int64(st.Version); ; {
		now, there := entry{}, false
		err := h.s.store.await(ctx, id, h.s.closing.Done(), func(e entry, is bool) bool {
			now, there = e, is
			return !is || e.version != seen
		})
		if err == nil && !there {
			err = a2a.ErrTaskNotFound
		}
		var events []a2a.Event
		held := 0
		if err == nil {
			events, seen, held, err = h.s.store.updates(ctx, id, seen, now.version)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range events {
			if !yield(e, nil) || rests(e) {
				return
			}
		}
		letGo(ctx, held)
	}
}

// updates returns what has happened to the caller's task from one version to another, and the
// version to which that leads. held is how many bytes count to the request for it.
func (s *store) updates(ctx context.Context, id a2a.TaskID, from, to int64) (events []a2a.Event, last int64, held int, err error) {
	count := func(n int) error {
		err := hold(ctx, n)
		if err == nil {
			held += n
		}
		return err
	}
	err = s.view(visitFrom(ctx).caller, func(t tx) error {
		letGo(ctx, held) // of an attempt that others disturbed
		events, last, held = nil, to, 0
		for v := from + 1; v <= to && to-from <= keptUpdates; v++ {
			var e a2a.StreamResponse
			data := t.get(updatesBucket, updateKey(id, v))
			if data == nil {
				break
			}
			if err := count(len(data)); err != nil {
				return err
			}
			if err := json.Unmarshal(data, &e); err != nil {
				return fmt.Errorf("an update of task %s: %w", id, err)
			}
			events = append(events, e.Event)
		}
		if int64(len(events)) == to-from {
			return nil
		}
		r, err := rowIn(t, id)
		if err != nil {
			return err
		}
		events, last = []a2a.Event{r.Task}, r.Version
		return count(r.size)
	})
	return events, last, held, err
}
