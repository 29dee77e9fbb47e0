package record

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
)

// A record's identity is 16 random bytes, in hexadecimal, made with the record.
// It stands in the first line of every segment, in every checkpoint and in every
// tombstone. A record that version 1 began gets its identity with the first
// segment of version 2.

const idSize = 16

func newID() string {
	var id [idSize]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// idOf returns the identity of a record, by its last segment that has a line, or
// else by its last tombstone. It is "" where there is none yet.
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
