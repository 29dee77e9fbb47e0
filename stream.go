package sotto

import (
	"bytes"
	"math/bits"

	"github.com/sotto-llm/sotto/internal/base/bytescan"
)

// A stream is the state of a text stream while its lines are read: the text outside
// every block, or that of one output body. Removed blocks are not part of it.
type stream struct {
	blank       bool // the line is white space so far
	seen        bool // a byte that is not white space has been read
	afterMarker bool // only white space since a removed marker

	runs    runs // unpaired runs of back-ticks on the line
	run     int  // length of the current run
	runFrom int  // where it began
	tilde   bool // the run is of tildes

	fence     fence    // the open fence
	candidate fence    // begins with the line's end
	lines     lineScan // while a fence is open: is this line its end?
	openers   watch    // reasoning openers that stand in the open fence
	notes     []strayNote
}

// stream returns the text stream in which the reader stands.
func (st *reading) stream() *stream {
	if st.body.block > 0 {
		return &st.body.stream
	}
	return &st.outer
}

func (ts *stream) reset() {
	ts.runs.clear()
	*ts = stream{blank: true, runs: ts.runs, notes: ts.notes[:0]}
}

// settled reports whether no stray note waits for the byte after its marker.
func (ts *stream) settled() bool {
	k := len(ts.notes)
	return k == 0 || ts.notes[k-1].known
}

// lineMatters reports whether something waits for the line's end.
func (ts *stream) lineMatters() bool {
	return len(ts.runs.list) > 0 || ts.candidate.open()
}

// stops returns the kinds of bytes that matter to runs and fences at the stream's
// current place.
func (ts *stream) stops() byteKind {
	switch {
	case ts.run > 0, ts.fence.open() && ts.lines.phase != lineOther:
		return anyByte
	case ts.fence.open():
		return mayTick | mayNewline
	case ts.lineMatters():
		return mayTick | mayTilde | mayNewline
	}
	return mayTick | mayTilde
}

// scanLines follows runs of back-ticks, fences and lines through b.
func (ts *stream) scanLines(b []byte, from int, h *holds) {
	if m, ok := bytescan.Code(b); ok && ts.scanBlock(b, from, &m, h) {
		return
	}
	ts.searchLines(b, from, h)
}

// searchLines is scanLines for a text of any length.
func (ts *stream) searchLines(b []byte, from int, h *holds) {
	i, next := 0, codeScan{tick: -1, newline: -1, fence: -1, lastLine: -1}
	for i < len(b) {
		if ts.fence.open() {
			i += ts.scanFenced(b[i:], from+i, true, h)
			continue
		}
		if ts.run > 0 {
			if k := ts.extendRun(b[i:]); k > 0 {
				i += k
				continue
			}
			ts.endRun(h)
		}
		if !ts.lineMatters() {
			i = ts.skipLines(b, i, &next)
		}
		if i = ts.nextCode(b, i, &next); i == len(b) {
			return
		}
		switch c := b[i]; c {
		case '\n':
			ts.endLine(h)
			ts.beginFence()
			ts.blank = true
		default:
			ts.run, ts.runFrom, ts.tilde = 1, from+i, c == '~'
		}
		i++
	}
}

// scanBlock is scanLines for a block whose masks are m, if no fence can begin or end in it.
// Otherwise it changes nothing that scanLines would not, and returns false.
func (ts *stream) scanBlock(b []byte, from int, m *bytescan.CodeMasks, h *holds) bool {
	if ts.fence.open() {
		return m.Ticks|m.Tildes == 0 && ts.scanFencedBlock(b, m, h)
	}
	if ts.candidate.open() || m.Fences()|m.Tildes != 0 || ts.run > 0 && (ts.run > 2 || m.Ticks&1 == 1) {
		return false
	}
	ts.endRun(h)
	runs := m.Ticks
	if m.Newlines != 0 {
		if len(ts.runs.list) > 0 { // these may pair with runs on the rest of the line
			first := uint64(1)<<bits.TrailingZeros64(m.Newlines) - 1
			ts.scanShortRuns(runs&first, b, from, h)
			ts.endLine(h)
		}
		runs &= ^uint64(0) << bits.Len64(m.Newlines) // those on a line that ends here are over
	}
	if !ts.scanShortRuns(runs, b, from, h) {
		ts.blank = lineBlank(b, ts.blank)
	}
	return true
}

