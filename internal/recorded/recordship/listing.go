package recordship

import (
	"context"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
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
				r = &stored{id: id, segments: map[uint64]content{}, stones: map[uint64]content{}, sidecars: map[string]content{}, merged: map[string]content{}, parts: map[uint64][]content{}}
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
