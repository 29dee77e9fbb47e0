package cli

import (
	"github.com/sotto-llm/sotto"
)

// A manner is how replies are read: a reading, looked up.
type manner struct {
	grammar *sotto.Grammar
	name    string // the dialect's
	start   sotto.Start
	end     sotto.End
}

// ownStart returns where the replies of a dialect begin, where its row says so.
func ownStart(g *sotto.Grammar) sotto.Start {
	if start := g.Dialect().Start; start != sotto.StartOutside {
		return start
	}
	return ""
}
