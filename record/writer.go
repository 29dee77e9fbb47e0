package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/internal/data/datafolder"
)

var (
	// ErrLocked is the error of Open and Prune if another writer has the record
	// open.
	ErrLocked = errors.New("another writer has the record open")
	// ErrClosed is the error of an append to a closed writer.
	ErrClosed = errors.New("the record is closed")
	// ErrTooLarge is the error of an event larger than Options.MaxEvent, or with
	// more than about a million values.
	ErrTooLarge = errors.New("the event is too large")
)

// A Writer appends to a record. It is safe for concurrent use. It is the only
// writer: while it is open, every other Open of the folder fails with [ErrLocked].
type Writer struct {
	dir   string
	o     Options
	guard guard
	lock  *os.File
	items sync.Pool

	mu     sync.Mutex // guards the queue
	queue  []*item
	bytes  int
	closed bool
	room   chan struct{} // closed when the queue was taken
	wake   chan struct{}

	unsettled atomic.Int64 // events that wait for a sync

	dropped  atomic.Uint64 // events that Enqueue lost
	unsaid   atomic.Uint64 // lost events that no event reports yet
	repaired int64

	flight  sync.Mutex // held while the file syncs; before build
	syncs   chan struct{}
	stopped chan struct{}

	build    sync.Mutex // guards the rest
	file     file
	segment  segment
	id       string    // the record's identity
	outdated bool      // the segment is of version 1: the next event begins another
	stands   [2]stand  // of the segment and the lock
	born     time.Time // when the segment's first event came
	head     state     // written
	durable  state     // synced
	waiting  []*item   // written, not yet synced
	junk     bool      // bytes after head.size must be removed first
	syncErr  error     // of the last sync, unless the policy is Always
	index    *indexing
	out      []byte
	inner    []byte

	pruning sync.Mutex
	rotated chan struct{} // a segment ended
	kept    chan struct{} // keeper has ended

	since   time.Time // when run first saw that something is not signed
	ended   error     // of the run, for Close
	closing chan struct{}
	done    chan struct{}
}

// state says how far a record got.
type state struct {
	seq    uint64
	prev   Digest
	size   int64 // of the segment
	index  extent
	signed uint64 // the last checkpoint
	closed bool   // it ends the segment
}

// A Receipt says where an event is recorded.
type Receipt struct {
	Seq  uint64
	Time time.Time
	// Replies are the digests of an event's replies as they were recorded, for
	// a [Ref].
	Replies []Digest
}

// Open opens a record to append to it, and makes the folder if there is none, so
// that it survives a loss of power. It
// removes an incomplete line that a crash left. Such a line holds nothing that was
// acknowledged.
func Open(dir string, o Options) (*Writer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if err := makeDir(dir, o.syncDir); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	l, err := lock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", dir, err)
	}
	w := &Writer{
		dir: dir, o: o, lock: l,
		guard: guard{levels: [2]Level{o.Answer, o.Reasoning}, idLevel: o.IDs, patterns: o.Patterns, key: o.DigestKey},
		room:  make(chan struct{}), wake: make(chan struct{}, 1),
		syncs: make(chan struct{}, 1), stopped: make(chan struct{}), done: make(chan struct{}), closing: make(chan struct{}),
		rotated: make(chan struct{}, 1), kept: make(chan struct{}),
	}
	w.items.New = func() any { return newItem(&w.items) }
	w.stands[1], err = standsAt(l.Name(), l)
	if err == nil {
		err = w.openLast()
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("record %s: %w", dir, err)
	}
	if why := writableByOthers(dir); why != "" {
		o.Log.Warn("the record is not protected", "why", why)
	}
	go w.run()
	go w.syncer()
	go w.keeper()
	return w, nil
}

