package sse

import "bytes"

// A Frame is an event as it came.
type Frame struct {
	Raw  []byte // all its bytes, with the blank line that ends it; comments and unknown fields included
	Type []byte // value of the last "event" field; empty where there is none, which means "message"
	Data []byte // the "data" fields, joined by "\n"; nil where there is none (a comment, a bare retry)

	// At is the offset of Data in Raw: other data can take its place there that
	// has no line end and does not begin with a space. It is -1 where several
	// data fields were joined, where the one has no colon, and where there is none.
	At int
}

// A Scanner finds the frames in a buffer that grows. Its zero value is ready for
// the beginning of a stream.
type Scanner struct {
	// 0 ≤ line ≤ seen ≤ len(b) and line ≤ lf ≤ len(b), b the buffer last given
	// without the frame last found. The lines before line are read.
	line int
	seen int // b[line:seen] holds no line end
	lf   int // b[line:lf] holds no LF: where lines end in CR it is far ahead

	looks int // bytes in which line ends were sought, so far, for tests

	begun bool // the first line of the stream is read
	cr    bool // line is where b ended, behind a CR: an LF that comes there belongs to it

	// Of the frame that b begins with, so far; the spans are in b.
	typ    span
	data   span   // of the first data field
	fields int    // data fields
	bare   bool   // the first has no colon
	joined []byte // the data, if fields > 1
}

// A span is a part of the buffer.
type span struct{ from, to int }

func (p span) of(b []byte) []byte { return b[p.from:p.to:p.to] }

// Next returns the frame that b begins with and true, or false where b does not
// hold its end yet. After a frame the caller drops len(f.Raw) bytes; after false
// it calls again with the same bytes and more behind them.
func (s *Scanner) Next(b []byte) (f Frame, ok bool) {
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
			return s.take(b, next), true
		}
		s.startLine(next)
	}
}

// Last returns the frame that b begins with where the stream has ended: as Next
// does, but the end of b ends a frame too, for a server may leave out the last
// blank line. Who writes on behind such a Raw ends its line and the frame first.
//
// It returns false where no frame is left: b is empty, or holds only a byte order
// mark or the LF of a line end whose CR the last frame has. Raw is then b, and the
// Scanner is ready for another stream.
func (s *Scanner) Last(b []byte) (f Frame, ok bool) {
	if f, ok = s.Next(b); ok {
		return f, true
	}
	// A frame has a line behind it from its third byte on, the shortest being ":\n".
	none := s.readLine(b, s.line, len(b)) && s.line < 2
	f = s.take(b, len(b))
	if none {
		*s = Scanner{joined: s.joined}
	}
	return f, !none
}

// startLine begins a line at i.
func (s *Scanner) startLine(i int) {
	s.line, s.seen, s.lf = i, i, max(s.lf, i)
}

// lineEnd returns where the line ends that is being read, or len(b) where its
// end is still to come.
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

// value returns where in line the value of the field name begins, and false where
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

// addData adds a data field to the frame; bare says that it has no colon.
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

// take returns the frame whose bytes are b[:n] and makes ready for the next.
func (s *Scanner) take(b []byte, n int) Frame {
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
