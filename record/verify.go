package record

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// VerifyOptions say what a record is held against.
type VerifyOptions struct {
	// Head is one that was kept from before: the record must still hold it.
	Head *Head
	// Keys are the public keys whose checkpoints and tombstones count. Without
	// one no signature is looked at.
	Keys []ed25519.PublicKey
}

// A Fault names what is wrong with a record.
type Fault string

const (
	Edited     Fault = "edited"     // the next event was written behind another line than this
	Missing    Fault = "missing"    // events First to Last are not there
	Reordered  Fault = "reordered"  // an event stands in another place
	Repeated   Fault = "repeated"   // an event of a number that was there already
	Unreadable Fault = "unreadable" // a line that is no event, behind event First
	Forged     Fault = "forged"     // a checkpoint or tombstone that no key of ours signed
	Truncated  Fault = "truncated"  // the record ends before the head that was kept
	Rewritten  Fault = "rewritten"  // the event of the head that was kept is another one
)

// A Finding is one thing wrong, and where.
type Finding struct {
	Fault Fault
	// First and Last are the events that it is about; of an encrypted record the
	// batch that holds them.
	First, Last uint64
	Segment     string
}

func (f Finding) String() string {
	where := fmt.Sprintf("event %d", f.First)
	if f.Last > f.First {
		where = fmt.Sprintf("events %d to %d", f.First, f.Last)
	}
	if f.Fault == Unreadable {
		where = "behind " + where
	}
	if f.Segment != "" {
		where += " (" + f.Segment + ")"
	}
	return where + ": " + string(f.Fault)
}

// maxFindings bounds a report. The first one matters.
const maxFindings = 100

// A Report is what Verify found.
type Report struct {
	Segments    int
	Pruned      int    // segments of which tombstones are left
	Events      uint64 // in the segments
	Bytes       int64
	Head        Head
	Checkpoints int    // signed by one of the keys
	Signed      uint64 // the last event under a checkpoint or tombstone of ours, 0 without
	Torn        int64  // bytes of a last line without an end, which was never acknowledged
	Findings    []Finding
	More        int // findings beyond those listed
}

// Err returns what was found as an error, which is a [*TamperError], or nil.
func (r *Report) Err() error {
	if len(r.Findings) == 0 {
		return nil
	}
	return &TamperError{r.Findings}
}

// A TamperError is the error of a record that is not what was written.
type TamperError struct{ Findings []Finding }

func (e *TamperError) Error() string {
	s := "record: " + e.Findings[0].String()
	if n := len(e.Findings) - 1; n > 0 {
		s += fmt.Sprintf(", and %d more", n)
	}
	return s
}

// Verify reads a whole record, its lines and tombstones and nothing else, and
// holds it against the chain and the options. The error is of the reading; what
// was found is in the report, and by [Report.Err] an error too.
func Verify(dir string, o VerifyOptions) (Report, error) {
	v := &verifier{o: o}
	list, err := segmentsOf(dir)
	if err != nil {
		return Report{}, fmt.Errorf("record: %w", err)
	}
	stones, err := tombstonesOf(dir)
	if err != nil {
		return Report{}, fmt.Errorf("record: %w", err)
	}
	if err := v.files(dir, list, stones); err != nil {
		return v.report, fmt.Errorf("record: %w", err)
	}
	v.finish()
	return v.report, nil
}

// verifier walks the lines. The head is the last line's; top is the greatest
// number so far.
type verifier struct {
	o      VerifyOptions
	report Report
	head   Head
	top    uint64
	broken bool // the line before is no event, so there is nothing to compare
	gaps   []Finding
	found  bool // the head that was kept
}

// files walks segments and tombstones in order. A tombstone of a segment that
// is still there, by a prune that was interrupted, does not count.
func (v *verifier) files(dir string, list []segment, stones []Tombstone) error {
	for len(list) > 0 || len(stones) > 0 {
		if len(stones) > 0 && (len(list) == 0 || stones[0].First < list[0].first) {
			v.stone(stones[0])
			stones = stones[1:]
			continue
		}
		if len(stones) > 0 && stones[0].First == list[0].first {
			stones = stones[1:]
		}
		if err := v.segment(list[0], len(list) == 1); err != nil {
			return err
		}
		list = list[1:]
	}
	return nil
}

