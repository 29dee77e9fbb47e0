package recordship

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

const (
	// fullMerged is how many bytes of segments a merged sidecar is of, once there are so many.
	fullMerged = 1 << 30
	// mostMembers bounds how many segments these are.
	mostMembers = 64
	// maxMerged bounds a merged sidecar that is read.
	maxMerged = 256 << 20
)

// A member is a segment that is there and is to be merged with others: it is in the state.
type member struct {
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
	Size   int64  `json:"size"`
	SHA256 []byte `json:"sha256"`
	Frames []int  `json:"frames"`
}

// full reports whether members are enough for a merged sidecar. most is a size, 0 the default.
func full(list []member, most int64) bool {
	size := int64(0)
	for _, m := range list {
		size += m.Size
	}
	return len(list) == mostMembers || size >= cmp.Or(most, fullMerged)
}

// merge ships the merged sidecar of segments whose sidecars are there, once they are enough.
func (s *Shipper) merge(ctx context.Context) error {
	if !full(s.state.Unmerged, s.o.merged) {
		return nil
	}
	list := make([]sidecar.Member, 0, len(s.state.Unmerged))
	var open []io.Closer
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for _, m := range s.state.Unmerged {
		f := record.File{First: m.First, Path: filepath.Join(s.dir, record.SegmentName(m.First)), Sealed: true}
		x := sidecar.Member{First: m.First, Size: m.Size, Digest: digestOf(m.SHA256), Frames: m.Frames}
		side, done, err := sidecar.Beside(f)
		if err == nil {
			open = append(open, done)
			x.Side = side
		} else if x.Side, err = made(f, sidecar.Options{Small: s.o.small}); err != nil {
			break
		}
		list = append(list, x)
	}
	if len(list) == len(s.state.Unmerged) && len(list) > 1 {
		if data, done, err := sidecar.Merge(list, s.dir, sidecar.Options{}); err == nil {
			open = append(open, done)
			if err := s.putPart(ctx, mergedNameOf(list, s.state.Unmerged[len(list)-1].Last), data, "sidecars"); err != nil {
				return err
			}
		}
	}
	// What cannot be merged here, because it was pruned or is encrypted, is left to
	// sotto record index.
	s.state.Unmerged = nil
	s.note()
	return nil
}

func digestOf(sum []byte) (d [sha256.Size]byte) {
	copy(d[:], sum)
	return d
}

// made returns the sidecar of a segment that has none beside it.
func made(f record.File, o sidecar.Options) (sidecar.Part, error) {
	side, err := sidecar.OfSegment(f, o)
	if err == nil && side == nil {
		err = fs.ErrNotExist
	}
	return sidecar.Part{ReaderAt: bytes.NewReader(side), Size: int64(len(side))}, err
}

func mergedNameOf(list []sidecar.Member, last uint64) string {
	size := int64(0)
	var digests [][sha256.Size]byte
	for _, m := range list {
		size, digests = size+m.Size, append(digests, m.Digest)
	}
	return mergedNamed(list[0].First, last, size, sidecar.MergedDigest(digests))
}

// A group are segments that have a merged sidecar.
type group struct {
	side    content
	members []content
}

// groups returns the merged sidecars that are of segments which are there, without those whose
// segments a larger one is of. Others are stale: a segment was removed.
func (r *stored) groups() []group {
	r.grouping.Do(func() { r.grouped = r.group() })
	return r.grouped
}

func (r *stored) group() (list []group) {
	firsts := r.firsts()
	merged := slices.SortedFunc(maps.Values(r.merged), func(a, b content) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.name, b.name))
	})
	taken := map[uint64]bool{}
	for _, side := range merged {
		members := r.membersOf(side, firsts)
		if members == nil || slices.ContainsFunc(members, func(c content) bool { return taken[c.first] }) {
			continue
		}
		for _, c := range members {
			taken[c.first] = true
		}
		list = append(list, group{side, members})
	}
	slices.SortFunc(list, func(a, b group) int { return cmp.Compare(a.side.first, b.side.first) })
	return list
}

// membersOf returns the segments that a merged sidecar is of by its name, or nil if they are not
// those that are there.
func (r *stored) membersOf(side content, firsts []uint64) (members []content) {
	i, _ := slices.BinarySearch(firsts, side.first)
	size := int64(0)
	var digests [][sha256.Size]byte
	for ; i < len(firsts) && size < side.size && len(members) < mostMembers; i++ {
		c := r.segments[firsts[i]]
		if n := len(members); n == 0 && c.first != side.first || n > 0 && c.first != members[n-1].last+1 || c.size > maxSegment {
			return nil
		}
		members, digests, size = append(members, c), append(digests, c.digest), size+c.size
	}
	if size != side.size || sidecar.MergedDigest(digests) != side.digest || side.stored > min(size+spareSidecar, maxMerged) {
		return nil
	}
	return members
}

// merges lists the segments that have a merged sidecar.
func (r *stored) merges() (list []sidecar.Merged) {
	for _, g := range r.groups() {
		m := sidecar.Merged{Next: g.members[len(g.members)-1].last + 1}
		for _, c := range g.members {
			m.Firsts, m.Sizes = append(m.Firsts, c.first), append(m.Sizes, c.size)
		}
		list = append(list, m)
	}
	return list
}

