package errortext

import (
	"github.com/sotto-llm/sotto/internal/data/alike"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// Usual recognizes the frames of a stream that hold no error because they are like one that
// holds none. To look for the names of errors in each frame takes longer than everything else
// that is done for most frames.
type Usual struct{ frames alike.Frames }

// MayBeError reports whether a frame may hold an error, as [MayBeError] does.
func (u *Usual) MayBeError(kind, data []byte) bool {
	if isError(jsonedit.StringOf(kind)) {
		return true
	}
	if u.frames.Like(data) {
		return false
	}
	if MayBeError(kind, data) {
		return true
	}
	u.frames.Learn(data, nil)
	return false
}