// scanShortRuns takes the runs of back-ticks of b whose mask is given, of one or two each.
// If b ends in the last one, which may go on, it returns true, and the line is blank or not
// as before it.
func (ts *stream) scanShortRuns(mask uint64, b []byte, from int, h *holds) bool {
	for mask != 0 {
		at := bits.TrailingZeros64(mask)
		size := bits.TrailingZeros64(^(mask >> at))
		ts.run, ts.runFrom, ts.tilde = size, from+at, false
		if at+size == len(b) {
			ts.blank = lineBlank(b[:at], ts.blank)
			return true
		}
		ts.endRun(h)
		mask &= ^uint64(0) << (at + size)
	}
	return false
}

// scanFencedBlock is scanBlock in an open fence, for a block without back-ticks and tildes.
func (ts *stream) scanFencedBlock(b []byte, m *bytescan.CodeMasks, h *holds) bool {
	if ts.lines.atRun() {
		return false
	}
	ts.endRun(h)
	if m.Newlines != 0 {
		ts.runs.clear()
	}
	blank := lineBlank(b, ts.lines.phase == lineIndent)
	ts.lines = lineScan{phase: lineOther}
	if blank {
		ts.lines.phase = lineIndent
	}
	ts.blank = lineBlank(b, ts.blank)
	return true
}

// codeScan finds the bytes that matter to code in a piece of text. It searches for each
// kind once.
type codeScan struct {
	tick, newline, fence, lastLine int // what was found last, or -1
}

// nextFence returns the offset in b of the next one of the shortest runs of a fence, at
// offset from or later, or len(b).
func (c *codeScan) nextFence(b []byte, from int) int {
	if c.fence < from {
		c.fence = from + bytescan.Fence(b[from:])
	}
	return c.fence
}

// startOfLast returns the offset of the last line of b.
func (c *codeScan) startOfLast(b []byte) int {
	if c.lastLine < 0 {
		c.lastLine = bytes.LastIndexByte(b, '\n') + 1
	}
	return c.lastLine
}

var newline = []byte("\n")

// seek returns the offset of the next c in b at offset from or later, or
// len(b); at is the earlier result, or -1.
func seek(b []byte, c byte, from int, at *int) int {
	if *at < from {
		*at = len(b)
		if i := bytes.IndexByte(b[from:], c); i >= 0 {
			*at = from + i
		}
	}
	return *at
}

// skipLines skips the lines that end in b and cannot open a fence; their runs are
// forgotten with them. It returns the offset of the first line that may open one,
// or of b's last line.
func (ts *stream) skipLines(b []byte, from int, c *codeScan) int {
	if len(b)-from < fewBytes {
		return from
	}
	last := c.startOfLast(b)
	for from < last {
		to := min(c.nextFence(b, from), last)
		ts.blank = lineBlank(b[from:to], ts.blank)
		from = to
		if ts.blank {
			break
		}
		from += len(ticks)
	}
	return from
}

// nextCode skips the bytes of b, from byte from on, up to the next byte that matters
// to runs and fences on its line. It returns that byte's offset, or len(b).
func (ts *stream) nextCode(b []byte, from int, c *codeScan) int {
	if len(b)-from < fewBytes {
		return ts.nextNear(b, from)
	}
	if ts.blank { // a tilde matters only at a line's start
		i := from
		for i < len(b) && b[i] != '\n' && isSpace(b[i]) {
			i++
		}
		if i < len(b) && b[i] == '~' {
			return i
		}
	}
	n := seek(b, '`', from, &c.tick)
	if ts.lineMatters() {
		n = min(n, seek(b, '\n', from, &c.newline))
	}
	ts.blank = lineBlank(b[from:n], ts.blank)
	return n
}

// nextNear is nextCode for a few bytes, where a search costs more than a look at each.
func (ts *stream) nextNear(b []byte, i int) int {
	line := ts.lineMatters()
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == '`', c == '~' && ts.blank, c == '\n' && line:
			return i
		case c == '\n':
			ts.blank = true
		case !isSpace(c):
			ts.blank = false
		}
	}
	return i
}

// extendRun adds to the current run the bytes at the start of b that belong to it.
func (ts *stream) extendRun(b []byte) int {
	c := byte('`')
	if ts.tilde {
		c = '~'
	}
	k := 0
	for k < len(b) && b[k] == c {
		k++
	}
	ts.run += k
	return k
}

