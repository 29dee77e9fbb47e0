package sidecar

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-llm/sotto/record"
)

const (
	// blockSize is how many bytes of lines the index of words tells apart. A line is in one
	// block; a longer one is a block of its own.
	blockSize = 16 << 10
	// listed is the share of the lines that listed words may have: one byte in so many, above
	// listedFree. Further words are not listed; blocks that have one are looked into by every
	// search for words.
	listed     = 24
	listedFree = 64 << 10
	gramSize   = 5
	maxRows    = 1<<rowBits - 1
)

// A builder makes the sidecar of the first lines of a segment, which it gets in order.
type builder struct {
	o       record.ReadOptions
	first   uint64
	covered int64
	lines   int
	written int64 // how much the file covers
	last    lastLine
	sealed  bool // a line is an encrypted batch
	next    uint64

	numbers [numbers][]int64
	words   [words]column
	ids     []uint64 // see identifier
	runs    map[string]bool

	tokens   map[string]int32
	list     []token
	used     int64 // bytes of listed words
	block    uint32
	ends     []blockEnd
	unlisted []uint32 // blocks that every search for words looks into
	buf      []byte
}

type lastLine struct {
	at  int64
	sum record.Digest
}

// A column is the words of the events, as numbers in a list.
type column struct {
	at   map[string]int64
	list []string
	rows []int64
}

func (c *column) add(word string) {
	n, ok := c.at[word]
	if !ok {
		if c.at == nil {
			c.at = map[string]int64{}
		}
		n = int64(len(c.list))
		c.at[word], c.list = n, append(c.list, word)
	}
	c.rows = append(c.rows, n)
}

// identifier is an identifier by which the event of a row is known: 40 bits of its digest, and
// the row.
func identifier(id string, row uint32) uint64 { return mark(id)<<rowBits | uint64(row) }

// A token is a listed word, and the blocks that have it.
type token struct {
	text  string
	last  uint32 // the last block, from 1
	count uint32
	posts []byte // differences of block numbers
}

// A blockEnd says where a block ends.
type blockEnd struct {
	rows int
	at   int64
}

// ErrNoKey is the error of an encrypted segment without an identity that reads it.
var ErrNoKey = errors.New("the segment is encrypted, and no identity was given")

// errIrregular is the error of a segment that has no sidecar because it is not one that a
// writer leaves: its events are not numbered one after the other.
var errIrregular = errors.New("the events of the segment are not in order")

func newBuilder(first uint64, o record.ReadOptions) *builder {
	o.NoPrompts = true
	return &builder{o: o, first: first, next: first, runs: map[string]bool{}, tokens: map[string]int32{}, block: 1}
}

// add adds the next line, which has its newline.
func (b *builder) add(line []byte) error {
	at := b.covered
	m, err := record.MarkOf(line)
	if err != nil || m.First != b.next {
		return errIrregular
	}
	b.next = m.Head.Seq + 1
	events, err := record.EventsOf(bytes.Clone(line), b.o)
	switch {
	case err != nil && m.Head.Seq > m.First:
		return errIrregular // a batch of which not all can be read
	case err != nil:
		b.row(odd(m.First), int64(len(line)))
		b.unlist()
	case events[0].Type == record.TypeSealed && len(b.o.Identities) == 0:
		return ErrNoKey
	default:
		if b.sealed = b.sealed || events[0].Seq != m.Head.Seq || !bytes.Equal(events[0].Line(), bytes.TrimSuffix(line, []byte("\n"))); b.sealed && uint64(len(events)) != m.Head.Seq-m.First+1 {
			return errIrregular
		}
		size := int64(len(line))
		for i := range events {
			if err := b.event(&events[i], size); err != nil {
				return err
			}
			size = 0
		}
	}
	b.covered += int64(len(line))
	b.lines++
	b.last = lastLine{at, m.Head.Digest}
	if len(b.numbers[Seq]) > maxRows {
		return errIrregular
	}
	from := int64(0)
	if n := len(b.ends); n > 0 {
		from = b.ends[n-1].at
	}
	if b.covered-from >= blockSize {
		b.endBlock()
	}
	return nil
}

func odd(seq uint64) Facts {
	var f Facts
	f.Number[Seq], f.Number[Odd] = int64(seq), 1
	return f
}

func (b *builder) endBlock() {
	b.ends = append(b.ends, blockEnd{len(b.numbers[Seq]), b.covered})
	b.block++
}

func (b *builder) event(e *record.Event, size int64) error {
	f := FactsOf(e)
	if e.Seq != uint64(f.Number[Seq]) || f.Number[Seq] < 0 {
		return errIrregular
	}
	b.row(f, size)
	row := uint32(len(b.numbers[Seq]) - 1)
	for _, id := range identifiers(e) {
		b.ids = append(b.ids, identifier(id, row))
	}
	if e.Run != "" && !b.runs[e.Run] {
		b.runs[e.Run] = true
		b.ids = append(b.ids, identifier(e.Run, row))
		if base := baseRun(e.Run); base != e.Run && !b.runs[base] {
			b.runs[base] = true
			b.ids = append(b.ids, identifier(base, row))
		}
	}
	if !textsIn(e.Line(), b.text) {
		b.unlist()
	}
	return nil
}

