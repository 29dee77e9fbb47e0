package gateway

import (
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
)

// startOf decides how a reply begins. These are asked in order, and the first that
// has an answer decides: the route's configuration; the prompt's tail or a prefill;
// what the last two replies of this kind showed; the model's family. A native field
// of reasoning, which only the reply itself can show, takes precedence over all
// except the first.
func (x *exchange) startOf(whole bool) (start sotto.Start, assumed bool) {
	if x.route.Start != "" {
		return x.route.Start, false
	}
	if s, ok := promptStart(x.family.grammar, x.request); ok {
		return s, false
	}
	switch s, ok := x.engine.learned.says(x.key); {
	case ok && s == showsInside:
		return sotto.StartInsideFirst, true
	case whole:
		return sotto.StartAuto, false // the default
	case ok:
		return sotto.StartOutside, false
	}
	if x.family.mayPreOpen || x.opens {
		return sotto.StartAuto, false
	}
	return x.family.start, false
}

// promptStart reads the start from the prompt's tail, or from the assistant message
// that the reply continues.
func promptStart(g *sotto.Grammar, q *wire.Request) (sotto.Start, bool) {
	if q.Prompt != "" {
		return g.StartOf(q.Prompt)
	}
	if strings.TrimSpace(q.Prefill) != "" {
		return g.StartOf("<|assistant|>" + q.Prefill)
	}
	return "", false
}
