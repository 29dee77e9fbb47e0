package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Verify reads a whole record, its lines and tombstones, and compares it with the
// chain and the options. It also compares each index that a reader would use with
// its segment. The error means that the reading failed. What was found is in the
// report, and [Report.Err] returns it as an error.
func Verify(dir string, o VerifyOptions) (Report, error) {
	v := &verifier{o: o, dir: dir}
	list, err := segmentsOf(dir)
	if err != nil {
		return Report{}, fmt.Errorf("record: %w", err)
	}
	stones, err := numbered(dir, tombstoneExt)
	if err != nil {
		return Report{}, fmt.Errorf("record: %w", err)
	}
	paths := []string{dir}
	for _, s := range list {
		paths = append(paths, s.path)
	}
	if why := writableByOthers(paths...); why != "" {
		v.report.Warnings = append(v.report.Warnings, why)
	}
	if o.Workers > 1 {
		v.ahead = readAhead(list, o)
		defer v.ahead.stop()
	}
	if err := v.files(list, stones); err != nil {
		return v.report, fmt.Errorf("record: %w", err)
	}
	v.finish()
	return v.report, nil
}

// verifier walks the lines.
type verifier struct {
	o      VerifyOptions
	dir    string
	report Report
	numbering
	found bool // the kept head was found

	ahead *ahead // nil if one segment is read after the other
	alone bool   // of one segment that is read before its turn: a finding ends the reading
	from  Head   // where the record must end before that segment
}

// files walks segments and tombstones in order. A tombstone of a segment that is
// still there does not count: an interrupted prune left it.
func (v *verifier) files(list []segment, stones []uint64) error {
	for len(list) > 0 || len(stones) > 0 {
		if len(stones) > 0 && (len(list) == 0 || stones[0] < list[0].first) {
			if err := v.stone(stones[0]); err != nil {
				return err
			}
			stones = stones[1:]
			continue
		}
		if len(stones) > 0 && stones[0] == list[0].first {
			stones = stones[1:]
		}
		err := v.next(list[0], len(list) == 1)
		if errors.Is(err, fs.ErrNotExist) { // pruned meanwhile
			err = v.stone(list[0].first)
		}
		if err != nil {
			return err
		}
		list = list[1:]
	}
	return nil
}

// stone processes the tombstone of the segment that began with an event, in its
// place.
func (v *verifier) stone(first uint64) error {
	t, err := readTombstone(v.dir, first)
	var bad *tombstoneError
	switch {
	case errors.As(err, &bad):
		v.find(Unreadable, v.head.Seq, v.head.Seq, bad.name)
		return nil
	case errors.Is(err, errNotRegular):
		v.find(Unreadable, v.head.Seq, v.head.Seq, segmentAt(v.dir, first).name())
		return nil
	case err != nil:
		return err
	}
	v.report.Pruned++
	name := filepath.Base(t.path)
	signed := t.signedBy(v.o.Keys)
	switch {
	case len(v.o.Keys) == 0:
	case signed:
		v.report.Signed = t.Last
	default:
		v.find(Forged, t.First, t.Last, name)
	}
	v.sameRecord(t.Record, t.First, t.Last, name)
	v.follow(frame{first: t.First, last: t.Last, prev: t.Prev}, Head{t.Last, t.Head}, name)
	if want := v.o.Head; want != nil && t.First <= want.Seq && want.Seq < t.Last && !v.found {
		v.found, v.report.HeadPruned, v.report.HeadSigned = true, true, signed
	}
	v.meet()
	return nil
}

// sameRecord compares an identity with that of the record; "" means none.
func (v *verifier) sameRecord(id string, first, last uint64, name string) {
	switch {
	case id == "":
		return
	case v.report.ID == "":
		v.report.ID = id
	}
	if id != v.report.ID {
		v.find(Foreign, first, last, name)
	}
}

// next processes the next segment, by what was read ahead if that is possible.
func (v *verifier) next(s segment, last bool) error {
	if v.ahead != nil && v.join(v.ahead.next()) {
		return nil
	}
	return v.segment(s, last)
}

