package recordship

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/sleep"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// Options say how a record is shipped. Zero means the default.
type Options struct {
	// Every is the time between two steps: 5 s.
	Every time.Duration
	// Head returns the last event that is acknowledged; no later one is shipped. If
	// nil, whole lines that are on the disk are.
	Head    func() record.Head
	Bucket  objects.Options
	Metrics prometheus.Registerer // if nil, nothing is counted
	Log     *slog.Logger          // if nil, nothing is logged

	small  bool  // small segments have sidecars too, in tests
	merged int64 // bytes of the segments of a merged sidecar, in tests
}

// LastStep is how long the step at the end of a process may take.
const LastStep = 10 * time.Second

const (
	// maxPart bounds the plain bytes of a part, unless a line is longer.
	maxPart = 8 << 20
	// longestRest is the longest time between two steps while the store fails.
	longestRest = time.Minute
	// maxSegment bounds a segment that is shipped: it is compressed in memory.
	maxSegment = 1 << 30
	// maxLine is the longest line of a record.
	maxLine = 160 << 20
)

// ErrDiverged is the error of a record that no longer has what was shipped of it.
var ErrDiverged = errors.New("the record no longer has what was shipped of it")

// A Shipper copies one record to one place. Its methods are for one goroutine, except
// Needed.
type Shipper struct {
	dir    string
	at     objects.Location
	bucket *objects.Bucket
	o      Options

	path   string // of the state
	lock   *os.File
	state  state
	probed bool
	needed atomic.Uint64
	failed bool // the last step did
	single bool // a step makes one sidecar at most
	more   bool // there are more to make
	// unsaved is why the state is not on the disk. A full disk must not end the
	// shipping, which lets segments be pruned.
	unsaved error
	metrics
}

// Open returns a shipper of the record in a folder. It sends nothing.
func Open(ctx context.Context, dir string, to objects.Location, o Options) (*Shipper, error) {
	if o.Every == 0 {
		o.Every = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	to.Name = under(to.Name)
	bucket, err := objects.Open(ctx, to.Bucket, o.Bucket)
	if err != nil {
		return nil, err
	}
	s := &Shipper{dir: dir, at: to, bucket: bucket, o: o, path: statePath(dir, to.String())}
	if s.lock, err = lock(s.path); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	s.state, err = readState(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		s.state, err = state{V: 1, To: to.String()}, nil
	}
	if err == nil {
		err = s.metrics.register(o.Metrics)
	}
	if err != nil {
		s.lock.Close()
		return nil, err
	}
	s.needed.Store(s.state.Done + 1)
	return s, nil
}

// Close ends the shipping. Another process can then ship the record.
func (s *Shipper) Close() error {
	s.bucket.Close()
	return s.lock.Close()
}

// Needed returns the first event that is not in a segment which the store has. It is
// safe for concurrent use.
func (s *Shipper) Needed() uint64 { return s.needed.Load() }

// Head returns the last event that the store has.
func (s *Shipper) Head() record.Head { return s.state.Head }

// ID returns the identity of the record, "" before its first event.
func (s *Shipper) ID() string { return s.state.Record }

// Probe refuses a store that does not honour conditional writes.
func (s *Shipper) Probe(ctx context.Context) error {
	if s.probed {
		return nil
	}
	err := s.bucket.Probe(ctx, s.at.Name)
	s.probed = err == nil
	return err
}

// Run ships until ctx ends, and what there is by then is left to [Shipper.Step]. It
// returns an error only if more of the record cannot be shipped at all: the store does
// not honour conditional writes, or the record is another one.
func (s *Shipper) Run(ctx context.Context) error {
	s.single = true
	rest := s.o.Every
	for {
		err := s.Step(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, objects.ErrUnconditional), errors.Is(err, ErrDiverged):
			return err
		case err != nil:
			s.metrics.failures.Inc()
			if !s.failed {
				s.o.Log.Warn("the record cannot be shipped: it is kept on the disk", "to", s.at.String(), "error", err.Error())
			}
			s.failed, rest = true, min(2*rest, max(longestRest, s.o.Every))
		default:
			if s.failed {
				s.o.Log.Info("the record is shipped again", "to", s.at.String())
			}
			if s.failed, rest = false, s.o.Every; s.more {
				continue
			}
		}
		if sleep.For(ctx, rest) != nil {
			return nil
		}
	}
}

// Step ships everything that is not there yet.
func (s *Shipper) Step(ctx context.Context) error {
	list, err := record.Files(s.dir)
	if err != nil {
		return err
	}
	s.metrics.waiting(s.waiting(list))
	if err := s.Probe(ctx); err != nil {
		return err
	}
	for i, f := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := s.file(ctx, f, list[i+1:])
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if s.state.Head != s.state.Kept {
		if err := s.keepHead(ctx); err != nil {
			return err
		}
	}
	if err := s.sidecars(ctx, list); err != nil {
		return err
	}
	s.metrics.waiting(s.waiting(list))
	if s.unsaved != nil {
		s.note()
	}
	if s.unsaved != nil {
		return fmt.Errorf("everything was shipped, but that cannot be noted: %w", s.unsaved)
	}
	return nil
}

