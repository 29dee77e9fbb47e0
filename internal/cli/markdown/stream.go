package markdown

import "strings"

// A Stream cuts a text that is still being written into pieces that can be shown: a
// piece ends where a block of the text ends, and nothing that follows changes it. The
// pieces, joined, are the text, except that a block of code that is too large is
// given in parts, of which each begins with the line that opens it. The zero value is
// ready.
type Stream struct {
	pending strings.Builder
	lines   int    // bytes of the complete lines of pending
	cut     int    // a piece may end here if the next line begins a block
	fence   string // the marks that opened a fence: ``` or longer, or ~~~
	inner   bool   // … which is indented, such as in a list
	opening string // … and its whole line
}

// maxPending is the size of a block that is shown in parts. The time that the parser
// takes grows with the square of a block, if that is hostile.
const maxPending = 8 << 10

// Pending is how many bytes wait for the end of their block.
func (s *Stream) Pending() int { return s.pending.Len() }

// Add takes more of the text, and calls show with each piece that is whole.
func (s *Stream) Add(text string, show func(piece string)) {
	for text != "" {
		n := strings.IndexByte(text, '\n') + 1
		if n == 0 {
			n = len(text)
		}
		s.pending.WriteString(text[:n])
		text = text[n:]
		whole := strings.HasSuffix(s.pending.String(), "\n")
		if whole || s.cut > 0 {
			s.line(s.pending.String()[s.lines:], whole, show)
		}
		if s.pending.Len() > maxPending {
			s.overflow(show)
		}
	}
}

// Flush gives what is left.
func (s *Stream) Flush(show func(piece string)) {
	rest := s.pending.String()
	*s = Stream{}
	if rest != "" {
		show(rest)
	}
}

// line takes a line, or the beginning of one, which is enough to end a block.
func (s *Stream) line(l string, whole bool, show func(string)) {
	trimmed := strings.TrimLeft(l, " \t")
	blank := strings.TrimSpace(l) == ""
	indented := len(trimmed) < len(l)
	if s.cut > 0 && !blank && s.fence == "" {
		if at := s.cut; !indented {
			s.give(at, show)
		}
		s.cut = 0
	}
	if !whole {
		return
	}
	at := s.lines
	s.lines = s.pending.Len()
	marks := fenceOf(trimmed)
	switch {
	case s.fence != "":
		if marks != "" && marks[0] == s.fence[0] && len(marks) >= len(s.fence) && strings.TrimSpace(trimmed[len(marks):]) == "" {
			if s.fence, s.opening = "", ""; !s.inner {
				s.give(s.lines, show)
			}
		}
	case marks != "" && !(marks[0] == '`' && strings.Contains(trimmed[len(marks):], "`")):
		s.fence, s.inner, s.opening = marks, indented, l
		if !indented {
			s.give(at, show)
		}
	case blank:
		s.cut = s.lines
	case !indented && isHeading(l):
		s.give(s.lines, show)
	}
}

// give shows the text up to an offset.
func (s *Stream) give(at int, show func(string)) {
	if at == 0 {
		return
	}
	text := s.pending.String()
	s.pending.Reset()
	s.pending.WriteString(text[at:])
	s.lines, s.cut = s.lines-at, max(0, s.cut-at)
	show(text[:at])
}

// overflow shows a block that is too large in parts: whole lines, if it has any. Of a
// fence, each part is one.
func (s *Stream) overflow(show func(string)) {
	at := s.lines
	if at <= len(s.opening) {
		at = s.pending.Len()
	}
	s.give(at, show)
	s.lines, s.cut = 0, 0
	if s.fence != "" {
		rest := s.pending.String()
		s.pending.Reset()
		s.pending.WriteString(s.opening + rest)
		s.lines = len(s.opening)
	}
}

// fenceOf returns the marks of a fence at the beginning of a line, or "".
func fenceOf(l string) string {
	if l == "" || l[0] != '`' && l[0] != '~' {
		return ""
	}
	if n := len(l) - len(strings.TrimLeft(l, l[:1])); n >= 3 {
		return l[:n]
	}
	return ""
}

func isHeading(l string) bool {
	rest := strings.TrimLeft(l, "#")
	n := len(l) - len(rest)
	return n > 0 && n <= 6 && (rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n')
}
