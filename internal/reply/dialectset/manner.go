package dialectset

import (
	"github.com/sotto-llm/sotto"
)

// A Manner says how replies are read: a resolved reading.
type Manner struct {
	Grammar *sotto.Grammar
	Name    string // the dialect's
	Model   string // that wrote the reply; "" if unknown
	Start   sotto.Beginning
	Given   bool // a flag gives the start
	End     sotto.Ending
}

// OwnStart returns where the replies of a dialect begin, if its row says so.
func OwnStart(g *sotto.Grammar) sotto.Beginning {
	if start := sotto.Beginning(g.Dialect().Start); start != sotto.BeginOutside {
		return start
	}
	return ""
}
