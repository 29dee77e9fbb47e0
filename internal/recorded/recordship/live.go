package recordship

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/base/sleep"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// A Live is a record in a store that a program looks at for a long time. What is asked is read in
// parts. In its folder are only the segment that grows, and those that no sidecar helps with,
// until others need their room.
type Live struct {
	m    *mirror
	id   string
	dir  string
	o    LiveOptions
	held *os.File

	r        atomic.Pointer[stored]
	kept     *ranges
	requests atomic.Int64
	bytes    atomic.Int64

	looking sync.Mutex // held while it is looked for what is new
	looks   int        // since all was listed
	listed  time.Time  // when that was
	last    map[string]string
	lost    map[string]int // how often objects that were listed were not found

	fetching chan struct{} // whoever writes to the folder holds it

	mu    sync.Mutex // held while files are counted or removed
	used  map[uint64]*use
	clock int // counts uses

	failing sync.Mutex
	fault   error // of the last look
}

// A use says who reads a segment in the folder, and when somebody began to, last.
type use struct{ readers, last int }

// LiveOptions are those of a [Live]. If a bound is zero, it is the default.
type LiveOptions struct {
	Objects objects.Options
	Every   time.Duration // between two looks for what is new: 15 s
	Memory  int64         // for parts that were read: 128 MiB
	Disk    int64         // for segments that no sidecar helps with: 256 MiB, or more while they are read
	Log     *slog.Logger
}

const (
	lookEvery  = 15 * time.Second
	mostMemory = 128 << 20
	mostDisk   = 256 << 20
	// allAfter is after how many looks for what is new all is listed, so that what was removed
	// is noticed.
	allAfter = 20
	// relistAfter is the least time between two such lists.
	relistAfter = 2 * time.Second
	// maxLives is how many programs may look at the same record.
	maxLives = 16
)