func (v *verifier) segment(s segment, last bool) error {
	f, err := openRegular(s.path, os.O_RDONLY)
	if errors.Is(err, errNotRegular) {
		v.find(Unreadable, v.head.Seq, v.head.Seq, s.name())
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	v.report.Segments++
	index := v.indexOf(s, f)
	l := newLines(f, 0)
	for !v.alone || v.clean() {
		line, at, err := l.next()
		switch {
		case err == io.EOF:
			return nil
		case err == errTorn && last:
			v.report.Torn = int64(len(line))
			return nil
		case err == errTorn || errors.Is(err, errLongLine):
			v.find(Unreadable, v.head.Seq, v.head.Seq, s.name())
			return nil
		case err != nil:
			return err
		}
		f, err := parseFrame(line)
		digest := digestOf(line)
		v.line(f, err, line, digest, s.name())
		index.check(f, err, line, digest, at)
	}
	return nil
}

// line processes the next line. err says that it has no frame.
func (v *verifier) line(f frame, err error, line []byte, digest Digest, name string) {
	v.report.Bytes += int64(len(line))
	if err != nil {
		v.find(Unreadable, v.head.Seq, v.head.Seq, name)
		v.broken = true
		return
	}
	if v.alone && v.events == 0 {
		v.begin(f)
	}
	v.follow(f, Head{f.last, digest}, name)
	v.sameRecord(f.id, f.first, f.last, name)
	if f.typ == TypeCheckpoint {
		v.checkpoint(f, line, name)
	}
	v.meet()
}

func (v *verifier) checkpoint(f frame, line []byte, name string) {
	c, ok := checkpointIn(line)
	if ok && f.v > 1 {
		v.sameRecord(c.Record, f.first, f.last, name)
	}
	switch {
	case len(v.o.Keys) == 0:
	case !ok || !signedBy(v.o.Keys, f, line, c):
		v.find(Forged, f.first, f.last, name)
	default:
		v.report.Checkpoints++
		v.report.Signed = f.first
		if f.v == 1 {
			v.report.Weak++
		}
	}
}

// meet compares the kept head, when it is reached.
func (v *verifier) meet() {
	if want := v.o.Head; want != nil && v.head.Seq == want.Seq && !v.found {
		v.found = true
		if v.head.Digest != want.Digest {
			v.find(Rewritten, want.Seq, want.Seq, "")
		}
	}
}

// finish removes gaps whose lines were only out of order, and checks the end.
func (v *verifier) finish() {
	r := &v.report
	v.settle()
	r.Head, r.Events = v.head, v.events
	r.Findings, r.More = v.findings, v.more
	want := v.o.Head
	switch {
	case want == nil || v.found || want.Seq == 0:
	case v.top < want.Seq:
		v.find(Truncated, v.top+1, want.Seq, "")
	case !slices.ContainsFunc(v.findings, func(f Finding) bool { return f.First <= want.Seq && want.Seq <= f.Last }):
		v.find(Rewritten, want.Seq, want.Seq, "")
	}
	if v.o.ID != "" && r.ID != v.o.ID {
		v.findings = slices.Insert(v.findings, 0, Finding{Foreign, 1, max(v.top, 1), ""})
	}
	r.Findings, r.More = v.findings, v.more
}

// An indexCheck compares an index with the lines that it covers, as they are read.
type indexCheck struct {
	v    *verifier
	f    *os.File
	want []byte // nil if there is nothing to compare
	x    *indexing
	to   int64 // how much of the segment it covers
}

// indexOf begins to compare the index of a segment, if there is one that a reader
// would use.
func (v *verifier) indexOf(s segment, f *os.File) *indexCheck {
	c := &indexCheck{v: v, f: f}
	info, err := f.Stat()
	if err != nil || info.Size() > maxIndexed {
		return c
	}
	if x, file, err := readIndex(s, f, info.Size(), Digest{}); err == nil {
		c.want, c.x, c.to = file, newIndexing(s), x.saved
	}
	return c
}

// check processes the next line. After the last line that is covered it compares.
func (c *indexCheck) check(f frame, bad error, line []byte, digest Digest, at int64) {
	if c.want == nil {
		return
	}
	c.x.addFrame(f, bad, line, at)
	if at+int64(len(line)) < c.to {
		return
	}
	got, err := c.x.bytes(c.to, digest)
	want, s := c.want, c.x.segment
	c.want, c.x = nil, nil
	if err != nil || at+int64(len(line)) != c.to {
		return
	}
	c.v.report.Indexes++
	if bytes.Equal(got, want) {
		return
	}
	// A writer may have undone lines meanwhile, and the index with them.
	if _, again, err := readIndex(s, c.f, c.to, Digest{}); err == nil && bytes.Equal(again, want) {
		c.v.find(Misindexed, s.first, c.v.head.Seq, filepath.Base(s.with(indexExt)))
	}
}
