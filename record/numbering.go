package record

import "slices"

// maxFindings bounds a report. The first finding matters most.
const maxFindings = 100

// numbering follows the numbers and the chain of a record's lines, and collects its
// findings. The head is the last line's; top is the greatest number so far.
type numbering struct {
	head   Head
	top    uint64
	events uint64
	broken bool // the line before is not an event, so there is nothing to compare with
	gaps   []Finding
	// doubt is the state before the last line, if that line's numbers are not the
	// expected ones, or if it says that it holds several events. The next line
	// shows whether it is right.
	doubt *doubted
	// moved are lines that came too early, by their first number.
	moved map[uint64]Head

	findings []Finding
	more     int
}

// doubted is a line whose number may be false.
type doubted struct {
	frame    frame
	name     string
	head     Head
	top      uint64
	events   uint64
	broken   bool
	gaps     []Finding
	findings int
	more     int
}

func (n *numbering) find(f Fault, first, last uint64, segment string) {
	if len(n.findings) >= maxFindings {
		n.more++
		return
	}
	n.findings = append(n.findings, Finding{f, first, last, segment})
}

// follow compares a line, or a tombstone, with what is before it.
func (n *numbering) follow(f frame, h Head, name string) {
	n.resolve(f)
	n.doubt = nil
	n.skipMoved(f.first)
	if f.first != n.top+1 || f.last > f.first {
		n.doubt = &doubted{f, name, n.head, n.top, n.events, n.broken, slices.Clone(n.gaps), len(n.findings), n.more}
	}
	switch {
	case f.first <= n.top:
		n.late(f, name)
	case f.first > n.top+1:
		if len(n.gaps) < maxFindings {
			n.gaps = append(n.gaps, Finding{Missing, n.top + 1, f.first - 1, name})
		}
		n.find(Missing, n.top+1, f.first-1, name)
	case n.head.Seq+1 == f.first && !n.broken && f.prev != n.head.Digest:
		n.find(Edited, max(n.head.Seq, 1), max(n.head.Seq, 1), name)
	}
	n.events += f.last - f.first + 1
	n.head, n.top, n.broken = h, max(n.top, f.last), false
}

// resolve decides about a line by the one that follows it. A line whose numbers
// were changed is one fault, not a fault of every line after it.
func (n *numbering) resolve(f frame) {
	d := n.doubt
	if d == nil || f.first == n.head.Seq+1 && f.prev == n.head.Digest {
		return // its numbers are right
	}
	due := d.top + 1 // the number that the line before should have had
	switch {
	case f.first == due && f.prev == d.head.Digest && d.frame.last >= due:
		// The line continues the one before that; the doubted line was put between
		// them.
		n.restore(d)
		fault := Repeated
		if d.frame.first > due && len(n.moved) < maxFindings {
			fault = Reordered
			if n.moved == nil {
				n.moved = map[uint64]Head{}
			}
			n.moved[d.frame.first] = n.head
		}
		n.find(fault, d.frame.first, d.frame.first, d.name)
		n.head, n.top, n.broken, n.events = d.head, d.top, d.broken, d.events
	case f.first > due && (f.first <= n.top || d.frame.first < due && d.frame.last <= due && f.first == due+1):
		// The numbers continue as if the doubted line had had the expected ones.
		n.restore(d)
		n.find(Edited, due, f.first-1, d.name)
		n.head.Seq, n.top, n.broken, n.events = f.first-1, f.first-1, true, d.events+f.first-due
	}
}

// skipMoved passes over numbers whose lines came too early, up to a number.
func (n *numbering) skipMoved(next uint64) {
	for n.top+1 < next {
		h, ok := n.moved[n.top+1]
		if !ok || h.Seq >= next {
			return
		}
		n.events += h.Seq - n.top
		n.head, n.top = h, h.Seq
	}
}

// restore removes the findings about a doubted line.
func (n *numbering) restore(d *doubted) {
	n.gaps, n.findings, n.more = d.gaps, n.findings[:d.findings], d.more
}

// late handles a line that should have come earlier: one that was missing, or a
// duplicate.
func (n *numbering) late(f frame, name string) {
	for i, g := range n.gaps {
		if f.first < g.First || f.last > g.Last {
			continue
		}
		n.gaps = slices.Delete(slices.Clone(n.gaps), i, i+1)
		if g.First < f.first {
			n.gaps = append(n.gaps, Finding{Missing, g.First, f.first - 1, g.Segment})
		}
		if g.Last > f.last {
			n.gaps = append(n.gaps, Finding{Missing, f.last + 1, g.Last, g.Segment})
		}
		n.find(Reordered, f.first, f.last, name)
		return
	}
	n.find(Repeated, f.first, f.last, name)
}

// settle removes gaps whose lines were only out of order.
func (n *numbering) settle() {
	n.findings = slices.DeleteFunc(n.findings, func(f Finding) bool {
		return f.Fault == Missing && !slices.Contains(n.gaps, f)
	})
	for _, g := range n.gaps {
		if !slices.Contains(n.findings, g) {
			n.find(g.Fault, g.First, g.Last, g.Segment)
		}
	}
}
