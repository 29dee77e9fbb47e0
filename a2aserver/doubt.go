package a2aserver

import "github.com/sotto-llm/sotto"

// undecided reports whether a reply ended before it showed how it began: its start
// was unknown, no marker came, and it was not finished. If the prompt opened the
// block, all of it is reasoning, so nothing of it is delivered. Finished replies
// are taken as they read. So are those of families whose prompt never opens a
// block.
func undecided(g *sotto.Grammar, marked bool, end sotto.Ending) bool {
	if marked || end != sotto.EndCut && end != sotto.EndAborted {
		return false
	}
	d := g.Dialect()
	return d.PreOpens != "no" || d.Name == sotto.Default().Dialect().Name // the default dialect serves families that are not known
}

// unclosed is the remark on an undecided reply.
func unclosed(remarks []sotto.Diagnostic) []sotto.Diagnostic {
	return append(remarks, sotto.Diagnostic{Code: sotto.CodeAssumedUnclosed}, sotto.Diagnostic{Code: sotto.CodeNoVisibleAnswer})
}
