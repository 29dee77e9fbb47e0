package record

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Verify checks several segments at the same time. What is within a segment can be
// judged without the segments before it. Whether it continues them can be judged by
// how it begins. So a segment is read as if the record ended where its first line
// says, and what was found is joined to the report if the record does end there.
//
// Only segments without a fault are joined. A segment in which anything is found, or
// that does not continue what precedes it, is read again by the verifier that reads
// one after the other: the meaning of a fault depends on the lines before it. So
// each report is the same for every number of workers.

// ahead holds segments that were read before their turn.
type ahead struct {
	parts   []chan *verifier // by segment, each filled once
	at      int              // the next one to join
	group   sync.WaitGroup
	stopped atomic.Bool
}

// readAhead begins to read the segments of a list. Each worker reads one at a time.
func readAhead(list []segment, o VerifyOptions) *ahead {
	a := &ahead{parts: make([]chan *verifier, len(list))}
	for i := range a.parts {
		a.parts[i] = make(chan *verifier, 1)
	}
	var taken atomic.Int64
	for range min(o.Workers, len(list)) {
		a.group.Go(func() {
			for !a.stopped.Load() {
				i := int(taken.Add(1)) - 1
				if i >= len(list) {
					return
				}
				a.parts[i] <- partOf(list[i], i == len(list)-1, o)
			}
		})
	}
	return a
}

// stop waits for the segments that are being read.
func (a *ahead) stop() {
	a.stopped.Store(true)
	a.group.Wait()
}

// next returns the part of the next segment, and nil if that cannot be joined to
// anything.
func (a *ahead) next() *verifier {
	a.at++
	return <-a.parts[a.at-1]
}

// partOf reads a segment; last says that it may end in a torn line. It returns nil if
// it finds anything, or cannot read the segment.
func partOf(s segment, last bool, o VerifyOptions) *verifier {
	p := &verifier{o: o, alone: true}
	if err := p.segment(s, last); err != nil || !p.clean() {
		return nil
	}
	return p
}

// begin makes a segment that is read alone continue what its first line says.
func (v *verifier) begin(first frame) {
	v.from = Head{first.first - 1, first.prev}
	v.head, v.top = v.from, v.from.Seq
}

// clean reports whether nothing was found. Each fault leaves a finding, also one that a
// later line explains.
func (v *verifier) clean() bool { return len(v.findings) == 0 }

// join adds a part to what was read before it. It reports false, and changes nothing,
// if the part does not continue that.
func (v *verifier) join(p *verifier) bool {
	if p == nil || v.broken || p.from != v.head || v.head.Seq != v.top {
		return false
	}
	r := &v.report
	if p.report.ID != "" && r.ID != "" && p.report.ID != r.ID {
		return false
	}
	if p.report.ID != "" {
		r.ID = p.report.ID
	}
	if p.report.Signed > 0 {
		r.Signed = p.report.Signed
	}
	r.Segments += p.report.Segments
	r.Bytes += p.report.Bytes
	r.Indexes += p.report.Indexes
	r.Checkpoints += p.report.Checkpoints
	r.Weak += p.report.Weak
	r.Torn = p.report.Torn
	if v.doubt = p.doubt; v.doubt != nil { // of the last line, which the next segment resolves
		d := v.doubt
		d.events += v.events
		d.gaps, d.findings, d.more = slices.Clone(v.gaps), len(v.findings), v.more
	}
	v.head, v.top = p.head, p.top
	v.events += p.events
	v.found = v.found || p.found
	return true
}
