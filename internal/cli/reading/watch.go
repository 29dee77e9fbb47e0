package reading

import (
	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/detect"
)

// A Watch looks for markers that the dialect in use does not know.
type Watch struct {
	used   *sotto.Grammar
	others *detect.Detector
}

// NewWatch returns a watch over replies that are read in a manner.
func NewWatch(c *catalogue.Catalogue, m catalogue.Manner) *Watch {
	return &Watch{m.Grammar, detect.Foreign(c.Dialects(), m.Grammar.Dialect())}
}

// See looks at a reply. A reply whose line chose another dialect does not count.
func (w *Watch) See(g *sotto.Grammar, reply string) {
	if g == w.used {
		w.others.Add(reply)
	}
}

// SeeBytes looks at a reply.
func (w *Watch) SeeBytes(g *sotto.Grammar, reply []byte) {
	if g == w.used {
		w.others.AddBytes(reply)
	}
}

// oneIn is the smallest share of replies that is worth a hint: a marker may also be
// what a reply is about.
const oneIn = 100

// Report prints a hint if replies have markers of another dialect.
func (w *Watch) Report(sh *shell.Shell) {
	fits := w.others.Fits()
	if len(fits) == 0 || fits[0].Replies*oneIn < w.others.Replies() {
		return
	}
	best := fits[0]
	if w.others.Replies() == 1 {
		sh.Hintf("the reply has markers of dialect %s; --dialect %s", best.Dialect, best.Dialect)
		return
	}
	sh.Hintf("markers of dialect %s in %s; --dialect %s", best.Dialect, shell.Plural(best.Replies, "1 reply", "%d replies"), best.Dialect)
}