// stone takes a tombstone for the segment that it stands for.
func (v *verifier) stone(t Tombstone) {
	v.report.Pruned++
	name := filepath.Base(t.path)
	switch {
	case len(v.o.Keys) == 0:
	case t.signedBy(v.o.Keys):
		v.report.Signed = t.Last
	default:
		v.find(Forged, t.First, t.Last, name)
	}
	v.follow(frame{first: t.First, last: t.Last, prev: t.Prev}, name)
	v.head, v.top, v.broken = Head{t.Last, t.Head}, max(v.top, t.Last), false
	v.meet()
}

func (v *verifier) segment(s segment, last bool) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	v.report.Segments++
	l := newLines(f, 0)
	for {
		line, _, err := l.next()
		switch {
		case err == io.EOF:
			return nil
		case err == errTorn && last:
			v.report.Torn = int64(len(line))
			return nil
		case err == errTorn:
			v.find(Unreadable, v.head.Seq, v.head.Seq, s.name())
			return nil
		case err != nil:
			return err
		}
		v.line(line, s.name())
	}
}

// line takes the next line.
func (v *verifier) line(line []byte, name string) {
	v.report.Bytes += int64(len(line))
	f, err := parseFrame(line)
	if err != nil {
		v.find(Unreadable, v.head.Seq, v.head.Seq, name)
		v.broken = true
		return
	}
	h, _ := headOf(line)
	v.report.Events += f.last - f.first + 1
	v.follow(f, name)
	if f.typ == TypeCheckpoint && len(v.o.Keys) > 0 {
		v.checkpoint(f, line, name)
	}
	v.head, v.top, v.broken = h, max(v.top, f.last), false
	v.meet()
}

// follow holds a line against the one before.
func (v *verifier) follow(f frame, name string) {
	switch {
	case f.first <= v.top:
		v.late(f, name)
	case f.first > v.top+1:
		v.gaps = append(v.gaps, Finding{Missing, v.top + 1, f.first - 1, name})
		v.find(Missing, v.top+1, f.first-1, name)
	case v.head.Seq+1 == f.first && !v.broken && f.prev != v.head.Digest:
		v.find(Edited, max(v.head.Seq, 1), max(v.head.Seq, 1), name)
	}
}

// late is a line that should have come before: one that was missed, or a second.
func (v *verifier) late(f frame, name string) {
	for i, g := range v.gaps {
		if f.first < g.First || f.last > g.Last {
			continue
		}
		v.gaps = slices.Delete(v.gaps, i, i+1)
		if g.First < f.first {
			v.gaps = append(v.gaps, Finding{Missing, g.First, f.first - 1, g.Segment})
		}
		if g.Last > f.last {
			v.gaps = append(v.gaps, Finding{Missing, f.last + 1, g.Last, g.Segment})
		}
		v.find(Reordered, f.first, f.last, name)
		return
	}
	v.find(Repeated, f.first, f.last, name)
}

func (v *verifier) checkpoint(f frame, line []byte, name string) {
	if !signedBy(v.o.Keys, f, line) {
		v.find(Forged, f.first, f.last, name)
		return
	}
	v.report.Checkpoints++
	v.report.Signed = f.first
}

// meet compares the head that was kept, where it is reached.
func (v *verifier) meet() {
	if want := v.o.Head; want != nil && v.head.Seq == want.Seq && !v.found {
		v.found = true
		if v.head.Digest != want.Digest {
			v.find(Rewritten, want.Seq, want.Seq, "")
		}
	}
}

func (v *verifier) find(f Fault, first, last uint64, segment string) {
	if len(v.report.Findings) >= maxFindings {
		v.report.More++
		return
	}
	v.report.Findings = append(v.report.Findings, Finding{f, first, last, segment})
}

// finish takes back gaps that were only out of order, and looks at the end.
func (v *verifier) finish() {
	r := &v.report
	r.Head = v.head
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		return f.Fault == Missing && !slices.Contains(v.gaps, f)
	})
	for _, g := range v.gaps {
		if !slices.Contains(r.Findings, g) {
			v.find(g.Fault, g.First, g.Last, g.Segment)
		}
	}
	want := v.o.Head
	switch {
	case want == nil || v.found || want.Seq == 0:
	case v.top < want.Seq:
		v.find(Truncated, v.top+1, want.Seq, "")
	case !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.First <= want.Seq && want.Seq <= f.Last }):
		v.find(Rewritten, want.Seq, want.Seq, "")
	}
}
