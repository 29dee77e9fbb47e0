package gateway

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/lists"
)

// asksAll reports whether a request asks for the models of all upstreams, and there are
// several.
func (g *ruleset) asksAll(r *http.Request, at *endpoints.Endpoint) bool {
	return g.engine.several() && lists.IsAsked(r, at)
}

// list answers with the models of all upstreams. It reports false if no upstream has a
// list. Nothing has been written then.
func (g *ruleset) list(w http.ResponseWriter, r *http.Request, at *endpoints.Endpoint) bool {
	offers := lists.Ask(r.Context(), g.sources(r, at), g.engine.budget)
	defer offers.Leave()
	var failed []string
	for _, o := range offers {
		if o.Err != nil {
			failed = append(failed, o.Name)
			g.engine.observers.Unlisted(o.Name, o.Err)
		}
	}
	asks := at.Codec // the API in which who reads the list asks for a model
	if p, _ := at.ModelsOf(r); asks == nil && p != nil {
		asks = p.Codecs[0]
	}
	if asks == nil {
		asks = codecs[0]
	}
	body, ok := offers.Merge(asks.Name(), codecNames())
	if !ok {
		return false
	}
	if len(failed) > 0 {
		w.Header().Set(lists.FailedHeader, strings.Join(failed, ", "))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body) // nobody reads it if the client has left
	return true
}

// sources are the upstreams to ask: the default one first, the others by name.
func (g *ruleset) sources(r *http.Request, at *endpoints.Endpoint) (list []lists.Source) {
	e := g.engine
	as, _ := at.ModelsOf(r)
	for _, name := range slices.Sorted(maps.Keys(e.targets)) { // the default has an empty name
		to := e.targets[name]
		send := func(ctx context.Context) (*http.Response, error) { return e.way(to).Once(g.listRequest(ctx, r, to)) }
		if to.api != nil && !at.IsOf(to.api, r) {
			send = func(ctx context.Context) (*http.Response, error) { return g.listing(ctx, as, to) }
		}
		list = append(list, lists.Source{
			Name: to.name, Send: send,
			Leads: func(api, model string) bool { return e.target(e.route(api, model)) == to },
		})
	}
	return list
}

// listRequest makes the request for the models of one upstream. The client's own key may
// be one for the default upstream, so no other gets it here, where the client has named no
// model.
func (g *ruleset) listRequest(ctx context.Context, r *http.Request, to *target) *http.Request {
	out := lists.Request(ctx, r)
	if to != g.engine.targets[""] {
		g.access.DropKeys(out)
	}
	g.address(out, to)
	return out
}
