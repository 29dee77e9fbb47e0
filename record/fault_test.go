package record

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// disk is a file system with faults.
type disk struct {
	room     atomic.Int64 // bytes that can still be written
	writes   atomic.Int64
	noSync   atomic.Bool
	noTrunc  atomic.Bool
	noCreate atomic.Bool
	slow     chan struct{} // if not nil, a sync waits for it
}

type faulty struct {
	file
	d *disk
}

func (d *disk) open(path string, flag int) (file, error) {
	if flag&syscall.O_CREAT != 0 && d.noCreate.Load() {
		return nil, syscall.ENOSPC
	}
	f, err := openFile(path, flag)
	return &faulty{f, d}, err
}

func (f *faulty) WriteAt(p []byte, at int64) (int, error) {
	f.d.writes.Add(1)
	if left := f.d.room.Add(-int64(len(p))); left < 0 {
		f.d.room.Add(int64(len(p)))
		n, _ := f.file.WriteAt(p[:max(0, int64(len(p))+left)], at) // what fits is there
		return n, syscall.ENOSPC
	}
	return f.file.WriteAt(p, at)
}

func (f *faulty) Sync() error {
	if f.d.slow != nil {
		<-f.d.slow
	}
	if f.d.noSync.Load() {
		return syscall.EIO
	}
	return f.file.Sync()
}

func (f *faulty) Truncate(n int64) error {
	if f.d.noTrunc.Load() {
		return syscall.EIO
	}
	return f.file.Truncate(n)
}

func onDisk(t *testing.T, o Options) (*Writer, *disk, string) {
	t.Helper()
	d, dir := &disk{}, t.TempDir()
	d.room.Store(1 << 30)
	o.open = d.open
	w, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return w, d, dir
}

func note(text string) Event { return Event{Run: "r", Payload: CycleStart{Goal: Say(text)}} }

// holds checks that a record verifies and holds exactly these texts.
func holds(t *testing.T, dir string, want ...string) {
	t.Helper()
	v, err := Verify(dir, VerifyOptions{})
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(dir, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e, err := range r.Events(Query{Types: []Type{TypeCycleStart}}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(e.Payload.(CycleStart).Goal.Text))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the record holds %q, want %q", got, want)
	}
}

// A full disk is an error of the append, nothing of it stays, and when there is
// room the writer goes on.
func TestFullDisk(t *testing.T) {
	for _, policy := range []Policy{Always, Batch, None} {
		w, d, dir := onDisk(t, Options{Policy: policy})
		ctx := t.Context()
		if _, err := w.Append(ctx, note("a")); err != nil {
			t.Fatal(err)
		}
		d.room.Store(100)
		for range 3 {
			if _, err := w.Append(ctx, note("lost")); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("a full disk: %v", err)
			}
		}
		d.noTrunc.Store(true) // and what was half written cannot be taken back now
		if _, err := w.Append(ctx, note("lost")); err == nil {
			t.Fatal("a full disk: no error")
		}
		d.room.Store(1 << 20)
		if _, err := w.Append(ctx, note("lost")); err == nil {
			t.Fatal("appended behind a half written line")
		}
		d.noTrunc.Store(false)
		if r, err := w.Append(ctx, note("b")); err != nil || r.Seq != 2 {
			t.Fatalf("with room again: %+v, %v", r, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, "a", "b")
	}
}

// A sync that fails acknowledges nothing; what it was for is taken back.
func TestSyncFails(t *testing.T) {
	w, d, dir := onDisk(t, Options{})
	if _, err := w.Append(t.Context(), note("a")); err != nil {
		t.Fatal(err)
	}
	d.noSync.Store(true)
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			if _, err := w.Append(context.Background(), note("lost")); !errors.Is(err, syscall.EIO) {
				t.Errorf("a sync that fails: %v", err)
			}
		})
	}
	group.Wait()
	d.noSync.Store(false)
	if _, err := w.Append(t.Context(), note("b")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, "a", "b")
}

// With policy batch a failed sync shows in the next appends, until one works.
func TestBatchSyncFails(t *testing.T) {
	w, d, dir := onDisk(t, Options{Policy: Batch, SyncEvery: 1})
	d.noSync.Store(true)
	var err error
	want := []string{}
	for i := 0; err == nil; i++ {
		text := fmt.Sprint(i)
		if _, err = w.Append(t.Context(), note(text)); err == nil {
			want = append(want, text)
		}
	}
	if !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	d.noSync.Store(false)
	if _, err := w.Append(t.Context(), note("z")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, append(want, "z")...)
}

