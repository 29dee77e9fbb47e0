package a2aserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/sotto-llm/sotto/internal/data/transact"
)

// The buckets of what is kept.
var (
	tasksBucket   = []byte("tasks")   // task id → row
	configsBucket = []byte("configs") // task id, 0, config id → pushConfig
	memosBucket   = []byte("memos")   // task id → what a mind wants back
	outboxBucket  = []byte("outbox")  // task id, 0, sequence → a push that has not arrived
	pendingBucket = []byte("pending") // the outbox of earlier versions
)

// A store is what the server knows of tasks: the rules by which they change, over the keeper that
// has them.
type store struct {
	keeper
	space  *transact.Space // that replicas share; nil if the tasks are in a file
	leases *leases         // of the process; nil if it has none
	limits Limits
	log    *slog.Logger
	post   func(letter) // delivers a push of the outbox; nil if there are no pushes
	runs   *recording

	mu    sync.Mutex
	moved chan struct{} // closed at the next change of a task
	// sending are the messages that are being sent and that no task has taken yet.
	sending map[[sha256.Size]byte]chan struct{}
}

var _ taskstore.Store = (*store)(nil)

// openStore returns the store of a file, or of a temporary one that is removed with the process.
func openStore(file string, limits Limits) (*store, error) {
	f, err := openFile(file, limits)
	if err != nil {
		return nil, err
	}
	return newStore(f, limits), nil
}

func newStore(k keeper, limits Limits) *store {
	return &store{keeper: k, space: spaceOf(k), limits: limits, log: slog.New(slog.DiscardHandler), moved: make(chan struct{}), sending: map[[sha256.Size]byte]chan struct{}{}}
}

