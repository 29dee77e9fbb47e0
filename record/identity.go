package record

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
)

// A record's identity is 16 random bytes, in hexadecimal, made with the record. It
// is in the first line of every segment, in every checkpoint and in every
// tombstone. A record that was begun in version 1 gets its identity with its first
// segment of version 2.

const idSize = 16

func newID() string {
	var id [idSize]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// idOf returns the identity of a record. It reads it from the last segment that has
// a line, or else from the last tombstone. It is "" if there is none yet.
func idOf(dir string, list []segment) (string, error) {
	for i := len(list) - 1; i >= 0; i-- {
		f, err := firstFrame(list[i])
		if err == nil {
			return f.id, nil
		}
		if !errors.Is(err, errFrame) && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	t, err := lastStone(dir, ^uint64(0))
	if err != nil || t == nil {
		return "", err
	}
	return t.Record, nil
}
