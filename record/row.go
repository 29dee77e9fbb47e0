package record

import (
	"encoding/binary"
	"strings"
	"time"
)

// row is one line of a segment in its index.
type row struct {
	seq   uint64 // 0 if the line is not an event
	more  uint32 // events after the first
	at    int64
	size  int
	time  time.Time
	cycle int
	run   uint32
	model uint32
	typ   uint32
	codes uint64
	// odd reports whether the row lacks some of what the line says, because it does
	// not fit. Every query then reads the line itself.
	odd bool
}

func appendRow(dst []byte, r row) []byte {
	e := binary.LittleEndian
	dst = e.AppendUint64(dst, r.seq)
	dst = e.AppendUint64(dst, uint64(r.at))
	dst = e.AppendUint64(dst, uint64(r.time.UnixNano()))
	dst = e.AppendUint64(dst, r.codes)
	if r.odd {
		r.typ |= oddRow
	}
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
		run: u(44), model: u(48), typ: u(52) &^ oddRow, odd: u(52)&oddRow != 0,
	}
}

// end is the place after the row's line.
func (r *row) end() int64 { return r.at + int64(r.size) }

// last is the row's last event.
func (r *row) last() uint64 { return r.seq + uint64(r.more) }

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
		s = strings.Clone(s) // so that it does not keep the whole line in memory
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

// truncate removes all except the first n.
func (t *table) truncate(n int) {
	for _, s := range t.list[n:] {
		delete(t.at, s)
	}
	t.list = t.list[:n]
}

// tableOf returns the table of a list; ok is false if a string is in it twice.
func tableOf(list []string) (t table, ok bool) {
	for _, s := range list {
		t.number(s)
	}
	return t, len(t.list) == len(list)
}
