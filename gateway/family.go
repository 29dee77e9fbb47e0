package gateway

import (
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/history"
)

// A family is what a model's name, or a route's dialect, says about its replies.
type family struct {
	grammar    *sotto.Grammar
	dialect    string
	start      sotto.Start // of a reply, if nothing else decides
	mayPreOpen bool        // the prompt may have opened the reasoning
	closes     [][]byte    // the close markers of reasoning, in lower case
	rule       history.Rule
}

// families caches them by name, so that tables are not searched for each request.
// Clients choose the names, so when there are too many, all are dropped.
type families struct {
	mu   sync.Mutex
	max  int
	kept map[familyKey]*family
}

type familyKey struct{ api, dialect, model string }

// family returns the family of a model: the route's dialect, or the model's own.
func (g *Handler) family(r Route, api, model string) (*family, error) {
	key := familyKey{api, r.Dialect, model}
	f := &g.families
	f.mu.Lock()
	kept := f.kept[key]
	f.mu.Unlock()
	if kept != nil {
		return kept, nil
	}
	grammar, err := g.grammar(r, model)
	if err != nil {
		return nil, err
	}
	d := grammar.Dialect()
	made := &family{
		grammar: grammar, dialect: d.Name, start: d.Start, closes: closesOf(d),
		mayPreOpen: d.PreOpens == "yes" || d.PreOpens == "prompt",
		rule:       history.RuleFor(model, api),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil || len(f.kept) >= f.max {
		f.kept = map[familyKey]*family{}
	}
	f.kept[key] = made
	return made, nil
}
