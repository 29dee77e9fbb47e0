package sse

import "bytes"

// A Frame is an event as it came.
type Frame struct {
	Raw  []byte // all its bytes, including comments, unknown fields and the blank line that ends it
	Type []byte // value of the last "event" field; empty if there is none, which means "message"
	Data []byte // the "data" fields, joined by "\n"; nil if there is none (a comment, a bare retry)

	// At is the offset of Data in Raw. Other data can replace it there if that has no
	// line end and does not begin with a space. At is -1 if several data fields were
	// joined, if the only one has no colon, and if there is none.
	At int
}

// A Scanner finds the frames in a growing buffer. Its zero value is ready for the
// beginning of a stream.
type Scanner struct {
	// 0 ≤ line ≤ seen ≤ len(b) and line ≤ lf ≤ len(b), where b is the buffer last
	// given, without the frame last found. The lines before line have been read.
	line int
	seen int // b[line:seen] holds no line end
	lf   int // b[line:lf] holds no LF: if lines end in CR it is far ahead

	looks int // for tests: number of bytes searched for line ends so far

	begun bool // the first line of the stream is read
	cr    bool // line is where b ended, after a CR: an LF that comes there belongs to it

	// The current frame, with which b begins, as read so far; the spans are in b.
	typ    span
	data   span   // of the first data field
	fields int    // data fields
	bare   bool   // the first has no colon
	joined []byte // the data, if fields > 1
}

// A span is a part of the buffer.
type span struct{ from, to int }

func (p span) of(b []byte) []byte { return b[p.from:p.to:p.to] }

// Next returns the frame at the beginning of b and true, or false if b does not
// hold its end yet. After a frame, the caller drops len(f.Raw) bytes. After false,
// it calls again with the same bytes and more appended to them.
func (s *Scanner) Next(b []byte) (f Frame, ok bool) {
	if f, ok = s.usual(b); ok {
		return f, true
	}
	if s.cr && s.line < len(b) {
		s.cr = false
		if b[s.line] == '\n' {
			s.startLine(s.line + 1)
		}
	}
	for {
		from, end := s.line, s.lineEnd(b)
		if end == len(b) {
			return Frame{}, false
		}
		next := end + 1
		if b[end] == '\r' {
			if next == len(b) {
				s.cr = true
			} else if b[next] == '\n' {
				next++
			}
		}
		if s.readLine(b, from, end) {
			return s.frame(b, next), true
		}
		s.startLine(next)
	}
}

// usual returns the frame at the beginning of b if it is what most are: a line of data without a
// CR, and a blank line. It changes nothing but lf, so if it returns false, the frame is read line by line.
func (s *Scanner) usual(b []byte) (f Frame, ok bool) {
	const field = "data: "
	if s.seen > 0 || s.lf > 0 || !s.begun || s.cr || !bytes.HasPrefix(b, []byte(field)) {
		return Frame{}, false
	}
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		s.lf = len(b)
		s.looks += len(b)
		return Frame{}, false
	}
	s.lf = end
	s.looks += end
	n := end + 2
	if n > len(b) || b[end+1] != '\n' || bytes.IndexByte(b[:end], '\r') >= 0 {
		return Frame{}, false
	}
	s.lf = 0
	s.looks += end
	return Frame{Raw: b[:n:n], Type: b[:0:0], Data: b[len(field):end:end], At: len(field)}, true
}

// Last returns the frame at the beginning of b after the stream has ended. It works
// as Next does, but the end of b also ends a frame, since a server may leave out the
// last blank line. If you write on after such a Raw, first end its line and the frame.
//
// It returns false if no frame is left: b is empty, or holds only a byte order
// mark, or the LF of a line end whose CR belongs to the last frame. Raw is then b,
// and the Scanner is ready for another stream.
func (s *Scanner) Last(b []byte) (f Frame, ok bool) {
	if f, ok = s.Next(b); ok {
		return f, true
	}
	// A frame has a complete line from its third byte on, the shortest being ":\n".
	none := s.readLine(b, s.line, len(b)) && s.line < 2
	f = s.frame(b, len(b))
	if none {
		*s = Scanner{joined: s.joined}
	}
	return f, !none
}

// startLine begins a line at i.
func (s *Scanner) startLine(i int) {
	s.line, s.seen, s.lf = i, i, max(s.lf, i)
}

// lineEnd returns where the current line ends, or len(b) if its end has not come
// yet.
func (s *Scanner) lineEnd(b []byte) int {
	from := s.lf
	if i := bytes.IndexByte(b[s.lf:], '\n'); i >= 0 {
		s.lf += i
	} else {
		s.lf = len(b)
	}
	s.looks += s.lf - from
	end := s.lf
	if i := bytes.IndexByte(b[s.seen:s.lf], '\r'); i >= 0 {
		end = s.seen + i
	}
	s.looks += end - s.seen
	s.seen = end
	return end
}

var mark = []byte("\ufeff")

// readLine reads the line b[from:end] and reports whether it is blank.
func (s *Scanner) readLine(b []byte, from, end int) (blank bool) {
	if !s.begun {
		s.begun = true
		if bytes.HasPrefix(b[from:end], mark) {
			from += len(mark)
		}
	}
	if from == end {
		return true
	}
	switch b[from] {
	case 'd':
		if at, ok := value(b[from:end], "data"); ok {
			s.addData(b, span{from + at, end}, b[from+at-1] == 'a')
		}
	case 'e':
		if at, ok := value(b[from:end], "event"); ok {
			s.typ = span{from + at, end}
		}
	}
	return false
}

// value returns where the value of the field name begins in line, and false if
// line is not that field.
func value(line []byte, name string) (at int, ok bool) {
	n := len(name)
	switch {
	case len(line) < n || string(line[:n]) != name:
		return 0, false
	case len(line) == n:
		return n, true
	case line[n] != ':':
		return 0, false
	case len(line) > n+1 && line[n+1] == ' ':
		return n + 2, true
	}
	return n + 1, true
}

// addData adds a data field to the frame; bare reports that it has no colon.
func (s *Scanner) addData(b []byte, value span, bare bool) {
	s.fields++
	switch s.fields {
	case 1:
		s.data, s.bare = value, bare
		return
	case 2:
		s.joined = append(s.joined[:0], s.data.of(b)...)
	}
	s.joined = append(s.joined, '\n')
	s.joined = append(s.joined, value.of(b)...)
}

// frame returns the frame with the bytes b[:n] and prepares for the next.
func (s *Scanner) frame(b []byte, n int) Frame {
	f := Frame{Raw: b[:n:n], Type: s.typ.of(b), At: -1}
	switch {
	case s.fields > 1:
		f.Data = s.joined[:len(s.joined):len(s.joined)]
	case s.fields == 1:
		f.Data = s.data.of(b)
		if !s.bare {
			f.At = s.data.from
		}
	}
	s.line, s.seen, s.lf = 0, 0, max(s.lf-n, 0)
	s.typ, s.fields = span{}, 0
	return f
}
