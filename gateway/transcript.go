package gateway

import (
	"cmp"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/account"
	"github.com/sotto-llm/sotto/record"
)

// maxRemarks bounds the diagnostics of one choice in the record.
const maxRemarks = sotto.MaxDiagnostics

// recordLimit is the remark that a reply is recorded only up to a point, because it
// is longer than the limit.
const recordLimit sotto.Code = "record_limit"

// A transcript is the recorded part of a choice: its text as it came, and how it
// was read.
type transcript struct {
	raw        []byte
	size       int // of the text as it came
	start      sotto.Start
	segments   []record.Segment
	incomplete bool // there was no room for all segments
	segment    int  // the splitter's number of the last segment
	// If a server continues after the end, there are several readings. base is
	// where the current one began, and blocks is how many blocks there were before
	// it.
	base, blocks int
	remarks      []sotto.Diagnostic
	more         int // remarks in addition to maxRemarks
}

// begin notes that a reading begins.
func (t *transcript) begin(start sotto.Start) {
	t.start = cmp.Or(t.start, start)
	t.base, t.segment = t.size, -1
	for _, s := range t.segments {
		t.blocks = max(t.blocks, s.Block)
	}
}

// end keeps the remarks on the reading under way.
func (t *transcript) end(s *sotto.Splitter) {
	t.more += s.Counts().Total()
	for _, d := range s.Diagnostics() {
		if len(t.remarks) == maxRemarks {
			return
		}
		t.more--
		d.Offset += t.base
		t.remarks = append(t.remarks, d)
	}
}

// add appends text. Once a part had no room, nothing more is kept.
func (t *transcript) add(text []byte, room *account.Room) {
	if len(t.raw) == t.size {
		t.raw = append(t.raw, room.Take(text)...)
	}
	t.size += len(text)
}

// piece notes how some of the text was read.
func (t *transcript) piece(p sotto.Piece, room *account.Room) {
	start := t.base + p.Offset
	end := min(start+len(p.Bytes), len(t.raw))
	switch n := len(t.segments); {
	case start >= end || t.incomplete:
	case n > 0 && p.Segment == t.segment:
		t.segments[n-1].End = end
	case !room.Entry():
		t.segments, t.incomplete = nil, true
	default:
		block := p.Block
		if block > 0 {
			block += t.blocks
		}
		t.segment = p.Segment
		t.segments = append(t.segments, record.Segment{Channel: p.Channel, Block: block, Output: p.Output, Start: start, End: end})
	}
}

// transcribe begins the transcript of a choice, or notes what has been read of it
// so far.
func (r *reading) transcribe(c *choice) {
	if c.script == nil {
		c.script = &transcript{}
		r.texts++
		return
	}
	c.script.end(c.split)
}

// spoken are the choices that gave text, in order.
func (r *reading) spoken() []int {
	var list []int
	for i, c := range r.choices {
		if c != nil && c.script != nil {
			list = append(list, i)
		}
	}
	return list
}

// recorded returns a choice in the form in which it is recorded.
func (r *reading) recorded(i int) record.Reply {
	out := record.Reply{Choice: i}
	if i >= len(r.choices) || r.choices[i] == nil {
		return out
	}
	c := r.choices[i]
	out.End = c.end
	t := c.script
	if t == nil {
		return out
	}
	t.end(c.split)
	for _, code := range c.startFindings(c.thinkingFindings(nil)) {
		t.remarks = append(t.remarks, sotto.Diagnostic{Code: code})
	}
	if len(t.raw) < t.size {
		t.remarks = append(t.remarks, sotto.Diagnostic{Code: recordLimit, Offset: len(t.raw)})
	}
	out.Start, out.Segments, out.Diagnostics, out.Raw = t.start, t.segments, t.remarks, record.Say(string(t.raw))
	out.MoreDiagnostics = t.more
	if names := len(strings.Join(r.callable, "")); names <= maxNames {
		out.Tools = r.callable
	}
	return out
}

// maxNames is how many bytes of tools' names the record keeps with each choice. They are
// beside their definitions, which come once for a request.
const maxNames = 16 << 10
