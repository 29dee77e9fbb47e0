package record

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A Tombstone remains of a segment that was pruned, and keeps its place in the
// chain.
type Tombstone struct {
	V      int       `json:"v"`
	First  uint64    `json:"first"`
	Last   uint64    `json:"last"`
	Bytes  int64     `json:"bytes"`
	From   time.Time `json:"from"` // the time of the first event
	To     time.Time `json:"to"`   // and of the last
	Prev   Digest    `json:"prev"` // of the line before the segment
	Head   Digest    `json:"head"` // of its last line
	Pruned time.Time `json:"pruned"`
	Record string    `json:"record,omitempty"` // the record's identity; version 1 has none

	path     string
	raw      []byte
	key, sig string
}

// maxTombstone bounds a tombstone's file, which has a few hundred bytes.
const maxTombstone = 64 << 10

// signedTombstone is a tombstone's file.
type signedTombstone struct {
	Tombstone json.RawMessage `json:"tombstone"`
	Key       string          `json:"key,omitempty"`
	Sig       string          `json:"sig,omitempty"`
}

// PruneOptions say what is removed: the oldest segments, each as a whole, as long
// as Before or Keep asks for it. The last segment is never removed.
type PruneOptions struct {
	Before time.Time // remove segments whose last event is older
	Keep   int64     // remove the oldest segments while the record has more bytes; if zero, no bound
	// SigningKey signs the tombstones. Without one, anyone who can write to the
	// folder can make tombstones too. A [Writer] uses its own if this is nil.
	SigningKey ed25519.PrivateKey
	// Until keeps what is needed: every segment with this event or a later one stays.
	// If zero, there is no such bound.
	Until  uint64
	DryRun bool // only report what would be removed
}

// Prune removes the oldest segments of a record that no writer has open, and leaves
// a tombstone for each. If a segment does not verify, it is not removed, nor is any
// after it, and the error says so.
func Prune(dir string, o PruneOptions) ([]Tombstone, error) {
	l, err := lock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", dir, err)
	}
	defer l.Close()
	return prune(dir, o, ^uint64(0))
}

// Prune is [Prune] for the record that the writer has open.
func (w *Writer) Prune(o PruneOptions) ([]Tombstone, error) {
	if o.SigningKey == nil {
		o.SigningKey = w.o.SigningKey
	}
	w.pruning.Lock()
	defer w.pruning.Unlock()
	w.build.Lock()
	last := w.segment.first
	w.build.Unlock()
	return prune(w.dir, o, last)
}

// keeper prunes as the options say: at once, whenever a segment has ended, and
// every hour, since a record ages even if nothing is added.
func (w *Writer) keeper() {
	defer close(w.kept)
	if w.o.KeepFor <= 0 && w.o.KeepSize <= 0 {
		return
	}
	hourly := time.NewTicker(time.Hour)
	defer hourly.Stop()
	for {
		o := PruneOptions{Keep: w.o.KeepSize}
		if w.o.KeepFor > 0 {
			o.Before = time.Now().Add(-w.o.KeepFor)
		}
		if w.o.Needed != nil {
			o.Until = w.o.Needed()
		}
		done, err := w.Prune(o)
		for _, t := range done {
			w.o.Log.Info("a segment of the record was pruned", "first", t.First, "last", t.Last)
		}
		if err != nil {
			w.o.Log.Error("the record cannot be pruned", "error", err)
		}
		select {
		case <-w.rotated:
		case <-hourly.C:
		case <-w.closing:
			return
		}
	}
}

