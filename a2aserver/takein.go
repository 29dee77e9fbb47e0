package a2aserver

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// takeIn moves the tasks of a file, if there is one, into the store that replicas share. Each task
// is in the store before it goes from the file, so a process that is killed meanwhile moves the
// rest at its next start. Tasks that were being worked on have ended, as with any restart.
func (s *store) takeIn(name string) error {
	if _, err := os.Stat(name); name == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	from, err := openStore(name, s.limits)
	if err != nil {
		return err
	}
	from.post = func(letter) {} // the outbox gets the ends
	_, err = from.interrupted()
	for _, l := range from.alone() {
		if err != nil {
			break
		}
		if err = s.takeInTask(from, l); err == nil {
			err = from.drop([]*listed{l})
		}
	}
	if err != nil {
		err = fmt.Errorf("the tasks of %s cannot be moved into the store that replicas share: %w", name, err)
	}
	return errors.Join(err, from.close())
}

// takeInTask copies a task, unless the store has it.
func (s *store) takeInTask(from *store, l *listed) error {
	return from.view(l.owner, func(file tx) error {
		r, err := rowIn(file, l.id)
		if err != nil {
			return err
		}
		return s.update(l.owner, func(t tx) error {
			if t.get(tasksBucket, []byte(l.id)) != nil {
				return nil
			}
			prefix := configPrefix(l.id)
			for _, bucket := range [][]byte{configsBucket, outboxBucket, takenBucket} {
				if err := file.each(bucket, prefix, func(k, v []byte) error { return t.put(bucket, bytes.Clone(k), bytes.Clone(v)) }); err != nil {
					return err
				}
			}
			if err := file.each(takenBucket, prefix, func(k, _ []byte) error {
				key := bytes.Clone(k[len(prefix):])
				return t.put(messagesBucket, key, bytes.Clone(file.get(messagesBucket, key)))
			}); err != nil {
				return err
			}
			if memo := file.get(memosBucket, []byte(l.id)); memo != nil && r.Task.Status.State == a2a.TaskStateInputRequired {
				if err := t.put(memosBucket, s.memoKey(l.id, messagesOf(r.Task)), bytes.Clone(memo)); err != nil {
					return err
				}
			}
			if more := file.get(extensionsBucket, []byte(l.id)); more != nil {
				if err := t.put(extensionsBucket, []byte(l.id), bytes.Clone(more)); err != nil {
					return err
				}
			}
			return putRow(t, r, nil)
		})
	})
}
