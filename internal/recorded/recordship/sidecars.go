package recordship

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/sotto-llm/sotto/internal/base/diskroom"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

const (
	// maxSidecar bounds a sidecar that is read whole.
	maxSidecar = 1 << 30
	// spareSidecar is how much larger than its segment a sidecar with its cover may be.
	spareSidecar = 256 << 10
)

// sidecars ships the sidecars of segments that are there, after all else: making one takes a
// second or more, in which events may come that are to be shipped first.
func (s *Shipper) sidecars(ctx context.Context, list []record.File) error {
	s.more = false
	made := false
	if err := s.merge(ctx); err != nil {
		return err
	}
	for i, f := range list {
		last := lastOf(f, list[i+1:])
		if f.Tombstone || f.First > s.state.Done || f.First <= s.state.Sidecars || last == 0 {
			continue
		}
		if s.more = made && s.single; s.more || ctx.Err() != nil {
			return ctx.Err()
		}
		m, has, err := s.sidecar(ctx, f, last)
		if err := gone(err); err != nil {
			return err
		}
		made = made || has
		s.state.Sidecars = f.First
		if n := len(s.state.Unmerged); m == nil || n > 0 && s.state.Unmerged[n-1].Last+1 != m.First {
			s.state.Unmerged = nil // a merged sidecar has no gaps
		}
		if m != nil {
			s.state.Unmerged = append(s.state.Unmerged, *m)
		}
		s.note()
		if err := s.merge(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sidecar ships the sidecar of a segment, and reports whether it has one. m is nil if it cannot be
// merged with others. It is made if it is not
// beside the segment; the texts of an encrypted segment cannot be read here, so such a segment
// has one only if somebody with an identity made it.
func (s *Shipper) sidecar(ctx context.Context, f record.File, last uint64) (m *member, has bool, err error) {
	side, err := sidecar.OfSegment(f, sidecar.Options{Small: s.o.small})
	if errors.Is(err, sidecar.ErrNoKey) || err == nil && side == nil {
		return nil, false, nil
	}
	if err == nil {
		m, err = s.putSidecar(ctx, f, last, side)
	}
	return m, true, err
}

func (s *Shipper) putSidecar(ctx context.Context, f record.File, last uint64, side []byte) (*member, error) {
	p, err := packFile(f)
	if err != nil {
		return nil, err
	}
	name := segmentNamed(f.First, last, p.size, p.digest)
	o, err := s.bucket.Stat(ctx, s.at.Name+s.state.Record+"/"+name)
	switch {
	case errors.Is(err, objects.ErrDenied): // it is as it is written now; a reader compares the sizes
		o.Size = int64(len(p.data))
	case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		return nil, nil
	case err != nil:
		return nil, err
	}
	covered, err := p.cover(side, o.Size)
	if err == nil {
		err = s.put(ctx, sidecarNamed(name), covered, "sidecars")
	}
	if err != nil || p.framesOf(o.Size) == nil {
		return nil, err
	}
	return &member{First: f.First, Last: last, Size: p.size, SHA256: bytes.Clone(p.digest[:]), Frames: p.frames}, nil
}

func packFile(f record.File) (*packed, error) {
	file, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return pack(file)
}

// cover covers a sidecar of a segment. stored is the size of the object that has the segment: an
// earlier version stored segments in one frame.
func (p *packed) cover(side []byte, stored int64) ([]byte, error) {
	return sidecar.Cover(side, p.digest, p.size, p.framesOf(stored))
}

// framesOf returns the frames of the object, nil if it is stored in another way.
func (p *packed) framesOf(stored int64) []int {
	if int64(len(p.data)) != stored {
		return nil
	}
	return p.frames
}

// sidecar brings the sidecar of a segment that was brought.
func (m *mirror) sidecar(ctx context.Context, r *stored, c content, dir string) error {
	file := filepath.Join(dir, record.SidecarName(c.first))
	s, ok := r.sidecars[sidecarNamed(c.name)]
	if !ok {
		return without(file)
	}
	_, side, err := m.read(ctx, r, s)
	if err != nil {
		return err
	}
	if side == nil {
		return without(file)
	}
	return sidecar.Put(file, side)
}

// without removes a sidecar that was made here, or brought earlier.
func without(file string) error {
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// An away is what a store has of a record.
type away struct {
	m   *mirror
	r   *stored
	dir string

	mu       sync.Mutex       // held while segments are brought
	frames   map[uint64][]int // of segments whose sidecars were put
	merged   int64            // bytes of the segments of a merged sidecar, in tests; 0 is the default
	requests atomic.Int64
	bytes    atomic.Int64
}

// Segments lists the segments that the store has.
func (a *away) Segments() []sidecar.Far { return a.r.far() }

// Same reports whether a file of a size is all of a segment that the store has.
func (a *away) Same(first uint64, size int64) bool { return a.r.same(first, size) }

// Fetched returns how often parts of objects were read, and how many bytes they had.
func (a *away) Fetched() (requests int, bytes int64) {
	return int(a.requests.Load()), a.bytes.Load()
}

// Fault is nil: what a command reads was listed when it began.
func (a *away) Fault() error { return nil }

// Open opens a segment and its sidecar.
func (a *away) Open(ctx context.Context, first uint64) (segment, side sidecar.Part, err error) {
	return a.r.open(first, func(c content) sidecar.Object { return a.object(ctx, c) })
}

// object returns an object that is read in parts.
func (a *away) object(ctx context.Context, c content) sidecar.Object {
	return sidecar.Object{Size: c.stored, Read: func(from, n int64) ([]byte, error) {
		a.requests.Add(1)
		data, got, err := a.m.part(ctx, a.r.id, c, from, n)
		a.bytes.Add(int64(got))
		return data, err
	}}
}

// part reads a part of an object. A [sidecar.Failure] does not say what the object is like.
func (m *mirror) part(ctx context.Context, id string, c content, from, n int64) (data []byte, got int, err error) {
	body, _, err := m.bucket.Get(ctx, m.prefix+id+"/"+c.name, objects.Range{From: from, Length: n}, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	if err != nil {
		return nil, 0, &sidecar.Failure{Err: err}
	}
	defer body.Close()
	data = make([]byte, n)
	got, err = io.ReadFull(body, data)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF { // else the object is shorter than it was listed
		err = &sidecar.Failure{Err: err}
	}
	return data, got, err
}

// Bring copies a segment, or all for 0, into the folder of the record, where it stays.
func (a *away) Bring(ctx context.Context, first uint64) (done func(), err error) {
	done = func() {}
	a.mu.Lock()
	defer a.mu.Unlock()
	var missing []content
	for _, far := range a.r.far() {
		if first != 0 && far.First != first {
			continue
		}
		c := a.r.segments[far.First]
		if info, err := os.Stat(filepath.Join(a.dir, record.SegmentName(c.first))); err != nil || info.Size() != c.size {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return done, nil
	}
	held, err := hold(a.m.folder)
	if err != nil {
		return done, err
	}
	defer held.Close()
	for _, c := range missing {
		a.requests.Add(1)
		a.bytes.Add(c.stored)
		if err := a.m.fit(ctx, a.r, c, a.dir); err != nil {
			return done, err
		}
	}
	return done, nil
}

// fit brings a segment, if there is room for it.
func (m *mirror) fit(ctx context.Context, r *stored, c content, dir string) error {
	if free := diskroom.Free(m.folder); free > 0 && c.size > free-spare {
		return errorhint.Add(fmt.Errorf("%s: the segment of event %d needs more room than the disk of %s has", m.bucket.URL(m.prefix+r.id), c.first, m.folder),
			"set SOTTO_CACHE_DIR to a folder of a larger disk")
	}
	return m.whole(ctx, r, c, filepath.Join(dir, record.SegmentName(c.first)))
}

// PutSidecars puts the sidecars into the store that it lacks, of the segments that are in the
// folder; again replaces those that are there. It returns how many it put. It removes those of
// segments that the store has no more.
func (c *Copy) PutSidecars(ctx context.Context, again bool, o sidecar.Options) (put int, err error) {
	a, ok := c.Away.(*away)
	if !ok {
		return 0, nil
	}
	for _, first := range a.r.firsts() {
		c := a.r.segments[first]
		if _, there := a.r.sidecars[sidecarNamed(c.name)]; there && !again {
			continue
		}
		f := record.File{First: first, Path: filepath.Join(a.dir, record.SegmentName(first))}
		side, err := sidecar.OfSegment(f, o)
		if errors.Is(err, sidecar.ErrNoKey) || err == nil && side == nil {
			continue
		}
		if err == nil {
			err = a.putSidecar(ctx, f, c, side)
		}
		if err != nil {
			return put, err
		}
		put++
	}
	if err := a.putMerged(ctx, again, o); err != nil {
		return put, err
	}
	return put, a.sweep(ctx)
}

// sweep removes sidecars of segments that are gone.
func (a *away) sweep(ctx context.Context) error {
	wanted := map[string]bool{}
	for _, c := range a.r.segments {
		wanted[sidecarNamed(c.name)] = true
	}
	prefix := a.m.prefix + a.r.id + "/"
	for name, c := range a.r.sidecars {
		if wanted[name] {
			continue
		}
		// The segment may have come after the segments were listed.
		_, err := a.m.bucket.Stat(ctx, prefix+c.segmentName())
		if errors.Is(err, fs.ErrNotExist) {
			err = a.m.bucket.Delete(ctx, prefix+name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *away) putSidecar(ctx context.Context, f record.File, c content, side []byte) error {
	p, err := packFile(f)
	if err != nil {
		return err
	}
	if p.size != c.size || p.digest != c.digest {
		return fmt.Errorf("%s is not what %s holds", f.Path, a.m.bucket.URL(a.m.prefix+a.r.id+"/"+c.name))
	}
	covered, err := p.cover(side, c.stored)
	if err != nil {
		return err
	}
	a.frames[c.first] = p.framesOf(c.stored)
	name := a.m.prefix + a.r.id + "/" + sidecarNamed(c.name)
	_, err = a.m.bucket.Put(ctx, name, bytes.NewReader(covered), int64(len(covered)), "", objects.Put{Type: "application/octet-stream"})
	return err
}
