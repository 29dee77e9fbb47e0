package record

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// run writes what is queued, in batches: it builds and writes a batch while syncer
// syncs the one before.
func (w *Writer) run() {
	for {
		batch, open := w.next()
		if len(batch) > 0 {
			w.commit(batch)
		}
		if !open {
			break
		}
	}
	close(w.syncs)
	<-w.stopped
	<-w.kept
	w.ended = w.finish()
	close(w.done)
}

// next waits for a batch. Meanwhile it signs what has waited long enough.
func (w *Writer) next() (batch []*item, open bool) {
	for tried := false; ; {
		left, due := w.untilSigned()
		if due && left <= 0 && !tried {
			tried = true
			if w.sign() == nil { // if it fails, sign has logged that
				w.askSync()
			}
			continue
		}
		if batch, open = w.nextBatch(); len(batch) > 0 || !open {
			return batch, open
		}
		if !due || tried {
			<-w.wake
			continue
		}
		timer := time.NewTimer(left)
		select {
		case <-w.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// untilSigned returns how long the first event after the last checkpoint may still
// wait for the next checkpoint; due is false if there is no such event.
func (w *Writer) untilSigned() (left time.Duration, due bool) {
	if w.o.SigningKey == nil {
		return 0, false
	}
	w.build.Lock()
	defer w.build.Unlock()
	if w.head.seq == w.head.signed {
		w.since = time.Time{}
		return 0, false
	}
	if w.since.IsZero() {
		w.since = time.Now()
	}
	return w.o.CheckpointAfter - time.Since(w.since), true
}

// groupSize is how many bytes of events are worth a write while others wait for a
// sync. Fewer wait until that sync has ended: they could not be acknowledged before,
// and one write of many events costs much less than a write for each.
const groupSize = 128 << 10

// holds reports whether events wait for a sync, whose end calls wakeUp.
func (w *Writer) holds() bool { return w.unsettled.Load() > 0 }

// nextBatch takes the queue.
func (w *Writer) nextBatch() (batch []*item, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bytes < groupSize && w.holds() && !w.closed {
		return nil, true
	}
	batch, w.queue, w.bytes = w.queue, nil, 0
	if len(batch) > 0 {
		close(w.room)
		w.room = make(chan struct{})
	}
	return batch, !w.closed
}

// commit writes a batch. If that fails, the record is as it was before.
func (w *Writer) commit(batch []*item) {
	batch = w.reportDropped(batch)
	if err := w.rotateIfDue(); err != nil {
		w.fail(batch, err)
		return
	}
	w.build.Lock()
	err := w.ready()
	if err == nil {
		err = w.write(batch, w.signDue(len(batch)), Digest{})
	}
	if err == nil && w.o.Policy == Always {
		w.waiting = append(w.waiting, batch...)
		w.unsettled.Add(int64(len(batch)))
		batch = nil
	}
	w.build.Unlock()
	if err != nil {
		w.fail(batch, err)
		return
	}
	settle(batch, nil)
	w.askSync()
}

// reportDropped adds an event that says how many were lost.
func (w *Writer) reportDropped(batch []*item) []*item {
	n := w.unsaid.Swap(0)
	if n == 0 {
		return batch
	}
	it, err := w.prepare(&Event{Payload: Failure{Code: "dropped", Count: n}})
	if err != nil { // this cannot happen: nothing in it comes from the caller
		w.o.Log.Error("record: dropped events", "count", n, "error", err)
		return batch
	}
	it.speaksOf = n
	return append(batch, it)
}

// fail reports the error to the callers that wait, and counts the events of those
// that do not.
func (w *Writer) fail(batch []*item, err error) {
	var lost uint64
	for _, it := range batch {
		switch {
		case it.speaksOf > 0:
			w.unsaid.Add(it.speaksOf)
		case !it.waits:
			lost++
		}
	}
	if lost > 0 {
		w.o.Log.Error("events were not recorded", "count", lost, "error", err)
		w.drop(lost)
	}
	settle(batch, err)
}

// settle completes items.
func settle(batch []*item, err error) {
	for _, it := range batch {
		if it.waits {
			it.done <- err
			continue
		}
		it.free()
	}
}

// ready removes what an earlier failure left. It returns an error if readers would
// not find what is written.
func (w *Writer) ready() error {
	if err := w.inPlace(); err != nil {
		return err
	}
	if err := w.cutJunk(); err != nil {
		return err
	}
	return w.syncAgain()
}

func (w *Writer) cutJunk() error {
	if !w.junk {
		return nil
	}
	err := w.file.Truncate(w.head.size)
	w.junk = err != nil
	return err
}

// syncAgain repeats a sync that failed. The caller holds build.
//
// It writes first what was written since the last sync that succeeded. The kernel
// may count that as clean although it is not on the disk, so that a sync alone would
// succeed and do nothing.
func (w *Writer) syncAgain() error {
	if w.syncErr == nil {
		return nil
	}
	if !w.tailStands() {
		w.giveUpTail()
	}
	if err := w.cutJunk(); err != nil {
		return err
	}
	if w.syncErr = writeAgain(w.file, w.durable.size, w.head.size); w.syncErr == nil {
		w.syncErr = w.file.Sync()
	}
	if w.syncErr == nil {
		w.durable = w.head
	}
	return w.syncErr
}

// tailStands reports whether the lines since the last sync can still be read as they
// were written.
func (w *Writer) tailStands() bool {
	at := w.durable
	l := newLines(io.NewSectionReader(w.file, at.size, w.head.size-at.size), 0)
	for {
		line, _, err := l.next()
		if err != nil {
			return err == io.EOF && at.seq == w.head.seq && at.prev == w.head.prev
		}
		f, err := parseFrame(line)
		if err != nil || f.first != at.seq+1 || f.prev != at.prev {
			return false
		}
		at.seq, at.prev = f.last, digestOf(line)
	}
}

// giveUpTail takes back the lines since the last sync, which the disk has lost. They
// were acknowledged, so they count as dropped.
func (w *Writer) giveUpTail() {
	lost := w.head.seq - w.durable.seq
	w.o.Log.Error("events that were acknowledged are lost: the disk did not keep them", "first", w.durable.seq+1, "last", w.head.seq)
	w.drop(lost)
	w.head, w.junk = w.durable, true
	w.index.truncate(w.head.index)
}

// writeAgain writes a stretch of a file over itself.
func writeAgain(f file, from, to int64) error {
	buf := make([]byte, min(to-from, 1<<20))
	for from < to {
		part := buf[:min(to-from, int64(len(buf)))]
		if _, err := f.ReadAt(part, from); err != nil {
			return err
		}
		if _, err := f.WriteAt(part, from); err != nil {
			return err
		}
		from += int64(len(part))
	}
	return nil
}

// signDue reports whether a checkpoint is due after the next n events.
func (w *Writer) signDue(n int) bool {
	return w.o.SigningKey != nil && w.head.seq+uint64(n)-w.head.signed >= w.o.CheckpointEvery
}

// write appends the lines of a batch to the file, with or without a checkpoint. If
// the checkpoint ends the segment, index is the digest of its index.
func (w *Writer) write(batch []*item, signed bool, index Digest) error {
	s := w.head
	now := time.Now().UTC()
	if w.out = w.out[:0]; cap(w.out) > 16<<20 {
		w.out = nil
	}
	var err error
	if len(w.o.Recipients) > 0 {
		s, err = w.appendSealed(s, batch, now)
	} else {
		s = w.appendPlain(s, batch, now)
	}
	s.closed = s.closed && len(batch) == 0
	if err == nil && signed {
		from := len(w.out)
		s.seq++
		w.out, s.prev = appendCheckpoint(w.out, w.o.SigningKey, w.id, index, w.idAt(from) != "", s.seq, s.prev, now)
		s.signed, s.closed = s.seq, !index.IsZero()
		w.index.index(row{seq: s.seq, at: w.head.size + int64(from), size: len(w.out) - from, time: now}, "", TypeCheckpoint, facts{})
	}
	if err == nil {
		point("before write")
		_, err = w.file.WriteAt(w.out, w.head.size)
		point("written")
	}
	if err != nil {
		w.junk = true
		w.index.truncate(w.head.index)
		_ = w.ready() // else it is done before the next write
		return err
	}
	s.size = w.head.size + int64(len(w.out))
	s.index = w.index.extent()
	if w.born.IsZero() {
		w.born = now
	}
	w.head = s
	w.index.save(w.head)
	return nil
}

// appendPlain appends a line for each item.
func (w *Writer) appendPlain(s state, batch []*item, now time.Time) state {
	for _, it := range batch {
		from := len(w.out)
		s.seq++
		it.seq, it.time = s.seq, now
		w.out = appendFront(w.out, w.idAt(from), s.seq, 0, now)
		w.out = append(w.out, it.body...)
		w.out, s.prev = appendBack(w.out, from, s.prev)
		w.index.index(row{seq: s.seq, at: w.head.size + int64(from), size: len(w.out) - from, time: now, cycle: it.cycle}, it.run, it.typ, it.facts)
	}
	return s
}

// askSync lets syncer know that there is something to sync.
func (w *Writer) askSync() {
	if w.o.Policy == None {
		return
	}
	select {
	case w.syncs <- struct{}{}:
	default:
	}
}

// syncer syncs what was written, and acknowledges it.
func (w *Writer) syncer() {
	defer close(w.stopped)
	for range w.syncs {
		for again := true; again; again = w.unsynced() {
			w.pause()
			w.flight.Lock()
			w.syncOnce()
			w.flight.Unlock()
		}
	}
}

// unsynced reports whether a sync failed that nobody waits for, and the writer is
// still open.
func (w *Writer) unsynced() bool {
	select {
	case <-w.closing:
		return false
	default:
	}
	w.build.Lock()
	defer w.build.Unlock()
	return w.syncErr != nil
}

// pause lets a batch grow, if the policy is to.
func (w *Writer) pause() {
	if w.o.Policy != Batch {
		return
	}
	timer := time.NewTimer(w.o.SyncEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.closing:
	}
}

// syncOnce syncs the file as it is now. The caller holds flight, not build.
func (w *Writer) syncOnce() {
	w.build.Lock()
	failed := w.syncAgain() // if policy is Always, there is nothing to repeat
	batch, to, done := w.waiting, w.head, w.durable == w.head
	w.waiting = nil
	w.build.Unlock()
	if done || failed != nil {
		return
	}
	point("before sync")
	if err := w.file.Sync(); err != nil {
		w.undo(batch, err)
		return
	}
	w.build.Lock()
	if w.head.seq >= to.seq { // else the lines were given up meanwhile
		w.durable = to
	}
	w.build.Unlock()
	w.unsettle(batch)
	settle(batch, nil)
}

// unsettle counts events that no longer wait for a sync, before they are settled.
func (w *Writer) unsettle(batch []*item) {
	w.unsettled.Add(-int64(len(batch)))
	w.wakeUp()
}

// undo removes what was written since the last sync, after a sync failed: it is
// unknown what the kernel then still has. If the policy has acknowledged it
// already, nothing is removed. It does not count as on the disk until it was
// written and synced again, and appends fail until then.
func (w *Writer) undo(batch []*item, err error) {
	w.build.Lock()
	defer w.build.Unlock()
	if w.o.Policy != Always {
		w.syncErr = err
		w.o.Log.Error("the record cannot be synced to disk", "error", err)
		return
	}
	batch = append(batch, w.waiting...)
	w.waiting = nil
	w.head, w.junk = w.durable, true
	w.index.truncate(w.head.index)
	_ = w.ready() // else it is done before the next write
	w.unsettle(batch)
	w.fail(batch, fmt.Errorf("sync: %w", err))
}

// rotateIfDue ends the segment if it is long or old enough.
func (w *Writer) rotateIfDue() error {
	w.build.Lock()
	due := w.outdated || w.head.size >= w.o.SegmentSize || !w.born.IsZero() && w.head.size > 0 && time.Since(w.born) >= w.o.SegmentAge
	w.build.Unlock()
	if !due {
		return nil
	}
	w.flight.Lock()
	defer w.flight.Unlock()
	if err := w.endSegment(); err != nil {
		return err
	}
	w.build.Lock()
	defer w.build.Unlock()
	if w.head.size == 0 {
		return nil // it was undone meanwhile
	}
	old := w.file
	point("segment ended")
	if err := w.create(); err != nil {
		return err
	}
	point("segment made")
	select {
	case w.rotated <- struct{}{}:
	default:
	}
	return old.Close()
}

// endSegment signs and syncs everything. The caller holds flight.
func (w *Writer) endSegment() error {
	covered, index, err := w.conclude()
	if err != nil {
		return err
	}
	w.syncOnce()
	w.build.Lock()
	defer w.build.Unlock()
	if err := w.ready(); err != nil {
		return err
	}
	if w.durable != w.head {
		return errors.Join(errors.New("the segment cannot be synced to disk"), w.syncErr)
	}
	if index != nil {
		w.index.put(covered, index)
	}
	return nil
}

// conclude signs the segment as it is, with the digest of its index, unless it ends
// with such a checkpoint already. It returns the index and how much of the segment
// it covers. The index is nil if it need not be written.
func (w *Writer) conclude() (covered int64, index []byte, err error) {
	w.build.Lock()
	defer w.build.Unlock()
	if w.head.size == 0 || w.head.closed {
		return 0, nil, nil
	}
	if err := w.ready(); err != nil {
		return 0, nil, err
	}
	covered = w.head.size
	if w.index.rows() > 0 && covered <= maxIndexed {
		if index, err = w.index.bytes(covered, w.head.prev); err != nil {
			return 0, nil, err
		}
	}
	switch {
	case w.o.SigningKey == nil || index == nil && w.head.seq == w.head.signed:
	case index == nil:
		err = w.write(nil, true, Digest{})
	default:
		err = w.write(nil, true, digestOf(index))
	}
	if err != nil {
		w.o.Log.Error("the record cannot be signed", "error", err)
	}
	if covered == w.index.saved {
		index = nil
	}
	return covered, index, err
}

// sign appends a checkpoint if the last line is not one.
func (w *Writer) sign() error {
	covered, index, err := w.conclude()
	if err != nil || index == nil {
		return err
	}
	w.build.Lock()
	defer w.build.Unlock()
	w.index.put(covered, index)
	return nil
}

// finish ends the record at Close.
func (w *Writer) finish() error {
	w.flight.Lock()
	defer w.flight.Unlock()
	if n := w.unsaid.Load(); n > 0 {
		w.commitLast()
	}
	err := w.endSegment()
	return errors.Join(err, w.file.Close(), w.lock.Close())
}

// commitLast records what was dropped since the last batch.
func (w *Writer) commitLast() {
	batch := w.reportDropped(nil)
	w.build.Lock()
	defer w.build.Unlock()
	err := w.ready()
	if err == nil {
		err = w.write(batch, false, Digest{})
	}
	if err != nil {
		w.fail(batch, err)
		return
	}
	settle(batch, nil)
}
