package a2aserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/internal/data/transact"
)

// A sharedKeeper keeps tasks in a store that replicas share. Each value is named by its bucket and
// its key. The keys of a bucket that each goes through are listed in a value of their own.
type sharedKeeper struct {
	space  *transact.Space
	limits Limits
}

var _ keeper = (*sharedKeeper)(nil)

func (k *sharedKeeper) view(owner string, f func(tx) error) error {
	return shownFault(k.space.View(owner, func(t *transact.Tx) error { return f(&sharedTx{Tx: t}) }))
}

func (k *sharedKeeper) update(owner string, f func(tx) error) error {
	return shownFault(k.space.Update(owner, func(t *transact.Tx) error { return f(&sharedTx{Tx: t}) }))
}

// shownFault says to a client what it can do about a fault of the store.
func shownFault(err error) error {
	switch {
	case errors.Is(err, transact.ErrFull):
		return a2a.NewError(a2a.ErrServerError, "the server has no room for this: send less, or try again later")
	case errors.Is(err, transact.ErrUnreachable):
		return fmt.Errorf("%w: %w", a2a.NewError(a2a.ErrServerError, "the store that has the tasks cannot be reached: try again later"), err)
	case errors.Is(err, transact.ErrChanged):
		return fmt.Errorf("%w: %w", a2a.NewError(a2a.ErrServerError, "too much changes at once: try again later"), err)
	}
	return err
}

// A keptEntry is an entry as it is kept.
type keptEntry struct {
	ID      a2a.TaskID    `json:"id"`
	Context string        `json:"context"`
	State   a2a.TaskState `json:"state"`
	Status  time.Time     `json:"status,omitzero"`
	Created time.Time     `json:"created"`
	Updated time.Time     `json:"updated"`
	Size    int           `json:"size"`
	Said    int           `json:"said"`
	Unread  bool          `json:"unread,omitempty"`
	Version int64         `json:"version"`
}

func (k *sharedKeeper) entry(owner string, id a2a.TaskID) (entry, bool, error) {
	data, err := k.space.Row(owner, []byte(id))
	if err != nil || data == nil {
		return entry{}, false, shownFault(err)
	}
	l, err := readEntry(owner, data)
	if err != nil {
		return entry{}, false, err
	}
	return l.entry, l.id == id, nil
}

func readEntry(owner string, data []byte) (*listed, error) {
	var e keptEntry
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("what is known of a task: %w", err)
	}
	return &listed{e.ID, entry{owner, e.Context, e.State, e.Status, e.Created, e.Updated, e.Size, e.Said, e.Unread, e.Version}}, nil
}