// A row is a task as it is kept.
type row struct {
	Version int64     `json:"v"`
	Owner   string    `json:"owner,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Task    *a2a.Task `json:"task"`
	// Recorded says that the record has the task, as a run.
	Recorded bool `json:"recorded,omitempty"`
	// Records are those of the replicas that have it.
	Records []string `json:"records,omitempty"`
	size    int      // as it is kept
}

func (r *row) entry() entry {
	e := entry{owner: r.Owner, context: r.Task.ContextID, state: r.Task.Status.State, created: r.Created, updated: r.Updated, size: r.size, version: r.Version}
	if t := r.Task.Status.Timestamp; t != nil {
		e.status = *t
	}
	e.said = messagesOf(r.Task)
	return e
}

// unread reports whether the question of a task has an answer that no mind has yet. event is why the
// task changes, or nil.
func (r *row) unread(event a2a.Event) bool {
	_, answered := event.(*a2a.Message)
	return answered || r.Task.Status.State == a2a.TaskStateInputRequired && r.Task.Status.Message == nil
}

// messagesOf counts the messages of the user to a task.
func messagesOf(t *a2a.Task) (n int) {
	for _, m := range t.History {
		if m != nil && m.Role == a2a.MessageRoleUser {
			n++
		}
	}
	return n
}

func readRow(id, data []byte) (*row, error) {
	r := &row{size: len(data)}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("task %s: %w", id, err)
	}
	if r.Task == nil {
		return nil, fmt.Errorf("task %s: the row holds none", id)
	}
	return r, nil
}

// putRow writes a row, and what is known of its task without reading it. event is why the task
// changes, or nil.
func putRow(t tx, r *row, event a2a.Event) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write task: %w: %w", a2a.ErrInvalidParams, err)
	}
	r.size = len(data)
	if err := t.put(tasksBucket, []byte(r.Task.ID), data); err != nil {
		return err
	}
	e := r.entry()
	e.unread = r.unread(event)
	return t.list(r.Owner, r.Task.ID, &e)
}

func rowIn(t tx, id a2a.TaskID) (*row, error) {
	data := t.get(tasksBucket, []byte(id))
	if data == nil {
		return nil, a2a.ErrTaskNotFound
	}
	return readRow([]byte(id), data)
}

// moment returns the current time, with the precision that is kept.
func moment() time.Time { return time.Now().UTC().Round(0) }

// Create implements [taskstore.Store]. The task belongs to the caller that makes
// it.
func (s *store) Create(ctx context.Context, task *a2a.Task) (taskstore.TaskVersion, error) {
	v := visitFrom(ctx)
	if err := s.room(v.caller, 1, ""); err != nil {
		return taskstore.TaskVersionMissing, err
	}
	now := moment()
	r := &row{Version: 1, Owner: v.caller, Created: now, Updated: now, Task: task, Recorded: s.runs != nil}
	point("before create")
	err := s.update(v.caller, func(t tx) error {
		if t.get(tasksBucket, []byte(task.ID)) != nil {
			return taskstore.ErrTaskAlreadyExists
		}
		if err := v.message.note(t, task.ID); err != nil {
			return err
		}
		if err := s.assign(t, r, v.principal); err != nil {
			return err
		}
		return putRow(t, r, nil)
	})
	if err != nil {
		return taskstore.TaskVersionMissing, err
	}
	point("after create")
	s.leases.opened(v.caller, task.ID)
	s.hasNoted(v.message)
	s.tell()
	return 1, nil
}

// Update implements [taskstore.Store]. A task that has ended does not change: later
// updates are refused. If a task begins to wait, this may end another.
func (s *store) Update(ctx context.Context, req *taskstore.UpdateRequest) (taskstore.TaskVersion, error) {
	v := visitFrom(ctx)
	r, err := s.change(v.caller, req.Task.ID, req.Event, func(t tx, r *row) error {
		if err := v.message.note(t, r.Task.ID); err != nil {
			return err
		}
		if r.Task.Status.State.Terminal() {
			return taskstore.ErrConcurrentModification
		}
		if err := s.mayChange(t, r, req.Event); err != nil { // before the version, which whoever has the task changed
			return err
		}
		if req.PrevVersion != taskstore.TaskVersionMissing && int64(req.PrevVersion) != r.Version {
			return taskstore.ErrConcurrentModification
		}
		if m, ok := req.Event.(*a2a.Message); ok {
			putQuestionFirst(req.Task, m)
		}
		r.Task = req.Task
		if _, ok := req.Event.(*a2a.Message); ok {
			return s.assign(t, r, v.principal)
		}
		return nil
	})
	if errors.Is(err, transact.ErrUnreachable) { // the SDK would fail the task as soon as the store is back
		s.leases.lose(v.caller, req.Task.ID)
	}
	if err != nil {
		return taskstore.TaskVersionMissing, err
	}
	if _, ok := req.Event.(*a2a.Message); ok {
		s.leases.opened(v.caller, req.Task.ID)
	}
	s.hasNoted(v.message)
	if r.Task.Status.State == a2a.TaskStateInputRequired {
		if err := s.endWaiting(r.Owner, r.Task.ID); err != nil {
			return taskstore.TaskVersionMissing, err
		}
	}
	return taskstore.TaskVersion(r.Version), nil
}

// putQuestionFirst moves the question that a message answers to before it in the
// history. The SDK would put it after the message.
func putQuestionFirst(t *a2a.Task, answer *a2a.Message) {
	n := len(t.History) - 1
	if t.Status.Message == nil || n < 0 || t.History[n] != answer {
		return
	}
	t.History = append(t.History[:n:n], t.Status.Message, answer)
	t.Status.Message = nil
}

// change rewrites a task of an owner, and in the same transaction puts into the outbox what its
// receivers are told of it. A task that has ended waits for nothing, so its memo
// goes. event is why the task changes, or nil.
func (s *store) change(owner string, id a2a.TaskID, event a2a.Event, edit func(tx, *row) error) (*row, error) {
	var r *row
	var letters []letter
	point("before change")
	err := s.update(owner, func(t tx) (err error) {
		if r, err = rowIn(t, id); err != nil {
			return err
		}
		if err := edit(t, r); err != nil {
			return err
		}
		r.Version++
		r.Updated = moment()
		if r.Task.Status.State.Terminal() {
			if err := dropMemos(t, id); err != nil {
				return err
			}
		}
		if resting(r.Task.Status.State) && !r.unread(event) {
			if err := s.endWork(t, id); err != nil {
				return err
			}
		}
		if r.Task.Status.State == a2a.TaskStateRejected { // nobody worked on it, so its message may come again
			if err := forgetMessages(t, id); err != nil {
				return err
			}
		}
		if s.post != nil {
			if letters, err = enqueue(t, r, event); err != nil {
				return err
			}
		}
		if err := t.happened(id, r.Version, event); err != nil {
			return err
		}
		return putRow(t, r, event)
	})
	if err != nil {
		return nil, err
	}
	point("after change")
	s.tell()
	if r.Task.Status.State.Terminal() {
		s.runs.ended(r)
	}
	for _, l := range letters {
		s.post(l)
	}
	return r, nil
}

// Get implements [taskstore.Store]. Another caller's task is not found.
func (s *store) Get(ctx context.Context, id a2a.TaskID) (*taskstore.StoredTask, error) {
	if _, err := s.known(ctx, id); err != nil {
		return nil, err
	}
	r, err := s.row(visitFrom(ctx).caller, id)
	if err != nil {
		return nil, err
	}
	return &taskstore.StoredTask{Task: r.Task, Version: taskstore.TaskVersion(r.Version)}, nil
}

// known returns what is known of the caller's task without reading it.
func (s *store) known(ctx context.Context, id a2a.TaskID) (entry, error) {
	e, there, err := s.entry(visitFrom(ctx).caller, id)
	if err == nil && !there {
		err = a2a.ErrTaskNotFound
	}
	return e, err
}

// row returns a task of an owner.
func (s *store) row(owner string, id a2a.TaskID) (r *row, err error) {
	err = s.view(owner, func(t tx) (err error) {
		r, err = rowIn(t, id)
		return err
	})
	return r, err
}

// keepMemo keeps the memo of a mind's turn; nil removes it. Those of earlier turns go, except for
// the last one, which the turn needs if another process goes on with it.
func (s *store) keepMemo(owner string, id a2a.TaskID, cycle int, memo []byte) error {
	point("before memo")
	return s.update(owner, func(t tx) error {
		if _, err := s.mine(t, id); err != nil {
			return err
		}
		if s.space != nil && cycle > 2 {
			if err := t.delete(memosBucket, s.memoKey(id, cycle-2)); err != nil {
				return err
			}
		}
		if memo == nil {
			return t.delete(memosBucket, s.memoKey(id, cycle))
		}
		return t.put(memosBucket, s.memoKey(id, cycle), memo)
	})
}

// memoKey is the key of the memo of a turn. A file has one memo of a task, since no other process
// goes on with a turn.
func (s *store) memoKey(id a2a.TaskID, cycle int) []byte {
	if s.space == nil {
		return []byte(id)
	}
	return updateKey(id, int64(cycle))
}

// memo returns what the mind has kept in a turn.
func (s *store) memo(owner string, id a2a.TaskID, cycle int) (memo []byte, err error) {
	err = s.view(owner, func(t tx) error {
		memo = bytes.Clone(t.get(memosBucket, s.memoKey(id, cycle)))
		return nil
	})
	return memo, err
}

func dropMemos(t tx, id a2a.TaskID) error {
	return errors.Join(t.delete(memosBucket, []byte(id)), dropPrefix(t, memosBucket, configPrefix(id)))
}
