package jsonedit

import (
	"bytes"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// A Shape is the form of an earlier frame, without one text in it, and without one
// string before that: a time. A model's frames are alike. A frame that differs from
// an earlier one only in these has its members in the same places, and need not be
// parsed.
type Shape struct {
	lead   []byte // the frame's JSON up to the first string's opening quote, if there is one
	before []byte // from there, or from the start, up to the text's opening quote
	after  []byte // from the text's closing quote on
}

// Learn remembers a frame's JSON, whose text is inside a span. If the End of the
// other span is not 0, a string that differs from frame to frame is inside it.
func (s *Shape) Learn(data []byte, text, differs Span) {
	s.lead = append(s.lead[:0], data[:differs.Start]...)
	s.before = append(s.before[:0], data[differs.End:text.Start]...)
	s.after = append(s.after[:0], data[text.End:]...)
}

// Find returns where the text is in a frame that is like the one learnt.
func (s *Shape) Find(data []byte) (text Span, ok bool) {
	if len(s.before) == 0 {
		return text, false
	}
	at := 0
	if len(s.lead) > 0 {
		if !bytes.HasPrefix(data, s.lead) {
			return text, false
		}
		if at = StringEnd(data, len(s.lead)); at < 0 {
			return text, false
		}
	}
	if !bytes.HasPrefix(data[at:], s.before) || !bytes.HasSuffix(data, s.after) {
		return text, false
	}
	text = Span{at + len(s.before), len(data) - len(s.after)}
	if text.End < text.Start || StringEnd(data, text.Start) != text.End {
		return text, false
	}
	return text, true
}

// Differs returns the string that differs in a frame that is like the one learnt.
func (s *Shape) Differs(data []byte) []byte {
	if len(s.lead) == 0 {
		return nil
	}
	return data[len(s.lead):StringEnd(data, len(s.lead))]
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

// TextOf returns the text that the inside of a JSON string encodes. If nothing in
// it is escaped, the text is a part of inside, else it is in buf, which is returned
// too.
func TextOf(buf, inside []byte) (text, scratch []byte) {
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside, buf
	}
	buf = jsontext.AppendText(buf[:0], inside)
	return buf, buf
}
