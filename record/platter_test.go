package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A platter is what a disk keeps through a loss of power. As in Linux, a sync that
// fails marks what it could not write as clean: the next sync succeeds and writes
// nothing of it. With evicts, the memory drops it too, and gives back what the disk
// has.
type platter struct {
	evicts bool

	mu     sync.Mutex
	fail   int // how many syncs fail
	failed int
	kept   map[string][]byte
}

type platterFile struct {
	file
	p     *platter
	name  string
	dirty [][2]int64
}

func (p *platter) open(path string, flag int) (file, error) {
	f, err := openFile(path, flag)
	return &platterFile{file: f, p: p, name: filepath.Base(path)}, err
}

func (f *platterFile) WriteAt(b []byte, at int64) (int, error) {
	f.p.mu.Lock()
	defer f.p.mu.Unlock()
	f.dirty = append(f.dirty, [2]int64{at, at + int64(len(b))})
	return f.file.WriteAt(b, at)
}

func (f *platterFile) Truncate(n int64) error {
	f.p.mu.Lock()
	defer f.p.mu.Unlock()
	if kept := f.p.kept[f.name]; int64(len(kept)) > n {
		f.p.kept[f.name] = kept[:n]
	}
	for i := range f.dirty {
		f.dirty[i][1] = min(f.dirty[i][1], n)
	}
	return f.file.Truncate(n)
}

func (f *platterFile) Sync() error {
	f.p.mu.Lock()
	defer f.p.mu.Unlock()
	dirty := f.dirty
	f.dirty = nil
	if f.p.fail > 0 {
		f.p.fail--
		f.p.failed++
		for _, d := range dirty {
			if kept := f.p.kept[f.name]; f.p.evicts && d[0] < d[1] {
				old := make([]byte, d[1]-d[0])
				copy(old, kept[min(d[0], int64(len(kept))):])
				f.file.WriteAt(old, d[0])
			}
		}
		return syscall.EIO
	}
	for _, d := range dirty {
		if d[0] >= d[1] {
			continue
		}
		kept := f.p.kept[f.name]
		if int64(len(kept)) < d[1] {
			kept = append(kept, make([]byte, d[1]-int64(len(kept)))...)
		}
		f.file.ReadAt(kept[d[0]:d[1]], d[0])
		f.p.kept[f.name] = kept
	}
	return nil
}

func (p *platter) failNext(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = n
}

