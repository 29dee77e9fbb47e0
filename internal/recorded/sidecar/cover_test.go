package sidecar

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// stored is an object that counts what is read of it.
func stored(data []byte, reads *int) Object {
	return Object{int64(len(data)), func(from, n int64) ([]byte, error) {
		*reads++
		if from < 0 || n < 1 || from+n > int64(len(data)) {
			return nil, io.ErrUnexpectedEOF
		}
		return bytes.Clone(data[from : from+n]), nil
	}}
}

// TestCover: a segment in frames gives each part of it, with one request for parts that are close
// to each other, and the sidecar behind its cover is read as it was. What is of another segment,
// or stored in another way, is not opened.
func TestCover(t *testing.T) {
	effort.OneGoroutine(t)
	r := rand.New(rand.NewPCG(8, 2))
	segment := make([]byte, 3*FrameSize+12345)
	for i := range segment {
		segment[i] = "abcd efgh\n"[r.IntN(10)]
	}
	side := make([]byte, 300_000)
	for i := range side {
		side[i] = byte(r.IntN(256))
	}
	zip, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	framer := Framer{Zip: zip}
	for rest := segment; len(rest) > 0; {
		n, err := framer.Write(rest[:min(len(rest), 1+r.IntN(100_000))])
		if err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	object, frames := framer.End()
	digest := sha256.Sum256(segment)
	covered, err := Cover(side, digest, int64(len(segment)), frames)
	if err != nil || len(frames) != 4 {
		t.Fatal(len(frames), err)
	}
	reads, sideReads := 0, 0
	lines, beside, err := Uncover(stored(covered, &sideReads), stored(object, &reads), digest, int64(len(segment)))
	if err != nil || lines.Size != int64(len(segment)) || beside.Size != int64(len(side)) || reads != 0 || sideReads != 1 {
		t.Fatalf("%d and %d bytes, %d and %d reads, %v", lines.Size, beside.Size, reads, sideReads, err)
	}
	for range 300 {
		for _, c := range []struct {
			part  Part
			whole []byte
		}{{lines, segment}, {beside, side}} {
			from := r.IntN(len(c.whole) + 10)
			p := make([]byte, 1+r.IntN(len(c.whole)))
			if r.IntN(2) == 0 {
				p = p[:1+r.IntN(min(len(p), 2000))]
			}
			n, err := c.part.ReadAt(p, int64(from))
			want := c.whole[min(from, len(c.whole)):min(from+len(p), len(c.whole))]
			if !bytes.Equal(p[:n], want) || (n < len(p)) != errors.Is(err, io.EOF) {
				t.Fatalf("%d bytes from %d: %d, %v", len(p), from, n, err)
			}
		}
	}
	lines, beside, _ = Uncover(stored(covered, &sideReads), stored(object, &reads), digest, int64(len(segment)))
	reads, sideReads = 0, 0
	for at := FrameSize - 500; at < FrameSize+20_000; at += 1000 {
		if _, err := lines.ReadAt(make([]byte, 1000), int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	for at := 100_000; at < 290_000; at += 5000 {
		if _, err := beside.ReadAt(make([]byte, 5000), int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 1 || sideReads > 5 {
		t.Errorf("%d and %d requests for parts that follow each other", reads, sideReads)
	}
	other := sha256.Sum256(side)
	if _, _, err := Uncover(stored(covered, &reads), stored(object, &reads), other, int64(len(segment))); !errors.Is(err, errStale) {
		t.Errorf("of another segment: %v", err)
	}
	if _, _, err := Uncover(stored(covered, &reads), stored(object[1:], &reads), digest, int64(len(segment))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stored with other lengths: %v", err)
	}
	unframed, err := Cover(side, digest, int64(len(segment)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Uncover(stored(unframed, &reads), stored(object, &reads), digest, int64(len(segment))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stored in one frame: %v", err)
	}
	for i := range covered[:len(covered)-len(side)] {
		hurt := bytes.Clone(covered)
		hurt[i] ^= 1
		if _, _, err := Uncover(stored(hurt, &reads), stored(object, &reads), digest, int64(len(segment))); !errors.Is(err, errStale) {
			t.Fatalf("byte %d of the cover was changed: %v", i, err)
		}
	}
	hurt := bytes.Clone(object)
	hurt[len(hurt)/2] ^= 1
	lines, _, err = Uncover(stored(covered, &sideReads), stored(hurt, &reads), digest, int64(len(segment)))
	if n, readErr := lines.ReadAt(make([]byte, len(segment)), 0); err != nil || !errors.Is(readErr, errStale) {
		t.Errorf("a frame was changed: %d bytes, %v, %v", n, readErr, err)
	}
	if got, ok := Uncovered(covered, digest, int64(len(segment))); !ok || !bytes.Equal(got, side) {
		t.Error("the sidecar is not what was covered")
	}
}
