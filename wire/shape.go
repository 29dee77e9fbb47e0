package wire

import "bytes"

// A Shape is a frame seen before, but for one text in it. A model's frames are
// alike: one that differs from an earlier one in the text alone has its members
// where that had them, and need not be parsed.
type Shape struct {
	before, after []byte // the frame's JSON up to the text's opening quote, and from its closing quote on
}

// Learn remembers a frame's JSON, whose text stands inside span.
func (s *Shape) Learn(data []byte, inside Span) {
	s.before = append(s.before[:0], data[:inside.Start]...)
	s.after = append(s.after[:0], data[inside.End:]...)
}

// Find returns where the text stands in a frame that is like the one learnt.
func (s *Shape) Find(data []byte) (inside Span, ok bool) {
	if len(s.before) == 0 || !bytes.HasPrefix(data, s.before) || !bytes.HasSuffix(data, s.after) {
		return inside, false
	}
	inside = Span{len(s.before), len(data) - len(s.after)}
	if inside.End < inside.Start || StringEnd(data, inside.Start) != inside.End {
		return inside, false
	}
	return inside, true
}

// StringEnd returns the offset of the quote that ends the JSON string whose
// inside begins at i, or -1.
func StringEnd(b []byte, i int) int {
	for at := i; ; at++ {
		q := bytes.IndexByte(b[at:], '"')
		if q < 0 {
			return -1
		}
		at += q
		n := at
		for n > i && b[n-1] == '\\' {
			n--
		}
		if (at-n)%2 == 0 {
			return at
		}
	}
}

// TextOf returns the text that the inside of a JSON string stands for: a part of
// inside where nothing in it is escaped, else in buf, which is returned too.
func TextOf(buf, inside []byte) (text, scratch []byte) {
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside, buf
	}
	buf = AppendText(buf[:0], inside)
	return buf, buf
}
