// Package sourcetext reads the texts that one source sends one after another, such as the
// progress of a tool or the statuses of a task, as one reply. A tag may be cut by the
// border of two texts, and a thought may go on over several. Each text keeps its own
// border: what is visible of it comes back by itself.
package sourcetext

import (
	"fmt"

	"github.com/sotto-llm/sotto"
)

// maxRead bounds what is read of a source, in bytes. What comes later is not given.
const maxRead = 1 << 20

// A Filter reads the texts of one source. It is not safe for concurrent use.
type Filter struct {
	split  *sotto.Splitter
	read   int // bytes of all texts
	closed bool
	ends   []int  // where each text that was not given yet ends, in the bytes of all texts
	said   []byte // what is visible of the first of them
}

// New returns a filter for a source that begins as start says. If start is
// [sotto.BeginAuto], nothing is given before a marker shows how the source began, or the
// source ends.
func New(g *sotto.Grammar, start sotto.Beginning) (*Filter, error) {
	split, err := g.NewSplitter(sotto.Options{Start: start, MaxHold: -1})
	if err != nil {
		return nil, fmt.Errorf("sourcetext: %w", err)
	}
	return &Filter{split: split}, nil
}

// Add takes the next text, and returns what is visible of the texts about which nothing
// is in doubt any more, in their order. A text that shows nothing is empty. One that comes
// after Close shows nothing.
func (f *Filter) Add(text string) []string {
	if text == "" || f.closed || f.read+len(text) > maxRead {
		return nil
	}
	f.read += len(text)
	f.ends = append(f.ends, f.read)
	given := f.filter(nil, f.split.FeedString(text))
	return f.pass(given, f.read-f.split.Held())
}

// Close ends the source, and returns what is visible of the texts that were not given.
func (f *Filter) Close() []string {
	f.closed = true
	given := f.filter(nil, f.split.Close(sotto.EndStopped))
	return f.pass(given, f.read)
}

// filter sorts what was settled by texts.
func (f *Filter) filter(given []string, pieces []sotto.Piece) []string {
	for _, p := range pieces {
		at, rest := p.Offset, p.Bytes
		given = f.pass(given, at)
		for len(rest) > 0 {
			n := min(len(rest), f.ends[0]-at)
			if p.Channel == sotto.ChannelText || p.Channel == sotto.ChannelNarration {
				f.said = append(f.said, rest[:n]...)
			}
			at, rest = at+n, rest[n:]
			given = f.pass(given, at)
		}
	}
	return given
}

// pass gives the texts that end before or at an offset.
func (f *Filter) pass(given []string, at int) []string {
	for len(f.ends) > 0 && f.ends[0] <= at {
		given = append(given, string(f.said))
		f.said, f.ends = f.said[:0], f.ends[1:]
	}
	return given
}