// openMerged opens a merged sidecar and its segments.
func (r *stored) openMerged(first uint64, object func(content) sidecar.Object) (segments, side sidecar.Part, err error) {
	list := r.groups()
	i := slices.IndexFunc(list, func(g group) bool { return g.side.first == first })
	if i < 0 {
		return sidecar.Part{}, sidecar.Part{}, fs.ErrNotExist
	}
	var stored []sidecar.Object
	var sizes []int64
	for _, c := range list[i].members {
		stored, sizes = append(stored, object(c)), append(sizes, c.size)
	}
	return sidecar.UncoverMerged(object(list[i].side), stored, sizes, list[i].side.digest)
}

// Merged lists the segments that have a merged sidecar.
func (a *away) Merged() []sidecar.Merged { return a.r.merges() }

// OpenMerged opens a merged sidecar and its segments.
func (a *away) OpenMerged(ctx context.Context, first uint64) (segments, side sidecar.Part, err error) {
	return a.r.openMerged(first, func(c content) sidecar.Object { return a.object(ctx, c) })
}

// putMerged puts the merged sidecars into the store that it lacks, and removes those that are of
// segments which are gone, or that a larger one replaces.
func (a *away) putMerged(ctx context.Context, again bool, o sidecar.Options) error {
	prefix := a.m.prefix + a.r.id + "/"
	wanted, in := map[string]bool{}, map[uint64]bool{}
	for _, g := range a.r.groups() {
		if !again && g.side.size >= cmp.Or(a.merged, fullMerged) {
			wanted[g.side.name] = true
			for _, c := range g.members {
				in[c.first] = true
			}
		}
	}
	var some []sidecar.Member
	var as []member
	end := func() error {
		defer func() { some, as = nil, nil }()
		if len(some) < 2 {
			return nil
		}
		name := mergedNameOf(some, as[len(as)-1].Last)
		wanted[name] = true
		if _, there := a.r.merged[name]; there && !again {
			return nil
		}
		data, done, err := sidecar.Merge(some, a.dir, o)
		if err != nil {
			return err
		}
		defer done.Close()
		_, err = a.m.bucket.Put(ctx, prefix+name, data, data.Size, "", objects.Put{Type: "application/octet-stream"})
		return err
	}
	for _, first := range a.r.firsts() {
		c := a.r.segments[first]
		m, ok := sidecar.Member{}, false
		if !in[first] {
			m, ok = a.member(c, o)
		}
		if !ok || len(as) > 0 && as[len(as)-1].Last+1 != first {
			if err := end(); err != nil {
				return err
			}
		}
		if !ok {
			continue
		}
		some, as = append(some, m), append(as, member{First: first, Last: c.last, Size: c.size})
		if full(as, a.merged) {
			if err := end(); err != nil {
				return err
			}
		}
	}
	if err := end(); err != nil {
		return err
	}
	for name := range a.r.merged {
		if !wanted[name] {
			if err := a.m.bucket.Delete(ctx, prefix+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// member returns a segment that is in the folder, with its sidecar. ok reports whether it can be
// merged.
func (a *away) member(c content, o sidecar.Options) (m sidecar.Member, ok bool) {
	f := record.File{First: c.first, Path: filepath.Join(a.dir, record.SegmentName(c.first)), Sealed: true}
	frames, there := a.frames[c.first]
	if s, has := a.r.sidecars[sidecarNamed(c.name)]; !there && has {
		frames = sidecar.FramesOf(a.object(context.Background(), s), a.object(context.Background(), c), c.digest, c.size)
	}
	if frames == nil {
		return m, false
	}
	side, err := made(f, o)
	return sidecar.Member{First: c.first, Size: c.size, Digest: c.digest, Frames: frames, Side: side}, err == nil
}

// read reads a sidecar with its cover. side is nil if the cover is not of it, or not of what the
// name says.
func (m *mirror) read(ctx context.Context, r *stored, c content) (data, side []byte, err error) {
	name := m.prefix + r.id + "/" + c.name
	body, _, err := m.bucket.Get(ctx, name, objects.Range{}, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &goneError{name}
	}
	if err != nil {
		return nil, nil, err
	}
	defer body.Close()
	if data, err = files.ReadAll(body, maxSidecar); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", m.bucket.URL(name), err)
	}
	side, ok := sidecar.Uncovered(data, c.digest, c.size)
	if !ok {
		m.fault(r, c.name, "changed")
		return nil, nil, nil
	}
	return data, side, nil
}

// CheckMerged makes the merged sidecars of a record again from those of its segments, which were
// brought, and compares them.
func (c *Copy) CheckMerged(ctx context.Context, o sidecar.Options) (checked sidecar.Checked, err error) {
	if c.mirror == nil {
		return checked, nil
	}
	for _, g := range c.stored.groups() {
		data, side, err := c.mirror.read(ctx, c.stored, g.side)
		var gone *goneError
		if errors.As(err, &gone) || err == nil && side == nil {
			continue // it was removed meanwhile, or is among the faults
		}
		if err != nil {
			return checked, err
		}
		var list []sidecar.Member
		for _, m := range g.members {
			f := record.File{First: m.first, Path: filepath.Join(c.Dir, record.SegmentName(m.first)), Sealed: true}
			x := sidecar.Member{First: m.first, Size: m.size, Digest: m.digest}
			if x.Side, err = made(f, sidecar.Options{Small: true, Identities: o.Identities}); err != nil {
				break
			}
			list = append(list, x)
		}
		if err == nil {
			err = sidecar.SameMerged(data, list, c.Dir, o)
		}
		switch {
		case errors.Is(err, sidecar.ErrNoKey):
			checked.Unread++
			continue
		case err != nil:
			checked.Wrong = append(checked.Wrong, sidecar.Wrong{Name: g.side.name, First: g.side.first, Last: g.side.last})
		}
		checked.Compared++
	}
	return checked, nil
}
