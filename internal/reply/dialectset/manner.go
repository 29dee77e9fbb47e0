package dialectset

import (
	"github.com/sotto-llm/sotto"
)

// A Manner says how replies are read: a resolved reading.
type Manner struct {
	Grammar *sotto.Grammar
	Name    string // the dialect's
	By      By     // what chose the dialect
	Model   string // that wrote the reply; "" if unknown
	Start   sotto.Beginning
	Given   bool // a flag gives the start
	End     sotto.Ending
	// Plain says that the reply has no marker of reasoning that the dialect does not know.
	Plain bool
}

// By says what chose the dialect in which a reply is read.
type By string

// What can choose a dialect.
const (
	ByRecord  By = "record"  // the member dialect
	ByModel   By = "model"   // the model of the record, or of a flag
	ByFlag    By = "flag"    // --dialect
	ByMarkers By = "markers" // the reply
	ByDefault By = "default" // nothing
)

// OwnStart returns where the replies of a dialect begin, if its row says so.
func OwnStart(g *sotto.Grammar) sotto.Beginning {
	if start := sotto.Beginning(g.Dialect().Start); start != sotto.BeginOutside {
		return start
	}
	return ""
}
