package sidecar

import (
	"bytes"
	"slices"
	"sort"
	"unicode/utf8"
)

// A set is a set of blocks; nil means all of them.
type set []bool

func (s set) and(o set) set {
	switch {
	case s == nil:
		return o
	case o == nil:
		return s
	}
	out := make(set, len(s))
	for i := range out {
		out[i] = s[i] && o[i]
	}
	return out
}

func (s set) or(o set) set {
	if s == nil || o == nil {
		return nil
	}
	out := make(set, len(s))
	for i := range out {
		out[i] = s[i] || o[i]
	}
	return out
}

func (s set) count() (n int) {
	for _, in := range s {
		if in {
			n++
		}
	}
	return n
}

// A finder finds the blocks that may have texts.
type finder struct {
	f        *file
	unlisted set // blocks with words that are not listed
	chunks   []chunk
	all      []byte // compressed words from byte from on, if many chunks were read
	from     int64
}

// few is how many blocks are not worth another look into the list of words.
const few = 2

// find returns the blocks that may have what a pattern needs.
func (f *file) find(n need) (set, error) {
	if n.all() {
		return nil, nil
	}
	unlisted, err := f.unlisted()
	if err != nil {
		return nil, err
	}
	return (&finder{f: f, unlisted: unlisted}).need(n)
}

// unlisted returns the blocks with words that are not listed.
func (f *file) unlisted() (set, error) {
	plain, err := f.plain("unlisted", int64(f.h.Blocks)*5)
	if err != nil {
		return nil, err
	}
	out := make(set, f.h.Blocks)
	v := varints{b: plain}
	for at := 0; len(v.b) > 0; {
		at += v.int(f.h.Blocks) + 1
		if v.bad || at > f.h.Blocks {
			return nil, errStale
		}
		out[at-1] = true
	}
	return out, nil
}

func (x *finder) need(n need) (set, error) {
	switch n.kind {
	case needText:
		return x.text(n.text)
	case needAll:
		var out set
		for _, sub := range n.subs {
			s, err := x.need(sub)
			if err != nil {
				return nil, err
			}
			if out = out.and(s); out != nil && out.count() <= few {
				break
			}
		}
		return out, nil
	case needAny:
		out := make(set, x.f.h.Blocks)
		for _, sub := range n.subs {
			s, err := x.need(sub)
			if err != nil {
				return nil, err
			}
			if out = out.or(s); out == nil {
				break
			}
		}
		return out, nil
	}
	return nil, nil
}

// A wanted word is one that a listed word must be, or have in it.
type wanted struct {
	part  string
	exact bool
	front bool // it begins the word
	back  bool // it ends the word
}

func (w *wanted) in(word []byte) bool {
	switch {
	case w.exact:
		return string(word) == w.part
	case w.front:
		return bytes.HasPrefix(word, []byte(w.part))
	case w.back:
		return bytes.HasSuffix(word, []byte(w.part))
	}
	return bytes.Contains(word, []byte(w.part))
}

// wantedIn returns the words that a text needs around it; those that are quick to look up come
// first.
func wantedIn(text string) (list []wanted) {
	runs(text, false, nil, func(r run) {
		if r.class == ideogram {
			pairs(r.word, func(p []byte) {
				list = append(list, wanted{part: string(p), exact: utf8.RuneCount(p) > 1})
			})
			return
		}
		list = append(list, wantedOf(string(r.word), r.opens, r.closes))
	})
	slices.SortStableFunc(list, func(a, b wanted) int { return a.cost() - b.cost() })
	return slices.Compact(list)
}

// wantedOf returns what is looked for in the place of a part of a word: a part of it that is in
// one piece of a long word. opens and closes say that it begins and ends the word.
func wantedOf(part string, opens, closes bool) wanted {
	switch {
	case opens && closes && len(part) <= maxWord:
		return wanted{part: part, exact: true}
	case opens:
		return wanted{part: part[:min(len(part), maxWord)], front: true}
	case closes:
		return wanted{part: part[max(0, len(part)-maxWord):], back: true}
	}
	return wanted{part: part[:min(len(part), maxWord/2)]}
}

func (w *wanted) cost() int {
	switch {
	case w.exact:
		return 0
	case w.front:
		return 1
	}
	return 2
}

// text returns the blocks that may have a text.
func (x *finder) text(text string) (set, error) {
	list := wantedIn(text)
	for i := range list {
		if x.f.far { // the filter would take more requests than the words themselves
			break
		}
		may, err := x.mayHave(list[i].part)
		if err != nil {
			return nil, err
		}
		if !may {
			return x.unlisted, nil
		}
	}
	var out set
	for i := range list {
		s, err := x.word(&list[i])
		if err != nil {
			return nil, err
		}
		if out = out.and(s); out.count() <= few+x.unlisted.count() {
			break
		}
	}
	return out, nil
}

// grams is how many grams of a word are looked up.
const grams = 8

