package sotto

import "bytes"

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

// A fence is a run of three or more; the zero fence means that there is none.
type fence struct {
	ch   byte
	size int
}

func (f fence) open() bool { return f.size > 0 }

// A strayNote is a close that is kept as text, until its line shows why.
type strayNote struct {
	start, end    int
	before, after byte
	known         bool // after is
	fenced        bool
	coded         bool // a pair surrounds it, which counts if the fence never closes
	orphan        bool
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

// stream returns the text stream in which the reader stands.
func (s *Splitter) stream() *stream {
	if s.body.block > 0 {
		return &s.body.stream
	}
	return &s.outer
}

// textSpan says what a byte of text is where the reader stands.
func (s *Splitter) textSpan() span {
	switch {
	case s.body.block > 0:
		return span{ch: ChannelText, output: true, block: s.body.block}
	case s.hdr.ch == ChannelText && s.anyBody:
		return span{ch: ChannelAside, block: s.hdr.block}
	case s.hdr.block > 0:
		return span{ch: s.hdr.ch, block: s.hdr.block}
	case s.aside || s.anyBody || s.hdr.begun && s.g.asideBetween:
		return span{ch: ChannelAside}
	}
	return span{ch: ChannelText}
}

// textIsEasy reports whether a delta without markers changes only the line. No byte is
// pending, so no output block is waited for.
func (s *Splitter) textIsEasy() bool {
	ts := s.stream()
	return ts.seen && !ts.afterMarker && !s.splice.live &&
		(s.shown || s.textSpan().ch != ChannelText) && !s.mayBeAside()
}

// mayBeAside reports whether outer text may still turn out to be aside.
func (s *Splitter) mayBeAside() bool {
	return s.g.anywhere && s.body.block == 0 && !s.anyBody && !s.aside && !s.noOutput && s.hdr.block == 0 && s.outHold < 0
}

// stepText reads text up to the next marker, or reads the marker.
func (s *Splitter) stepText() bool {
	if s.g.leading && s.visible && !s.autoHold {
		s.mode = inRest
		return true
	}
	if t := s.passed.tok; t.found() {
		if s.passedMayGrow() {
			return false // a longer form may follow
		}
		s.passed.tok = token{}
		if s.pos < t.end {
			s.scanText(t.end)
		}
		s.keepLiteral(t, s.passed.note)
	}
	if s.pos == s.limit {
		return false
	}
	s.passTokens()
	w := s.textWatch()
	stop := s.limit
	k := s.ti // it stands here: a waiting reader need not search again
	if k-s.tok0 == len(s.toks) || s.token(k).start > s.pos || s.token(k).end > s.limit || s.token(k).watch()&w == 0 {
		k = s.nextToken(s.ti, s.pos, w)
	}
	if k >= 0 {
		stop = s.token(k).start
	}
	if f := s.lex.frontier(s.pos, s.n, w); f >= 0 && f <= stop {
		switch {
		case f > s.pos:
			stop, k = f, -1
		case s.passedMayGrow(), s.stream().mayEnd(), s.lex.frontier(f, s.n, s.textHold()) == f:
			return false
		default: // text, whatever it becomes
			s.pass(f)
			if next := s.lex.frontier(f+1, s.n, w); next >= 0 {
				stop = min(stop, next)
			}
			s.scanText(stop)
			return true
		}
	}
	if stop > s.pos {
		s.scanText(stop)
		return true
	}
	return !s.passedMayGrow() && s.textToken(k)
}

// textWatch returns the kinds of markers that text watches: every one, or, where the
// answer has begun and the placement is leading, what settles an undecided start as
// reasoning.
func (s *Splitter) textWatch() watch {
	if s.g.leading && s.visible {
		return s.g.closes.header | s.g.closes.reasoning&^s.g.closes.phrase
	}
	return watchAll
}

// passedMayGrow reports whether the form that was read as text is still under
// way: a marker that begins inside it may still be part of it.
func (s *Splitter) passedMayGrow() bool {
	p := s.passed.start
	return p >= 0 && s.lex.frontier(p, s.n, watchAll) == p
}

// textHold returns the kinds of markers that could count where the reader
// stands; any other is text, whatever it becomes.
func (s *Splitter) textHold() watch {
	c := &s.g.closes
	w := ^c.all | s.closesHere()&^c.phrase
	if !s.outputCounts() {
		w &^= s.g.outputs.open | s.g.outputs.empty
	}
	return w
}

// outputCounts reports whether an output opener begins a body here (G10).
func (s *Splitter) outputCounts() bool {
	if s.g.anywhere && !s.noOutput {
		return true
	}
	return s.anyBody || !s.visible || s.padClosed && !s.g.anywhere
}

// closesHere returns the closes that may be markup where the reader stands (G9).
func (s *Splitter) closesHere() watch {
	c := &s.g.closes
	w := c.header
	w |= s.wrapped
	if s.body.block > 0 {
		w |= watching(s.body.group, asClose)
	}
	if s.autoHold {
		w |= c.reasoning
	}
	if !s.g.stray {
		return w
	}
	if !s.seenHere() || s.stream().afterMarker {
		return c.all
	}
	if !s.openLit {
		w |= c.output
	}
	return w | s.blockSeen
}

// seenHere reports whether something visible precedes; in a body, in that body.
func (s *Splitter) seenHere() bool {
	if s.body.block > 0 {
		return s.body.stream.seen
	}
	return s.visible
}

// pass remembers a form under way at byte f that is read as text.
func (s *Splitter) pass(f int) {
	s.passed = passedForm{start: f, note: strayNote{start: f, before: s.byteBefore(f), fenced: s.stream().fence.open()}}
}

// foundPassed notes a marker whose first bytes were already given as text.
func (s *Splitter) foundPassed(t token) {
	if t.start != s.passed.start || s.mode != inText {
		return
	}
	if s.passed.tok.found() && !s.before(t, s.passed.tok) {
		return
	}
	s.passed.tok = t
}

// settleNewest gives the newest note the byte after its marker.
func (s *Splitter) settleNewest(c byte) {
	ts := s.stream()
	if k := len(ts.notes); k > 0 && !ts.notes[k-1].known && ts.notes[k-1].end == s.n {
		ts.notes[k-1].after, ts.notes[k-1].known = c, true
		s.settleNote(ts)
	}
}

// keepLiteral notes that a marker which could not count is text.
func (s *Splitter) keepLiteral(t token, note strayNote) {
	if s.g.leading && s.visible {
		return // the rest is text, whatever it contains
	}
	role := s.g.groups[t.group].role
	if role == RoleOutput {
		switch t.kind {
		case kindOpen:
			s.openLit = true
		case kindClose:
			s.openLit = false
		}
		if t.kind != kindClose {
			s.diag(CodeLiteralMarker, t.start, ReasonLateOutput)
			return
		}
	}
	if t.kind != kindClose || s.g.names[t.name].phrase {
		return
	}
	ts := s.stream()
	note.start, note.end = t.start, t.end
	note.orphan = role == RoleReasoning && s.blockSeen&watching(t.group, asClose) == 0
	if i := t.end - s.base; i < len(s.data) {
		note.after, note.known = s.data[i], true
	}
	s.expireNotes(ts, note.start)
	ts.notes = append(ts.notes, note)
	s.settleNote(ts)
}

// settleNote resolves the newest note if nothing later can change it.
func (s *Splitter) settleNote(ts *stream) {
	k := len(ts.notes) - 1
	n := ts.notes[k]
	switch {
	case !s.g.code:
	case !n.known:
		return
	case n.quoted():
	case n.fenced, len(ts.runs.list) > 0:
		return
	}
	s.resolve(n, false)
	ts.notes = ts.notes[:k]
}

// expireNotes resolves the notes that have waited too long at byte at.
func (s *Splitter) expireNotes(ts *stream, at int) {
	k := 0
	for k < len(ts.notes) && s.noteExpires(ts.notes[k], at) {
		s.resolve(ts.notes[k], s.expiry(doubtKept))
		k++
	}
	ts.notes = ts.notes[k:]
}

// noteExpires reports whether what happens at byte at is too late for a note.
func (s *Splitter) noteExpires(n strayNote, at int) bool {
	return s.maxHold > 0 && at > n.start+s.maxHold
}

func (n strayNote) quoted() bool {
	return n.known && n.after == n.before && (n.before == '"' || n.before == '\'' || n.before == '`')
}

// resolve says why the note's close is text; enclosed reports whether a pair of runs surrounds it.
func (s *Splitter) resolve(n strayNote, enclosed bool) {
	switch {
	case s.g.code && n.quoted():
		s.diag(CodeLiteralMarker, n.start, ReasonQuoted)
	case n.fenced:
		s.diag(CodeLiteralMarker, n.start, ReasonFenced)
	case enclosed:
		s.diag(CodeLiteralMarker, n.start, ReasonInlineCode)
	case n.orphan:
		s.diag(CodeOrphanClose, n.start, "")
	}
}

// scanText gives the bytes up to stop as text and follows the lines.
func (s *Splitter) scanText(stop int) {
	ts := s.stream()
	from := s.pos
	b := s.data[from-s.base : stop-s.base]
	s.lex.count += len(b)
	if s.splice.live {
		s.spliceText(b)
	}
	if !ts.seen || ts.afterMarker || s.mayBeAside() || !s.visible || !s.shown {
		if i := firstNonSpace(skipMark(b, from)); i >= 0 {
			s.nonSpace(from + i + len(b) - len(skipMark(b, from)))
		}
	}
	lines := skipMark(b, from)
	if s.g.code {
		s.scanLines(ts, lines, from+len(b)-len(lines))
	} else {
		ts.blank = lineBlank(lines, ts.blank)
	}
	s.put(stop, s.textSpan()) // nonSpace may have given the white space before it
}

// nonSpace notes that byte i is text and not white space.
func (s *Splitter) nonSpace(i int) {
	ts := s.stream()
	switch {
	case s.body.block > 0:
		if !ts.seen {
			s.bodyNonSpace(i)
		}
	case s.mayBeAside():
		s.put(i, s.textSpan())
		if s.atHold == nil {
			s.atHold = new(state)
		}
		*s.atHold = s.place()
		s.outHold, s.visible = i, true
	case s.textSpan().ch == ChannelText:
		s.visible = true
		if s.outHold < 0 {
			s.shows()
		}
	}
	ts.seen, ts.afterMarker = true, false
}

// shows notes that the reply certainly shows something.
func (s *Splitter) shows() {
	if !s.shown {
		s.shown = true
		s.givePadsUp()
	}
}

func firstNonSpace(b []byte) int {
	for i, c := range b {
		if !isSpace(c) {
			return i
		}
	}
	return -1
}

// scanLines follows runs of back-ticks, fences and lines through b.
func (s *Splitter) scanLines(ts *stream, b []byte, from int) {
	i, next := 0, nothingScanned
	for i < len(b) {
		if ts.fence.open() {
			i += s.scanFenced(ts, b[i:], from+i, true)
			continue
		}
		if ts.run > 0 {
			if k := ts.extendRun(b[i:]); k > 0 {
				i += k
				continue
			}
			ts.endRun(s)
		}
		if !ts.lineMatters() {
			i = ts.skipLines(b, i, &next)
		}
		if i = ts.nextCode(b, i, &next); i == len(b) {
			return
		}
		switch c := b[i]; c {
		case '\n':
			ts.endLine(s)
			ts.beginFence()
			ts.blank = true
		default:
			ts.run, ts.runFrom, ts.tilde = 1, from+i, c == '~'
		}
		i++
	}
}

// codeScan remembers where the next byte of each kind is in a piece of text, so
// that each is searched for once.
type codeScan struct{ tick, newline, ticks, tildes, lastLine int }

var nothingScanned = codeScan{-1, -1, -1, -1, -1}

// The shortest runs of a fence, and a line's end.
var ticks, tildes, newline = []byte("```"), []byte("~~~"), []byte("\n")

// seek returns the offset of the next what in b at offset from or later, or
// len(b); at is the earlier result, or -1.
func seek(b, what []byte, from int, at *int) int {
	if *at < from {
		*at = len(b)
		if i := bytes.Index(b[from:], what); i >= 0 {
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
	if c.lastLine < 0 {
		c.lastLine = bytes.LastIndexByte(b, '\n') + 1
	}
	for from < c.lastLine {
		to := min(seek(b, ticks, from, &c.ticks), seek(b, tildes, from, &c.tildes), c.lastLine)
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
	n := seek(b, ticks[:1], from, &c.tick)
	if ts.lineMatters() {
		n = min(n, seek(b, newline, from, &c.newline))
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
func (ts *stream) endRun(s *Splitter) {
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
		if s.noteExpires(ts.notes[n-1], ts.runFrom+size) {
			enclosed = s.expiry(doubtKept)
		}
		s.resolve(ts.notes[n-1], enclosed)
		ts.notes = ts.notes[:n-1]
	}
}

// endLine settles what waited for the line's end.
func (ts *stream) endLine(s *Splitter) {
	for _, n := range ts.notes {
		s.resolve(n, false)
	}
	ts.notes = ts.notes[:0]
	ts.runs.clear()
}

// end settles what waited for the stream's end.
func (ts *stream) end(s *Splitter) {
	ts.endRun(s)
	if ts.fence.open() {
		protects, _ := s.left(doubtFence)
		ts.endFence(s, protects || ts.mayEnd())
	}
	ts.endLine(s)
}

// beginFence opens the fence that the line that just ended announced.
func (ts *stream) beginFence() {
	ts.fence, ts.candidate = ts.candidate, fence{}
	ts.lines, ts.openers = lineScan{}, 0
}

// scanFenced follows the lines of an open fence and returns how far it got: to
// the end of b, or past the line that closes the fence. ticks says that the back-ticks
// of b form runs: those of a marker do not.
func (s *Splitter) scanFenced(ts *stream, b []byte, from int, ticks bool) int {
	for i := 0; i < len(b); i++ {
		if ts.lines.phase == lineOther && len(b)-i >= fewBytes {
			if i = ts.fence.skip(b, i); i == len(b) {
				break
			}
		}
		if ts.lines.feed(b[i]) && ts.lines.closes(ts.fence) {
			ts.endFence(s, true)
			ts.blank = true
			return i + 1
		}
	}
	ts.blank = lineBlank(b, ts.blank)
	ts.scanRuns(s, b, from, ticks)
	return len(b)
}

// scanRuns follows the runs on the lines of b, which stand in the open fence. They count
// if the fence never closes, but only those on the line of a marker can enclose it.
func (ts *stream) scanRuns(s *Splitter, b []byte, from int, ticks bool) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		ts.scanRuns(s, b[:i], from, ticks && len(ts.notes) > 0)
		ts.endRun(s)
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
			ts.endRun(s)
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

// skip returns the offset of the newline before the next line of b that may close
// the fence, or before its last line, or len(b). Byte from is in mid-line.
func (f fence) skip(b []byte, from int) int {
	run := ticks
	if f.ch == '~' {
		run = tildes
	}
	for from < len(b) {
		to := len(b)
		if i := bytes.Index(b[from:], run); i >= 0 {
			to = from + i
		}
		if i := bytes.LastIndexByte(b[from:to], '\n'); i >= 0 {
			return from + i
		}
		from = min(to+len(run), len(b))
	}
	return from
}

// endFence closes the open fence; protected reports whether it really was a fence. If it
// was not, the runs on the current line are those of text.
func (ts *stream) endFence(s *Splitter, protected bool) {
	keep := ts.notes[:0]
	for _, n := range ts.notes {
		if !protected && s.noteExpires(n, s.limit) {
			n.fenced = n.fenced && s.expiry(doubtFence)
		} else if !protected {
			n.fenced = false
		}
		if !n.fenced && !n.coded { // its line may go on
			keep = append(keep, n)
			continue
		}
		s.resolve(n, n.coded)
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

// lineScan looks for a line that is only a run: such a line closes a fence.
type lineScan struct {
	phase linePhase
	ch    byte
	size  int
}

type linePhase uint8

const (
	lineIndent linePhase = iota // ^  ```
	lineRun                     //   ``^`
	lineTail                    //   ```^  white space
	lineOther                   //   some^thing else
)

// skip returns how many bytes at the start of b cannot change the scan.
func (l *lineScan) skip(b []byte) int {
	if l.phase != lineOther {
		return 0
	}
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i
	}
	return len(b)
}

// feed reads a byte and reports whether a line that is only a run ends with it.
func (l *lineScan) feed(c byte) bool {
	if c == '\n' {
		full := l.phase == lineRun || l.phase == lineTail
		if full {
			l.phase = lineIndent
			return true
		}
		*l = lineScan{}
		return false
	}
	switch l.phase {
	case lineIndent:
		switch {
		case isSpace(c):
		case c == '`' || c == '~':
			l.phase, l.ch, l.size = lineRun, c, 1
		default:
			l.phase = lineOther
		}
	case lineRun:
		switch {
		case c == l.ch:
			l.size++
		case isSpace(c):
			l.phase = lineTail
		default:
			l.phase = lineOther
		}
	case lineTail:
		if !isSpace(c) {
			l.phase = lineOther
		}
	}
	return false
}

// closes reports whether the run just read closes f.
func (l *lineScan) closes(f fence) bool { return l.ch == f.ch && l.size >= f.size }

// atRun reports whether the line is only a run so far.
func (l *lineScan) atRun() bool { return l.phase == lineRun || l.phase == lineTail }
