package sotto

import (
	"slices"
	"sort"

	"github.com/sotto-llm/sotto/dialect"
)

// forms are the forms of markers in the reply at hand: those that the lexer has found, and
// those that are under way. A token has a number, which it keeps until it is dropped.
type forms struct {
	g       *Grammar
	lex     lexer
	toks    []token // forms at the reader's place or later, and pending ones, by start
	dropped int     // number of tokens dropped before toks[0]
	ti      int     // number of the first token that the reader has not passed
	scans   [scanKinds]tokenScan

	lastClose [maxGroups]int // where each group's last close begins, or 0
	hidden    []hiddenClose
}

// A scanKind is what a search for tokens is for.
type scanKind uint8

const (
	scanMarker scanKind = iota // the next marker
	scanFamily                 // the next of a block's family
	scanLine                   // the markers on the rest of a line
	scanFences                 // those on the lines that could close a fence
	scanTools                  // the tool openers that were not looked at
	scanKinds
)

// reset begins the next reply, and keeps the memory.
func (f *forms) reset(g *Grammar) {
	f.lex.reset(&g.lex)
	*f = forms{g: g, lex: f.lex, toks: f.toks[:0], hidden: f.hidden[:0]}
}

// add takes a form that the lexer found.
func (f *forms) add(t token) {
	f.noteClose(t)
	i := len(f.toks)
	for i > 0 && f.before(t, f.toks[i-1]) {
		i--
	}
	f.toks = append(f.toks, t)
	copy(f.toks[i+1:], f.toks[i:])
	f.toks[i] = t
	for k := range f.scans {
		f.scans[k].tok = min(f.scans[k].tok, i+f.dropped)
	}
}

// A hiddenClose is a close that may lie in the quoted value of an opener of its
// family. In that case it is not a close.
type hiddenClose struct {
	group     int8
	at, cover int
}

// noteClose remembers where the last close of each family begins.
func (f *forms) noteClose(t token) {
	if t.kind == kindOpen {
		f.hidden = slices.DeleteFunc(f.hidden, func(h hiddenClose) bool { return h.group == t.group && h.cover == t.start })
		return
	}
	if cover := f.lex.cover(t); cover >= 0 && f.g.nest {
		f.hidden = append(f.hidden, hiddenClose{t.group, t.start, cover})
		if len(f.hidden) > 2*f.g.lex.maxMarker { // forms under way cannot contain more
			f.uncover()
		}
		return
	}
	f.lastClose[t.group] = max(f.lastClose[t.group], t.start)
}

// closeAfter reports whether a close of the group begins at byte from or later.
func (f *forms) closeAfter(group int8, from int) bool {
	f.uncover()
	return f.lastClose[group] >= from
}

// uncover notes the hidden closes whose opener has failed.
func (f *forms) uncover() {
	f.hidden = slices.DeleteFunc(f.hidden, func(h hiddenClose) bool {
		if f.lex.reads(h.cover) {
			return false
		}
		f.lastClose[h.group] = max(f.lastClose[h.group], h.at)
		return true
	})
}

// before reports whether form a takes precedence over b: it starts first, or is
// longer. Of two roles with the same bytes the wrapper's wins, which is never stray.
func (f *forms) before(a, b token) bool {
	if a.start != b.start {
		return a.start < b.start
	}
	if a.end != b.end {
		return a.end > b.end
	}
	return f.g.names[a.name].role == dialect.RoleWrapper && f.g.names[b.name].role != dialect.RoleWrapper
}

// next returns the number of the first token at byte from or later that w watches,
// starting the search at token number i. It returns -1 if none is available, or if the
// token ends after byte limit.
func (f *forms) next(i, from int, w watch, limit int) int {
	for k := max(i-f.dropped, 0); k < len(f.toks); k++ {
		f.lex.count++
		if t := &f.toks[k]; t.start >= from && t.watch()&w != 0 {
			if t.end > limit {
				return -1
			}
			return k + f.dropped
		}
	}
	return -1
}

// A tokenScan is a search for the next token that resumes where it stopped.
type tokenScan struct {
	from int   // no token before this byte matches
	tok  int   // no token before this number matches
	w    watch // for these kinds
}

// scan is next for a search that resumes.
func (f *forms) scan(kind scanKind, i, from int, w watch, limit int) int {
	c := &f.scans[kind]
	if from < c.from || w != c.w {
		*c = tokenScan{tok: max(i, f.ti), w: w}
	}
	c.from = from
	if k := c.tok - f.dropped; k >= 0 && k < len(f.toks) { // a waiting reader finds the same token
		if t := &f.toks[k]; t.start >= from && t.end <= limit && t.watch()&w != 0 {
			return c.tok
		}
	}
	k := f.next(c.tok, from, w, limit)
	if c.tok = k; k < 0 {
		c.tok = f.end()
	}
	return k
}

// forget lets searches begin again, at the reader's token.
func (f *forms) forget(kinds ...scanKind) {
	for _, k := range kinds {
		f.scans[k] = tokenScan{}
	}
}

// nextMarker returns up to where no marker that w watches stands or is under way, from
// byte pos on, and the number of the token that stands there, or -1.
func (f *forms) nextMarker(w watch, pos int, in *window) (stop, k int) {
	f.pass(pos)
	stop = in.limit
	if k = f.scan(scanMarker, f.ti, pos, w, in.limit); k >= 0 {
		stop = f.token(k).start
	}
	if under := f.lex.frontier(pos, in.n, w); under >= 0 && under <= stop {
		stop, k = under, -1
	}
	return stop, k
}

// standsAt reports whether token number i, which may be none, begins at byte pos or before it,
// is available, and is one that w watches.
func (f *forms) standsAt(i, pos int, w watch, limit int) bool {
	if i == f.end() {
		return false
	}
	t := &f.toks[i-f.dropped]
	return t.start <= pos && t.end <= limit && t.watch()&w != 0
}

func (f *forms) token(i int) token { return f.toks[i-f.dropped] }

// end returns the number that the next token would have, if it begins after all others.
func (f *forms) end() int { return f.dropped + len(f.toks) }

// pass moves the reader's token to the first one at byte pos or later.
func (f *forms) pass(pos int) {
	f.ti = max(f.ti, f.dropped)
	for f.ti-f.dropped < len(f.toks) && f.toks[f.ti-f.dropped].start < pos {
		f.ti++
	}
}

// rewind moves the reader's token back to the first one that is kept.
func (f *forms) rewind() { f.ti = f.dropped }

// drop forgets the tokens before byte settled.
func (f *forms) drop(settled int) {
	k := countBefore(len(f.toks), settled, func(i int) int { return f.toks[i].start })
	if worthDropping(k, len(f.toks)) {
		f.toks = append(f.toks[:0], f.toks[k:]...)
		f.dropped += k
	}
	k = countBefore(len(f.lex.breaks), settled, func(i int) int { return f.lex.breaks[i].at })
	if worthDropping(k, len(f.lex.breaks)) {
		f.lex.breaks = append(f.lex.breaks[:0], f.lex.breaks[k:]...)
	}
}

// worthDropping reports whether to move the rest of a list of n forward over its first k.
func worthDropping(k, n int) bool { return k == n || k > 32 && k > n/2 }

// countBefore returns how many of n ascending offsets lie before byte at.
func countBefore(n, at int, offset func(int) int) int {
	if n == 0 || offset(0) >= at {
		return 0
	}
	return sort.Search(n, func(i int) bool { return offset(i) >= at })
}
