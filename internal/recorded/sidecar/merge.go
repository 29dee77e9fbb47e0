package sidecar

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A merged sidecar is one of several segments that follow each other, as if they were one. It is
// made of their sidecars, and saves requests to a store.

// A Member is a segment that a merged sidecar is of.
type Member struct {
	First  uint64
	Size   int64
	Digest [sha256.Size]byte
	Frames []int // of the segment as it is stored
	Side   Part  // its sidecar, without a cover
}

// ErrUnmergeable is the error of sidecars that cannot be merged: they do not follow each other,
// or one of them is not of all of its segment.
var ErrUnmergeable = errors.New("the sidecars cannot be merged")

// MergedDigest returns the digest by which segments with these digests are known together.
func MergedDigest(segments [][sha256.Size]byte) (digest [sha256.Size]byte) {
	h := sha256.New()
	for _, d := range segments {
		h.Write(d[:])
	}
	h.Sum(digest[:0])
	return digest
}

// Merge returns the merged sidecar of segments, with its cover. It is encrypted if one of them is.
// It is in a temporary file of a folder, which closing removes: it may have 50 MB.
func Merge(members []Member, folder string, o Options) (Part, io.Closer, error) {
	var digests [][sha256.Size]byte
	var frames []int
	size := int64(0)
	for _, m := range members {
		digests, frames, size = append(digests, m.Digest), append(frames, m.Frames...), size+m.Size
	}
	side, done, sealed, err := merge(members, folder, o)
	if err != nil {
		return Part{}, nil, err
	}
	if sealed {
		plain := done
		side, done, err = sealedPart(side, folder, o)
		if err := errors.Join(err, plain.Close()); err != nil {
			return Part{}, nil, err
		}
	}
	own := sha256.New()
	if _, err = io.Copy(own, io.NewSectionReader(side, 0, side.Size)); err == nil {
		var line []byte
		if line, err = coverOf(own.Sum(nil), MergedDigest(digests), size, frames); err == nil {
			return side.after(line), done, nil
		}
	}
	return Part{}, nil, errors.Join(err, done.Close())
}

// after returns a part that has a text before it.
func (p Part) after(text []byte) Part {
	n := int64(len(text))
	return Part{inTurn{{bytes.NewReader(text), 0, n}, {p, n, n + p.Size}}, n + p.Size}
}

// sealedPart encrypts a part into a temporary file.
func sealedPart(p Part, folder string, o Options) (Part, io.Closer, error) {
	out, err := newSpool(folder)
	if err != nil {
		return Part{}, nil, err
	}
	if err := encryptTo(out, io.NewSectionReader(p, 0, p.Size), o); err != nil {
		return Part{}, nil, errors.Join(err, out.Close())
	}
	return Part{out.f, out.n}, out, nil
}

// SameMerged compares a merged sidecar with its cover with those of the members.
func SameMerged(covered []byte, members []Member, folder string, o Options) error {
	var digests [][sha256.Size]byte
	size := int64(0)
	for _, m := range members {
		digests, size = append(digests, m.Digest), size+m.Size
	}
	side, ok := Uncovered(covered, MergedDigest(digests), size)
	if !ok || len(members) == 0 {
		return errStale
	}
	again, done, _, err := merge(members, folder, o)
	if err != nil {
		return err
	}
	defer done.Close()
	open := func(p Part) (*file, error) { return openFile(p, p.Size, nil, size, members[0].First, o.Identities) }
	x, err := open(Part{bytes.NewReader(side), int64(len(side))})
	if err != nil {
		return err
	}
	y, err := open(again)
	if err != nil {
		return err
	}
	return same(x, y)
}

