package demo

import (
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto"
)

// counts are bytes per channel.
type counts [sotto.ChannelMarkup + 1]int

func (c *counts) plus(other counts) {
	for i, n := range other {
		c[i] += n
	}
}

// String shows that every byte belongs to one channel.
func (c counts) String() string {
	var parts []string
	total := 0
	for i, n := range c {
		total += n
		parts = append(parts, fmt.Sprintf("%s %d", sotto.Channel(i), n))
	}
	return fmt.Sprintf("%s = %d bytes", strings.Join(parts, " + "), total)
}

// A tally collects the results of a streamed reply.
type tally struct {
	counts
	segments []sotto.Segment
	last     int // the number of the last segment
	visible  []byte
}

func (t *tally) count(p sotto.Piece) {
	t.counts[p.Channel] += len(p.Bytes)
	t.visible = append(t.visible, p.Visible...)
	end := p.Offset + len(p.Bytes)
	if n := len(t.segments); n > 0 && t.last == p.Segment {
		t.segments[n-1].End = end
		return
	}
	t.last = p.Segment
	t.segments = append(t.segments, sotto.Segment{Channel: p.Channel, Block: p.Block, Output: p.Output, Start: p.Offset, End: end})
}

// same reports whether reading the whole reply gives the same as streaming it.
func (t *tally) same(whole *sotto.Reply) bool {
	if len(t.segments) != len(whole.Segments) || string(t.visible) != whole.Visible() {
		return false
	}
	for i, s := range whole.Segments {
		if s != t.segments[i] {
			return false
		}
	}
	return true
}
