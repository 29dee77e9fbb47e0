package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math/bits"
	"os"
	"slices"
	"time"

	"github.com/tidwall/gjson"
)

// The index of a segment is a line of JSON, the header, and a row of fixed size
// for each line of the segment. It may cover only the segment's beginning. It is
// written without sync and rebuilt where it is missing or does not fit, so what
// rests on it is speed; nothing is ever verified by it.

const (
	rowSize      = 56
	maxCodes     = 63 // further codes share the last bit
	indexVersion = 1
	saveEvery    = 16 << 20 // bytes of the segment
)

// indexHeader describes the rows, and the segment well enough to see that it is
// another one now.
type indexHeader struct {
	V       int       `json:"v"`
	Covered int64     `json:"covered"` // bytes of the segment
	Rows    int       `json:"rows"`
	LastAt  int64     `json:"last_at"` // where the last line begins
	Last    Digest    `json:"last"`    // its digest
	Sum     Digest    `json:"sum"`     // of the rows
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Runs    []string  `json:"runs"`
	Models  []string  `json:"models"`
	Types   []string  `json:"types"`
	Codes   []string  `json:"codes"`
}

// row is one line of a segment in its index.
type row struct {
	seq   uint64
	more  uint32 // events behind the first
	at    int64
	size  int
	time  time.Time
	cycle int
	run   uint32
	model uint32
	typ   uint32
	codes uint64
}

// putAt is no method of row alone: offsets are in the segment.
func appendRow(dst []byte, r row) []byte {
	e := binary.LittleEndian
	dst = e.AppendUint64(dst, r.seq)
	dst = e.AppendUint64(dst, uint64(r.at))
	dst = e.AppendUint64(dst, uint64(r.time.UnixNano()))
	dst = e.AppendUint64(dst, r.codes)
	for _, v := range [...]uint32{r.more, uint32(r.size), uint32(int32(r.cycle)), r.run, r.model, r.typ} {
		dst = e.AppendUint32(dst, v)
	}
	return dst
}

func rowAt(b []byte, i int) row {
	b = b[i*rowSize : (i+1)*rowSize]
	e := binary.LittleEndian
	u := func(at int) uint32 { return e.Uint32(b[at:]) }
	return row{
		seq: e.Uint64(b), at: int64(e.Uint64(b[8:])), time: time.Unix(0, int64(e.Uint64(b[16:]))).UTC(),
		codes: e.Uint64(b[24:]), more: u(32), size: int(u(36)), cycle: int(int32(u(40))),
		run: u(44), model: u(48), typ: u(52),
	}
}

// indexing is an index in memory: as it grows, or as it was read.
type indexing struct {
	segment segment
	header  indexHeader
	data    []byte
	runs    table
	models  table
	types   table
	codes   table
	saved   int64 // how much of the segment the file covers
}

// table numbers strings.
type table struct {
	list []string
	at   map[string]uint32
}

func (t *table) number(s string) uint32 {
	n, ok := t.at[s]
	if !ok {
		if t.at == nil {
			t.at = map[string]uint32{}
		}
		n = uint32(len(t.list))
		t.at[s] = n
		t.list = append(t.list, s)
	}
	return n
}

// find returns a string's number.
func (t *table) find(s string) (uint32, bool) {
	n, ok := t.at[s]
	return n, ok
}

func tableOf(list []string) table {
	t := table{}
	for _, s := range list {
		t.number(s)
	}
	return t
}

func newIndexing(s segment) *indexing { return &indexing{segment: s} }

func (x *indexing) rows() int { return len(x.data) / rowSize }

// add adds a line.
func (x *indexing) add(r row, run string, typ Type, f facts) {
	r.run, r.typ, r.model = x.runs.number(run), x.types.number(string(typ)), x.models.number(f.model)
	for _, code := range f.codes {
		r.codes |= 1 << min(x.codes.number(code), maxCodes)
	}
	if n := r.time; x.header.From.IsZero() || n.Before(x.header.From) {
		x.header.From = n
	}
	if r.time.After(x.header.To) {
		x.header.To = r.time
	}
	x.data = appendRow(x.data, r)
}

// truncate forgets all but the first rows.
func (x *indexing) truncate(rows int) { x.data = x.data[:rows*rowSize] }

// save writes the index now and then.
func (x *indexing) save(s state) {
	if s.size-x.saved >= saveEvery {
		x.flush(s)
	}
}

// flush writes the index. Where that fails there is none, which is no error.
func (x *indexing) flush(s state) {
	if s.rows == 0 || s.size == x.saved {
		return
	}
	x.write(s.size, s.prev)
}

