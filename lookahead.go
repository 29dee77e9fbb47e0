package sotto

import "bytes"

// Some markers are decided by later bytes. These scans look ahead at each byte
// once, and resume where they stopped.

// whiteAhead counts the white space after a marker.
type whiteAhead struct {
	from, to int
	newline  bool // a newline is in it
}

// after returns the offset of the first byte at i or later that is not white space.
func (w *whiteAhead) after(s *Splitter, i int) int {
	if w.from != i {
		*w = whiteAhead{from: i, to: i}
	}
	for w.to < s.limit && isSpace(s.at(w.to)) {
		w.newline = w.newline || s.at(w.to) == '\n'
		w.to++
		s.lex.count++
	}
	return w.to
}

// lineEndsAfter reports whether only white space stands between byte i and the
// line's end; k is that doubt. The result ok is false if that has not come yet.
func (s *Splitter) lineEndsAfter(i int, k doubtKind) (ends, ok bool) {
	to := s.white.after(s, i)
	switch {
	case s.white.newline:
		return true, true
	case to < s.limit:
		return false, true
	}
	return s.left(k)
}

// lineAhead reads the runs of back-ticks on the rest of a raw line.
type lineAhead struct {
	from, pos int
	run       int
	ended     bool        // the line's end was found, at pos
	last      map[int]int // by length: where the last run began
	scan      tokenScan
	hit       int  // a length that was found
	mark      int  // the marker that was last looked up
	fresh     bool // a run was read since then
}

func (a *lineAhead) drop() {
	clear(a.last)
	*a = lineAhead{last: a.last}
}

// inlineCode reports whether a pair of runs encloses a marker (G4b). The result
// ok is false if the rest of the line has not come yet.
func (s *Splitter) inlineCode(t token) (in, ok bool) {
	ts := s.stream()
	if !s.g.code || len(ts.runs.list) == 0 {
		return false, true
	}
	if bytes.IndexByte(s.data[t.start-s.base:t.end-s.base], '\n') >= 0 {
		ts.runs.clear()
		return false, true
	}
	if in, ok := s.lapsed(doubtCode, t.start); ok {
		if !in {
			ts.runs.clear()
		}
		return in, true
	}
	a := &s.ahead
	if t.end < a.from || t.end > a.pos {
		a.drop()
		a.from, a.pos, a.mark = t.end, t.end, -1
		if a.last == nil {
			a.last = map[int]int{}
		}
	}
	s.scanAhead(a)
	if a.mark == t.start && !a.fresh && !a.ended && !s.ended {
		return false, false
	}
	a.mark, a.fresh = t.start, false
	if ts.runs.has(a.hit) && a.last[a.hit] >= t.end {
		return true, true
	}
	for _, r := range ts.runs.list {
		if at, found := a.last[r.size]; found && at >= t.end {
			a.hit = r.size
			return true, true
		}
	}
	if !a.ended {
		if in, ok := s.left(doubtCode); !ok || in {
			return in, ok
		}
	}
	ts.runs.clear()
	return false, true
}

// scanAhead continues to the line's end, or to the end of the available bytes.
func (s *Splitter) scanAhead(a *lineAhead) {
	stop := s.limit
	if f := s.lex.frontier(a.pos, s.n, watchAll); f >= 0 && s.at(f) != '\n' { // at a newline the line ends in any case
		stop = min(stop, f)
	}
	k := a.scan.next(s, s.ti, a.pos, watchAll)
	for a.pos < stop && !a.ended {
		s.lex.count++
		if k >= 0 && s.token(k).start == a.pos {
			t := s.token(k)
			a.endRun()
			if bytes.Contains(s.data[t.start-s.base:t.end-s.base], newline) {
				a.ended = true
				break
			}
			a.pos = t.end
			k = s.nextToken(k, a.pos, watchAll)
			continue
		}
		switch s.at(a.pos) {
		case '`':
			a.run++
		case '\n':
			a.ended = true
			continue
		default:
			a.endRun()
		}
		a.pos++
	}
	if a.pos == s.limit && s.ended || a.pos < s.limit && s.at(a.pos) != '`' {
		a.endRun()
	}
}

func (a *lineAhead) endRun() {
	if a.run > 0 {
		a.last[a.run] = a.pos - a.run
		a.run, a.fresh = 0, true
	}
}

// fenceAhead reads the lines ahead that could close a fence.
type fenceAhead struct {
	from, pos int
	line      lineScan
	scan      tokenScan
	closers   [2][]codeRun // of back-ticks and tildes: sizes falling with the offset
}

func (a *fenceAhead) drop() {
	*a = fenceAhead{closers: [2][]codeRun{a.closers[0][:0], a.closers[1][:0]}}
}

// fenceCloses reports whether an available line closes f, after byte from.
func (s *Splitter) fenceCloses(f fence, from int) bool {
	a := &s.fences
	if from < a.from || from > a.pos {
		a.from, a.pos = from, from // the closers that were found lie before it, or are found again
		a.line.phase = lineOther
	}
	s.scanFences(a)
	c := a.closers[kindOfFence(f.ch)]
	lo, hi := 0, len(c)
	for lo < hi {
		if mid := (lo + hi) / 2; c[mid].size >= f.size {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo > 0 && c[lo-1].at >= from
}

func kindOfFence(ch byte) int {
	if ch == '~' {
		return 1
	}
	return 0
}

func (s *Splitter) scanFences(a *fenceAhead) {
	stop := s.limit
	for a.pos < stop {
		if skip := a.line.skip(s.data[a.pos-s.base : stop-s.base]); skip > 0 {
			a.pos += skip
			s.lex.count += skip
			continue
		}
		if a.line.atRun() {
			if s.at(a.pos) != '\n' && s.lex.frontier(a.pos, s.n, watchAll) == a.pos {
				return // the rest of the form decides
			}
			if k := a.scan.next(s, s.ti, a.pos, watchAll); k >= 0 && s.token(k).start == a.pos {
				a.add(a.line, a.pos)
			}
		}
		s.lex.count++
		if a.line.feed(s.at(a.pos)) {
			a.add(a.line, a.pos)
		}
		a.pos++
	}
	if s.ended && a.pos == s.n && a.line.atRun() {
		a.add(a.line, a.pos)
	}
}

// add notes a line that closes a fence and hides the shorter ones before it.
func (a *fenceAhead) add(l lineScan, at int) {
	if l.size < 3 {
		return
	}
	c := &a.closers[kindOfFence(l.ch)]
	for len(*c) > 0 && (*c)[len(*c)-1].size <= l.size {
		*c = (*c)[:len(*c)-1]
	}
	*c = append(*c, codeRun{l.size, at})
}
