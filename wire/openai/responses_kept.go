package openai

import "errors"

// A reply keeps its texts until its end, which repeats them, and events that wait.
// The memory that an upstream can make it use is bounded in total. An item, or a
// part of one, counts as 1/4096 of that, because an event may look at all of them.
const (
	responsesKept     = 64 << 20
	responsesItemKept = responsesKept / 4096

	responsesEventKept = 512 // in addition to its bytes
)

var errResponsesKept = errors.New("the upstream sent more than 64 MiB, or more than 4096 items and parts, in one reply")

// keep counts bytes that are kept. A whole reply keeps no more than came.
func (y *responsesReply) keep(n int) {
	y.kept += n
	if y.kept > responsesKept && !y.mute {
		y.r.Fail(errResponsesKept)
	}
}

func (y *responsesReply) keepText(p *responsesPart, text []byte) {
	y.keep(len(text))
	p.text = append(p.text, text...)
}

// wait appends an event to those that wait.
func (y *responsesReply) wait(events []responsesEvent, e *responsesEvent) []responsesEvent {
	y.keep(responsesEventKept + len(e.Raw))
	return append(events, e.copy())
}