// A segment that cannot be made is an error of the appends, and the old one goes
// on being whole.
func TestRotationFails(t *testing.T) {
	w, d, dir := onDisk(t, Options{SegmentSize: 1})
	if _, err := w.Append(t.Context(), note("a")); err != nil {
		t.Fatal(err)
	}
	d.noCreate.Store(true)
	if _, err := w.Append(t.Context(), note("lost")); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	d.noCreate.Store(false)
	if _, err := w.Append(t.Context(), note("b")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, "a", "b")
	if list, _ := filepath.Glob(filepath.Join(dir, "*.jsonl")); len(list) != 2 {
		t.Errorf("segments %v", list)
	}
}

// Enqueue never waits: what finds no room is counted, and the record says so.
func TestEnqueue(t *testing.T) {
	w, d, dir := onDisk(t, Options{Queue: 2000, Policy: Batch})
	d.slow = nil
	taken := 0
	w.build.Lock() // the disk hangs
	for range 100 {
		if w.Enqueue(note(strings.Repeat("x", 100))) {
			taken++
		}
	}
	w.build.Unlock()
	if lost := w.Dropped(); lost == 0 || int(lost)+taken != 100 {
		t.Fatalf("%d taken, %d dropped", taken, lost)
	}
	lost := w.Dropped()
	d.room.Store(0)
	for range 3 {
		w.Enqueue(note("y"))
	}
	if _, err := w.Append(t.Context(), note("z")); err == nil {
		t.Fatal("a full disk: no error")
	}
	d.room.Store(1 << 20)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Enqueue(note("late")) {
		t.Error("a closed writer takes events")
	}
	said := uint64(0)
	r, _ := OpenReader(dir, ReadOptions{})
	kept := 0
	for e, err := range r.Events(Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := e.Payload.(Failure); ok && f.Code == "dropped" {
			said += f.Count
		}
		if e.Type == TypeCycleStart {
			kept++
		}
	}
	if total := w.Dropped() - 1; said != total || uint64(kept)+total != 103 || total < lost {
		t.Errorf("the record says %d dropped, the writer %d; %d kept", said, total, kept)
	}
}

// Events that come while others wait for a sync are written together when it has ended,
// whether it succeeded or not. Many of them are written before, so that the disk is not
// idle meanwhile.
func TestGroups(t *testing.T) {
	for _, fails := range []bool{false, true} {
		w, d, dir := onDisk(t, Options{})
		d.slow = make(chan struct{})
		results := make(chan error, 100)
		appendAll := func(list ...string) {
			for _, text := range list {
				go func() {
					_, err := w.Append(context.Background(), note(text))
					results <- err
				}()
			}
		}
		until := func(what string, reached func() bool) {
			t.Helper()
			for from := time.Now(); !reached(); time.Sleep(100 * time.Microsecond) {
				if time.Since(from) > 30*time.Second {
					t.Fatal(what)
				}
			}
		}
		queued := func(n int) func() bool {
			return func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				return len(w.queue) == n
			}
		}
		appendAll("a")
		until("the first is not written", func() bool { return d.writes.Load() == 1 })
		appendAll(make([]string, 20)...)
		until("the others are not queued", queued(20))
		d.noSync.Store(fails)
		d.slow <- struct{}{} // the sync of the first
		if err := <-results; (err != nil) != fails {
			t.Fatalf("the first: %v", err)
		}
		d.noSync.Store(false)
		until("the others are not written", queued(0))
		d.slow <- struct{}{} // of the others
		for range 20 {
			if err := <-results; err != nil {
				t.Fatal(err)
			}
		}
		if n := d.writes.Load(); n != 2 {
			t.Errorf("%d writes", n)
		}
		appendAll("b")
		until("the next is not written", func() bool { return d.writes.Load() == 3 })
		appendAll(strings.Repeat("x", groupSize))
		until("what is long waits for the sync", func() bool { return d.writes.Load() == 4 })
		close(d.slow)
		for range 2 {
			if err := <-results; err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err := Verify(dir, VerifyOptions{}); err != nil || r.Err() != nil {
			t.Fatal(err, r.Err())
		}
	}
}
