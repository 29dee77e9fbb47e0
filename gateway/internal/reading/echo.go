package reading

import "bytes"

// sample is how many bytes of a thought are compared to recognise it.
const sample = 4 << 10

// An echo recognises a thought that a reply brings twice: in a field of its own,
// and in tags in its content. The copy that comes first is given; the repeated one
// is not.
type echo struct {
	first    source // the source whose thought is given as it comes
	said     []byte // its first bytes, at most sample
	at       int    // how many bytes of said the other has repeated
	own      bool   // the other has different thoughts
	withheld []byte // the part of its block that the other has repeated
	block    int
}

type source uint8

const (
	nobody source = iota
	fieldSource
	contentSource
)

// native reads reasoning that comes in a field, and gives the part that is new.
func (e *echo) native(text []byte, give func([]byte)) { e.compare(fieldSource, 0, text, give) }

// inline reads reasoning of one block that comes in tags.
func (e *echo) inline(block int, text []byte, give func([]byte)) {
	e.compare(contentSource, block, text, give)
}

func (e *echo) compare(from source, block int, text []byte, give func([]byte)) {
	switch {
	case e.first == nobody, e.first == from:
		e.first = from
		e.keep(text)
		give(text)
		return
	case e.own:
		give(text)
		return
	}
	if block != e.block {
		e.block, e.withheld = block, e.withheld[:0]
	}
	cut := text
	if e.at == 0 {
		cut = bytes.TrimLeft(cut, white)
	}
	if e.repeats(e.said[min(e.at, len(e.said)):], cut) {
		e.at += len(cut)
		if len(e.withheld) < sample {
			e.withheld = append(e.withheld, text...)
		}
		return
	}
	e.own = true
	give(blankLine)
	give(e.withheld)
	give(text)
}

// repeats reports whether text continues as the known thought does. What is longer
// than the sample is assumed to match, and so is the white space that ends a
// thought.
func (e *echo) repeats(known, text []byte) bool {
	if len(e.said) == sample && len(text) > len(known) {
		text = text[:len(known)]
	}
	return bytes.HasPrefix(known, text) || bytes.HasPrefix(known, bytes.TrimRight(text, white))
}

func (e *echo) keep(text []byte) {
	if len(e.said) == 0 {
		text = bytes.TrimLeft(text, white)
	}
	if room := sample - len(e.said); room > 0 {
		if e.said == nil && len(text) > 0 {
			e.said = make([]byte, 0, firstKept)
		}
		e.said = append(e.said, text[:min(len(text), room)]...)
	}
}