func (k *sharedKeeper) entries(owner string) ([]*listed, error) {
	rows, err := k.space.AllRows(owner)
	if err != nil {
		return nil, shownFault(err)
	}
	list := make([]*listed, 0, len(rows))
	for _, data := range rows {
		l, err := readEntry(owner, data)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	slices.SortFunc(list, newestFirst)
	return list, nil
}

// crowded counts the tasks of the owner alone. Those that are older than they are kept go too.
func (k *sharedKeeper) crowded(owner string, more int, stays a2a.TaskID) (full bool, old []*listed, err error) {
	n, used, err := k.space.Size(owner)
	if err != nil {
		return false, nil, shownFault(err)
	}
	if n+more <= k.limits.Tasks && used < k.limits.Bytes {
		return false, nil, nil
	}
	list, err := k.entries(owner)
	if err != nil {
		return false, nil, err
	}
	before := time.Now().Add(-k.limits.Keep)
	aged := oldestOf(list, func(l *listed) bool { return l.resting() && l.id != stays && l.updated.Before(before) })
	if len(aged) > 0 {
		return true, aged, nil
	}
	return true, oldest(func(kind func(*listed) bool) []*listed { return oldestOf(list, kind) }, stays), nil
}

func (k *sharedKeeper) alone() []*listed { return nil }

func (k *sharedKeeper) close() error { return nil }

// The kinds of jobs.
const (
	jobWork = "work" // a mind has to answer the last message of a task
	jobMail = "mail" // the outbox has pushes of a task
)

// keptUpdates is how many of a task's last updates are kept for streams at other replicas.
const keptUpdates = 128

// A sharedTx is a transaction on what replicas share.
type sharedTx struct {
	*transact.Tx
	numbers uint64 // of sequence
}

var _ tx = (*sharedTx)(nil)

// nameIn is the name of a value. No bucket has a zero byte.
func nameIn(bucket, key []byte) []byte {
	return slices.Concat(bucket, []byte{0}, key)
}

func (t *sharedTx) get(bucket, key []byte) []byte { return t.Get(nameIn(bucket, key)) }

func (t *sharedTx) put(bucket, key, value []byte) error {
	if err := t.note(bucket, key, true); err != nil {
		return err
	}
	return t.Put(nameIn(bucket, key), value)
}

func (t *sharedTx) delete(bucket, key []byte) error {
	t.Delete(nameIn(bucket, key))
	return t.note(bucket, key, false)
}

// isListed reports whether each goes through a bucket: then its keys begin with those of a task.
func isListed(bucket []byte) bool {
	return slices.ContainsFunc([][]byte{configsBucket, outboxBucket, takenBucket, memosBucket}, func(b []byte) bool { return bytes.Equal(b, bucket) })
}

// keysIn returns the keys with a prefix that a bucket has, and the name of their list.
func (t *sharedTx) keysIn(bucket, prefix []byte) (keys [][]byte, name []byte, err error) {
	name = nameIn([]byte("keys"), nameIn(bucket, prefix))
	if data := t.Get(name); data != nil {
		err = json.Unmarshal(data, &keys)
	}
	return keys, name, err
}

// note lists a key, or strikes it off. What the outbox has is a job.
func (t *sharedTx) note(bucket, key []byte, there bool) error {
	task, _, ok := bytes.Cut(key, []byte{0})
	if !ok || !isListed(bucket) {
		return nil
	}
	keys, name, err := t.keysIn(bucket, key[:len(task)+1])
	if err != nil {
		return err
	}
	at, found := slices.BinarySearchFunc(keys, key, bytes.Compare)
	switch {
	case there && !found:
		keys = slices.Insert(keys, at, key)
	case !there && found:
		keys = slices.Delete(keys, at, at+1)
	default:
		return nil
	}
	if bytes.Equal(bucket, outboxBucket) {
		if len(keys) > 0 {
			t.Open(jobMail, string(task))
		} else {
			t.Close(jobMail, string(task))
		}
	}
	if len(keys) == 0 {
		t.Delete(name)
		return nil
	}
	data, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	return t.Put(name, data)
}

func (t *sharedTx) each(bucket, prefix []byte, f func(k, v []byte) error) error {
	keys, _, err := t.keysIn(bucket, prefix)
	if err != nil {
		return err
	}
	for _, k := range keys {
		v := t.get(bucket, k)
		if v == nil {
			continue
		}
		if err := f(k, v); err != nil {
			return err
		}
	}
	return nil
}

// sequence numbers by the version, which grows with every change.
func (t *sharedTx) sequence(_ []byte, version int64) (uint64, error) {
	t.numbers++
	return uint64(version)<<8 + t.numbers, nil
}

func (t *sharedTx) list(_ string, id a2a.TaskID, e *entry) error {
	if e == nil {
		t.DeleteRow([]byte(id))
		t.Close(jobWork, string(id))
		return nil
	}
	data, err := json.Marshal(keptEntry{id, e.context, e.state, e.status, e.created, e.updated, e.size, e.said, e.unread, e.version})
	if err != nil {
		return err
	}
	t.PutRow([]byte(id), data)
	if !e.resting() || e.unread {
		t.Open(jobWork, string(id))
	} else {
		t.Close(jobWork, string(id))
	}
	return nil
}

// updatesBucket has a task's last updates, for streams: task id, 0, version → event
var updatesBucket = []byte("updates")

func updateKey(id a2a.TaskID, version int64) []byte {
	return binary.BigEndian.AppendUint64(configPrefix(id), uint64(version))
}

func (t *sharedTx) happened(id a2a.TaskID, version int64, event a2a.Event) error {
	if old := version - keptUpdates; old > 0 {
		if err := t.delete(updatesBucket, updateKey(id, old)); err != nil {
			return err
		}
	}
	if _, ok := event.(*a2a.Message); ok || event == nil {
		return nil // streams tell the task itself
	}
	data, err := json.Marshal(a2a.StreamResponse{Event: event})
	if err != nil {
		return err
	}
	return t.put(updatesBucket, updateKey(id, version), data)
}

func (t *sharedTx) forget(id a2a.TaskID, version int64) error {
	for v := max(1, version-keptUpdates); v <= version; v++ {
		if err := t.delete(updatesBucket, updateKey(id, v)); err != nil {
			return err
		}
	}
	w, err := workIn(t, id)
	for i := range w.Events {
		err = errors.Join(err, t.delete(logBucket, updateKey(id, int64(i))))
	}
	return errors.Join(err, t.delete(workBucket, []byte(id)))
}
