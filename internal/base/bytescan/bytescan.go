// Package bytescan finds the few places of a text that a reader has to look at: where a marker
// may begin, and where a fence may stand. It has assembly for amd64 and arm64, which looks at
// 64 bytes at a time, and a portable version, which the build tag purego selects elsewhere
// too. All give the same results.
package bytescan

import "bytes"

const (
	// fewest is the length in bytes below which no search by blocks pays, and the least that
	// one needs.
	fewest = 34
	// fewForms is the least length in bytes for blocks of 64.
	fewForms = 66
)

// A Forms knows the first three bytes of the forms that it finds.
type Forms struct {
	nibbles [6][16]byte // see add
	first   [256]bool
	firsts  []byte
	second  [256]*[256]bool
}

// NewForms returns the forms that begin with a byte of firsts, and that may go on with b, c.
// It calls mayFollow only with bytes b of seconds.
func NewForms(firsts, seconds []byte, mayFollow func(b, c byte) bool) *Forms {
	f := &Forms{firsts: firsts}
	for _, a := range firsts {
		f.first[a] = true
		f.add(0, a, allBuckets)
	}
	rows := map[[256]bool]*[256]bool{}
	var buckets []*[256]bool
	for _, b := range seconds {
		var row [256]bool
		some := false
		for c := range row {
			row[c] = mayFollow(b, byte(c))
			some = some || row[c]
		}
		if !some {
			continue
		}
		if rows[row] == nil {
			rows[row] = &row
			buckets = append(buckets, &row)
		}
		f.second[b] = rows[row]
	}
	for i, row := range buckets {
		bit := byte(1) << (i % 8) // rows beyond the eighth share a bucket
		for b := range f.second {
			if f.second[b] == row {
				f.add(1, byte(b), bit)
			}
		}
		for c, may := range row {
			if may {
				f.add(2, byte(c), bit)
			}
		}
	}
	return f
}

// allBuckets is a byte of every form.
const allBuckets = 0xff

// add puts byte c at a place of the first three into the buckets whose bits are set. A byte is
// in a bucket if both its nibbles are: so more bytes are in it than were added, and what the
// blocks find is looked at again. This is how Teddy works, of the library Hyperscan.
func (f *Forms) add(place int, c, buckets byte) {
	f.nibbles[2*place][c&15] |= buckets
	f.nibbles[2*place+1][c>>4] |= buckets
}

// Next returns the offset in b of the first byte that may begin a form, or len(b). A form that
// b cuts off in its first three bytes may be one.
func (f *Forms) Next(b []byte) int {
	i := 0
	for len(b)-i >= fewest {
		at, ok := f.block(b[i:])
		if !ok {
			break
		}
		if i += at; i >= len(b)-2 {
			return i + f.first2(b[i:])
		}
		if f.begins(b[i:]) {
			return i
		}
		i++
	}
	return i + f.nextOf(b[i:])
}

// first2 returns the offset of the first byte of b, the last two of a text, that begins a form
// by itself, or 2.
func (f *Forms) first2(b []byte) int {
	switch {
	case f.first[b[0]]:
		return 0
	case f.first[b[1]]:
		return 1
	}
	return 2
}

// begins reports whether the first three bytes of b begin a form.
func (f *Forms) begins(b []byte) bool {
	row := f.second[b[1]]
	return f.first[b[0]] && row != nil && row[b[2]]
}

// nextOf is Next without blocks.
func (f *Forms) nextOf(b []byte) int {
	for i := f.nextFirst(b); i < len(b); {
		if len(b)-i < 3 || f.begins(b[i:]) {
			return i
		}
		i++
		i += f.nextFirst(b[i:])
	}
	return len(b)
}

// nextFirst returns the offset of the first byte that begins a form by itself, or len(b).
func (f *Forms) nextFirst(b []byte) int {
	if len(b) < 16 || len(f.firsts) > 3 {
		for i, c := range b {
			if f.first[c] {
				return i
			}
		}
		return len(b)
	}
	n := len(b)
	for _, c := range f.firsts {
		if i := bytes.IndexByte(b[:n], c); i >= 0 {
			n = i
		}
	}
	return n
}

// CodeMasks are the places of the bytes that code in Markdown begins and ends with, in a text
// of at most 64 bytes: bit i is byte i.
type CodeMasks struct{ Ticks, Tildes, Newlines uint64 }

// Code returns the masks of b if it has 32 to 64 bytes, and if this machine finds them at once.
func Code(b []byte) (m CodeMasks, ok bool) {
	if len(b) < 32 || len(b) > 64 {
		return m, false
	}
	ok = codeBlock(b, &m)
	return m, ok
}

// Masks are the places of the bytes of code in a block, and of those where a form may begin:
// some of those where none does are among them.
type Masks struct {
	CodeMasks
	Forms uint64
}

// Block sets m to the masks of b if b has 34 to 64 bytes, and if this machine finds them all
// at once.
func (f *Forms) Block(b []byte, m *Masks) bool {
	if f == nil || len(b) < fewest || len(b) > 64 || !f.masks(b, m) {
		return false
	}
	for i := len(b) - 2; i < len(b); i++ { // a form may be cut off here
		if f.first[b[i]] {
			m.Forms |= 1 << i
		}
	}
	return true
}

// Fences returns where three back-ticks or three tildes in a row begin.
func (m *CodeMasks) Fences() uint64 {
	return m.Ticks&(m.Ticks>>1)&(m.Ticks>>2) | m.Tildes&(m.Tildes>>1)&(m.Tildes>>2)
}

var ticks, tildes = []byte("```"), []byte("~~~")

// Fence returns the offset in b of the first three back-ticks or three tildes in a row, or
// len(b).
func Fence(b []byte) int {
	if len(b) >= fewForms {
		if at, ok := fenceBlock(b); ok {
			return at
		}
	}
	n := len(b)
	for _, run := range [][]byte{ticks, tildes} {
		if i := bytes.Index(b[:n], run); i >= 0 {
			n = i
		}
	}
	return n
}