// OpenLive opens the only record at a location. folder is that of [Folder]. The caller must close
// what it returns, after [Live.Run].
func OpenLive(ctx context.Context, from objects.Location, folder string, o LiveOptions) (*Live, error) {
	o.Every, o.Memory, o.Disk = cmp.Or(o.Every, lookEvery), cmp.Or(o.Memory, mostMemory), cmp.Or(o.Disk, mostDisk)
	if o.Objects.Retry == (retry.Policy{}) { // somebody waits for a page
		o.Objects.Retry = retry.Policy{Attempts: 3, First: 200 * time.Millisecond, Longest: time.Second, Patience: 10 * time.Second}
	}
	o.Objects.Stall = cmp.Or(o.Objects.Stall, 10*time.Second)
	bucket, err := objects.Open(ctx, from.Bucket, o.Objects)
	if err != nil {
		return nil, err
	}
	l := &Live{o: o, kept: newRanges(o.Memory), used: map[uint64]*use{}, lost: map[string]int{}, fetching: make(chan struct{}, 1)}
	if folder, l.held, err = ownFolder(folder); err != nil {
		bucket.Close()
		return nil, err
	}
	l.m = &mirror{bucket: bucket, folder: folder, reach: true}
	l.m.prefix, l.m.only = split(from)
	if err := l.begin(ctx, from); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// ownFolder takes a folder that no other program uses.
func ownFolder(base string) (folder string, held *os.File, err error) {
	for n := range maxLives {
		folder = fmt.Sprintf("%s-live-%d", base, n)
		if err = os.MkdirAll(folder, 0o700); err != nil {
			return "", nil, err
		}
		if held, err = hold(folder); err == nil {
			return folder, held, nil
		}
	}
	return "", nil, err
}

// begin lists the record. What an earlier program left in the folder stays as far as it is in the
// store.
func (l *Live) begin(ctx context.Context, from objects.Location) error {
	r, err := l.all(ctx)
	if err != nil {
		return err
	}
	if r == nil {
		return errorhint.Add(fmt.Errorf("%s holds no record", from), "sotto record ship and sotto serve --record-ship copy records to such a place")
	}
	l.id, l.dir = r.id, filepath.Join(l.m.folder, r.id)
	l.m.only = r.id
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	l.r.Store(newStored(l.id))
	return l.look(ctx, true)
}

// all lists all of the record; it is nil if there is none.
func (l *Live) all(ctx context.Context) (*stored, error) {
	m := &mirror{bucket: l.m.bucket, prefix: l.m.prefix, only: l.m.only, folder: l.m.folder, records: map[string]*stored{}, lost: l.lost}
	if err := m.list(ctx); err != nil {
		return nil, err
	}
	for id, r := range m.records {
		if len(m.records) > 1 {
			return nil, errorhint.Usage(fmt.Errorf("%s holds %d records, and one is shown", l.m.bucket.URL(l.m.prefix), len(m.records)), "name one: "+l.m.bucket.URL(l.m.prefix+id))
		}
		return r, nil
	}
	return nil, nil
}

// Dir is the folder of the record.
func (l *Live) Dir() string { return l.dir }

// Close gives the folder to others.
func (l *Live) Close() error {
	l.m.bucket.Close()
	return l.held.Close()
}

// Run notices what is new until ctx ends. A failure is logged once until it works again.
func (l *Live) Run(ctx context.Context) {
	for sleep.For(ctx, l.o.Every) == nil {
		err := l.look(ctx, false)
		if ctx.Err() != nil {
			return
		}
		if err != nil && l.Fault() == nil && l.o.Log != nil {
			l.o.Log.Warn("what is new in the record cannot be read", "from", l.m.bucket.URL(l.m.prefix+l.id), "error", err.Error())
		}
		l.failing.Lock()
		l.fault = err
		l.failing.Unlock()
	}
}

// Fault says why it is not known what is new.
func (l *Live) Fault() error {
	l.failing.Lock()
	defer l.failing.Unlock()
	return l.fault
}

// look lists what is new, or all, and brings the segment that grows.
func (l *Live) look(ctx context.Context, all bool) error {
	l.looking.Lock()
	defer l.looking.Unlock()
	if all && time.Since(l.listed) < relistAfter {
		return nil
	}
	l.looks++
	all = all || l.looks >= max(allAfter, len(l.r.Load().segments)/pageOfList)
	for {
		err := l.lookOnce(ctx, all)
		var gone *goneError
		if !errors.As(err, &gone) || l.lost[gone.name] > maxLost {
			return err
		}
		if len(l.lost) > 1000 {
			clear(l.lost)
		}
		l.lost[gone.name]++
		all = true // most often, a segment has replaced its parts since they were listed
	}
}

// pageOfList is how many segments cost one look more between two lists of all.
const pageOfList = 1000

func (l *Live) lookOnce(ctx context.Context, all bool) error {
	if !all {
		r, err := l.news(ctx)
		if err != nil {
			return err
		}
		return l.take(ctx, r)
	}
	r, err := l.all(ctx)
	if err != nil {
		return err
	}
	if r == nil { // all of it was removed
		r = newStored(l.id)
	}
	l.looks, l.listed, l.last = 0, time.Now(), r.last()
	return l.take(ctx, r)
}

// news adds to the record the names after those that are known. Segments come in the order of
// their names, and so does what is made of them, most often.
func (l *Live) news(ctx context.Context) (*stored, error) {
	known := l.r.Load()
	var r *stored
	prefix := l.m.prefix + l.id + "/"
	last := maps.Clone(l.last)
	for _, folder := range []string{partsFolder, segmentsFolder, stonesFolder, sidecarsFolder, mergedFolder} { // parts first: they go once their segment is there
		after := ""
		if last[folder] != "" {
			after = prefix + last[folder]
		}
		for o, err := range l.m.bucket.List(ctx, prefix+folder, after, maxObjects) {
			if err != nil {
				return nil, err
			}
			if r == nil {
				r = known.copied()
			}
			name := strings.TrimPrefix(o.Name, prefix)
			r.add(name, o.Size)
			last[folder] = name
		}
	}
	l.last = last
	if r == nil {
		return known, nil
	}
	for first := range r.parts {
		if r.replaced(first) {
			delete(r.parts, first)
		}
	}
	return r, nil
}

// take makes a list the one that is read, and brings what belongs into the folder. What is there
// and was replaced goes once nobody reads it.
func (l *Live) take(ctx context.Context, r *stored) error {
	l.r.Store(r)
	err := l.fetch(ctx, func() error { return l.brings(ctx, r) })
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(err, l.sweep(0))
}

// fetch does what writes to the folder.
func (l *Live) fetch(ctx context.Context, do func() error) error {
	select {
	case l.fetching <- struct{}{}:
		defer func() { <-l.fetching }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Live) brings(ctx context.Context, r *stored) error {
	for first, c := range r.stones {
		if err := l.m.whole(ctx, r, c, filepath.Join(l.dir, record.TombstoneName(first))); err != nil {
			return err
		}
	}
	for first := range r.parts {
		if r.replaced(first) {
			continue
		}
		if err := l.m.grown(ctx, r, first, filepath.Join(l.dir, record.SegmentName(first))); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes from the folder what the store has no more or has otherwise, and the segments that
// were not used for longest, until room bytes more are within the bound. Others that are read
// stay.
func (l *Live) sweep(room int64) error {
	files, err := record.Files(l.dir)
	if err != nil {
		return err
	}
	r := l.r.Load()
	type copied struct {
		first uint64
		size  int64
		last  int
	}
	var whole []copied
	total := room
	for _, f := range files {
		_, stored := r.segments[f.First]
		_, stone := r.stones[f.First]
		u := cmp.Or(l.used[f.First], &use{})
		info, err := os.Stat(f.Path)
		switch {
		case err != nil:
		case f.Tombstone && !stone:
			err = os.Remove(f.Path)
		case f.Tombstone || u.readers > 0 || !stored && len(r.parts[f.First]) > 0:
		case !stored || !r.same(f.First, info.Size()):
			err = l.remove(f.First)
		default:
			whole, total = append(whole, copied{f.First, info.Size(), u.last}), total+info.Size()
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(whole, func(a, b copied) int { return cmp.Compare(a.last, b.last) })
	for _, c := range whole {
		if total <= l.o.Disk {
			break
		}
		if err := l.remove(c.first); err != nil {
			return err
		}
		total -= c.size
	}
	return record.SweepSidecars(l.dir)
}

func (l *Live) remove(first uint64) error {
	delete(l.used, first)
	return record.RemoveCopy(l.dir, first)
}

// Segments lists the segments that the store has.
func (l *Live) Segments() []sidecar.Far { return l.r.Load().far() }

// Same reports whether a file of a size is all of a segment that the store has.
func (l *Live) Same(first uint64, size int64) bool { return l.r.Load().same(first, size) }

// Merged lists the segments that have a merged sidecar.
func (l *Live) Merged() []sidecar.Merged { return l.r.Load().merges() }

// Fetched returns how often parts of objects were read, and how many bytes they had.
func (l *Live) Fetched() (requests int, bytes int64) {
	return int(l.requests.Load()), l.bytes.Load()
}

// Open opens a segment and its sidecar.
func (l *Live) Open(ctx context.Context, first uint64) (segment, side sidecar.Part, err error) {
	return l.r.Load().open(first, func(c content) sidecar.Object { return l.object(ctx, c) })
}

// OpenMerged opens a merged sidecar and its segments.
func (l *Live) OpenMerged(ctx context.Context, first uint64) (segments, side sidecar.Part, err error) {
	return l.r.Load().openMerged(first, func(c content) sidecar.Object { return l.object(ctx, c) })
}

// object returns an object that is read in parts.
func (l *Live) object(ctx context.Context, c content) sidecar.Object {
	return sidecar.Object{Size: c.stored, Read: func(from, n int64) ([]byte, error) {
		key := rangeKey{c.name, from, n}
		if data := l.kept.get(key); data != nil {
			return data, nil
		}
		l.requests.Add(1)
		data, got, err := l.m.part(ctx, l.id, c, from, n)
		l.bytes.Add(int64(got))
		if err == nil {
			l.kept.put(key, data)
		}
		return data, err
	}}
}

// Bring copies a segment into the folder, where it stays until done is called.
func (l *Live) Bring(ctx context.Context, first uint64) (done func(), err error) {
	if first == 0 {
		return func() {}, fmt.Errorf("%s is read in parts, and not copied", l.m.bucket.URL(l.m.prefix+l.id))
	}
	l.use(first, 1)
	err = l.bring(ctx, first)
	var gone *goneError
	if errors.As(err, &gone) { // it may have been removed
		if err = l.look(ctx, true); err == nil {
			err = l.bring(ctx, first)
		}
	}
	done = func() { l.use(first, -1) }
	if err != nil {
		done()
		return func() {}, err
	}
	return done, nil
}

func (l *Live) bring(ctx context.Context, first uint64) error {
	if _, ok := l.missing(first); !ok {
		return nil
	}
	return l.fetch(ctx, func() error {
		c, ok := l.missing(first)
		if !ok {
			return nil // another reader has brought it
		}
		l.mu.Lock()
		err := l.sweep(c.size)
		l.mu.Unlock()
		if err != nil {
			return err
		}
		l.requests.Add(1)
		l.bytes.Add(c.stored)
		return l.m.fit(ctx, l.r.Load(), c, l.dir)
	})
}

// missing returns a segment that the store has, if it is not in the folder as a whole.
func (l *Live) missing(first uint64) (c content, ok bool) {
	if c, ok = l.r.Load().segments[first]; !ok {
		return c, false
	}
	info, err := os.Stat(filepath.Join(l.dir, record.SegmentName(first)))
	return c, err != nil || info.Size() != c.size
}

// use counts who reads a segment in the folder.
func (l *Live) use(first uint64, readers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.used[first]
	if u == nil {
		u = &use{}
		l.used[first] = u
	}
	l.clock++
	u.readers, u.last = u.readers+readers, l.clock
}