// prune removes segments, but none after the one that begins with event last, and
// not the last of the rest.
func prune(dir string, o PruneOptions, last uint64) (done []Tombstone, err error) {
	list, err := segmentsOf(dir)
	if err == nil && !o.DryRun {
		err = SweepSidecars(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	list = slices.DeleteFunc(list, func(s segment) bool { return s.first > last })
	total, err := sizeOf(list)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	for i := range len(list) - 1 {
		if o.Until > 0 && list[i+1].first > o.Until {
			break
		}
		_, to, err := timesOf(list[i])
		if err == nil && !to.Before(o.Before) && (o.Keep <= 0 || total <= o.Keep) {
			break
		}
		t, err := tombstoneOf(dir, list, i)
		if err == nil {
			err = bury(list[i], &t, o)
		}
		if err != nil {
			return done, fmt.Errorf("record: %s cannot be pruned: %w", list[i].name(), err)
		}
		done = append(done, t)
		total -= t.Bytes
	}
	return done, nil
}

func sizeOf(list []segment) (total int64, err error) {
	for _, s := range list {
		info, err := os.Lstat(s.path)
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, nil
}

// ErrEvidence is in the error of a prune that found a segment which does not
// verify.
var ErrEvidence = errors.New("the segment does not verify, so it is kept as evidence")

// tombstoneOf verifies a segment and its place between its neighbours.
func tombstoneOf(dir string, list []segment, i int) (Tombstone, error) {
	before, err := headBefore(dir, list, i)
	if err != nil {
		return Tombstone{}, err
	}
	v := &verifier{dir: dir, numbering: numbering{head: before, top: before.Seq}}
	id, err := idOf(dir, list[:i+1])
	if err != nil {
		return Tombstone{}, err
	}
	t := Tombstone{V: Version, Record: id, First: list[i].first, Prev: before.Digest, path: list[i].with(tombstoneExt)}
	if err := v.segment(list[i], false); err != nil {
		return t, err
	}
	t.Last, t.Head, t.Bytes = v.head.Seq, v.head.Digest, v.report.Bytes
	if _, err := os.Lstat(t.path); err != nil { // else it was checked before
		if next, err := firstFrame(list[i+1]); err == nil {
			v.follow(next, Head{}, "")
		}
	}
	if len(v.findings) > 0 {
		return t, fmt.Errorf("%w: %v", ErrEvidence, v.findings[0])
	}
	t.From, t.To, err = timesOf(list[i])
	return t, err
}

// firstFrame reads how a segment begins; the error is errFrame if it is empty.
func firstFrame(s segment) (frame, error) {
	f, err := openRegular(s.path, os.O_RDONLY)
	if err != nil {
		return frame{}, err
	}
	defer f.Close()
	line, _, err := newLines(f, 0).next()
	if err != nil {
		return frame{}, errFrame
	}
	return parseFrame(line)
}

func timesOf(s segment) (from, to time.Time, err error) {
	f, err := openRegular(s.path, os.O_RDONLY)
	if err != nil {
		return from, to, err
	}
	defer f.Close()
	from, _ = createdAt(f)
	t, err := tailOf(f)
	if err == nil {
		to, err = time.Parse(time.RFC3339Nano, member(t.line[:min(len(t.line), frontSize)], `"time":"`))
	}
	return from, to, err
}

// bury puts the tombstone in place, and only then removes the segment.
func bury(s segment, t *Tombstone, o PruneOptions) error {
	if o.DryRun {
		return nil
	}
	t.Pruned = time.Now().UTC()
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	signed := signedTombstone{Tombstone: raw}
	if o.SigningKey != nil {
		signed.Key = hex.EncodeToString(o.SigningKey.Public().(ed25519.PublicKey))
		signed.Sig = base64.StdEncoding.EncodeToString(ed25519.Sign(o.SigningKey, tombstoneMessage(raw)))
	}
	data, err := json.Marshal(signed)
	if err == nil {
		err = replaceFile(t.path, true, append(data, '\n'))
	}
	if err != nil {
		return err
	}
	point("tombstone stands")
	for _, ext := range []string{indexExt, sidecarExt} {
		if err := removeIfThere(s.with(ext)); err != nil {
			return err
		}
		point(ext + " removed")
	}
	if err := os.Remove(s.path); err != nil {
		return err
	}
	point("segment removed")
	return removeIfThere(s.with(sidecarExt)) // one that was made meanwhile
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func tombstoneMessage(raw []byte) []byte { return append([]byte("sotto record tombstone\n"), raw...) }

// signedBy reports whether one of the keys signed the tombstone.
func (t *Tombstone) signedBy(keys []ed25519.PublicKey) bool {
	return verifyAny(keys, tombstoneMessage(t.raw), t.key, t.sig)
}

// lastStone reads the last tombstone of a segment that began before an event; it is
// nil if there is none.
func lastStone(dir string, before uint64) (*Tombstone, error) {
	numbers, err := numbered(dir, tombstoneExt)
	if err != nil {
		return nil, err
	}
	i, _ := slices.BinarySearch(numbers, before)
	if i == 0 {
		return nil, nil
	}
	return readTombstone(dir, numbers[i-1])
}

// readTombstone reads the tombstone of the segment that began with an event.
func readTombstone(dir string, first uint64) (*Tombstone, error) {
	return readTombstoneAt(segmentAt(dir, first).with(tombstoneExt), first)
}

func readTombstoneAt(path string, first uint64) (*Tombstone, error) {
	t := &Tombstone{path: path}
	data, err := readRegular(t.path, maxTombstone)
	if err != nil {
		return nil, err
	}
	var s signedTombstone
	if err = json.Unmarshal(data, &s); err == nil {
		err = json.Unmarshal(s.Tombstone, t)
	}
	if err == nil && (t.First != first || t.Last < t.First) {
		err = errors.New("a tombstone of another segment")
	}
	if err != nil {
		return nil, &tombstoneError{filepath.Base(t.path), err}
	}
	t.raw, t.key, t.sig = s.Tombstone, s.Key, s.Sig
	return t, nil
}

// A tombstoneError is the error of a tombstone that cannot be read.
type tombstoneError struct {
	name string
	err  error
}

func (e *tombstoneError) Error() string { return e.name + ": " + e.err.Error() }
func (e *tombstoneError) Unwrap() error { return e.err }
