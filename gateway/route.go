package gateway

import (
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/wire"
)

// A chosen route is that of one request.
type chosen struct {
	routing.Route
	separated bool // the text holds only the answer; see Config.Separated
}

// routeOf returns how the reply to a request is handled. If a model other than the
// named one may answer, and the reasoning of one of them is hidden, the reply's
// reasoning is hidden too. The same holds of a guard.
func (e *engine) routeOf(api string, q *wire.Request) chosen {
	if q.Unnamed {
		return e.unnamedRoute(api, "")
	}
	first := chosen{Route: e.route(api, q.Model)}
	if e.config.Separated != nil && e.config.Separated(q.Model) {
		first.separated, first.Dialect, first.Start, first.OnNoAnswer = true, "", sotto.BeginOutside, routing.NoAnswerEmpty
	}
	if first.Display == routing.DisplayHide && first.Guard.Guard != nil {
		return first
	}
	for _, name := range q.Fallbacks {
		r := e.route(api, modelname.Bounded(name))
		if r.Display == routing.DisplayHide && first.Display != routing.DisplayHide {
			r.Guard = r.Guard.Over(first.Guard)
			first.Route = r
		}
		if first.Guard.Guard == nil {
			first.Guard = r.Guard
		}
	}
	return first
}

// unnamedRoute returns how the reply to a request is handled that does not name the model; that is known from the reply, if it is.
// If some route hides reasoning, it is hidden: what the model said before may have been hidden, and the reply may
// be of several models.
func (e *engine) unnamedRoute(api, model string) chosen {
	r := chosen{Route: e.route(api, model)}
	if e.config.hides() {
		r.Display = routing.DisplayHide
	}
	return r
}

// route returns how replies of a model are handled.
func (e *engine) route(api, model string) routing.Route {
	for _, r := range e.config.Routes {
		if r.TakesAPI(api) && (len(r.Models) == 0 || modelname.Match(r.Models, model) >= 0) {
			return r
		}
	}
	return e.config.Default
}

// grammar returns the dialect of a reply: the route's, or the model's. named is false
// if no dialect has the model's name.
func (e *engine) grammar(r chosen, model string) (g *sotto.Grammar, named bool, err error) {
	if r.separated {
		return separatedGrammar, true, nil
	}
	if r.Dialect != "" {
		g, err = e.config.named(r.Dialect)
		return g, true, err
	}
	forModel := e.config.ForModel
	if forModel == nil {
		forModel = sotto.ForModel
	}
	g, named = forModel(model)
	return g, named, nil
}

// separatedGrammar reads texts that hold only the answer. A dialect needs a marker:
// this one is not UTF-8, so no text of JSON has it.
var separatedGrammar = sotto.MustCompile(dialect.Dialect{Name: "separated", PreOpens: dialect.PreOpensNo, Markers: []dialect.Marker{
	{Role: dialect.RoleReasoning, Name: "none", Open: []string{"\xff\xfe"}, Close: []string{"\xfe\xff"}},
}})

// A family is what a model's name, or a route's dialect, says about its replies.
type family struct {
	grammar    *sotto.Grammar
	literal    func() *sotto.Grammar // the same, for texts in which a marker in quotes or code is one
	dialect    string
	start      sotto.Beginning // of a reply, if nothing else decides
	mayPreOpen bool            // the prompt may have opened the reasoning
	closes     [][]byte        // the close markers of reasoning, in lower case
	rule       history.Rule
	named      bool // a dialect has the model's name, or the route names a dialect
	protocol   bool // the route names the dialect, and it is a protocol
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
func (e *engine) family(r chosen, api, model string) (*family, error) {
	key := familyKey{api, r.Dialect, model}
	f := &e.families
	f.mu.Lock()
	kept := f.kept[key]
	f.mu.Unlock()
	if kept != nil {
		return kept, nil
	}
	model = strings.Clone(model) // it is a part of a body, which what is kept here would keep in memory
	key.model = model
	grammar, named, err := e.grammar(r, model)
	if err != nil {
		return nil, err
	}
	d := grammar.Dialect()
	made := &family{
		grammar: grammar, literal: sync.OnceValue(func() *sotto.Grammar { return withoutCode(d) }), dialect: d.Name, start: sotto.Beginning(d.Start), closes: reading.ClosesOf(d),
		mayPreOpen: d.PreOpens == "yes" || d.PreOpens == "prompt",
		rule:       history.RuleFor(model, api),
		named:      named, protocol: r.Dialect != "" && d.Prompt != "",
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil || len(f.kept) >= f.max {
		f.kept = map[familyKey]*family{}
	}
	f.kept[key] = made
	return made, nil
}
