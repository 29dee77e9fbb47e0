package toolcall

import "bytes"

// maxScanned bounds how much of a call a Scanner keeps.
const maxScanned = 64 << 10

// A Scanner counts the complete calls in a text that comes in pieces. The zero value is
// ready. It takes time linear in the text, and finds the same in any pieces.
type Scanner struct {
	held []byte // from where a call may begin
	form form   // of the call under way, once it is known
	// Calls are those that were found. Only forms with a close are looked for.
	Calls int
}

// Held returns the memory that the scanner keeps.
func (s *Scanner) Held() int { return cap(s.held) }

// Add takes more of the text.
func (s *Scanner) Add(text []byte) {
	for len(text) > 0 {
		if len(s.held) == 0 {
			i := bytes.IndexByte(text, '<')
			if i < 0 {
				return
			}
			text = text[i:]
		}
		// The next byte after which something may be decided is that of a close.
		n := bytes.IndexByte(text, '>') + 1
		if n == 0 {
			n = len(text)
		}
		s.held = append(s.held, text[:n]...)
		text = text[n:]
		s.look()
	}
}

// look decides what is held.
func (s *Scanner) look() {
	if s.form.close == "" {
		s.begin()
	}
	switch {
	case s.form.close == "":
	case bytes.HasSuffix(s.held, []byte(s.form.close)):
		if calls, ok := Parse(string(s.held)); ok {
			s.Calls += len(calls)
		}
		s.drop()
	case len(s.held) > maxScanned:
		s.drop()
	}
}

// drop forgets what is held.
func (s *Scanner) drop() { s.held, s.form = s.held[:0], form{} }

// begin finds the place where a call begins, or may begin, and forgets what is before
// it.
func (s *Scanner) begin() {
	for i, c := range s.held {
		if c != '<' {
			continue
		}
		rest := s.held[i:]
		if f, ok := formOf(rest); ok {
			if f.close != "" {
				s.form = f
				s.held = s.held[:copy(s.held, rest)]
				return
			}
			continue
		}
		for _, f := range forms {
			if len(rest) < len(f.open) && f.open[:len(rest)] == string(rest) {
				s.held = s.held[:copy(s.held, rest)]
				return
			}
		}
	}
	s.held = s.held[:0]
}
