package a2aserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// A client that does not know whether its message arrived sends it again with the same
// messageId. A task notes the message in the transaction by which it takes the message, and no
// mind works on a message before that. So a message runs once, however often it comes, also if
// the process is killed at any point. What is noted goes with the task.

// The buckets of messages that tasks have taken.
var (
	messagesBucket = []byte("messages") // key of a sending → taken
	takenBucket    = []byte("taken")    // task id, 0, key of a sending → nothing
)

// A sending is a message as a client sends it.
type sending struct {
	key    [sha256.Size]byte // of the caller and the messageId
	digest [sha256.Size]byte // of the content
	id     string
	owner  string        // the caller
	noted  bool          // a task has taken it; the lock of the store guards it
	free   chan struct{} // closed when others may send the same message; nil before it is claimed
}

// A taken says which task took a message.
type taken struct {
	Task   a2a.TaskID `json:"task"`
	Digest []byte     `json:"digest"` // of the content
}

// errTaken is the error of a message that a task has taken already.
var errTaken = errors.New("a task has taken the message already")

// sendingOf returns nil for a message that will be refused for its form.
func sendingOf(caller string, m *a2a.Message) *sending {
	if m == nil || m.ID == "" || len(m.ID) > maxID {
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	return &sending{key: sendingKey(caller, m.ID), digest: sha256.Sum256(data), id: m.ID, owner: caller}
}

// sendingKey has the length of the caller's name, so that no two pairs are alike.
func sendingKey(caller, id string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(caller), caller, id))
}

