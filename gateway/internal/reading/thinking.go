package reading

import (
	"errors"
	"slices"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// The findings about the thinking of a reply.
const (
	thinkingLimit sotto.Code = "thinking_limit"
	thinkingLoop  sotto.Code = "thinking_loop"
)

// ErrStopped ends a reply whose codec cannot end it as the API does.
var ErrStopped = errors.New("the model was stopped: it thought more than the configuration allows, or in circles")

// thinking says how long the models of a route may think.
type thinking struct {
	limit           int // bytes of reasoning of a reply; 0 for no limit
	onLimit, onLoop routing.ThinkingAction
}

func ThinkingOf(r *routing.Route) thinking {
	t := thinking{r.ThinkingLimit, r.OnThinkingLimit, r.OnThinkingLoop}
	if t.limit == 0 {
		t.onLimit = routing.ThinkingIgnore
	}
	return t
}

// watches reports whether anything is looked for.
func (t thinking) watches() bool {
	return t.onLimit != routing.ThinkingIgnore || t.onLoop != routing.ThinkingIgnore
}

// Stops reports whether a reply may be ended.
func (t thinking) Stops() bool {
	return t.onLimit == routing.ThinkingStop || t.onLoop == routing.ThinkingStop
}

// think notes reasoning of a choice, and decides whether the reply must end.
func (r *Reading) think(c *Choice, text []byte) {
	c.inThought.Add(text)
	if !r.Rules.watches() {
		return
	}
	if r.Rules.onLimit != routing.ThinkingIgnore && !c.overLimit {
		if c.thinks += len(text); c.thinks > r.Rules.limit {
			c.overLimit = true
			r.Stopped = r.Stopped || r.Rules.onLimit == routing.ThinkingStop
		}
	}
	if r.Rules.onLoop == routing.ThinkingIgnore || c.circles {
		return
	}
	if c.loop == nil {
		c.loop = &loop{}
	}
	if c.loop.repeated(text) {
		c.circles, c.loop = true, nil
		r.Stopped = r.Stopped || r.Rules.onLoop == routing.ThinkingStop
	}
}

// StopCause says why the reply was ended.
func (r *Reading) StopCause() sotto.Code {
	if r.Filtered() {
		return guardEnded
	}
	for _, c := range r.Choices {
		if c != nil && c.circles && r.Rules.onLoop == routing.ThinkingStop {
			return thinkingLoop
		}
	}
	return thinkingLimit
}

// thinkingFindings adds what was found about a choice's thinking, once.
func (c *Choice) thinkingFindings(codes []sotto.Code) []sotto.Code {
	if c.overLimit && !slices.Contains(codes, thinkingLimit) {
		codes = append(codes, thinkingLimit)
	}
	if c.circles && !slices.Contains(codes, thinkingLoop) {
		codes = append(codes, thinkingLoop)
	}
	if c.inThought.Calls > 0 && !slices.Contains(codes, callInThought) {
		codes = append(codes, callInThought)
	}
	return codes
}

// How a loop is found: what is looked at, how often, and what counts as one.
const (
	loopWindow = 32 << 10 // bytes of reasoning that are kept
	loopStep   = 4 << 10  // bytes between two looks
	loopLeast  = 2 << 10  // bytes that the repetitions take at least
	loopTimes  = 6        // times that a passage stands there in a row at least
)

// A loop looks for a passage that repeats, word by word, up to the end of what was
// thought so far. It looks at fixed places of the reasoning, so it does not matter in
// which pieces that comes. White space counts as one space. It takes a fixed number of
// steps a byte.
type loop struct {
	window []byte // the end of the reasoning
	seen   int    // bytes since the last look
	space  bool   // the last byte was white space
}

// matches are the tables that a look needs. A loop that waits for its model holds none.
var matches = sync.Pool{New: func() any { return new([loopWindow]int32) }}

// repeated takes more reasoning, and reports whether it has become a loop.
func (l *loop) repeated(text []byte) bool {
	for _, b := range text {
		if IsWhite(b) {
			if l.space {
				continue
			}
			b = ' '
		}
		l.space = b == ' '
		l.window = append(l.window, b)
		if l.seen++; l.seen < loopStep {
			continue
		}
		l.seen = 0
		if n := len(l.window) - loopWindow; n > 0 {
			l.window = l.window[:copy(l.window, l.window[n:])]
		}
		if l.repeats() {
			return true
		}
	}
	return false
}

// repeats reports whether the window ends with enough repetitions of one passage. It
// finds for each length how far back the window repeats with it: the Z algorithm on
// the window from its end (Gusfield, Algorithms on Strings, 1.4).
func (l *loop) repeats() bool {
	n := len(l.window)
	z := matches.Get().(*[loopWindow]int32)
	defer matches.Put(z)
	at := func(i int) byte { return l.window[n-1-i] }
	left, right := 0, 0
	for i := 1; i < n; i++ {
		z[i] = 0
		if i < right {
			z[i] = min(int32(right-i), z[i-left])
		}
		for k := int(z[i]); i+k < n && at(k) == at(i+k); k++ {
			z[i]++
		}
		if i+int(z[i]) > right {
			left, right = i, i+int(z[i])
		}
		if same := i + int(z[i]); same >= loopLeast && same >= loopTimes*i {
			return true
		}
	}
	return false
}