// file ships what is new in a file of the record. It reports whether all of the file is
// there, so that the next one can follow.
func (s *Shipper) file(ctx context.Context, f record.File, after []record.File) (more bool, err error) {
	if f.Tombstone {
		if f.First <= s.state.Stones {
			return true, nil
		}
		return true, s.stone(ctx, f)
	}
	if f.First <= s.state.Done {
		return true, nil
	}
	last := lastOf(f, after)
	if last == 0 || s.o.Head != nil && last > s.o.Head().Seq {
		return false, s.tail(ctx, f)
	}
	if err := s.segment(ctx, f, last); err != nil {
		return false, gone(err) // if it was pruned meanwhile, its tombstone stands in the next list
	}
	return true, nil
}

// lastOf returns the last event of a segment that does not grow any more, and 0 of another. after
// are the files that follow it.
func lastOf(f record.File, after []record.File) uint64 {
	for _, next := range after {
		if f.Sealed && next.First > f.First {
			return next.First - 1
		}
	}
	return 0
}

// gone returns an error, and nil for that of a segment that was pruned meanwhile.
func gone(err error) error {
	var lost *fs.PathError
	if errors.As(err, &lost) && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// put writes an object of the record, unless it is there: an object of the same name
// has the same content.
func (s *Shipper) put(ctx context.Context, name string, data []byte, kind string) error {
	return s.putPart(ctx, name, sidecar.Part{ReaderAt: bytes.NewReader(data), Size: int64(len(data))}, kind)
}

func (s *Shipper) putPart(ctx context.Context, name string, data sidecar.Part, kind string) error {
	p := objects.Put{Type: "application/octet-stream"}
	if kind == "heads" {
		p.Type = "text/plain"
	}
	name = s.at.Name + s.state.Record + "/" + name
	_, err := s.bucket.PutNew(ctx, name, data, data.Size, p)
	if errors.Is(err, objects.ErrExists) {
		err = s.again(ctx, name, data, p)
	}
	if err == nil {
		s.metrics.shipped(kind, int(data.Size))
	}
	return err
}

// again writes an object of which the store says that it exists, if it cannot be found
// or has another size: a store that was killed during a write may keep the name alone.
// Credentials that can only write must rely on the store.
func (s *Shipper) again(ctx context.Context, name string, data sidecar.Part, p objects.Put) error {
	o, err := s.bucket.Stat(ctx, name)
	switch {
	case errors.Is(err, objects.ErrDenied), err == nil && o.Size == data.Size:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	_, err = s.bucket.Put(ctx, name, data, data.Size, "", p)
	return err
}

// own checks that lines are of the record that is shipped.
func (s *Shipper) own(id string) error {
	switch {
	case s.state.Record == "" && idPattern.MatchString(id):
		s.state.Record = id
	case s.state.Record == "":
		return errorhint.Add(fmt.Errorf("%s begins with version 1 of the format, which has no identity", s.dir), "ship a record that was begun by this version")
	case id != "" && id != s.state.Record:
		return s.diverged("it is now record " + id)
	}
	return nil
}

func (s *Shipper) diverged(why string) error {
	return errorhint.Add(fmt.Errorf("%s: %w to %s: %s", s.dir, ErrDiverged, s.at, why),
		"what was shipped is evidence and stays; run sotto record verify on both, and record into a new folder")
}

// stone ships a tombstone. If it stands for a segment that was pruned before it was
// shipped, what was in it is lost to the store too.
func (s *Shipper) stone(ctx context.Context, f record.File) error {
	t, err := f.Pruned()
	if err != nil {
		return err
	}
	file, err := f.Open()
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := files.ReadAll(file, maxState)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if err := s.own(t.Record); err != nil {
		return err
	}
	if err := s.put(ctx, stoneNamed(t.First, t.Last, data), data, "tombstones"); err != nil {
		return err
	}
	s.state.Stones = f.First
	defer s.note()
	if _, err := os.Lstat(filepath.Join(s.dir, record.SegmentName(f.First))); t.Last > s.state.Done && errors.Is(err, fs.ErrNotExist) {
		s.sealed(t.Last, record.Head{Seq: t.Last, Digest: t.Head})
	}
	return nil
}

// note saves the state.
func (s *Shipper) note() { s.unsaved = s.state.save(s.path) }

// sealed notes that everything up to an event is there.
func (s *Shipper) sealed(last uint64, head record.Head) {
	s.state.Done, s.state.Segment, s.state.From, s.state.Line = last, 0, 0, 0
	if head.Seq >= s.state.Head.Seq {
		s.state.Head = head
	}
	s.needed.Store(last + 1)
}

// forget removes the parts of a segment that is there as a whole. Credentials that can
// only write cannot; then a rule of the bucket may remove them.
func (s *Shipper) forget(ctx context.Context, first uint64) {
	prefix := fmt.Sprintf("%s%s/%s%020d/", s.at.Name, s.state.Record, partsFolder, first)
	for o, err := range s.bucket.List(ctx, prefix, "", 0) {
		if err != nil || s.bucket.Delete(ctx, o.Name) != nil {
			return
		}
	}
}

// keepHead ships where the record ends, as a head that is kept elsewhere.
func (s *Shipper) keepHead(ctx context.Context) error {
	if err := s.put(ctx, headNamed(s.state.Head), []byte(s.state.Head.String()+"\n"), "heads"); err != nil {
		return err
	}
	s.state.Kept = s.state.Head
	s.note()
	return nil
}
