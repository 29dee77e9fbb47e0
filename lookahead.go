package sotto

import "bytes"

// looks are the looks ahead: some markers are decided by later bytes. Each looks at a byte
// once, and resumes where it stopped.
type looks struct {
	white    whiteAhead
	line     lineAhead
	fences   fenceAhead
	lastTool int // offset of the last tool opener that is known to end reasoning
	far      farLook
}

// reset begins the next reply, and keeps the memory.
func (l *looks) reset() {
	l.line.drop()
	l.fences.drop()
	*l = looks{line: l.line, fences: l.fences}
}

// forget drops what depends on where the reader stands.
func (l *looks) forget() {
	l.white, l.far = whiteAhead{}, farLook{}
	l.line.drop()
}

// whiteAhead counts the white space after a marker.
type whiteAhead struct {
	from, to int
	newline  bool // a newline is in it
}

// after returns the offset of the first byte at i or later that is not white space.
func (w *whiteAhead) after(in *window, i int) int {
	if w.from != i {
		*w = whiteAhead{from: i, to: i}
	}
	for w.to < in.limit && isSpace(in.at(w.to)) {
		w.newline = w.newline || in.at(w.to) == '\n'
		w.to++
		in.looks++
	}
	return w.to
}

// lineEnds reports whether only white space stands between byte i and the line's end; k is
// that doubt. The result ok is false if that has not come yet.
func (w *whiteAhead) lineEnds(i int, k doubtKind, in *window, o *outcomes) (ends, ok bool) {
	to := w.after(in, i)
	switch {
	case w.newline:
		return true, true
	case to < in.limit:
		return false, true
	}
	return o.left(k)
}

// lineAhead reads the runs of back-ticks on the rest of a raw line.
type lineAhead struct {
	from, pos int
	run       int
	ended     bool        // the line's end was found, at pos
	last      map[int]int // by length: where the last run began
	hit       int         // a length that was found
	mark      int         // the marker that was last looked up
	fresh     bool        // a run was read since then
}

func (a *lineAhead) drop() {
	clear(a.last)
	*a = lineAhead{last: a.last}
}

// encloses reports whether a pair of a run of r, which are before a marker on its line, and
// of a run after it encloses the marker. The result ok is false if the rest of the line has
// not come yet.
func (a *lineAhead) encloses(t token, r *runs, in *window, f *forms, o *outcomes) (yes, ok bool) {
	if t.end < a.from || t.end > a.pos {
		a.drop()
		f.forget(scanLine)
		a.from, a.pos, a.mark = t.end, t.end, -1
		if a.last == nil {
			a.last = map[int]int{}
		}
	}
	a.readLine(in, f, o.ended)
	if a.mark == t.start && !a.fresh && !a.ended && !o.ended {
		return false, false
	}
	a.mark, a.fresh = t.start, false
	if r.has(a.hit) && a.last[a.hit] >= t.end {
		return true, true
	}
	for _, run := range r.list {
		if at, found := a.last[run.size]; found && at >= t.end {
			a.hit = run.size
			return true, true
		}
	}
	if a.ended {
		return false, true
	}
	return o.left(doubtCode)
}

// readLine continues to the line's end, or to the end of the available bytes.
func (a *lineAhead) readLine(in *window, f *forms, over bool) {
	stop := in.limit
	if under := f.lex.frontier(a.pos, in.n, watchAll); under >= 0 && in.at(under) != '\n' { // at a newline the line ends in any case
		stop = min(stop, under)
	}
	k := f.scan(scanLine, f.ti, a.pos, watchAll, in.limit)
	for a.pos < stop && !a.ended {
		in.looks++
		if k >= 0 && f.token(k).start == a.pos {
			t := f.token(k)
			a.endRun()
			if bytes.Contains(in.bytes(t.start, t.end), newline) {
				a.ended = true
				break
			}
			a.pos = t.end
			k = f.next(k, a.pos, watchAll, in.limit)
			continue
		}
		switch in.at(a.pos) {
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
	if a.pos == in.limit && over || a.pos < in.limit && in.at(a.pos) != '`' {
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
	closers   [2][]codeRun // of back-ticks and tildes: sizes falling with the offset
}

func (a *fenceAhead) drop() {
	*a = fenceAhead{closers: [2][]codeRun{a.closers[0][:0], a.closers[1][:0]}}
}

// closes reports whether an available line closes the fence, after byte from.
func (a *fenceAhead) closes(open fence, from int, in *window, f *forms, over bool) bool {
	if from < a.from || from > a.pos {
		a.from, a.pos = from, from // the closers that were found lie before it, or are found again
		a.line.phase = lineOther
	}
	a.readLines(in, f, over)
	c := a.closers[kindOfFence(open.ch)]
	lo, hi := 0, len(c)
	for lo < hi {
		if mid := (lo + hi) / 2; c[mid].size >= open.size {
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

// readLines continues to the end of the available bytes.
func (a *fenceAhead) readLines(in *window, f *forms, over bool) {
	for a.pos < in.limit {
		if skip := a.line.skip(in.bytes(a.pos, in.limit)); skip > 0 {
			a.pos += skip
			in.looks += skip
			continue
		}
		if a.line.atRun() {
			if in.at(a.pos) != '\n' && f.lex.frontier(a.pos, in.n, watchAll) == a.pos {
				return // the rest of the form decides
			}
			if k := f.scan(scanFences, f.ti, a.pos, watchAll, in.limit); k >= 0 && f.token(k).start == a.pos {
				a.add(a.line, a.pos)
			}
		}
		in.looks++
		if a.line.feed(in.at(a.pos)) {
			a.add(a.line, a.pos)
		}
		a.pos++
	}
	if over && a.pos == in.n && a.line.atRun() {
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
