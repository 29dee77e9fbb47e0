package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// The index of a segment is a line of JSON, the header, and a row of fixed size for
// each line of the segment. It may cover only the segment's beginning. It is a
// function of the lines that it covers: a writer, a reader and Verify all make the
// same bytes. It is written without sync, and made again if it is missing or
// does not fit. Nothing is ever verified by it.

const (
	rowSize      = 56
	maxCodes     = 63 // further codes share the last bit
	indexVersion = 2
	saveEvery    = 16 << 20  // bytes of the segment
	maxIndexed   = 256 << 20 // a longer segment has no index, and is read line by line
	oddRow       = 1 << 31   // in typ
)

// indexHeader describes the rows.
type indexHeader struct {
	V       int      `json:"v"`
	Covered int64    `json:"covered"` // bytes of the segment
	Last    Digest   `json:"last"`    // of the last line that is covered
	Sum     Digest   `json:"sum"`     // of the rows
	Runs    []string `json:"runs"`
	Models  []string `json:"models"`
	Types   []string `json:"types"`
	Codes   []string `json:"codes"`
}

// indexing is an index in memory, either growing or read from a file.
type indexing struct {
	segment segment
	off     bool // the segment is too long to have one
	data    []byte
	runs    table
	models  table
	types   table
	codes   table
	saved   int64 // how much of the segment the file covers
}

// An extent says how far an index got.
type extent struct{ rows, runs, models, types, codes int }

func newIndexing(s segment) *indexing { return &indexing{segment: s} }

func (x *indexing) rows() int { return len(x.data) / rowSize }

func (x *indexing) extent() extent {
	return extent{x.rows(), len(x.runs.list), len(x.models.list), len(x.types.list), len(x.codes.list)}
}

// truncate removes what was added after e.
func (x *indexing) truncate(e extent) {
	x.data, x.saved = x.data[:e.rows*rowSize], 0
	x.runs.truncate(e.runs)
	x.models.truncate(e.models)
	x.types.truncate(e.types)
	x.codes.truncate(e.codes)
}

// The times that fit into a row.
var minRowTime, maxRowTime = time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)

// index adds a line.
func (x *indexing) index(r row, run string, typ Type, f facts) {
	if x.off {
		return
	}
	r.run, r.typ, r.model = x.runs.number(run), x.types.number(string(typ)), x.models.number(f.model)
	for _, code := range f.codes {
		r.codes |= 1 << min(x.codes.number(code), maxCodes)
	}
	if r.time.Before(minRowTime) || r.time.After(maxRowTime) {
		r.time, r.odd = time.Unix(0, 0), true
	}
	r.odd = r.odd || int(int32(r.cycle)) != r.cycle
	x.data = appendRow(x.data, r)
}

// addLine adds a line as it is in the segment. A line that is not an event gets a
// row of number 0.
func (x *indexing) addLine(line []byte, at int64) {
	f, err := parseFrame(line)
	x.addFrame(f, err, line, at)
}

