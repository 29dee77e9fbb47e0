package a2aserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// A fileKeeper keeps tasks in one file, and an index of them in memory. Every change is on disk when
// it returns.
type fileKeeper struct {
	db       *bbolt.DB
	pageSize int64 // of the file
	name     string
	temp     bool // the file goes when it is closed
	unnamed  bool // … or with the process
	limits   Limits

	mu    sync.Mutex
	index *index
	// reading is held for reading by transactions that change nothing.
	reading sync.RWMutex
}

var _ keeper = (*fileKeeper)(nil)

// openFile opens a file, or a temporary one that is removed with the process.
func openFile(name string, limits Limits) (*fileKeeper, error) {
	f := &fileKeeper{name: name, limits: limits, index: newIndex()}
	options := &bbolt.Options{Timeout: time.Second}
	if name == "" {
		created, err := os.CreateTemp("", "sotto-a2a-*.db")
		if err != nil {
			return nil, fmt.Errorf("a place for tasks: %w", err)
		}
		f.name, f.temp, f.unnamed = created.Name(), true, true
		options.NoSync = true
		if err := created.Close(); err != nil {
			return nil, fmt.Errorf("a place for tasks: %w", err)
		}
	} else if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, fmt.Errorf("a place for tasks: %w", err)
	}
	db, err := bbolt.Open(f.name, 0o600, options)
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, fmt.Errorf("the task file %s is in use by another server", f.name)
	}
	if err != nil {
		return nil, fmt.Errorf("the task file %s: %w", f.name, err)
	}
	f.db = db
	f.pageSize = int64(db.Info().PageSize)  // not later: Info is not safe beside a transaction that grows the file
	if f.temp && os.Remove(f.name) == nil { // if an open file cannot be removed, close removes it
		f.temp = false
	}
	if err := f.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("the task file %s: %w", f.name, err), f.close())
	}
	return f, nil
}

func (f *fileKeeper) load() error {
	return f.change(func(t *fileTx) error {
		if _, err := versionIn(t.Tx); err != nil {
			return err
		}
		if err := putVersion(t.Tx); err != nil {
			return err
		}
		for _, name := range [][]byte{tasksBucket, configsBucket, memosBucket, outboxBucket, messagesBucket, takenBucket, extensionsBucket} {
			if _, err := t.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		if err := migrate(t); err != nil {
			return err
		}
		var asking []*row
		err := t.each(tasksBucket, nil, func(id, data []byte) error {
			r, err := readRow(id, data)
			if err != nil {
				return err
			}
			if changed, err := askAgain(t, r); err != nil {
				return err
			} else if changed {
				asking = append(asking, r)
				return nil
			}
			e := r.entry()
			return t.list(r.Owner, r.Task.ID, &e)
		})
		for _, r := range asking {
			err = errors.Join(err, putRow(t, r, nil))
		}
		return err
	})
}

func (f *fileKeeper) close() error {
	err := f.db.Close()
	if f.temp {
		err = errors.Join(err, os.Remove(f.name))
	}
	return err
}

func (f *fileKeeper) view(_ string, do func(tx) error) error {
	f.reading.RLock()
	defer f.reading.RUnlock()
	return f.db.View(func(t *bbolt.Tx) error { return do(&fileTx{Tx: t}) })
}

func (f *fileKeeper) update(_ string, do func(tx) error) error {
	return f.change(func(t *fileTx) error { return do(t) })
}

// change runs a transaction, and then takes over into the index what it listed.
func (f *fileKeeper) change(do func(*fileTx) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := &fileTx{}
	err := f.db.Update(func(in *bbolt.Tx) error {
		t.Tx = in
		return do(t)
	})
	if err != nil {
		return err
	}
	for _, l := range t.listed {
		if l.gone {
			f.index.drop(l.id)
		} else {
			f.index.put(l.id, l.entry)
		}
	}
	return nil
}

func (f *fileKeeper) entry(owner string, id a2a.TaskID) (entry, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, there := f.index.get(id)
	if e.owner != owner {
		return entry{}, false, nil
	}
	return e, there, nil
}

func (f *fileKeeper) entries(owner string) ([]*listed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.index.of(owner)), nil
}

func (f *fileKeeper) alone() []*listed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(f.index.all())
}

// crowded counts the tasks of all owners. The first to go are those of the owner whose tasks hold the
// most, so no owner's tasks displace those of an owner that hold less.
func (f *fileKeeper) crowded(_ string, more int, stays a2a.TaskID) (full bool, old []*listed, err error) {
	used, err := f.used()
	if err != nil {
		return false, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index.len()+more <= f.limits.Tasks && used < f.limits.Bytes {
		return false, nil, nil
	}
	return true, oldest(f.most, stays), nil
}

// used is how many bytes of the file hold something.
func (f *fileKeeper) used() (bytes int64, err error) {
	err = f.db.View(func(tx *bbolt.Tx) error {
		bytes = tx.Size()
		return nil
	})
	st := f.db.Stats()
	return bytes - int64(st.FreePageN+st.PendingPageN)*f.pageSize, err
}

// taskCost is what a task counts in addition to its bytes when owners are compared:
// an owner of many small tasks takes the places of others too.
const taskCost = 16 << 10

// most returns the tasks of a kind of the owner whose tasks of it hold the most,
// oldest first. The caller holds the lock.
func (f *fileKeeper) most(kind func(*listed) bool) (list []*listed) {
	held, greatest, owner := map[string]int{}, 0, ""
	for l := range f.index.all() {
		if !kind(l) {
			continue
		}
		if held[l.owner] += l.size + taskCost; held[l.owner] > greatest {
			greatest, owner = held[l.owner], l.owner
		}
	}
	return oldestOf(f.index.of(owner), kind)
}

// A fileTx is a transaction on a file.
type fileTx struct {
	*bbolt.Tx
	listed []relisted
}

// A relisted is a change of the index.
type relisted struct {
	listed
	gone bool
}

func (t *fileTx) get(bucket, key []byte) []byte { return t.Bucket(bucket).Get(key) }

func (t *fileTx) put(bucket, key, value []byte) error { return t.Bucket(bucket).Put(key, value) }

func (t *fileTx) delete(bucket, key []byte) error { return t.Bucket(bucket).Delete(key) }

func (t *fileTx) each(bucket, prefix []byte, f func(k, v []byte) error) error {
	c := t.Bucket(bucket).Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if err := f(k, v); err != nil {
			return err
		}
	}
	return nil
}

func (t *fileTx) sequence(bucket []byte, _ int64) (uint64, error) {
	return t.Bucket(bucket).NextSequence()
}

func (t *fileTx) list(_ string, id a2a.TaskID, e *entry) error {
	if e == nil {
		t.listed = append(t.listed, relisted{listed{id: id}, true})
	} else {
		t.listed = append(t.listed, relisted{listed{id, *e}, false})
	}
	return nil
}

func (*fileTx) happened(a2a.TaskID, int64, a2a.Event) error { return nil }

func (*fileTx) forget(a2a.TaskID, int64) error { return nil }
