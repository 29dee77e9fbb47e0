package reading

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"slices"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/account"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/wire"
)

// What a client got is recorded as places of what the upstream sent. A text on its way to
// the client has lost its place: white space was trimmed, sections and calls were taken
// out. So its place is found again by its bytes: what the client gets of a channel comes in
// the order in which the upstream sent it.

// A span is a part of what the client got.
type span struct {
	choice     int
	part       int // of the account, from 1; 0 is the text of the choice
	start, end int
	put        string // what the gateway put there itself
	unnamed    int    // bytes whose place was not found
}

// size is the length of a span.
func (s *span) size() int { return s.end - s.start + len(s.put) + s.unnamed }

// maxSpans bounds how many spans are recorded of one place.
const maxSpans = 4096

// A delivered text is what the client got of one choice at one place.
type delivered struct {
	spans []span
	bytes int
	more  int // bytes of spans that are not listed
	sum   hash.Hash
}

// add adds what the client gets next.
func (d *delivered) add(text []byte, spans []span) {
	if d.sum == nil {
		d.sum = sha256.New()
	}
	d.sum.Write(text)
	d.bytes += len(text)
	for _, s := range spans {
		if d.more > 0 || len(d.spans) == maxSpans && !d.spans[len(d.spans)-1].goesOn(s) {
			d.more += s.size()
			continue
		}
		d.spans = join(d.spans, s)
	}
}

// goesOn reports whether another span follows directly.
func (s *span) goesOn(next span) bool {
	return s.put == "" && next.put == "" && s.unnamed == 0 && next.unnamed == 0 && s.choice == next.choice && s.part == next.part && s.end == next.start
}

// join appends a span, or makes the last one longer.
func join(list []span, s span) []span {
	if last := len(list) - 1; last >= 0 && list[last].goesOn(s) {
		list[last].end = s.end
		return list
	}
	if s.size() == 0 {
		return list
	}
	return append(list, s)
}

// joinSome is join for a list whose length is bounded: the rest has no place.
func joinSome(list []span, s span) []span {
	last := len(list) - 1
	if last+1 < maxSpans || list[last].goesOn(s) {
		return join(list, s)
	}
	if list[last].unnamed == 0 {
		list[last] = span{choice: list[last].choice, unnamed: list[last].size()}
	}
	list[last].unnamed += s.size()
	return list
}

// firstBytes returns the spans of the first n bytes.
func firstBytes(list []span, n int) (first []span) {
	for _, s := range list {
		if n <= 0 {
			break
		}
		switch size := s.size(); {
		case size <= n:
		case s.put != "":
			s.put = s.put[:n]
		case s.unnamed > 0:
			s.unnamed = n
		default:
			s.end = s.start + n
		}
		n -= s.size()
		first = append(first, s)
	}
	return first
}

// withoutFirst returns the spans without the first n bytes.
func withoutFirst(list []span, n int) (rest []span) {
	for _, s := range list {
		switch size := s.size(); {
		case n <= 0:
		case size <= n:
			n -= size
			continue
		case s.put != "":
			s.put, n = s.put[n:], 0
		case s.unnamed > 0:
			s.unnamed, n = s.unnamed-n, 0
		default:
			s.start, n = s.start+n, 0
		}
		rest = append(rest, s)
	}
	return rest
}

// A channel is a channel of a choice whose text is looked for.
type channel uint8

const (
	shownText channel = iota
	thoughtInText
	thoughtInField
	narrationText
	channels
)

// has reports whether a segment's bytes can be on the channel.
func (c channel) has(s sotto.Channel) bool {
	switch s {
	case sotto.ChannelReasoning:
		return c == thoughtInText
	case sotto.ChannelNarration:
		return c == narrationText || c == shownText
	case sotto.ChannelText, sotto.ChannelTool:
		return c == shownText
	}
	return false
}

// A tracer finds the places of what a client gets of a choice.
type tracer struct {
	got [3]delivered // by place
	at  [channels]position
	end [channels]int // of what was named last
	// natives are where the account has the thoughts that came apart, in order.
	natives  []nativeRun
	searched int // bytes that were looked through
}

// A position is a place on a channel: a byte of one of its runs.
type position struct{ run, from int }

// before reports whether a position comes before another.
func (s position) before(t position) bool { return s.run < t.run || s.run == t.run && s.from < t.from }

// A nativeRun is a part of a thought of the account.
type nativeRun struct {
	kept             *account.Kept
	part, start, end int
}

// maxSearched bounds how many bytes of a choice are looked through, again and again.
const maxSearched = 64 << 20

// upstreamSaid is the reading that has what the upstream sent of a choice.
func (r *Reading) upstreamSaid(c *Choice) *Choice {
	if r.Ahead == nil {
		return c
	}
	if c.Number < len(r.Ahead.Choices) && r.Ahead.Choices[c.Number] != nil {
		return r.Ahead.Choices[c.Number]
	}
	return c
}

// noteNative notes where the account put a thought that came apart.
func (r *Reading) noteNative(c *Choice) {
	if r.Account == nil {
		return
	}
	kept, part, start := r.Account.Last()
	if kept == nil {
		return
	}
	run := nativeRun{kept, part, start, kept.Size()}
	list := c.trace.natives
	if last := len(list) - 1; last >= 0 && list[last].kept == kept && list[last].end == start {
		list[last].end = run.end
	} else if r.Room.ReserveEntry() {
		c.trace.natives = append(list, run)
	}
}

