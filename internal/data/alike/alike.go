// Package alike recognizes the frames of a stream that are like an earlier one: they differ from
// it in what the model says and in the time. What was found out about that one holds for them.
package alike

import "github.com/sotto-llm/sotto/internal/data/jsonedit"

// mostMisses is after how many frames that are all different nothing more is learned.
const mostMisses = 8

// mostLearned bounds what is kept of a frame, in bytes. No limit counts it.
const mostLearned = 2 << 10

// Frames are those of a stream. The zero value has seen none.
type Frames struct {
	shape  jsonedit.Shape
	misses int // frames in a row that were not like the one before
}

// Like reports whether a frame is like the one learned last.
func (f *Frames) Like(data []byte) bool {
	_, same := f.shape.Find(data)
	if same {
		f.misses = 0
	}
	return same
}

// Learn remembers a frame that is not like the one before. may, if not nil, reports whether a string of the
// frame may be another one without changing what was found out about the frame.
func (f *Frames) Learn(data []byte, may func(inside jsonedit.Span) bool) {
	if f.misses == mostMisses {
		return
	}
	f.misses++
	text, time := differing(data)
	switch {
	case text.End == 0 || len(data)-(text.End-text.Start) > mostLearned:
	case may != nil && (!may(text) || time.End > 0 && !may(time)):
	default:
		f.shape.Learn(data, text, time)
	}
}

// said are members whose string is what the model says. A string that says what kind of
// thing a frame is, such as type, must not be one of them.
var said = map[string]bool{
	"content": true, "reasoning_content": true, "reasoning": true, "thinking": true, "text": true, "response": true,
	"delta": true, "arguments": true,
}

// differing returns where the last string is that the model says, and a time before it. Without such a string,
// the End of text is 0; without a time, its End is.
func differing(data []byte) (text, time jsonedit.Span) {
	var key []byte
	for at := 0; at < len(data); at++ {
		if data[at] != '"' {
			if data[at] == ',' || data[at] == '{' || data[at] == '[' {
				key = nil
			}
			continue
		}
		end := jsonedit.StringEnd(data, at+1)
		if end < 0 {
			return jsonedit.Span{}, jsonedit.Span{}
		}
		inside := jsonedit.Span{Start: at + 1, End: end}
		switch {
		case end+1 < len(data) && data[end+1] == ':':
			key = inside.Of(data)
		case said[string(key)]:
			text = inside
		case string(key) == "created_at" && text.End == 0:
			time = inside
		}
		at = end
	}
	return text, time
}
