package a2aserver

import "github.com/sotto-llm/sotto"

// undecided reports whether a reply ended before it showed how it began: read
// from an unknown start, no marker came, and it was not finished. If the prompt
// opened the block, all of it is reasoning, so nothing of it is delivered.
// finished replies are what they say, and so are those of families whose prompt
// never opens a block.
func undecided(g *sotto.Grammar, marked bool, end sotto.End) bool {
	if marked || end != sotto.EndCut && end != sotto.EndAborted {
		return false
	}
	d := g.Dialect()
	return d.PreOpens != "no" || d.Name == sotto.Default().Dialect().Name // which is for families that nobody knows
}

// markedIn reports whether a reply has anything but text in it.
func markedIn(r *sotto.Reply) bool {
	for _, s := range r.Segments {
		if s.Channel != sotto.ChannelText {
			return true
		}
	}
	return false
}

// unclosed is the remark on a reply that is undecided.
func unclosed(remarks []sotto.Diagnostic) []sotto.Diagnostic {
	return append(remarks, sotto.Diagnostic{Code: sotto.CodeAssumedUnclosed}, sotto.Diagnostic{Code: sotto.CodeNoVisibleAnswer})
}