// run returns the n-th run of a channel of what was sent, and whether it is on
// the channel. It returns false after the last one.
func (r *Reading) run(said *Choice, ch channel, n int) (run nativeRun, on, ok bool) {
	if ch == thoughtInField {
		if n < len(said.trace.natives) {
			return said.trace.natives[n], true, true
		}
		return run, false, false
	}
	switch t := said.script; {
	case t == nil:
		return run, false, false
	case t.incomplete:
		return nativeRun{&t.raw, 0, 0, t.raw.Size()}, true, n == 0
	case n < len(t.segments):
		s := t.segments[n]
		return nativeRun{&t.raw, 0, s.Start, s.End}, ch.has(s.Channel), true
	}
	return run, false, false
}

// name returns the places of a text that comes next on a channel of a choice. They are valid
// until the next call.
func (r *Reading) name(c *Choice, ch channel, text []byte) []span {
	r.named = r.find(r.named[:0], c, ch, text)
	return r.named
}

// find appends the places to a list.
func (r *Reading) find(list []span, c *Choice, ch channel, text []byte) []span {
	said := r.upstreamSaid(c)
	for len(text) > 0 {
		var n int
		list, n = r.follow(list, c, said, ch, text)
		if text = text[n:]; len(text) == 0 {
			break
		}
		if s, ok := r.cutOff(c, said, ch, text); ok {
			return join(list, s)
		}
		ink := trimLeft(text)
		white := len(text) - len(ink)
		put := white > 0
		if len(ink) > 0 {
			next, found := r.seek(c, said, ch, ink)
			if white > 0 { // it was put there, unless the upstream sent it before
				with, sent := r.seek(c, said, ch, text)
				if put = !sent || found && next.before(with); !put {
					next, found = with, sent
				}
			}
			if !found {
				list = append(list, span{choice: c.Number, unnamed: len(text)})
				break
			}
			c.trace.at[ch] = next
		}
		if put {
			list = join(list, span{choice: c.Number, put: string(text[:white])})
			text = ink
		}
	}
	return list
}

// follow names the bytes with which a text continues at the place where the channel is.
func (r *Reading) follow(list []span, c, said *Choice, ch channel, text []byte) ([]span, int) {
	at, n := &c.trace.at[ch], 0
	for n < len(text) {
		run, on, ok := r.run(said, ch, at.run)
		if !ok {
			break
		}
		from := max(at.from, run.start)
		if on && from < run.end {
			k := run.kept.Follows(from, run.end, text[n:])
			if k == 0 {
				break
			}
			list = join(list, span{choice: c.Number, part: run.part, start: from, end: from + k})
			at.from, n = from+k, n+k
			c.trace.end[ch] = at.from
			continue
		}
		if _, _, more := r.run(said, ch, at.run+1); !more {
			break // this one may go on
		}
		*at = position{run: at.run + 1}
	}
	return list, n
}

// cutOff names the end of a reply that a guard has ended: it may be the beginning of what
// was sent on another channel, such as a marker that the client's reading did not see whole.
func (r *Reading) cutOff(c, said *Choice, ch channel, text []byte) (span, bool) {
	if r.Ahead == nil || ch == thoughtInField || said.script == nil {
		return span{}, false
	}
	raw, from := &said.script.raw, c.trace.end[ch]
	if raw.Follows(from, raw.Size(), text) < len(text) {
		return span{}, false
	}
	return span{choice: c.Number, start: from, end: from + len(text)}, true
}

// seek returns the next place of a channel where a text may go on: where most of its
// Beginning stands.
func (r *Reading) seek(c, said *Choice, ch channel, text []byte) (position, bool) {
	for _, k := range []int{64, 8, 1} {
		if k > len(text) && k > 8 {
			k = len(text)
		}
		if k > len(text) {
			continue
		}
		at := c.trace.at[ch]
		for {
			run, on, ok := r.run(said, ch, at.run)
			if !ok || c.trace.searched > maxSearched {
				break
			}
			from := max(at.from, run.start)
			if on && from < run.end {
				place, looked := run.kept.Find(from, run.end, text[:k])
				c.trace.searched += looked
				if place >= 0 {
					return position{at.run, place}, true
				}
			}
			at = position{run: at.run + 1}
		}
	}
	return position{}, false
}

// gave notes what the client gets at a place.
func (r *Reading) gave(c *Choice, place wire.Place, text []byte, spans func() []span) {
	if !r.Notes || len(text) == 0 {
		return
	}
	got := &c.trace.got[places[place]]
	if r.Writing && r.OnNoAnswer == routing.NoAnswerError {
		r.Unsent = append(r.Unsent, gotText{got, bytes.Clone(text), slices.Clone(spans())})
		return
	}
	got.add(text, spans())
}

// A gotText is what a client gets if the frame that has it is sent.
type gotText struct {
	to    *delivered
	text  []byte
	spans []span
}

// Wrote notes that a frame is sent.
func (r *Reading) Wrote() {
	for _, g := range r.Unsent {
		g.to.add(g.text, g.spans)
	}
	r.Writing, r.Unsent = false, nil
}

// put is for text of the gateway's own.
func (c *Choice) put(text []byte) func() []span {
	return func() []span { return []span{{choice: c.Number, put: string(text)}} }
}

// places number the places of a frame where the client gets text.
var places = map[wire.Place]int{wire.Content: 0, wire.Reasoning: 1, wire.Narration: 2}