// endRun settles the current run: it may pair, or open a fence at the line's end.
func (ts *stream) endRun(h *holds) {
	size := ts.run
	if size == 0 {
		return
	}
	ts.run = 0
	if ts.fence.open() {
		ts.pairFenced(codeRun{size, ts.runFrom})
		return
	}
	atStart := ts.blank
	ts.blank = false
	if ts.tilde {
		if size >= 3 {
			ts.candidate = fence{'~', size}
		}
		return
	}
	if ts.candidate.ch == '`' {
		ts.candidate = fence{}
	}
	if atStart && size >= 3 {
		ts.candidate = fence{'`', size}
	}
	from, pairs := ts.runs.pair(codeRun{size, ts.runFrom})
	if !pairs {
		return
	}
	for n := len(ts.notes); n > 0 && ts.notes[n-1].start > from; n-- {
		enclosed := true
		if h.due(ts.notes[n-1].start, ts.runFrom+size) {
			enclosed = h.expiry(doubtKept)
		}
		ts.notes[n-1].resolve(enclosed, h)
		ts.notes = ts.notes[:n-1]
	}
}

// endLine settles what waited for the line's end.
func (ts *stream) endLine(h *holds) {
	for _, n := range ts.notes {
		n.resolve(false, h)
	}
	ts.notes = ts.notes[:0]
	ts.runs.clear()
}

// end settles what waited for the stream's end, which is byte at.
func (ts *stream) end(at int, h *holds) {
	ts.endRun(h)
	if ts.fence.open() {
		protects, _ := h.left(doubtFence)
		ts.endFence(protects || ts.mayEnd(), at, h)
	}
	ts.endLine(h)
}

// beginFence opens the fence that the line that just ended announced.
func (ts *stream) beginFence() {
	ts.fence, ts.candidate = ts.candidate, fence{}
	ts.lines, ts.openers = lineScan{}, 0
}

// scanFenced follows the lines of an open fence and returns how far it got: to
// the end of b, or past the line that closes the fence. ticks says that the back-ticks
// of b form runs: those of a marker do not.
func (ts *stream) scanFenced(b []byte, from int, ticks bool, h *holds) int {
	for i := 0; i < len(b); i++ {
		if ts.lines.phase == lineOther && len(b)-i >= fewBytes {
			if i = ts.fence.skip(b, i); i == len(b) {
				break
			}
		}
		if ts.lines.feed(b[i]) && ts.lines.closes(ts.fence) {
			ts.endFence(true, from+i, h)
			ts.blank = true
			return i + 1
		}
	}
	ts.blank = lineBlank(b, ts.blank)
	ts.scanRuns(b, from, ticks, h)
	return len(b)
}

// scanRuns follows the runs on the lines of b, which stand in the open fence. They count
// if the fence never closes, but only those on the line of a marker can enclose it.
func (ts *stream) scanRuns(b []byte, from int, ticks bool, h *holds) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		ts.scanRuns(b[:i], from, ticks && len(ts.notes) > 0, h)
		ts.endRun(h)
		ts.runs.clear()
		i = bytes.LastIndexByte(b, '\n') + 1
		b, from = b[i:], from+i
	}
	if !ticks {
		return
	}
	for i := 0; i < len(b); {
		if ts.run > 0 {
			if k := ts.extendRun(b[i:]); k > 0 {
				i += k
				continue
			}
			ts.endRun(h)
		}
		k := bytes.IndexByte(b[i:], '`')
		if k < 0 {
			break
		}
		i += k
		ts.run, ts.runFrom, ts.tilde = 1, from+i, false
		i++
	}
}

// pairFenced takes a run in the open fence.
func (ts *stream) pairFenced(run codeRun) {
	from, pairs := ts.runs.pair(run)
	for n := len(ts.notes); pairs && n > 0 && ts.notes[n-1].start > from; n-- {
		ts.notes[n-1].coded = true
	}
}

// endFence closes the open fence at byte at; protected reports whether it really was a fence.
// If it was not, the runs on the current line are those of text.
func (ts *stream) endFence(protected bool, at int, h *holds) {
	keep := ts.notes[:0]
	for _, n := range ts.notes {
		if !protected {
			n.fenced = n.fenced && h.due(n.start, at) && h.expiry(doubtFence)
		}
		if !n.fenced && !n.coded { // its line may go on
			keep = append(keep, n)
			continue
		}
		n.resolve(n.coded, h)
	}
	ts.notes = keep
	if protected {
		ts.run = 0
		ts.runs.clear()
	}
	ts.fence = fence{}
}

// mayEnd reports whether a marker here would close the open fence.
func (ts *stream) mayEnd() bool {
	return ts.fence.open() && ts.lines.atRun() && ts.lines.closes(ts.fence)
}
