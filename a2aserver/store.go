package a2aserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// The buckets of the file.
var (
	tasksBucket   = []byte("tasks")   // task id → row
	configsBucket = []byte("configs") // task id, 0, config id → pushConfig
	memosBucket   = []byte("memos")   // task id → what a mind wants back
	outboxBucket  = []byte("outbox")  // task id, 0, sequence → a push that has not arrived
	pendingBucket = []byte("pending") // the outbox of earlier versions
)

// A store keeps tasks in one file, and an index of them in memory. Every change is
// on disk when it returns.
type store struct {
	db       *bbolt.DB
	pageSize int64 // of the file
	file     string
	temp     bool // the file goes when the store is closed
	limits   Limits
	post     func(letter) // delivers a push of the outbox; nil if there are no pushes
	runs     *recording

	mu    sync.Mutex
	index *index
	moved chan struct{} // closed at the next change of a task
	// sending are the messages that are being sent and that no task has taken yet.
	sending map[[sha256.Size]byte]chan struct{}
}

var _ taskstore.Store = (*store)(nil)

// A row is a task as it lies in the file.
type row struct {
	Version int64     `json:"v"`
	Owner   string    `json:"owner,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Task    *a2a.Task `json:"task"`
	// Recorded says that the record has the task, as a run.
	Recorded bool `json:"recorded,omitempty"`
	size     int  // in the file
}

func (r *row) entry() entry {
	e := entry{owner: r.Owner, context: r.Task.ContextID, state: r.Task.Status.State, created: r.Created, updated: r.Updated, size: r.size}
	if t := r.Task.Status.Timestamp; t != nil {
		e.status = *t
	}
	e.said = messagesOf(r.Task)
	return e
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

// openStore opens the file, or a temporary one that is removed with the process.
func openStore(file string, limits Limits) (*store, error) {
	s := &store{file: file, limits: limits, index: newIndex(), moved: make(chan struct{}), sending: map[[sha256.Size]byte]chan struct{}{}}
	options := &bbolt.Options{Timeout: time.Second}
	if file == "" {
		f, err := os.CreateTemp("", "sotto-a2a-*.db")
		if err != nil {
			return nil, fmt.Errorf("a place for tasks: %w", err)
		}
		s.file, s.temp = f.Name(), true
		options.NoSync = true
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("a place for tasks: %w", err)
		}
	} else if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("a place for tasks: %w", err)
	}
	db, err := bbolt.Open(s.file, 0o600, options)
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, fmt.Errorf("the task file %s is in use by another server", s.file)
	}
	if err != nil {
		return nil, fmt.Errorf("the task file %s: %w", s.file, err)
	}
	s.db = db
	s.pageSize = int64(db.Info().PageSize)  // not later: Info is not safe beside a transaction that grows the file
	if s.temp && os.Remove(s.file) == nil { // if an open file cannot be removed, close removes it
		s.temp = false
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("the task file %s: %w", s.file, err), s.close())
	}
	return s, nil
}

func (s *store) load() error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		if _, err := versionIn(tx); err != nil {
			return err
		}
		if err := putVersion(tx); err != nil {
			return err
		}
		for _, name := range [][]byte{tasksBucket, configsBucket, memosBucket, outboxBucket, messagesBucket, takenBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		if err := migrate(tx); err != nil {
			return err
		}
		var asking []*row
		err := tx.Bucket(tasksBucket).ForEach(func(id, data []byte) error {
			r, err := readRow(id, data)
			if err != nil {
				return err
			}
			if changed, err := askAgain(tx, r); err != nil {
				return err
			} else if changed {
				asking = append(asking, r)
			}
			s.index.put(r.Task.ID, r.entry())
			return nil
		})
		for _, r := range asking {
			err = errors.Join(err, s.put(tx, r))
			s.index.put(r.Task.ID, r.entry())
		}
		return err
	})
}

func (s *store) close() error {
	err := s.db.Close()
	if s.temp {
		err = errors.Join(err, os.Remove(s.file))
	}
	return err
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

// put writes a row. The caller has the lock.
func (s *store) put(tx *bbolt.Tx, r *row) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write task: %w: %w", a2a.ErrInvalidParams, err)
	}
	r.size = len(data)
	return tx.Bucket(tasksBucket).Put([]byte(r.Task.ID), data)
}

func (s *store) row(tx *bbolt.Tx, id a2a.TaskID) (*row, error) {
	data := tx.Bucket(tasksBucket).Get([]byte(id))
	if data == nil {
		return nil, a2a.ErrTaskNotFound
	}
	return readRow([]byte(id), data)
}

// moment returns the current time, with the precision that the file keeps.
func moment() time.Time { return time.Now().UTC().Round(0) }

// Create implements [taskstore.Store]. The task belongs to the caller that makes
// it.
func (s *store) Create(ctx context.Context, task *a2a.Task) (taskstore.TaskVersion, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.index.get(task.ID); there {
		return taskstore.TaskVersionMissing, taskstore.ErrTaskAlreadyExists
	}
	if err := s.room(1, ""); err != nil {
		return taskstore.TaskVersionMissing, err
	}
	now := moment()
	v := visitFrom(ctx)
	r := &row{Version: 1, Owner: v.caller, Created: now, Updated: now, Task: task, Recorded: s.runs != nil}
	point("before create")
	err := s.db.Update(func(tx *bbolt.Tx) error {
		if err := v.message.note(tx, task.ID); err != nil {
			return err
		}
		return s.put(tx, r)
	})
	if err != nil {
		return taskstore.TaskVersionMissing, err
	}
	point("after create")
	s.index.put(task.ID, r.entry())
	s.hasNoted(v.message)
	s.tell()
	return 1, nil
}

// Update implements [taskstore.Store]. A task that has ended does not change: later
// updates are refused. If a task begins to wait, this may end another.
func (s *store) Update(ctx context.Context, req *taskstore.UpdateRequest) (taskstore.TaskVersion, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := visitFrom(ctx)
	r, err := s.change(req.Task.ID, req.Event, func(tx *bbolt.Tx, r *row) error {
		if r.Task.Status.State.Terminal() ||
			req.PrevVersion != taskstore.TaskVersionMissing && int64(req.PrevVersion) != r.Version {
			return taskstore.ErrConcurrentModification
		}
		if m, ok := req.Event.(*a2a.Message); ok {
			putQuestionFirst(req.Task, m)
		}
		r.Task = req.Task
		return v.message.note(tx, r.Task.ID)
	})
	if err != nil {
		return taskstore.TaskVersionMissing, err
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

// change rewrites a task, and in the same transaction puts into the outbox what its
// receivers are told of it. A task that has ended waits for nothing, so its memo
// goes. event is why the task changes, or nil. The caller holds the lock.
func (s *store) change(id a2a.TaskID, event a2a.Event, edit func(*bbolt.Tx, *row) error) (*row, error) {
	var r *row
	var letters []letter
	point("before change")
	err := s.db.Update(func(tx *bbolt.Tx) (err error) {
		if r, err = s.row(tx, id); err != nil {
			return err
		}
		if err := edit(tx, r); err != nil {
			return err
		}
		r.Version++
		r.Updated = moment()
		if r.Task.Status.State.Terminal() {
			if err := tx.Bucket(memosBucket).Delete([]byte(id)); err != nil {
				return err
			}
		}
		if r.Task.Status.State == a2a.TaskStateRejected { // nobody worked on it, so its message may come again
			if err := forgetMessages(tx, id); err != nil {
				return err
			}
		}
		if s.post != nil {
			if letters, err = s.enqueue(tx, r.Task, event); err != nil {
				return err
			}
		}
		return s.put(tx, r)
	})
	if err != nil {
		return nil, err
	}
	point("after change")
	e := r.entry()
	_, e.unread = event.(*a2a.Message)
	s.index.put(id, e)
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
	if _, err := s.entry(ctx, id); err != nil {
		return nil, err
	}
	r, err := s.record(id)
	if err != nil {
		return nil, err
	}
	return &taskstore.StoredTask{Task: r.Task, Version: taskstore.TaskVersion(r.Version)}, nil
}

// entry returns what is known about a caller's task without reading it.
func (s *store) entry(ctx context.Context, id a2a.TaskID) (entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.index.get(id)
	if !ok || e.owner != visitFrom(ctx).caller {
		return entry{}, a2a.ErrTaskNotFound
	}
	return e, nil
}

// owner returns whose a task is; "" if it is gone.
func (s *store) owner(id a2a.TaskID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, _ := s.index.get(id)
	return e.owner
}

// record returns a task, whoever owns it.
func (s *store) record(id a2a.TaskID) (r *row, err error) {
	err = s.db.View(func(tx *bbolt.Tx) (err error) {
		r, err = s.row(tx, id)
		return err
	})
	return r, err
}

// keepMemo keeps a mind's memo; nil removes it.
func (s *store) keepMemo(id a2a.TaskID, memo []byte) error {
	point("before memo")
	return s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(memosBucket)
		if memo == nil {
			return b.Delete([]byte(id))
		}
		return b.Put([]byte(id), memo)
	})
}

func (s *store) memo(id a2a.TaskID) (memo []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		memo = bytes.Clone(tx.Bucket(memosBucket).Get([]byte(id)))
		return nil
	})
	return memo, err
}
