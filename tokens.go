package sotto

import (
	"slices"
	"sort"
)

// found takes a form from the lexer.
func (s *Splitter) found(t token) {
	if t.start < s.pos {
		s.foundPassed(t)
		if t.start < s.settled() {
			return
		}
	}
	s.noteClose(t)
	i := len(s.toks)
	for i > 0 && s.before(t, s.toks[i-1]) {
		i--
	}
	s.toks = append(s.toks, t)
	copy(s.toks[i+1:], s.toks[i:])
	s.toks[i] = t
	for _, scan := range []*int{&s.family.tok, &s.scan.tok, &s.ahead.scan.tok, &s.fences.scan.tok, &s.tools.tok} {
		*scan = min(*scan, i+s.tok0)
	}
}

// A hiddenClose is a close that may lie in the quoted value of an opener of its
// family. In that case it is not a close.
type hiddenClose struct {
	group     int8
	at, cover int
}

// noteClose remembers where the last close of each family begins.
func (s *Splitter) noteClose(t token) {
	if t.kind == kindOpen {
		s.hidden = slices.DeleteFunc(s.hidden, func(h hiddenClose) bool { return h.group == t.group && h.cover == t.start })
		return
	}
	if cover := s.lex.cover(t); cover >= 0 && s.g.nest {
		s.hidden = append(s.hidden, hiddenClose{t.group, t.start, cover})
		if len(s.hidden) > 2*s.g.lex.maxMarker { // forms under way cannot contain more
			s.uncover()
		}
		return
	}
	s.lastClose[t.group] = max(s.lastClose[t.group], t.start)
}

// closeAfter reports whether a close of the group begins at byte from or later.
func (s *Splitter) closeAfter(group int8, from int) bool {
	s.uncover()
	return s.lastClose[group] >= from
}

// uncover notes the hidden closes whose opener has failed.
func (s *Splitter) uncover() {
	s.hidden = slices.DeleteFunc(s.hidden, func(h hiddenClose) bool {
		if s.lex.reads(h.cover) {
			return false
		}
		s.lastClose[h.group] = max(s.lastClose[h.group], h.at)
		return true
	})
}

// before reports whether form a takes precedence over b: it starts first, or is
// longer. Of two roles with the same bytes the wrapper's wins, which is never stray.
func (s *Splitter) before(a, b token) bool {
	if a.start != b.start {
		return a.start < b.start
	}
	if a.end != b.end {
		return a.end > b.end
	}
	return s.g.names[a.name].role == RoleWrapper && s.g.names[b.name].role != RoleWrapper
}

// nextToken returns the number of the first token at byte from or later that w
// watches, starting the search at token number i, or -1 if none is available.
func (s *Splitter) nextToken(i, from int, w watch) int {
	for k := max(i-s.tok0, 0); k < len(s.toks); k++ {
		s.lex.count++
		if t := &s.toks[k]; t.start >= from && t.watch()&w != 0 {
			if t.end > s.limit {
				return -1
			}
			return k + s.tok0
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

// next returns the number of the first token at byte from or later that w
// watches, searching from token number i on, or -1 if none is available.
func (c *tokenScan) next(s *Splitter, i, from int, w watch) int {
	if from < c.from || w != c.w {
		*c = tokenScan{tok: max(i, s.ti), w: w}
	}
	c.from = from
	if k := c.tok - s.tok0; k >= 0 && k < len(s.toks) { // a waiting reader finds the same token
		if t := &s.toks[k]; t.start >= from && t.end <= s.limit && t.watch()&w != 0 {
			return c.tok
		}
	}
	k := s.nextToken(c.tok, from, w)
	if c.tok = k; k < 0 {
		c.tok = s.tok0 + len(s.toks)
	}
	return k
}

// nextMarker returns up to where no marker that w watches stands or is under way,
// and the number of the token that stands there, or -1.
func (s *Splitter) nextMarker(w watch) (stop, k int) {
	s.passTokens()
	stop = s.limit
	if k = s.scan.next(s, s.ti, s.pos, w); k >= 0 {
		stop = s.token(k).start
	}
	if f := s.lex.frontier(s.pos, s.n, w); f >= 0 && f <= stop {
		stop, k = f, -1
	}
	return stop, k
}

func (s *Splitter) token(i int) token { return s.toks[i-s.tok0] }

// passTokens moves the reader's token to the first one at pos or later.
func (s *Splitter) passTokens() {
	s.ti = max(s.ti, s.tok0)
	for s.ti-s.tok0 < len(s.toks) && s.toks[s.ti-s.tok0].start < s.pos {
		s.ti++
	}
}

// dropTokens forgets the tokens before the settled offset.
func (s *Splitter) dropTokens() {
	done := s.settled()
	k := countBefore(len(s.toks), done, func(i int) int { return s.toks[i].start })
	if worthDropping(k, len(s.toks)) {
		s.toks = append(s.toks[:0], s.toks[k:]...)
		s.tok0 += k
	}
	k = countBefore(len(s.lex.breaks), done, func(i int) int { return s.lex.breaks[i].at })
	if worthDropping(k, len(s.lex.breaks)) {
		s.lex.breaks = append(s.lex.breaks[:0], s.lex.breaks[k:]...)
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