// write writes the index of the segment's first bytes, whose last line has the
// digest.
func (x *indexing) write(covered int64, last Digest) {
	h := x.header
	h.V, h.Covered, h.Rows, h.Last = indexVersion, covered, x.rows(), last
	h.LastAt = rowAt(x.data, h.Rows-1).at
	h.Sum = sha256.Sum256(x.data)
	h.Runs, h.Models, h.Types, h.Codes = x.runs.list, x.models.list, x.types.list, x.codes.list
	head, err := json.Marshal(h)
	if err == nil {
		err = replaceFile(x.segment.with(indexExt), append(head, '\n'), x.data)
	}
	if err == nil {
		x.saved = covered
	}
}

var errStale = errors.New("the index does not fit its segment")

// readIndex reads a segment's index and checks that it fits.
func readIndex(s segment, f io.ReaderAt, size int64) (*indexing, error) {
	data, err := os.ReadFile(s.with(indexExt))
	if err != nil {
		return nil, err
	}
	head, rows, ok := bytes.Cut(data, []byte("\n"))
	x := &indexing{segment: s, data: rows}
	if !ok || json.Unmarshal(head, &x.header) != nil || !x.fits(f, size) {
		return nil, errStale
	}
	h := x.header
	x.runs, x.models, x.types, x.codes = tableOf(h.Runs), tableOf(h.Models), tableOf(h.Types), tableOf(h.Codes)
	x.saved = h.Covered
	return x, nil
}

// fits reports whether the index is whole and the segment still has the last
// line that it covers. An edit elsewhere is seen when the line is read.
func (x *indexing) fits(f io.ReaderAt, size int64) bool {
	h := x.header
	n := h.Covered - h.LastAt
	if h.V != indexVersion || h.Rows < 1 || len(x.data) != h.Rows*rowSize || h.Covered > size || n <= 0 || n > maxLine || h.LastAt < 0 {
		return false
	}
	if sha256.Sum256(x.data) != [sha256.Size]byte(h.Sum) {
		return false
	}
	for i := range h.Rows {
		if r := rowAt(x.data, i); int(r.run) >= len(h.Runs) || int(r.model) >= len(h.Models) || int(r.typ) >= len(h.Types) || r.at < 0 || r.at+int64(r.size) > h.Covered {
			return false
		}
	}
	line := make([]byte, n)
	_, err := f.ReadAt(line, h.LastAt)
	return err == nil && sha256.Sum256(line) == [sha256.Size]byte(h.Last)
}

// loadIndexing returns the index of a segment's first size bytes: read as far as
// its file goes, and from there on made.
func loadIndexing(s segment, f io.ReaderAt, size int64) (*indexing, error) {
	x, err := readIndex(s, f, size)
	if err != nil {
		x = newIndexing(s)
	}
	return x, x.scan(f, x.header.Covered, size)
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

// addLine adds a line as it is found in the segment. One that is none of ours
// has no row: readers find it only when they read all.
func (x *indexing) addLine(line []byte, at int64) {
	f, err := parseFrame(line)
	if err != nil {
		return
	}
	front := line[:min(len(line), frontSize)]
	r := row{seq: f.first, more: uint32(f.last - f.first), at: at, size: len(line), cycle: int(gjson.GetBytes(front, "cycle").Int())}
	r.time, _ = time.Parse(time.RFC3339Nano, f.time)
	x.add(r, member(front, `"run":"`), f.typ, factsIn(f.typ, line))
}

// factsIn reads from a line what the payload's facts were.
func factsIn(t Type, line []byte) facts {
	var f facts
	switch t {
	case TypeExchange, TypeInvocation:
		got := gjson.GetManyBytes(line, "payload.model", "payload.replies.#.diagnostics.#.code|@flatten")
		f.model = got[0].String()
		for _, c := range got[1].Array() {
			f.codes = append(f.codes, c.String())
		}
	case TypeRunStart:
		f.model = gjson.GetBytes(line, "payload.model").String()
	case TypeAdvisory, TypeError:
		f.codes = oneCode(gjson.GetBytes(line, "payload.code").String())
	}
	return f
}

// codesOfRow lists a row's diagnostics; others stands for those that the index
// has no room for.
func (x *indexing) codesOfRow(r row) (codes []string) {
	for m := r.codes; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		if i >= len(x.codes.list) {
			continue
		}
		if i == maxCodes && len(x.codes.list) > maxCodes+1 {
			codes = append(codes, "others")
			continue
		}
		if code := x.codes.list[i]; !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return codes
}
