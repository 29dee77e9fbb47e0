package sotto

// A strayNote is a close that is kept as text, until its line shows why. A dialect without
// code has no notes: nothing that comes later matters to a close there.
type strayNote struct {
	start, end    int
	before, after byte
	known         bool // after is
	fenced        bool
	coded         bool // a pair surrounds it, which counts if the fence never closes
	orphan        bool
}

func (n strayNote) quoted() bool {
	return n.known && n.after == n.before && (n.before == '"' || n.before == '\'' || n.before == '`')
}

// resolve says why the note's close is text; enclosed reports whether a pair of runs surrounds it.
func (n strayNote) resolve(enclosed bool, h *holds) {
	switch {
	case n.quoted():
		h.diag(CodeLiteralMarker, n.start, ReasonQuoted)
	case n.fenced:
		h.diag(CodeLiteralMarker, n.start, ReasonFenced)
	case enclosed:
		h.diag(CodeLiteralMarker, n.start, ReasonInlineCode)
	case n.orphan:
		h.diag(CodeOrphanClose, n.start, "")
	}
}

// addNote takes a note. Those that have waited too long are resolved.
func (ts *stream) addNote(n strayNote, h *holds) {
	k := 0
	for k < len(ts.notes) && h.due(ts.notes[k].start, n.start) {
		ts.notes[k].resolve(h.expiry(doubtKept), h)
		k++
	}
	ts.notes = append(ts.notes[k:], n)
	ts.settleNote(h)
}

// settleNewest gives the newest note the byte after its marker, if that is byte at.
func (ts *stream) settleNewest(c byte, at int, h *holds) {
	if k := len(ts.notes); k > 0 && !ts.notes[k-1].known && ts.notes[k-1].end == at {
		ts.notes[k-1].after, ts.notes[k-1].known = c, true
		ts.settleNote(h)
	}
}

// settleNote resolves the newest note if nothing later can change it.
func (ts *stream) settleNote(h *holds) {
	k := len(ts.notes) - 1
	n := ts.notes[k]
	switch {
	case !n.known:
		return
	case n.quoted():
	case n.fenced, len(ts.runs.list) > 0:
		return
	}
	n.resolve(false, h)
	ts.notes = ts.notes[:k]
}