func (b *builder) row(f Facts, size int64) {
	f.Number[Size] = size
	for i := range b.numbers {
		b.numbers[i] = append(b.numbers[i], f.Number[i])
	}
	for i := range b.words {
		b.words[i].add(f.Word[i])
	}
}

// whole adds a word, or the pieces of a long one: each part of it of at most half a piece is in
// one of them, its beginning is that of the first, and its end that of the last.
func (b *builder) whole(w []byte) {
	if len(w) > longestWord && !fewPieces(w) {
		b.unlist()
		return
	}
	pieces(w, func(p []byte) bool { b.word(p); return true })
}

// pieces calls f with the pieces of a word, while it returns true.
func pieces(w []byte, f func(p []byte) bool) {
	for len(w) > maxWord {
		if !f(w[:maxWord]) {
			return
		}
		w = w[min(maxWord/2, len(w)-maxWord):]
	}
	f(w)
}

// fewPieces reports whether a word has no more different pieces than the longest that is listed:
// models repeat a digit or a syllable for thousands of bytes.
func fewPieces(w []byte) bool {
	var seen [][]byte
	pieces(w, func(p []byte) bool {
		if !slices.ContainsFunc(seen, func(s []byte) bool { return bytes.Equal(s, p) }) {
			seen = append(seen, p)
		}
		return len(seen) <= longestWord/(maxWord/2)
	})
	return len(seen) <= longestWord/(maxWord/2)
}

// text adds the words of a text to the block.
func (b *builder) text(text string) {
	b.buf = runs(text, true, b.buf, func(r run) {
		if r.class == ideogram {
			pairs(r.word, b.word)
			return
		}
		b.whole(r.word)
	})
}

func (b *builder) word(w []byte) {
	i, ok := b.tokens[string(w)]
	if !ok {
		if b.used+int64(len(w)) > listedFree+b.covered/listed {
			b.unlist()
			return
		}
		b.used += int64(len(w))
		i = int32(len(b.list))
		b.list = append(b.list, token{text: string(w)})
		b.tokens[b.list[i].text] = i
	}
	if t := &b.list[i]; t.last != b.block {
		t.posts = binary.AppendUvarint(t.posts, uint64(b.block-t.last-1))
		t.last = b.block
		t.count++
	}
}

// unlist notes that every search for words looks into the block.
func (b *builder) unlist() {
	if n := len(b.unlisted); n == 0 || b.unlisted[n-1] != b.block {
		b.unlisted = append(b.unlisted, b.block)
	}
}

// mark returns what a sidecar has of an identifier.
func mark(id string) uint64 {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:]) >> 24
}

// baseRun returns the run that an agent below it belongs to.
func baseRun(name string) string {
	base, _, _ := bytes.Cut([]byte(name), []byte("+"))
	return string(base)
}

// file returns the sidecar of the lines so far. The builder can go on.
func (b *builder) file() ([]byte, error) {
	if b.lines == 0 {
		return nil, errors.New("no lines")
	}
	w := newWriter()
	defer w.close()
	w.identifiers(slices.Clone(b.ids))
	w.terms(b.list)
	w.add("unlisted", w.compressed(blockNumbers(b.unlisted)))
	ends := b.ends
	if n := len(ends); n == 0 || ends[n-1].at < b.covered {
		ends = append(slices.Clip(ends), blockEnd{len(b.numbers[Seq]), b.covered})
	}
	w.add("blocks", w.compressed(blockList(ends)))
	b.columns(w)
	w.end()
	h := header{
		V: version, First: b.first, Next: b.next, Covered: b.covered, Lines: b.lines, Rows: len(b.numbers[Seq]), Blocks: len(ends),
		LastAt: b.last.at, Last: b.last.sum, Sealed: b.sealed, Sections: w.sections,
	}
	for i, at := range b.numbers[Time] {
		if b.numbers[Odd][i] != 0 {
			h.Odd++
			continue
		}
		if i == h.Odd {
			h.From, h.To = at, at
		}
		h.From, h.To = min(h.From, at), max(h.To, at)
	}
	head, err := h.bytes()
	if err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
	}
	return append(head, w.data...), nil
}

// columns writes the facts.
func (b *builder) columns(w *writer) {
	for i := range b.words {
		w.words(Word(i), b.words[i].list, b.words[i].rows)
	}
	for i := range b.numbers {
		w.numbers(Number(i), b.numbers[i])
	}
}

// words writes a column of words, unless no event has one.
func (w *writer) words(i Word, list []string, rows []int64) {
	if len(list) == 1 && list[0] == "" {
		return
	}
	w.add(wordNames[i]+"_list", w.compressed(stringList(list)))
	w.add(wordNames[i], w.compressed(packed(rows)))
}

// numbers writes a column of numbers, unless no event has one.
func (w *writer) numbers(i Number, list []int64) {
	switch i {
	case Seq:
		return // the numbers follow each other
	case Time:
		list = differences(list)
	}
	if slices.ContainsFunc(list, func(n int64) bool { return n != 0 }) {
		w.add(numberNames[i], w.compressed(packed(list)))
	}
}

func differences(list []int64) []int64 {
	out := make([]int64, len(list))
	before := int64(0)
	for i, n := range list {
		out[i] = n - before // it wraps around, and back
		before = n
	}
	return out
}