// claim waits until nobody else is sending the same message, and returns the task that has
// taken it, or "" if the caller is to send it, and then has to release it.
func (s *store) claim(ctx context.Context, m *sending) (a2a.TaskID, error) {
	for {
		s.mu.Lock()
		other := s.sending[m.key]
		if other == nil {
			m.free = make(chan struct{})
			s.sending[m.key] = m.free
		}
		s.mu.Unlock()
		if other == nil {
			id, err := s.taker(m)
			if err != nil || id != "" {
				s.release(m)
			}
			return id, err
		}
		select {
		case <-other:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// let lets others send a message that was claimed. The caller holds the lock.
func (s *store) let(m *sending) {
	if m.free != nil && s.sending[m.key] == m.free {
		delete(s.sending, m.key)
		close(m.free)
	}
}

// release ends a claim. It may come after hasNoted.
func (s *store) release(m *sending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.let(m)
}

// taker returns the task that has taken a message, or "".
func (s *store) taker(m *sending) (id a2a.TaskID, err error) {
	err = s.view(m.owner, func(in tx) error {
		t, err := takenIn(in, m.key)
		if err != nil || t == nil {
			return err
		}
		if !bytes.Equal(t.Digest, m.digest[:]) {
			return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf("the messageId %q was sent before with another content: give each message an id of its own", m.id))
		}
		id = t.Task
		return nil
	})
	return id, err
}

// takenIn returns what is noted of a message; nil if nothing is, or its task is gone: an older
// version drops tasks alone.
func takenIn(in tx, key [sha256.Size]byte) (*taken, error) {
	data := in.get(messagesBucket, key[:])
	if data == nil {
		return nil, nil
	}
	t := &taken{}
	if err := json.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("a noted message: %w", err)
	}
	if in.get(tasksBucket, []byte(t.Task)) == nil {
		return nil, nil
	}
	return t, nil
}

// note writes that a task takes the message of a call. The error is errTaken if a task has
// taken it.
func (m *sending) note(in tx, id a2a.TaskID) error {
	if m == nil || m.noted {
		return nil
	}
	if t, err := takenIn(in, m.key); err != nil {
		return err
	} else if t != nil {
		return errTaken
	}
	data, err := json.Marshal(taken{id, m.digest[:]})
	if err != nil {
		return err
	}
	if err := in.put(messagesBucket, m.key[:], data); err != nil {
		return err
	}
	return in.put(takenBucket, takenKey(id, m.key), nil)
}

// hasNoted lets others send the same message, after what note wrote is kept.
func (s *store) hasNoted(m *sending) {
	if m == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !m.noted {
		m.noted = true
		s.let(m)
	}
}

func takenKey(id a2a.TaskID, key [sha256.Size]byte) []byte {
	return append(configPrefix(id), key[:]...)
}

// forgetMessages removes what is noted of the messages that a task took.
func forgetMessages(t tx, id a2a.TaskID) error {
	prefix := configPrefix(id)
	err := t.each(takenBucket, prefix, func(k, _ []byte) error { return t.delete(messagesBucket, k[len(prefix):]) })
	return errors.Join(err, dropPrefix(t, takenBucket, prefix))
}

// askAgain lets a task ask its question again whose answer a crash lost: the answer was stored,
// and nobody had worked on it. So the answer counts when it comes again. It reports whether
// there was one.
func askAgain(in tx, r *row) (bool, error) {
	t := r.Task
	if t.Status.State != a2a.TaskStateInputRequired || t.Status.Message != nil {
		return false, nil
	}
	asked := len(t.History) - 1
	for asked >= 0 && (t.History[asked] == nil || t.History[asked].Role == a2a.MessageRoleUser) {
		asked--
	}
	if asked < 0 || asked == len(t.History)-1 {
		return false, nil
	}
	for _, m := range t.History[asked+1:] {
		if m == nil {
			continue
		}
		key := sendingKey(r.Owner, m.ID)
		if err := in.delete(messagesBucket, key[:]); err != nil {
			return false, err
		}
		if err := in.delete(takenBucket, takenKey(t.ID, key)); err != nil {
			return false, err
		}
	}
	t.Status.Message, t.History = t.History[asked], t.History[:asked]
	return true, nil
}

// once returns the task that has taken the message of a request. If none has, the task is ""
// and the request is to be carried out with the returned context; then release it.
func (h *handler) once(ctx context.Context, req *a2a.SendMessageRequest) (_ context.Context, id a2a.TaskID, release func(), err error) {
	v := visitFrom(ctx)
	m := sendingOf(v.caller, req.Message)
	if m == nil || checkForm(req) != nil { // it will be refused
		return ctx, "", func() {}, nil
	}
	if id, err = h.s.store.claim(ctx, m); err != nil || id != "" {
		return ctx, id, func() {}, err
	}
	v.message = m
	return v.in(ctx), "", func() { h.s.store.release(m) }, nil
}

// again answers a message that a task has taken, when the first answer would have come.
func (h *handler) again(ctx context.Context, id a2a.TaskID, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	get := &a2a.GetTaskRequest{ID: id}
	if req.Config != nil {
		get.HistoryLength = req.Config.HistoryLength
	}
	if req.Config == nil || !req.Config.ReturnImmediately {
		err := h.s.store.await(ctx, id, nil, func(e entry, there bool) bool { return !there || e.resting() && !e.unread })
		if err != nil {
			return nil, err
		}
	}
	task, err := h.GetTask(ctx, get)
	if err != nil {
		return nil, err
	}
	return task, nil
}

// streamAgain streams the task that has taken a message: what follows from now on, or the task
// if nothing does.
func (h *handler) streamAgain(ctx context.Context, id a2a.TaskID, yield func(a2a.Event, error) bool) {
	for try := 1; ; try++ {
		err := h.s.store.await(ctx, id, nil, func(e entry, there bool) bool { return !there || !e.unread })
		if err != nil {
			yield(nil, err)
			return
		}
		if e, err := h.s.store.known(ctx, id); err != nil || e.resting() {
			task, err := h.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
			if err != nil {
				yield(nil, err)
				return
			}
			yield(task, nil)
			return
		}
		began := false
		for e, err := range h.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
			if err != nil && !began && ctx.Err() == nil && try < tries {
				break // the work has just ended
			}
			began = true
			if !yield(e, err) {
				return
			}
		}
		if began {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
