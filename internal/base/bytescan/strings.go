package bytescan

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Bytes returns the bytes of a text, which nobody may change.
func Bytes[T ~string | ~[]byte](text T) []byte {
	s := *(*string)(unsafe.Pointer(&text)) // a slice begins with what a string is
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// fewInString is the least length in bytes for which the inside of a string is searched by
// blocks.
const fewInString = 32

// Special returns the offset in b of the first byte that a string in JSON cannot contain as it
// is (a quote, a backslash, or a control character) or that is also; or len(b).
func Special(b []byte, also byte) int {
	if len(b) >= fewInString {
		if found := specialIn(b, uint64(also)*ones); found != 0 { // as in names and numbers
			return bits.TrailingZeros64(found) / 8
		}
		if at, ok := specialBlock(b, also); ok {
			return at
		}
	}
	return specialOf(b, 0, also)
}

// CopyPlain copies the bytes of b that come before the first that [Special] finds to dst, and
// returns how many they are. It may change all of the first len(b) bytes of dst, which has
// them, and does not overlap b.
func CopyPlain(dst, b []byte, also byte) int {
	dst = dst[:len(b)]
	if len(b) >= fewInString {
		if at, ok := copyBlock(dst, b, also); ok {
			return at
		}
	}
	return copy(dst, b[:specialOf(b, 0, also)])
}

// Words whose eight bytes all have the value that the name says.
const (
	ones        = 0x0101010101010101
	highBits    = 0x80 * ones
	quotes      = '"' * ones
	backslashes = '\\' * ones
	blanks      = ' ' * ones
)

// specialIn returns a word whose lowest bit that is set is in the first special byte of the
// first eight of b, or 0. Each byte of others is special too.
func specialIn(b []byte, others uint64) uint64 {
	x := binary.LittleEndian.Uint64(b)
	q, s, o := x^quotes, x^backslashes, x^others
	// The high bit of each special byte is set. It may also be set for bytes after the
	// first of these, because the subtraction borrows.
	return ((q-ones)&^q | (s-ones)&^s | (o-ones)&^o | (x-blanks)&^x) & highBits
}

// specialOf is Special from byte i on, without blocks. It reads eight bytes at a time.
func specialOf(b []byte, i int, also byte) int {
	others := uint64(also) * ones
	for ; i+8 <= len(b); i += 8 {
		if found := specialIn(b[i:], others); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < ' ' || c == also {
			return i
		}
	}
	return i
}
