package reading

import (
	"cmp"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/account"
	"github.com/sotto-llm/sotto/record"
)

// maxRemarks bounds the diagnostics of one choice in the record.
const maxRemarks = sotto.MaxDiagnostics

// recordLimit is the remark that a part of a reply is not recorded, because it is longer
// than the limit.
const recordLimit sotto.Code = "record_limit"

// A transcript is the recorded part of a choice: its text as it came, and how it
// was read.
type transcript struct {
	raw        account.Kept
	start      sotto.Beginning
	segments   []record.Segment
	decided    int  // bytes of the text that segments cover
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
func (t *transcript) begin(start sotto.Beginning) {
	t.start = cmp.Or(t.start, start)
	t.base, t.segment = t.raw.Size(), -1
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

// piece notes how some of the text was read.
func (t *transcript) piece(p sotto.Piece, room *account.Room) {
	start := t.base + p.Offset
	end := start + len(p.Bytes)
	if t.incomplete || start >= end {
		return
	}
	t.decided = max(t.decided, end)
	switch n := len(t.segments); {
	case n > 0 && p.Segment == t.segment:
		t.segments[n-1].End = end
	case !room.ReserveEntry():
		t.forget(room)
	default:
		block := p.Block
		if block > 0 {
			block += t.blocks
		}
		t.segment = p.Segment
		t.segments = append(t.segments, record.Segment{Channel: p.Channel, Block: block, Output: p.Output, Start: start, End: end})
	}
}

// forget drops the segments, which are too many.
func (t *transcript) forget(room *account.Room) {
	room.Return(len(t.segments))
	t.segments, t.incomplete = nil, true
}

// undecided is how many bytes at the end are in no segment yet.
func (t *transcript) undecided() int {
	if t.incomplete {
		return 0
	}
	return t.raw.Size() - t.decided
}

// runs returns the runs of the text that may lose their middle.
func (t *transcript) runs() account.Runs {
	r := account.Runs{Kept: &t.raw}
	for _, s := range t.segments {
		switch run := (record.Span{Start: s.Start, End: s.End}); s.Channel {
		case sotto.ChannelReasoning, sotto.ChannelAside:
			r.Thoughts = append(r.Thoughts, run)
		default:
			r.Others = append(r.Others, run)
		}
	}
	return r
}

// fit keeps what is recorded of a reply within its room.
func (r *Reading) fit() {
	if r.Room == nil || r.Room.Left >= 0 {
		return
	}
	undecided := 0
	var texts []account.Runs
	for _, c := range r.Choices {
		if c != nil && c.script != nil {
			undecided += c.script.undecided()
		}
	}
	if r.Room.Left+undecided >= 0 {
		return
	}
	for _, c := range r.Choices {
		if c != nil && c.script != nil {
			texts = append(texts, c.script.runs())
		}
	}
	texts = append(texts, r.Account.Runs()...)
	if r.Room.Fit(texts, undecided, r.Limits.Recorded) {
		return
	}
	for _, c := range r.Choices {
		if c != nil && c.script != nil {
			c.script.forget(r.Room)
		}
	}
	if r.Room.Left < 0 {
		r.Room.Close()
	}
}

// transcribe begins the transcript of a choice, or notes what has been read of it
// so far.
func (r *Reading) transcribe(c *Choice) {
	if c.script == nil {
		c.script = &transcript{}
		r.texts++
		return
	}
	c.script.end(c.split)
}

// Spoken are the choices that gave text, in order.
func (r *Reading) Spoken() []int {
	var list []int
	for i, c := range r.Choices {
		if c != nil && c.script != nil {
			list = append(list, i)
		}
	}
	return list
}

// Recorded returns a choice in the form in which it is recorded.
func (r *Reading) Recorded(i int) record.Reply {
	out := record.Reply{Choice: i}
	if i >= len(r.Choices) || r.Choices[i] == nil {
		return out
	}
	c := r.Choices[i]
	out.End = c.End
	t := c.script
	if t == nil {
		return out
	}
	t.end(c.split)
	for _, code := range c.startFindings(c.thinkingFindings(nil)) {
		t.remarks = append(t.remarks, sotto.Diagnostic{Code: code})
	}
	raw := t.raw.Content()
	if !raw.Whole() {
		t.remarks = append(t.remarks, sotto.Diagnostic{Code: recordLimit, Offset: raw.Cuts[0].Start})
	}
	out.Start, out.Segments, out.Diagnostics, out.Raw = t.start, t.segments, t.remarks, raw
	out.MoreDiagnostics = t.more
	if names := len(strings.Join(r.Callable, "")); names <= maxNames {
		out.Tools = r.Callable
	}
	return out
}

// maxNames is how many bytes of tools' names the record keeps with each choice. They are
// beside their definitions, which come once for a request.
const maxNames = 16 << 10