// addFrame is addLine for a line whose frame was read.
func (x *indexing) addFrame(f frame, err error, line []byte, at int64) {
	if err != nil {
		x.index(row{at: at, size: len(line), odd: true, time: time.Unix(0, 0)}, "", "", facts{})
		return
	}
	r := row{seq: f.first, at: at, size: len(line)}
	if more := f.last - f.first; more > math.MaxUint32 || more > 0 && f.typ != TypeSealed {
		r.odd = true
	} else {
		r.more = uint32(more)
	}
	front := line[:min(len(line), frontSize)]
	run := member(front, `"run":"`)
	var ok bool
	r.cycle, ok = cycleIn(front)
	if r.time, err = time.Parse(time.RFC3339Nano, f.time); err != nil || !ok || strings.Contains(run+string(f.typ), `\`) {
		r.odd = true
	}
	x.index(r, run, f.typ, factsIn(f.typ, line))
}

// bytes returns the index's file for the segment's first bytes, whose last line has
// the given digest.
func (x *indexing) bytes(covered int64, last Digest) ([]byte, error) {
	h := indexHeader{V: indexVersion, Covered: covered, Last: last, Sum: sha256.Sum256(x.data)}
	h.Runs, h.Models, h.Types, h.Codes = x.runs.list, x.models.list, x.types.list, x.codes.list
	head, err := json.Marshal(h)
	return slices.Concat(head, []byte("\n"), x.data), err
}

// save writes the index from time to time.
func (x *indexing) save(s state) {
	if s.size-x.saved >= saveEvery {
		x.write(s.size, s.prev)
	}
}

// write writes the index. If that fails there is no index, which is not an error.
func (x *indexing) write(covered int64, last Digest) {
	if x.rows() == 0 || covered == x.saved || covered > maxIndexed {
		return
	}
	if data, err := x.bytes(covered, last); err == nil {
		x.put(covered, data)
	}
}

func (x *indexing) put(covered int64, data []byte) {
	if replaceFile(x.segment.with(indexExt), false, data) == nil {
		x.saved = covered
	}
}

var errStale = errors.New("the index does not fit its segment")

// readIndex reads the index of a segment's first complete lines, and checks that it
// fits them. If want is set, the file must have that digest. It returns the file as
// well.
func readIndex(s segment, f io.ReaderAt, size int64, want Digest) (*indexing, []byte, error) {
	file, err := readRegular(s.with(indexExt), 2*size+4096) // an index is smaller than its segment
	if err != nil {
		return nil, nil, err
	}
	head, rows, ok := bytes.Cut(file, []byte("\n"))
	var h indexHeader
	if !ok || json.Unmarshal(head, &h) != nil {
		return nil, nil, errStale
	}
	if !want.IsZero() && digestOf(file) != want || want.IsZero() && digestOf(rows) != h.Sum {
		return nil, nil, errStale
	}
	x := &indexing{segment: s, data: rows, saved: h.Covered}
	var fine [4]bool
	x.runs, fine[0] = tableOf(h.Runs)
	x.models, fine[1] = tableOf(h.Models)
	x.types, fine[2] = tableOf(h.Types)
	x.codes, fine[3] = tableOf(h.Codes)
	if fine != [4]bool{true, true, true, true} || !x.fits(&h, f, size) {
		return nil, nil, errStale
	}
	return x, file, nil
}

// fits reports whether the rows are complete, follow each other without a gap, and
// end with a line that the segment still has. The rest of a row is compared with
// its line when that is read, and by Verify.
func (x *indexing) fits(h *indexHeader, f io.ReaderAt, size int64) bool {
	if h.V != indexVersion || len(x.data) == 0 || len(x.data)%rowSize != 0 || h.Covered > size {
		return false
	}
	at, next := int64(0), x.segment.first
	for i := range x.rows() {
		r := rowAt(x.data, i)
		if r.at != at || r.size == 0 || !x.numbered(r) || r.seq != next && !(r.odd && r.seq == 0) {
			return false
		}
		if at = r.end(); r.seq > 0 {
			next = r.last() + 1
		}
	}
	last := rowAt(x.data, x.rows()-1)
	if at != h.Covered || last.size > maxLine {
		return false
	}
	line := make([]byte, last.size)
	_, err := f.ReadAt(line, last.at)
	return err == nil && digestOf(line) == h.Last
}

// numbered reports whether the tables have the entries that a row refers to.
func (x *indexing) numbered(r row) bool {
	return int(r.run) < len(x.runs.list) && int(r.model) < len(x.models.list) && int(r.typ) < len(x.types.list) &&
		bits.Len64(r.codes) <= len(x.codes.list) && (r.more == 0 || x.types.list[r.typ] == string(TypeSealed))
}

// indexUse says how an index is obtained.
type indexUse struct {
	trusted bool // read only an index that a closing checkpoint names
	keep    bool // write an index that was made
}

// indexOf reads a segment's index, or makes it. If a closing checkpoint ends the
// segment, only the index that the checkpoint names is read.
func indexOf(s segment, f file, u indexUse) (*indexing, error) {
	t, err := tailOf(f)
	if err != nil {
		return nil, err
	}
	if t.size > maxIndexed {
		return &indexing{segment: s, off: true}, nil
	}
	covers := t.size
	c, closed := closing(t.line)
	if closed {
		covers -= int64(len(t.line))
	}
	x := newIndexing(s)
	if closed || !u.trusted {
		if read, _, err := readIndex(s, f, covers, c.Index); err == nil {
			x = read
		}
	}
	if err := x.scan(f, x.saved, covers); err != nil {
		return nil, err
	}
	if u.keep && covers-x.saved >= saveEvery/16 {
		x.keep(f, covers)
	}
	return x, x.scan(f, covers, t.size)
}

// keep writes an index that was made of a segment's first bytes.
func (x *indexing) keep(f io.ReaderAt, covers int64) {
	last := rowAt(x.data, x.rows()-1)
	line := make([]byte, last.size)
	if _, err := f.ReadAt(line, last.at); err == nil && last.end() == covers {
		x.write(covers, digestOf(line))
	}
}

// scan adds the lines from one place to another.
func (x *indexing) scan(f io.ReaderAt, from, to int64) error {
	l := newLines(io.NewSectionReader(f, from, to-from), from)
	for {
		line, at, err := l.next()
		if err == io.EOF || err == errTorn {
			return nil
		}
		if err != nil {
			return err
		}
		x.addLine(line, at)
	}
}

// hasOdd reports whether a row is odd, and so may match any query.
func (x *indexing) hasOdd() bool {
	for at := rowSize - 1; at < len(x.data); at += rowSize {
		if x.data[at]&(oddRow>>24) != 0 {
			return true
		}
	}
	return false
}

// span returns the time of the first and the last event of the rows, if the query
// asks for a time.
func (x *indexing) span(q *Query) (from, to time.Time) {
	if q.From.IsZero() && q.To.IsZero() {
		return from, to
	}
	for i := range x.rows() {
		r := rowAt(x.data, i)
		if from.IsZero() || r.time.Before(from) {
			from = r.time
		}
		if r.time.After(to) {
			to = r.time
		}
	}
	return from, to
}

// codesOfRow lists a row's diagnostics; others stands for those that do not fit
// into the index.
func (x *indexing) codesOfRow(r row) (codes []string) {
	for m := r.codes; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		if i == maxCodes && len(x.codes.list) > maxCodes+1 {
			codes = append(codes, "others")
			continue
		}
		codes = append(codes, x.codes.list[i])
	}
	return codes
}
