package ndjson

import "bytes"

// A Line is a line as it came.
type Line struct {
	Raw  []byte // all its bytes, with the LF that ends it
	Data []byte // without the white space around it; nil if the line is blank
	At   int    // offset of Data in Raw; -1 if the line is blank
}

// A Scanner finds the lines in a growing buffer. Its zero value is ready to use.
type Scanner struct {
	seen int // b[:seen] holds no LF; b is the buffer last given, without the line last found
}

// Next returns the line at the beginning of b and true, or false if b does not
// hold its end yet. After a line, the caller drops len(line.Raw) bytes. After
// false, it calls again with the same bytes and more appended to them.
func (s *Scanner) Next(b []byte) (line Line, ok bool) {
	i := bytes.IndexByte(b[s.seen:], '\n')
	if i < 0 {
		s.seen = len(b)
		return Line{}, false
	}
	end := s.seen + i
	s.seen = 0
	return newLine(b, end, end+1), true
}

// Last returns the line at the beginning of b after the stream has ended. It works
// as Next does, but the end of b also ends a line. If you write on after such a
// Raw, first end its line.
//
// It returns false if no line is left: b is empty, or blank and without an LF. Raw
// is then b, and the Scanner is ready for another stream.
func (s *Scanner) Last(b []byte) (line Line, ok bool) {
	if line, ok = s.Next(b); ok {
		return line, true
	}
	s.seen = 0
	line = newLine(b, len(b), len(b))
	return line, line.Data != nil
}

// newLine returns the line b[:n], whose LF is at end, or would be there.
func newLine(b []byte, end, n int) Line {
	from := 0
	for from < end && isSpace(b[from]) {
		from++
	}
	if from == end {
		return Line{Raw: b[:n:n], At: -1}
	}
	for isSpace(b[end-1]) {
		end--
	}
	return Line{Raw: b[:n:n], Data: b[from:end:end], At: from}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }
