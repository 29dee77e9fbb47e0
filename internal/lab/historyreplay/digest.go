package historyreplay

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// A digest is of several texts, of which each keeps its borders.
type digest struct{ hash.Hash }

func newDigest() digest { return digest{sha256.New()} }

func (d digest) part(text string) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(text)))
	d.Write(n[:])
	d.Write([]byte(text))
}

// words adds a text, in which the kind of white space does not matter.
func (d digest) words(text string) { d.part(shorttext.OneLine(text)) }

func (d digest) sum() (sum [32]byte) {
	d.Sum(sum[:0])
	return sum
}