// merge returns the merged sidecar of segments without a cover. sealed says that it must be
// encrypted.
func merge(members []Member, folder string, o Options) (side Part, done io.Closer, sealed bool, err error) {
	m := merger{w: newWriter()}
	defer m.w.close()
	for _, x := range members {
		f, err := openFile(x.Side, x.Side.Size, nil, x.Size, x.First, o.Identities)
		if err != nil {
			return Part{}, nil, false, err
		}
		if n := len(m.files); f.h.Covered != x.Size || n > 0 && f.h.First != m.files[n-1].h.Next {
			return Part{}, nil, false, ErrUnmergeable
		}
		m.files = append(m.files, f)
	}
	if len(m.files) == 0 {
		return Part{}, nil, false, ErrUnmergeable
	}
	if m.header(); m.h.Rows > maxRows+1 {
		return Part{}, nil, false, fmt.Errorf("%w: they have too many events", ErrUnmergeable)
	}
	var spools [3]*spool
	for i := range spools {
		if spools[i], err = newSpool(folder); err != nil {
			break
		}
		if i > 0 {
			defer func() { err = errors.Join(err, spools[i].Close()) }()
		}
	}
	if err == nil {
		m.w.out = spools[0]
		err = m.sections(spools[1], spools[2])
	}
	var head []byte
	if err == nil {
		m.h.Sections = m.w.sections
		head, err = m.h.bytes()
	}
	if err == nil && len(head) > maxHeader {
		err = ErrUnmergeable
	}
	if err != nil {
		if spools[0] != nil {
			err = errors.Join(err, spools[0].Close())
		}
		return Part{}, nil, false, err
	}
	return Part{spools[0].f, spools[0].n}.after(head), spools[0], m.h.Sealed, nil
}

// sections writes the sections. terms and posts are kept until the others are written.
func (m *merger) sections(terms, posts *spool) error {
	if err := m.identifiers(); err != nil {
		return err
	}
	grams, words, err := m.terms(terms, posts)
	if err != nil {
		return err
	}
	for _, part := range []func() error{m.blocks, m.columns} {
		if err := part(); err != nil {
			return err
		}
	}
	m.w.end()
	for i, s := range []*spool{terms, posts} {
		name := []string{"terms", "posts"}[i]
		m.w.sections[name] = section{m.w.out.n, s.n, int64(words), int64(s.sum)}
		if _, err := io.Copy(m.w.out, io.NewSectionReader(s.f, 0, s.n)); err != nil {
			return err
		}
	}
	m.w.add("grams", grams)
	return errors.Join(m.w.out.err, terms.err, posts.err)
}

type merger struct {
	w     *writer
	files []*file
	h     header
}

// each calls f with each file, and with the rows, blocks and bytes before it.
func (m *merger) each(f func(x *file, before blockEnd, blocks int) error) error {
	before, blocks := blockEnd{}, 0
	for _, x := range m.files {
		if err := f(x, before, blocks); err != nil {
			return err
		}
		before.rows += x.h.Rows
		before.at += x.h.Covered
		blocks += x.h.Blocks
	}
	return nil
}

func (m *merger) header() {
	first, last := &m.files[0].h, &m.files[len(m.files)-1].h
	m.h = header{V: version, First: first.First, Next: last.Next, Last: last.Last}
	for _, x := range m.files {
		m.h.LastAt = m.h.Covered + x.h.LastAt
		m.h.Covered += x.h.Covered
		m.h.Lines += x.h.Lines
		m.h.Blocks += x.h.Blocks
		m.h.Sealed = m.h.Sealed || x.h.Sealed || x.sealed
		if x.h.Odd < x.h.Rows {
			if m.h.Odd == m.h.Rows {
				m.h.From, m.h.To = x.h.From, x.h.To
			}
			m.h.From, m.h.To = min(m.h.From, x.h.From), max(m.h.To, x.h.To)
		}
		m.h.Rows += x.h.Rows
		m.h.Odd += x.h.Odd
	}
}

func (m *merger) identifiers() error {
	n := int64(0)
	for _, x := range m.files {
		n += x.h.Sections["ids"].size() / idSize
	}
	all := make([]uint64, 0, n)
	err := m.each(func(x *file, before blockEnd, _ int) error {
		entries := int(x.h.Sections["ids"].plain())
		for p := 0; entries > 0; p++ {
			page, err := x.page("ids", p)
			if err != nil {
				return err
			}
			for i := range min(pageIDs, entries) {
				id := binary.LittleEndian.Uint64(page[idSize*i:])
				if int(id&maxRows) >= x.h.Rows {
					return errStale
				}
				all = append(all, id+uint64(before.rows))
			}
			entries -= pageIDs
		}
		return nil
	})
	if err == nil {
		m.w.identifiers(all)
	}
	return err
}

