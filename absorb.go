package sotto

// absorb says which white space after a marker still belongs to it.
type absorb struct {
	newlines int
	white    bool
	into     span
}

// after begins to add to sp the white space after a marker that belongs to the marker; phrase
// says that the marker is a phrase, which all white space belongs to.
func (a *absorb) after(t token, phrase bool, sp span) {
	if t.trail > 0 || phrase {
		*a = absorb{int(t.trail), phrase, sp}
	}
}

// take returns where the white space from byte from on ends that belongs to the marker, as far
// as it has come.
func (a *absorb) take(from int, in *window) int {
	to := from
	for to < in.limit && (a.white && isSpace(in.at(to)) || a.newlines > 0 && in.at(to) == '\n') {
		if !a.white {
			a.newlines--
		}
		to++
	}
	return to
}

// over reports whether nothing after byte to belongs to the marker.
func (a *absorb) over(to int, in *window) bool {
	return to < in.limit || !a.white && a.newlines == 0
}

// absorbWhite adds to a marker the white space that belongs to it.
func (s *Splitter) absorbWhite() {
	to := s.absorb.take(s.pos, &s.in)
	if s.r.resumed && s.r.opener == s.pos {
		s.r.opener = to // the block resumes after the tool call's own newlines
	}
	s.put(to, s.absorb.into)
	if s.absorb.over(to, &s.in) {
		s.absorb.into = span{}
	}
}