// openLast opens the last segment, repaired, or makes the first.
func (w *Writer) openLast() error {
	sweep(w.dir)
	list, err := segmentsOf(w.dir)
	if err != nil {
		return err
	}
	if w.id, err = idOf(w.dir, list); err != nil {
		return err
	}
	if w.id == "" {
		w.id = newID()
	}
	if len(list) == 0 {
		before, err := headBefore(w.dir, nil, 0)
		if err != nil {
			return err
		}
		w.head = state{seq: before.Seq, prev: before.Digest}
		// An earlier process may have been stopped after it made the folder.
		if err := w.o.syncDir(filepath.Dir(w.dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return w.create()
	}
	w.segment = list[len(list)-1]
	if w.file, err = w.o.open(w.segment.path, os.O_RDWR); err != nil {
		return err
	}
	if err = w.repair(list); err == nil {
		w.stands[0], err = standsAt(w.segment.path, w.file)
	}
	if err != nil {
		w.file.Close()
	}
	return err
}

// repair removes an incomplete line and finds the head.
func (w *Writer) repair(list []segment) error {
	t, err := tailOf(w.file)
	if err != nil {
		return err
	}
	if t.torn > 0 {
		w.repaired = t.torn
		w.o.Log.Warn("a torn line was removed from the record", "segment", w.segment.name(), "bytes", t.torn)
		if err := w.file.Truncate(t.size); err != nil {
			return err
		}
		if err := w.file.Sync(); err != nil {
			return err
		}
	}
	var head Head
	if t.line != nil {
		last, err := parseFrame(t.line)
		if err == nil {
			err = datafolder.CheckVersion("the record", last.v, formatVersion)
		}
		if err != nil {
			return fmt.Errorf("%s: the last line: %w", w.segment.name(), err)
		}
		head = Head{last.last, digestOf(t.line)}
	} else if head, err = headBefore(w.dir, list, len(list)-1); err != nil {
		return err
	}
	w.born, _ = createdAt(w.file)
	if w.index, err = indexOf(w.segment, w.file, indexUse{trusted: true}); err != nil {
		return err
	}
	w.head = state{seq: head.Seq, prev: head.Digest, size: t.size, index: w.index.extent()}
	if f, err := parseFrame(t.line); err == nil && f.typ == TypeCheckpoint {
		w.head.signed = head.Seq
		_, w.head.closed = closing(t.line)
	}
	w.durable = w.head
	if t.line != nil {
		first, err := firstFrame(w.segment)
		w.outdated = err == nil && first.id != w.id
	}
	return nil
}

// sweep removes files that a crash left half made.
func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, ".tmp-*"))
	for _, p := range left {
		os.Remove(p)
	}
}

