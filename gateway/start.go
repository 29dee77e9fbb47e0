package gateway

import (
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
)

// startOf decides how a reply begins: the first that speaks of the route's
// configuration, the prompt's tail or a prefill, what the last two replies of
// this kind showed, and the model's family. A native field of reasoning, which
// only the reply itself can show, goes before all but the first.
func (g *Handler) startOf(r Route, grammar *sotto.Grammar, q *wire.Request, key learnedKey, whole bool) (start sotto.Start, assumed bool) {
	if r.Start != "" {
		return r.Start, false
	}
	if s, ok := promptStart(grammar, q); ok {
		return s, false
	}
	switch s, ok := g.learned.says(key); {
	case ok && s == showsInside:
		return sotto.InsideFirst, true
	case whole:
		return sotto.Auto, false // at hand anyway
	case ok:
		return sotto.Outside, false
	}
	d := grammar.Dialect()
	if d.PreOpens == "yes" || d.PreOpens == "prompt" {
		return sotto.Auto, false
	}
	return d.Start, false
}

// promptStart reads the start off the prompt's tail, or off what an assistant
// message begins the reply with.
func promptStart(g *sotto.Grammar, q *wire.Request) (sotto.Start, bool) {
	if q.Prompt != "" {
		return g.StartOf(q.Prompt)
	}
	if strings.TrimSpace(q.Prefill) != "" {
		return g.StartOf("<|assistant|>" + q.Prefill)
	}
	return "", false
}
