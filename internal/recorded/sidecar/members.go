package sidecar

import (
	"os"
	"slices"
)

// Merged are segments, one after the other, that have a merged sidecar in a store.
type Merged struct {
	Firsts []uint64
	Sizes  []int64
	Next   uint64 // the event after the last of them
}

// grouped puts segments that have a merged sidecar together, if that saves requests.
func (s *Store) grouped(list []segment) []segment {
	if s.away == nil {
		return list
	}
	of := map[uint64]*Merged{}
	for _, m := range s.away.Merged() {
		for _, first := range m.Firsts {
			of[first] = &m
		}
	}
	var out []segment
	for len(list) > 0 {
		m := of[list[0].First]
		n := 1
		for m != nil && n < len(list) && of[list[n].First] == m {
			n++
		}
		some := list[:n]
		list = list[n:]
		if missing(some) < 2 {
			out = append(out, some...)
			continue
		}
		g := segment{File: some[0].File, merged: m, members: some}
		g.First = m.Firsts[0]
		out = append(out, g)
	}
	return out
}

// missing returns how many segments are not in the folder.
func missing(list []segment) (n int) {
	for i := range list {
		if _, err := os.Lstat(list[i].Path); err != nil {
			n++
		}
	}
	return n
}

// workers returns how many of the segments are looked at together: fewer if they stand for many.
func workers(list []segment, most int) int {
	if slices.ContainsFunc(list, func(g segment) bool { return g.members != nil }) {
		return max(2, most/3)
	}
	return most
}

// openedMerged opens a merged sidecar and the segments that it is of.
func (g *segment) openedMerged(s *Store) {
	var data, side Part
	if data, side, g.err = s.away.OpenMerged(s.ctx, g.First); g.err != nil {
		return
	}
	g.data, g.size = data, data.Size
	if g.f, g.err = openFile(counting{side, &s.read}, side.Size, nil, g.size, g.First, s.o.Identities); g.err != nil {
		return
	}
	if g.f.far = true; g.f.h.Covered != g.size || g.f.h.Next != g.merged.Next {
		g.f, g.err = nil, errStale
	}
}

// A stretch is a segment among those of a merged sidecar, or the segment that a sidecar is of.
type stretch struct {
	seg      *segment // as one of its own
	at       int64    // where its lines begin
	from, to int      // its rows
}

// stretches returns the segments that a sidecar is of, as far as they are looked at.
func (g *segment) stretches() (list []stretch) {
	if g.members == nil {
		return []stretch{{g, 0, 0, g.f.h.Rows}}
	}
	at := int64(0)
	for i, first := range g.merged.Firsts {
		next := g.f.h.Next
		if i+1 < len(g.merged.Firsts) {
			next = g.merged.Firsts[i+1]
		}
		if k := slices.IndexFunc(g.members, func(m segment) bool { return m.First == first }); k >= 0 {
			list = append(list, stretch{&g.members[k], at, int(first - g.First), int(next - g.First)})
		}
		at += g.merged.Sizes[i]
	}
	return list
}

// whole returns the segment of an event, to be read without a sidecar.
func (g *segment) whole(seq uint64) *segment {
	if g.members == nil {
		return g
	}
	i := len(g.members) - 1
	for i > 0 && g.members[i].First > seq {
		i--
	}
	m := &g.members[i]
	m.away = true
	return m
}
