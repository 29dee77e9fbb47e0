package a2aserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"go.etcd.io/bbolt"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/data/boltfile"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// fileVersion is the version of the files that this package writes. A file without a
// version is of version 1, which earlier servers wrote.
const fileVersion = 1

// The bucket of facts about the file, and the key of its version.
var (
	aboutBucket = []byte("about")
	versionKey  = []byte("version")
)

// versionIn returns the version of a file.
func versionIn(tx *bbolt.Tx) (int, error) {
	b := tx.Bucket(aboutBucket)
	if b == nil {
		return 1, nil
	}
	text := b.Get(versionKey)
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return 0, fmt.Errorf("the version %.20q is not a number", text)
	}
	return n, datafolder.CheckVersion(filepath.Base(tx.DB().Path()), n, fileVersion)
}

// putVersion writes the version of a file.
func putVersion(tx *bbolt.Tx) error {
	b, err := tx.CreateBucketIfNotExists(aboutBucket)
	if err != nil {
		return err
	}
	return b.Put(versionKey, strconv.AppendInt(nil, fileVersion, 10))
}

// CopyTasks writes a copy of the file of the tasks, as it is at one moment. The server
// answers meanwhile, and its file grows for as long as w takes.
func (s *Server) CopyTasks(w io.Writer) error {
	f, ok := s.store.keeper.(*fileKeeper)
	if !ok {
		return errors.New("the tasks are in the store that replicas share, and in no file")
	}
	f.reading.RLock()
	defer f.reading.RUnlock()
	return f.db.View(func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(w)
		return err
	})
}

// CheckTasks reads a whole file of tasks that no server has open, and returns its
// version. The error is the first fault.
func CheckTasks(file string) (version int, err error) {
	if err := boltfile.Check(file); err != nil {
		return 0, err
	}
	err = boltfile.View(file, func(tx *bbolt.Tx) error {
		if version, err = versionIn(tx); err != nil {
			return err
		}
		return checkRows(tx)
	})
	return version, err
}

// checkRows reads the rows of every bucket that this version knows.
func checkRows(tx *bbolt.Tx) error {
	for _, b := range []struct {
		name  []byte
		check func(k, v []byte) error
	}{
		{tasksBucket, func(k, v []byte) error { _, err := readRow(k, v); return err }},
		{configsBucket, func(_, v []byte) error { return json.Unmarshal(v, new(pushConfig)) }},
		{outboxBucket, func(_, v []byte) error { return json.Unmarshal(v, new(letter)) }},
		{messagesBucket, func(_, v []byte) error { return json.Unmarshal(v, new(taken)) }},
		{extensionsBucket, func(_, v []byte) error { return json.Unmarshal(v, new(agent.Extension)) }},
	} {
		bucket := tx.Bucket(b.name)
		if bucket == nil {
			continue
		}
		err := bucket.ForEach(func(k, v []byte) error {
			err := foreignjson.Check(v)
			if err == nil {
				err = b.check(k, v)
			}
			if err != nil {
				return fmt.Errorf("%s, row %.100q: %w", b.name, k, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
