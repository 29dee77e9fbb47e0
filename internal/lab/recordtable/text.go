package recordtable

import (
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/record"
)

// maxStandIn bounds the bytes that stand in for the parts of a reply that were not recorded, to
// find which parts are visible.
const maxStandIn = 64 << 20

// segmentsOf returns the segments of a reply as it came, in order. It returns none if
// they do not fit it, which no writer makes.
func segmentsOf(r *record.Reply) []record.Segment {
	list := eventtext.SegmentsOf(r)
	at, end := 0, r.Raw.Len()
	for _, s := range list {
		if s.Start < at || s.End < s.Start || s.End > end {
			return nil
		}
		at = s.End
	}
	return list
}

// answerOf returns the visible text of a reply. ok is false if some of it was not
// recorded.
func answerOf(r *record.Reply, segments []record.Segment) (text string, ok bool) {
	raw := string(r.Raw.Text)
	if !r.Raw.Whole() {
		if raw, ok = standIn(&r.Raw); !ok || len(segments) == 0 {
			return "", false
		}
	}
	if hasHeader(r.Dialect) {
		// Blank lines separate the bodies, and the segments do not say so.
		if !r.Raw.Whole() {
			return "", false
		}
		if g, err := sotto.Named(r.Dialect); err == nil {
			if read, err := g.ParseWith(raw, r.Options(), r.End); err == nil && slices.Equal(record.ReplyOf(read).Segments, segments) {
				return read.Visible(), true
			}
		}
	}
	if len(segments) == 0 {
		return strings.TrimSpace(raw), true
	}
	read := sotto.Reply{Raw: raw, Segments: make([]sotto.Segment, len(segments))}
	for i, s := range segments {
		read.Segments[i] = sotto.Segment{Channel: s.Channel, Block: s.Block, Output: s.Output, Start: s.Start, End: s.End}
	}
	if r.Raw.Whole() {
		return read.Visible(), true
	}
	return recorded(&r.Raw, read.VisibleSpans(nil))
}

// A spanReader finds spans of a text, as [record.Content.Span] does, in one pass: each
// begins at or after the end of the one before it.
type spanReader struct {
	c     *record.Content
	cut   int // the next cut
	shift int // how much longer the original text is before it
}

func (r *spanReader) span(start, end int) (text string, ok bool) {
	for ; r.cut < len(r.c.Cuts) && r.c.Cuts[r.cut].End <= start; r.cut++ {
		k := r.c.Cuts[r.cut]
		r.shift += k.End - k.Start - k.Now
	}
	if r.cut < len(r.c.Cuts) && r.c.Cuts[r.cut].Start < end {
		return "", false
	}
	start, end = start-r.shift, end-r.shift
	if start < 0 || end < start || end > len(r.c.Text) {
		return "", false
	}
	return string(r.c.Text[start:end]), true
}

// recorded returns the text of spans, if all of it was recorded.
func recorded(c *record.Content, spans []sotto.Span) (string, bool) {
	var b strings.Builder
	from := spanReader{c: c}
	for _, s := range spans {
		text, ok := from.span(s.Start, s.End)
		if !ok {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

// standIn returns a text as long as the original one, with a letter for each byte that
// was not recorded.
func standIn(c *record.Content) (string, bool) {
	if c.Len() > maxStandIn {
		return "", false
	}
	var b strings.Builder
	for _, p := range c.Parts() {
		switch {
		case p.Why == "":
			b.WriteString(p.Text)
		case p.End-p.Start > maxStandIn-b.Len():
			return "", false
		default:
			b.WriteString(strings.Repeat("x", p.End-p.Start))
		}
	}
	return b.String(), b.Len() == c.Len()
}

// hasHeader reports whether a dialect of the catalogue divides a reply by headers.
func hasHeader(dialect string) bool { return headers()[dialect] }

var headers = sync.OnceValue(func() map[string]bool {
	with := map[string]bool{}
	for _, d := range dialect.All() {
		if d.Header != nil {
			with[d.Name] = true
		}
	}
	return with
})
