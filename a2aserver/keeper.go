package a2aserver

import (
	"bytes"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// A keeper has what the server keeps of tasks: in a file of this process, or in a store that
// replicas share. What belongs to one owner is read and changed by transactions.
type keeper interface {
	// view runs a transaction that changes nothing.
	view(owner string, f func(tx) error) error
	// update runs a transaction whose changes count all or not at all. Where others change the
	// same meanwhile, it begins again, so f must leave nothing behind but what it returns.
	update(owner string, f func(tx) error) error
	// entry returns what is known of a task of an owner without reading it.
	entry(owner string, id a2a.TaskID) (e entry, there bool, err error)
	// entries returns the tasks of an owner, newest first.
	entries(owner string) ([]*listed, error)
	// crowded reports whether there is no room for more tasks of an owner, or for one to grow,
	// which stays. If so, the tasks of old are the first to go, which have one owner.
	crowded(owner string, more int, stays a2a.TaskID) (full bool, old []*listed, err error)
	// alone returns the tasks of all owners if no other process has them; otherwise none.
	alone() []*listed
	// wipe makes unreadable what was removed.
	wipe() error
	close() error
}

// A tx is a transaction. What get and each give is valid until it ends.
type tx interface {
	get(bucket, key []byte) []byte
	put(bucket, key, value []byte) error
	delete(bucket, key []byte) error
	// each calls f for the keys with a prefix, in order. f must not change the bucket.
	each(bucket, prefix []byte, f func(k, v []byte) error) error
	// sequence returns a number that is greater than earlier ones of the same task, which has
	// the given version.
	sequence(bucket []byte, version int64) (uint64, error)
	// list keeps what is known of a task without reading it; nil forgets the task.
	list(owner string, id a2a.TaskID, e *entry) error
	// happened keeps an event for streams in other processes.
	happened(id a2a.TaskID, version int64, event a2a.Event) error
	// forget drops what happened to a task up to a version.
	forget(id a2a.TaskID, version int64) error
}

// dropPrefix deletes the keys with a prefix.
func dropPrefix(t tx, bucket, prefix []byte) error {
	var keys [][]byte
	err := t.each(bucket, prefix, func(k, _ []byte) error {
		keys = append(keys, bytes.Clone(k))
		return nil
	})
	for _, k := range keys {
		if err == nil {
			err = t.delete(bucket, k)
		}
	}
	return err
}
