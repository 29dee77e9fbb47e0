package reading

import (
	"bytes"

	"github.com/sotto-llm/sotto"
)

// A thoughtTrim trims blocks of reasoning as they come and puts a blank line
// between them. Joined, its output equals Reply.Reasoning.
type thoughtTrim struct {
	block   int
	started bool // some of the block was given
	any     bool // some of the reply was given
	wait    []byte
	most    int // how many bytes may wait; 0 means unlimited
}

var blankLine = []byte("\n\n")

const white = " \t\n\v\f\r"

func IsWhite(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// trimLeft and trimRight work as those of package bytes, for the characters in
// white only.
func trimLeft(b []byte) []byte {
	for len(b) > 0 && IsWhite(b[0]) {
		b = b[1:]
	}
	return b
}

func trimRight(b []byte) []byte {
	for len(b) > 0 && IsWhite(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func (t *thoughtTrim) trim(p sotto.Piece, give func(text []byte)) {
	b := p.Bytes
	if p.Block != t.block {
		t.block, t.started, t.wait = p.Block, false, t.wait[:0]
	}
	if !t.started {
		if b = trimLeft(b); len(b) == 0 {
			return
		}
		if t.any {
			give(blankLine)
		}
		t.started, t.any = true, true
	}
	ink := trimRight(b)
	if len(ink) > 0 {
		if len(t.wait) > 0 {
			give(bytes.Clone(t.wait))
			t.wait = t.wait[:0]
		}
		give(ink)
	}
	t.wait = append(t.wait, b[len(ink):]...)
	if t.most > 0 && len(t.wait) > t.most { // as with visible text, it has waited for too long
		give(bytes.Clone(t.wait))
		t.wait = t.wait[:0]
	}
}