// create makes the segment that the next event begins.
func (w *Writer) create() error {
	s := segmentAt(w.dir, w.head.seq+1)
	f, err := w.o.open(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	point("segment named")
	if err := w.o.syncDir(w.dir); err != nil {
		f.Close()
		os.Remove(s.path)
		return err
	}
	at, err := standsAt(s.path, f)
	if err != nil {
		f.Close()
		os.Remove(s.path)
		return err
	}
	w.stands[0] = at
	w.file, w.segment, w.born, w.index = f, s, time.Time{}, newIndexing(s)
	w.head.size, w.head.index, w.outdated = 0, extent{}, false
	w.durable = w.head
	return nil
}

// Dir returns the folder of the record.
func (w *Writer) Dir() string { return w.dir }

// Append records an event and returns when it is as durable as the policy says.
// After an error the event is not in the record, and the writer can still be used:
// for example, a full disk may have room again. There is one exception: if ctx
// ended meanwhile, the event may still be recorded.
func (w *Writer) Append(ctx context.Context, e Event) (Receipt, error) {
	it, err := w.prepare(&e)
	if err != nil {
		return Receipt{}, fmt.Errorf("record: %w", err)
	}
	it.waits = true
	if err := w.push(ctx, it); err != nil {
		it.free()
		return Receipt{}, fmt.Errorf("record: %w", err)
	}
	if end := ctx.Done(); end == nil {
		err = <-it.done
	} else {
		select {
		case err = <-it.done:
		case <-end:
			return Receipt{}, fmt.Errorf("record: %w", context.Cause(ctx))
		}
	}
	r := Receipt{it.seq, it.time, it.replies}
	it.free()
	if err != nil {
		return Receipt{}, fmt.Errorf("record: %w", err)
	}
	return r, nil
}

// Enqueue hands over an event to be recorded, and never waits. It reports false if
// the event cannot be recorded: the queue is full, the writer is closed, or the
// event is refused. Such events, and those that failed on the disk, are counted
// ([Writer.Dropped]). As soon as there is room, an ERROR event says how many there
// were.
func (w *Writer) Enqueue(e Event) bool {
	it, err := w.prepare(&e)
	if err == nil {
		if w.tryPush(it) == nil {
			return true
		}
		it.free()
	}
	w.drop(1)
	return false
}

// Dropped returns how many events Enqueue has lost.
func (w *Writer) Dropped() uint64 { return w.dropped.Load() }

func (w *Writer) drop(n uint64) {
	w.dropped.Add(n)
	w.unsaid.Add(n)
}

// Repaired returns how many bytes of a torn line Open removed.
func (w *Writer) Repaired() int64 { return w.repaired }

// ID returns the record's identity, which was made with it and is in every
// checkpoint. If you keep it elsewhere, it shows to [Verify] that a record is this
// one, and not another that the same key signed.
func (w *Writer) ID() string { return w.id }

// idAt returns the identity for the line at a place of the batch, if that line
// begins the segment.
func (w *Writer) idAt(from int) string { return idIf(w.head.size == 0 && from == 0, w.id) }

// Head returns where the acknowledged part of the record ends; after a failed sync,
// where the part ends that is on the disk. If you keep it elsewhere, it proves to
// [Verify] what was recorded here.
func (w *Writer) Head() Head {
	w.build.Lock()
	defer w.build.Unlock()
	s := w.durable
	if w.o.Policy != Always && w.syncErr == nil {
		s = w.head
	}
	return Head{s.seq, s.prev}
}

// prepare checks and encodes an event.
func (w *Writer) prepare(e *Event) (*item, error) {
	if e.Payload == nil {
		return nil, errors.New("an event without a payload")
	}
	if err := CheckRun(e.Run); err != nil {
		return nil, err
	}
	if err := checkType(e.Payload.Type()); err != nil {
		return nil, err
	}
	it := w.items.Get().(*item)
	it.guard = w.guard
	it.guard.secrets = w.o.Secrets.needles()
	err := it.encode(e, &it.guard)
	if err == nil && len(it.body) > w.o.MaxEvent {
		err = fmt.Errorf("%w: %d bytes, %d at most", ErrTooLarge, len(it.body), w.o.MaxEvent)
	}
	if err == nil && tooManyValues(it.body) {
		err = fmt.Errorf("%w: more than %d values", ErrTooLarge, maxValues)
	}
	if err != nil {
		it.free()
		return nil, err
	}
	return it, nil
}

// errFull is the error of a queue without room.
var errFull = errors.New("the queue is full")

// push puts an item into the queue, waiting for room.
func (w *Writer) push(ctx context.Context, it *item) error {
	for {
		w.mu.Lock()
		room := w.room
		err := w.pushLocked(it)
		w.mu.Unlock()
		if err != errFull {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (w *Writer) tryPush(it *item) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pushLocked(it)
}

func (w *Writer) pushLocked(it *item) error {
	if w.closed {
		return ErrClosed
	}
	if w.bytes > 0 && w.bytes+len(it.body) > w.o.Queue {
		return errFull
	}
	before := w.bytes
	w.queue = append(w.queue, it)
	w.bytes += len(it.body)
	if len(w.queue) == 1 && !w.holds() || before < groupSize && w.bytes >= groupSize {
		w.wakeUp()
	}
	return nil
}

// wakeUp lets run look at the queue.
func (w *Writer) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close records what is queued, signs, syncs and unlocks the record. A second Close
// does nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	w.mu.Unlock()
	if !first {
		<-w.done
		return nil
	}
	close(w.closing)
	w.wakeUp()
	<-w.done
	if w.ended != nil {
		return fmt.Errorf("record: %w", w.ended)
	}
	return nil
}