// mayHave reports whether a listed word may have a part, by the filter.
func (x *finder) mayHave(word string) (bool, error) {
	pages := int(x.f.h.Sections["grams"].size() / pageSize)
	list := appendGrams(nil, word)
	if len(list) > 0 && pages == 0 {
		return false, nil
	}
	for i, g := range list {
		if i >= grams {
			break
		}
		n, bits := gramPlace(g, pages)
		page, err := x.f.page("grams", n)
		if err != nil {
			return false, err
		}
		for _, bit := range bits {
			if page[bit/8]>>(bit%8)&1 == 0 {
				return false, nil
			}
		}
	}
	return true, nil
}

// word returns the blocks with a wanted word, and those with words that are not listed.
func (x *finder) word(w *wanted) (set, error) {
	if err := x.index(); err != nil {
		return nil, err
	}
	from, to := 0, len(x.chunks)
	if w.exact || w.front {
		from = max(sort.Search(len(x.chunks), func(i int) bool { return x.chunks[i].first > w.part })-1, 0)
		for to = from; to < len(x.chunks) && (to == from || x.chunks[to].first <= w.part || w.front && x.chunks[to].first[:min(len(w.part), len(x.chunks[to].first))] == w.part); {
			to++
		}
	}
	out := slices.Clone(x.unlisted)
	var hits []int
	if to-from > 1 && x.all == nil { // one large reading is quicker than many
		first, last := x.chunks[from].terms, x.chunks[to-1].terms
		x.from, x.all = first.at(), make([]byte, last.at()+last.size()-first.at())
		if err := x.f.readAt(x.all, x.f.h.Sections["terms"].at()+x.from); err != nil {
			return nil, err
		}
	}
	for i := from; i < to; i++ {
		words, err := x.terms(&x.chunks[i])
		if err != nil {
			return nil, err
		}
		hits = hits[:0]
		if w.exact || w.front || bytes.Contains(words, []byte(w.part)) {
			n := 0
			for word := range bytes.SplitSeq(words, []byte("\n")) {
				if len(word) > 0 && w.in(word) {
					hits = append(hits, n)
				}
				n++
			}
			if n != x.chunks[i].words+1 {
				return nil, errStale
			}
		}
		if err := x.posts(&x.chunks[i], hits, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// index reads where the chunks are.
func (x *finder) index() error {
	if x.chunks != nil {
		return nil
	}
	terms, posts := x.f.h.Sections["terms"], x.f.h.Sections["posts"]
	plain, err := x.f.plain("chunks", x.f.h.Covered+4096)
	if err != nil {
		return err
	}
	v := varints{b: plain}
	x.chunks = []chunk{}
	t, p := int64(0), int64(0)
	for len(v.b) > 0 {
		n := v.int(maxWord)
		if n > len(v.b) {
			return errStale
		}
		c := chunk{first: string(v.b[:n])}
		v.b = v.b[n:]
		c.words = v.int(chunkSize)
		c.terms = section{t, int64(v.int(1 << 20)), int64(v.int(chunkSize + maxWord + 1)), 0}
		most := int(min(x.f.h.Covered*2+4096, 1<<30))
		c.posts = section{p, int64(v.int(most)), int64(v.int(most)), 0}
		if v.bad || c.words == 0 {
			return errStale
		}
		t, p = t+c.terms.size(), p+c.posts.size()
		x.chunks = append(x.chunks, c)
	}
	if t != terms.size() || p != posts.size() {
		return errStale
	}
	return nil
}

// terms reads the words of a chunk, each with a newline.
func (x *finder) terms(c *chunk) ([]byte, error) {
	if from := c.terms.at() - x.from; from >= 0 && from+c.terms.size() <= int64(len(x.all)) {
		return unpack(x.all[from:from+c.terms.size()], c.terms.plain())
	}
	return x.part("terms", c.terms)
}

func (x *finder) part(name string, s section) ([]byte, error) {
	data := make([]byte, s.size())
	if err := x.f.readAt(data, x.f.h.Sections[name].at()+s.at()); err != nil {
		return nil, err
	}
	return unpack(data, s.plain())
}

// posts adds the blocks of some words of a chunk to a set.
func (x *finder) posts(c *chunk, hits []int, to set) error {
	if len(hits) == 0 {
		return nil
	}
	plain, err := x.part("posts", c.posts)
	if err != nil {
		return err
	}
	v := varints{b: plain}
	for n := 0; len(hits) > 0; n++ {
		hit := hits[0] == n
		if hit {
			hits = hits[1:]
		}
		at := 0
		for range v.int(x.f.h.Blocks) {
			at += v.int(x.f.h.Blocks) + 1
			if v.bad || at > x.f.h.Blocks {
				return errStale
			}
			if hit {
				to[at-1] = true
			}
		}
		if v.bad {
			return errStale
		}
	}
	return nil
}
