package dialectset

import (
	"github.com/sotto-llm/sotto"
)

// A Manner says how replies are read: a resolved reading.
type Manner struct {
	Grammar *sotto.Grammar
	Name    string // the dialect's
	Start   sotto.Start
	Given   bool // a flag gives the start
	End     sotto.End
}

// OwnStart returns where the replies of a dialect begin, if its row says so.
func OwnStart(g *sotto.Grammar) sotto.Start {
	if start := g.Dialect().Start; start != sotto.StartOutside {
		return start
	}
	return ""
}
