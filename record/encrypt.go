package record

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"
)

// SealedBatch is an encrypted batch of events, numbered from the event's Seq to Last. A
// reader with an identity returns the events instead.
type SealedBatch struct {
	Last uint64 `json:"-"`
	Age  []byte `json:"age"` // an age file of lines
}

// Type returns [TypeSealed].
func (SealedBatch) Type() Type               { return TypeSealed }
func (SealedBatch) facts() facts             { return facts{} }
func (s SealedBatch) guarded(*guard) Payload { return s }

// sealAt is the size from which a batch is split in two.
const sealAt = 4 << 20

// appendSealed appends a batch as encrypted lines.
func (w *Writer) appendSealed(s state, batch []*item, now time.Time) (state, error) {
	w.inner = w.inner[:0]
	first := s.seq + 1
	for i, it := range batch {
		s.seq++
		it.seq, it.time = s.seq, now
		w.inner = appendFront(w.inner, "", s.seq, 0, now)
		w.inner = append(w.inner, it.body...)
		w.inner = append(w.inner, "}\n"...)
		if i < len(batch)-1 && len(w.inner) < sealAt {
			continue
		}
		from := len(w.out)
		var err error
		if w.out, err = seal(appendFront(w.out, w.idAt(from), first, s.seq, now), w.inner, w.o.Recipients); err != nil {
			return s, err
		}
		w.out, s.prev = appendBack(w.out, from, s.prev)
		w.index.index(row{seq: first, more: uint32(s.seq - first), at: w.head.size + int64(from), size: len(w.out) - from, time: now}, "", TypeSealed, facts{})
		w.inner, first = w.inner[:0], s.seq+1
	}
	return s, nil
}

// seal appends a line's members from run to payload.
func seal(dst, plain []byte, to []age.Recipient) ([]byte, error) {
	dst = append(dst, `"run":"","cycle":0,"type":"SEALED","payload":{"age":"`...)
	out := &appender{dst}
	b64 := base64.NewEncoder(base64.StdEncoding, out)
	enc, err := age.Encrypt(b64, to...)
	if err == nil {
		_, err = enc.Write(plain)
	}
	if err == nil {
		err = enc.Close()
	}
	if err == nil {
		err = b64.Close()
	}
	if err != nil {
		return dst, fmt.Errorf("encrypt: %w", err)
	}
	return append(out.b, `"}`...), nil
}

type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// unseal decrypts a sealed event and returns the events in it.
func unseal(e Event, ids []age.Identity, noPrompts bool) ([]Event, error) {
	s, ok := e.Payload.(SealedBatch)
	if !ok {
		return nil, errors.New("an encrypted line of unknown form")
	}
	r, err := age.Decrypt(bytes.NewReader(s.Age), ids...)
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxLine))
	if err != nil {
		return nil, err
	}
	var list []Event
	for line := range bytes.Lines(plain) {
		in, err := parseOwn(bytes.Clone(line), noPrompts)
		if err != nil {
			return list, err
		}
		if in.Seq != e.Seq+uint64(len(list)) {
			return list, fmt.Errorf("event %d is where event %d belongs", in.Seq, e.Seq+uint64(len(list)))
		}
		list = append(list, in)
	}
	return list, nil
}