// afterPowerLoss makes the folder that a loss of power would leave now.
func (p *platter) afterPowerLoss(t *testing.T) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	dir := t.TempDir()
	for name, data := range p.kept {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// After a sync that failed, nothing of its batch counts as on the disk until it was
// written again and synced: not for Head, not for Close. A loss of power at the end
// loses nothing.
func TestSyncFailsThenPowerIsLost(t *testing.T) {
	for _, policy := range []Policy{Always, Batch, None} {
		p, dir := &platter{kept: map[string][]byte{}}, t.TempDir()
		w, err := Open(dir, Options{Policy: policy, SyncEvery: time.Hour, SigningKey: nil, open: p.open})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		add := func(text string) error {
			_, err := w.Append(t.Context(), note(text))
			if err == nil {
				want = append(want, text)
			}
			return err
		}
		for i := range 5 {
			if err := add(fmt.Sprint("a", i)); err != nil {
				t.Fatal(err)
			}
		}
		p.failNext(1)
		if policy == Always {
			if err := add("lost"); !errors.Is(err, syscall.EIO) {
				t.Fatal(err)
			}
		} else { // the sync that SyncEvery asks for
			before := w.durable.seq
			w.flight.Lock()
			w.syncOnce()
			w.flight.Unlock()
			if head := w.Head(); head.Seq != before {
				t.Errorf("%v: after a failed sync the head is %d, on the disk is %d", policy, head.Seq, before)
			}
			if kept := p.afterPowerLoss(t); len(p.kept) > 0 {
				holds(t, kept)
			}
		}
		for i := range 5 {
			if err := add(fmt.Sprint("b", i)); err != nil {
				t.Fatal(policy, err)
			}
		}
		head := w.Head()
		if err := w.Close(); err != nil {
			t.Fatal(policy, err)
		}
		if p.failed != 1 || head.Seq != uint64(len(want)) {
			t.Fatalf("%v: %d syncs failed, head %d of %d", policy, p.failed, head.Seq, len(want))
		}
		left := p.afterPowerLoss(t)
		holds(t, left, want...)
		if r, err := Verify(left, VerifyOptions{Head: &head}); err != nil || r.Err() != nil {
			t.Errorf("%v: the head of before: %v, %v", policy, err, r.Err())
		}
	}
}

// A writer that is closed after a failed sync writes again what it has, or says
// that it cannot.
func TestCloseAfterFailedSync(t *testing.T) {
	for fails := 1; fails <= 3; fails++ {
		p := &platter{kept: map[string][]byte{}}
		w, err := Open(t.TempDir(), Options{Policy: None, open: p.open})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Append(t.Context(), note("a")); err != nil {
			t.Fatal(err)
		}
		p.failNext(fails)
		err = w.Close()
		left := p.afterPowerLoss(t)
		if err == nil {
			holds(t, left, "a")
		} else if !errors.Is(err, syscall.EIO) {
			t.Error(err)
		}
		if (err == nil) != (fails == 1) {
			t.Errorf("%d syncs failed: %v", fails, err)
		}
	}
}

// Where the memory has lost it too, acknowledged events are gone. The record then
// goes on from what the disk has, verifies, and says how many there were.
func TestAcknowledgedEventsLost(t *testing.T) {
	p, dir := &platter{kept: map[string][]byte{}, evicts: true}, t.TempDir()
	w, err := Open(dir, Options{Policy: Batch, SyncEvery: time.Hour, open: p.open})
	if err != nil {
		t.Fatal(err)
	}
	sync := func() {
		w.flight.Lock()
		w.syncOnce()
		w.flight.Unlock()
	}
	for _, text := range []string{"a", "b"} {
		if _, err := w.Append(t.Context(), note(text)); err != nil {
			t.Fatal(err)
		}
	}
	sync()
	for range 3 {
		if _, err := w.Append(t.Context(), note("lost")); err != nil {
			t.Fatal(err)
		}
	}
	p.failNext(1)
	sync()
	if _, err := w.Append(t.Context(), note("c")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{dir, p.afterPowerLoss(t)} {
		holds(t, left, "a", "b", "c")
		data, _ := os.ReadFile(segmentAt(left, 1).path)
		if w.Dropped() != 3 || !strings.Contains(string(data), `"code":"dropped","count":3`) || bytes.ContainsRune(data, 0) {
			t.Errorf("%d dropped; the segment holds %s", w.Dropped(), data)
		}
	}
}

// Every folder in which Open made a name is synced, those above the record's too,
// and a folder that cannot be synced is an error.
func TestFolderIsSynced(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "a", "b", "audit")
	var synced []string
	o := Options{syncDir: func(dir string) error { synced = append(synced, dir); return syncDir(dir) }}
	for range 2 {
		w, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{top, filepath.Join(top, "a"), filepath.Join(top, "a", "b"), dir} {
			if !slices.Contains(synced, want) {
				t.Errorf("%s was not synced, only %q", want, synced)
			}
		}
	}
	// A process that was stopped between making the folder and syncing its name.
	made := filepath.Join(top, "made")
	os.Mkdir(made, 0o700)
	synced = nil
	w, err := Open(made, o)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if !slices.Contains(synced, top) {
		t.Errorf("the folder above a new record was not synced, only %q", synced)
	}
	o.syncDir = func(string) error { return syscall.EIO }
	if _, err := Open(filepath.Join(top, "other", "audit"), o); !errors.Is(err, syscall.EIO) {
		t.Errorf("a folder that does not sync: %v", err)
	}
}