// blocks writes where they end, and those that have words which are not listed.
func (m *merger) blocks() error {
	var ends []blockEnd
	var unlisted []uint32
	err := m.each(func(x *file, before blockEnd, blocks int) error {
		some, err := x.blocks()
		if err != nil {
			return err
		}
		for _, e := range some {
			ends = append(ends, blockEnd{before.rows + e.rows, before.at + e.at})
		}
		set, err := x.unlisted()
		for i, in := range set {
			if in {
				unlisted = append(unlisted, uint32(blocks+i+1))
			}
		}
		return err
	})
	if err == nil {
		m.w.add("unlisted", m.w.compressed(blockNumbers(unlisted)))
		m.w.add("blocks", m.w.compressed(blockList(ends)))
	}
	return err
}

func (m *merger) columns() error {
	for w := range words {
		var c column
		err := m.each(func(x *file, _ blockEnd, _ int) error {
			rows, list, err := x.word(w, nil)
			if err != nil {
				return err
			}
			for _, row := range rows {
				c.add(list[row])
			}
			x.lists[w] = nil
			return nil
		})
		if err != nil {
			return err
		}
		m.w.words(w, c.list, c.rows)
	}
	for n := range numbers {
		all := make([]int64, 0, m.h.Rows)
		err := m.each(func(x *file, _ blockEnd, _ int) error {
			list, err := x.number(n, nil)
			all = append(all, list...)
			return err
		})
		if err != nil {
			return err
		}
		m.w.numbers(n, all)
	}
	return nil
}

// terms merges the lists of words. Of each file it has one chunk in memory.
func (m *merger) terms(terms, posts io.Writer) (filter part, words int, err error) {
	grams := 0
	var lists []*termReader
	err = m.each(func(x *file, _ blockEnd, blocks int) error {
		grams += int(x.h.Sections["grams"].plain())
		r := &termReader{finder: &finder{f: x}, base: blocks}
		if err := r.index(); err != nil {
			return err
		}
		lists = append(lists, r)
		return r.next()
	})
	if err != nil {
		return part{}, 0, err
	}
	out := termWriter{w: m.w, terms: terms, posts: posts}
	bits := newGramFilter(grams) // more than there are, if files have the same
	var list []byte
	for {
		least := ""
		for _, r := range lists {
			if r.word != "" && (least == "" || r.word < least) {
				least = r.word
			}
		}
		if least == "" {
			break
		}
		count, last := 0, 0
		list = list[:0]
		for _, r := range lists {
			if r.word != least {
				continue
			}
			for _, block := range r.blocks {
				list = binary.AppendUvarint(list, uint64(block-last-1))
				count, last = count+1, block
			}
			if err := r.next(); err != nil {
				return part{}, 0, err
			}
		}
		out.add(least, uint32(count), list)
		bits.add(appendGrams(nil, least))
	}
	out.end()
	return part{bits.bytes(), grams}, out.all, nil
}

// A termReader reads the words of a file in order, and the blocks that have each.
type termReader struct {
	*finder
	base   int    // blocks before those of the file
	word   string // "" after the last one
	blocks []int
	at     int // the next chunk
	words  []byte
	lists  varints
}

func (r *termReader) next() error {
	if len(r.words) == 0 {
		if len(r.lists.b) > 0 {
			return errStale
		}
		if r.at == len(r.chunks) {
			r.word = ""
			return nil
		}
		c := &r.chunks[r.at]
		r.at++
		words, err := r.terms(c)
		if err != nil {
			return err
		}
		lists, err := r.part("posts", c.posts)
		if err != nil {
			return err
		}
		r.words, r.lists = words, varints{b: lists}
	}
	word, rest, ok := bytes.Cut(r.words, []byte("\n"))
	if !ok || string(word) <= r.word {
		return errStale
	}
	r.word, r.words, r.blocks = string(word), rest, r.blocks[:0]
	at := 0
	for range r.lists.int(r.f.h.Blocks) {
		if at += r.lists.int(r.f.h.Blocks) + 1; r.lists.bad || at > r.f.h.Blocks {
			return errStale
		}
		r.blocks = append(r.blocks, r.base+at)
	}
	if r.lists.bad {
		return errStale
	}
	return nil
}
