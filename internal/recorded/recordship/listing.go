package recordship

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// stored are the objects of a record.
type stored struct {
	id       string
	head     *record.Head
	segments map[uint64]content
	stones   map[uint64]content
	sidecars map[string]content // by their names
	merged   map[string]content
	parts    map[uint64][]content
	faults   []Fault

	// What follows from these, once it is needed.
	grouping sync.Once
	grouped  []group
	summing  sync.Once
	sum      []sidecar.Far
}

func newStored(id string) *stored {
	return &stored{id: id, segments: map[uint64]content{}, stones: map[uint64]content{}, sidecars: map[string]content{}, merged: map[string]content{}, parts: map[uint64][]content{}}
}

// copied returns the same objects, to add others.
func (r *stored) copied() *stored {
	return &stored{
		id: r.id, head: r.head, segments: maps.Clone(r.segments), stones: maps.Clone(r.stones), sidecars: maps.Clone(r.sidecars), merged: maps.Clone(r.merged), parts: maps.Clone(r.parts),
	}
}

// last returns the last name of each folder.
func (r *stored) last() map[string]string {
	last := map[string]string{}
	note := func(folder string, c content) { last[folder] = max(last[folder], c.name) }
	for _, c := range r.segments {
		note(segmentsFolder, c)
	}
	for _, c := range r.stones {
		note(stonesFolder, c)
	}
	for _, c := range r.sidecars {
		note(sidecarsFolder, c)
	}
	for _, c := range r.merged {
		note(mergedFolder, c)
	}
	for _, list := range r.parts {
		for _, c := range list {
			note(partsFolder, c)
		}
	}
	return last
}

// firsts lists the first events of the segments.
func (r *stored) firsts() []uint64 { return slices.Sorted(maps.Keys(r.segments)) }

// far lists the segments as their readers know them.
func (r *stored) far() []sidecar.Far {
	r.summing.Do(func() { r.sum = r.summary() })
	return r.sum
}

func (r *stored) summary() (list []sidecar.Far) {
	merged := map[uint64]bool{}
	for _, g := range r.groups() {
		for _, c := range g.members {
			merged[c.first] = true
		}
	}
	for _, first := range r.firsts() {
		c := r.segments[first]
		list = append(list, sidecar.Far{First: first, Last: c.last, Size: c.size, Covered: merged[first] || r.sidecarOf(c) != nil})
	}
	return list
}

// same reports whether a file of a size is all of a segment, if it is here.
func (r *stored) same(first uint64, size int64) bool {
	c, ok := r.segments[first]
	return !ok || c.size == size
}

// sidecarOf returns the sidecar of a segment, if there may be one; larger ones are not shipped.
func (r *stored) sidecarOf(c content) *content {
	s, ok := r.sidecars[sidecarNamed(c.name)]
	if !ok || c.size > maxSegment || s.stored > c.size+spareSidecar {
		return nil
	}
	return &s
}

// open opens a segment and its sidecar.
func (r *stored) open(first uint64, object func(content) sidecar.Object) (segment, side sidecar.Part, err error) {
	c := r.segments[first]
	s := r.sidecarOf(c)
	if s == nil {
		return sidecar.Part{}, sidecar.Part{}, fs.ErrNotExist
	}
	return sidecar.Uncover(object(*s), object(c), c.digest, c.size)
}

// list reads the names below the prefix. Of the heads of a record it reads the newest.
func (m *mirror) list(ctx context.Context) error {
	prefix, after := m.prefix+m.only, ""
	if m.only != "" {
		prefix += "/"
	}
	for more, n := true, 0; more; {
		more = false
		for o, err := range m.bucket.List(ctx, prefix, after, 0) {
			if err != nil {
				return err
			}
			id, name, ok := strings.Cut(strings.TrimPrefix(o.Name, m.prefix), "/")
			if !ok || !idPattern.MatchString(id) {
				continue // not of a record, such as the object of a probe
			}
			if n++; n > maxObjects {
				return fmt.Errorf("%s holds more than %d objects of records", m.bucket.URL(m.prefix), maxObjects)
			}
			r := m.records[id]
			if r == nil {
				if len(m.records) == maxRecords {
					return errorhint.Add(fmt.Errorf("%s holds more than %d records", m.bucket.URL(m.prefix), maxRecords), "read them one at a time: s3://BUCKET/PREFIX/ID")
				}
				r = newStored(id)
				m.records[id] = r
			}
			if m.lost[o.Name] >= maxLost { // what it held is elsewhere, or the chain has a gap
				continue
			}
			if r.add(name, o.Size) {
				continue
			}
			if strings.HasPrefix(name, headsFolder) && r.head != nil { // all older ones follow
				after, more = m.prefix+id+"/"+strings.TrimSuffix(headsFolder, "/")+"0", true
				break
			}
			m.fault(r, name, "added")
		}
	}
	return nil
}

// add notes an object. It reports whether it is one that a shipper writes, and new.
func (r *stored) add(name string, size int64) bool {
	if h, ok := readHead(name); ok {
		if r.head != nil {
			return false
		}
		r.head = &h
		return true
	}
	if c, ok := readPart(name); ok {
		r.parts[c.first] = append(r.parts[c.first], c)
		return true
	}
	c, ok := readWhole(name)
	if !ok {
		return false
	}
	c.stored = size
	to := r.segments
	switch {
	case strings.HasPrefix(name, stonesFolder):
		to = r.stones
	case strings.HasPrefix(name, sidecarsFolder):
		r.sidecars[name] = c
		return true
	case strings.HasPrefix(name, mergedFolder):
		r.merged[name] = c
		return true
	}
	if _, twice := to[c.first]; twice {
		return false
	}
	to[c.first] = c
	return true
}

func (m *mirror) fault(r *stored, name, what string) {
	if len(r.faults) < 1000 {
		r.faults = append(r.faults, Fault{m.bucket.URL(m.prefix + r.id + "/" + name), what})
	}
}
