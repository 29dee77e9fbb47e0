package errortext

import "github.com/sotto-llm/sotto/internal/data/jsonedit"

// Usual recognizes the frames of a stream that hold no error because they are like one that
// holds none: they differ from it in what the model says and in the time. To look for the
// names of errors in each frame takes longer than everything else that is done for most
// frames.
type Usual struct {
	shape  jsonedit.Shape
	misses int // frames in a row that were not like the one before
}

// mostMisses is after how many frames that are all different Usual stops learning.
const mostMisses = 8

// mostLearned bounds what is kept of a frame, in bytes. No limit counts it.
const mostLearned = 2 << 10

// MayBeError reports whether a frame may hold an error, as [MayBeError] does.
func (u *Usual) MayBeError(kind, data []byte) bool {
	if isError(jsonedit.StringOf(kind)) {
		return true
	}
	if _, same := u.shape.Find(data); same {
		u.misses = 0
		return false
	}
	if MayBeError(kind, data) {
		return true
	}
	if u.misses++; u.misses <= mostMisses {
		u.learn(data)
	}
	return false
}

// said are members whose string is what the model says. A string that says what kind of
// thing a frame is, such as type, must not be one of them.
var said = map[string]bool{
	"content": true, "reasoning_content": true, "reasoning": true, "thinking": true, "text": true, "response": true,
	"delta": true, "arguments": true,
}

// learn remembers a frame without an error: it is the form of others, whose last string
// that the model says may differ, and a time before it.
func (u *Usual) learn(data []byte) {
	var text, time jsonedit.Span
	key := ""
	for at := 0; at < len(data); at++ {
		if data[at] != '"' {
			if data[at] == ',' || data[at] == '{' || data[at] == '[' {
				key = ""
			}
			continue
		}
		end := jsonedit.StringEnd(data, at+1)
		if end < 0 {
			return
		}
		inside := jsonedit.Span{Start: at + 1, End: end}
		switch {
		case end+1 < len(data) && data[end+1] == ':':
			key = string(inside.Of(data))
		case said[key]:
			text = inside
		case key == "created_at" && text.End == 0:
			time = inside
		}
		at = end
	}
	if text.End > 0 && len(data)-(text.End-text.Start) <= mostLearned {
		u.shape.Learn(data, text, time)
	}
}
