package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/headers"
	"github.com/sotto-llm/sotto/gateway/internal/sending"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// With several upstreams, a client sees one list of models: those of all upstreams, each
// as the upstream describes it. A model is in the list if a request for it would go to the
// upstream that offers it, so no model is there twice, or without leading anywhere.

// modelLists are the paths of lists of models.
var modelLists = []string{"/v1/models", "/models", "/api/v0/models", "/v1beta/models", "/api/tags", "/api/ps"}

// Bounds of reading the lists: the time that all upstreams have together, and the bytes
// and models of one list. Each model is looked for in the routes of each API.
const (
	listTime   = 5 * time.Second
	listBytes  = 4 << 20
	listModels = 10_000
)

// listMembers are the members that hold the models of a list.
var listMembers = []string{"data", "models"}

// failedHeader names the upstreams whose models are missing from a list.
const failedHeader = "Sotto-Upstreams-Failed"

// lists reports whether a request asks for the first page of a list of models, and there
// are several upstreams. A later page is of the upstream that gave the first one.
func (g *ruleset) lists(r *http.Request, at *endpoints.Endpoint) bool {
	if !slices.Contains(modelLists, at.Path) || !g.engine.several() || r.Method != http.MethodGet {
		return false
	}
	query := r.URL.Query()
	return !slices.ContainsFunc([]string{"after_id", "before_id", "after", "pageToken", "page_token"}, query.Has)
}

// An offer is what one upstream answers to a request for its models.
type offer struct {
	to   *target
	root gjson.Result // not an object if there is no list
	err  error        // why the list is not known
	hold *budget.Charge
}

// list answers with the models of all upstreams. It reports false if no upstream has a
// list. Nothing has been written then.
func (g *ruleset) list(w http.ResponseWriter, r *http.Request, at *endpoints.Endpoint) bool {
	offers := g.offers(r)
	defer func() {
		for _, o := range offers {
			if o.hold != nil {
				o.hold.Leave()
			}
		}
	}()
	var failed []string
	for _, o := range offers {
		if o.err != nil {
			failed = append(failed, o.to.name)
			g.engine.observers.unlisted(o.to, o.err)
		}
	}
	base := slices.IndexFunc(offers, func(o *offer) bool { return o.root.IsObject() })
	if base < 0 {
		return false
	}
	asks := at.Codec // the API in which who reads the list asks for a model
	if asks == nil {
		asks = codecs[0]
	}
	body := g.engine.merged(offers[base:], asks.Name())
	if len(failed) > 0 {
		w.Header().Set(failedHeader, strings.Join(failed, ", "))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body) // nobody reads it if the client has left
	return true
}

// offers asks all upstreams at the same time, and returns their answers: that of the
// default upstream first, the others by name.
func (g *ruleset) offers(r *http.Request) []*offer {
	ctx, cancel := context.WithTimeout(r.Context(), listTime)
	defer cancel()
	offers := make([]*offer, 0, len(g.engine.targets))
	var asked sync.WaitGroup
	for _, name := range slices.Sorted(maps.Keys(g.engine.targets)) { // the default has an empty name
		o := &offer{to: g.engine.targets[name]}
		offers = append(offers, o)
		asked.Go(func() { o.err = g.ask(ctx, r, o) })
	}
	asked.Wait()
	return offers
}

// ask asks one upstream for its models. An upstream that does not know the path has none.
func (g *ruleset) ask(ctx context.Context, r *http.Request, o *offer) (err error) {
	if o.hold, err = g.engine.budget.Open(); err != nil {
		return err
	}
	resp, err := g.engine.way(o.to).Once(g.listRequest(ctx, r, o.to))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return nil
	default:
		return fmt.Errorf("it answers %d", resp.StatusCode)
	}
	data, err := o.hold.Read(resp.Body, listBytes, min(resp.ContentLength, listBytes))
	if err != nil {
		return faults.Quiet(err)
	}
	if err := o.hold.Take(budget.ParsedCost(data)); err != nil {
		return err
	}
	root, err := foreignjson.Limits{Members: foreignjson.ReplyMembers}.Parse(bytes.TrimSpace(data))
	if err == nil && !root.IsObject() {
		err = errors.New("its list is not an object")
	}
	for _, member := range listMembers {
		if err == nil && root.Get(member+".#").Int() > listModels {
			err = fmt.Errorf("its list has more than %d models", listModels)
		}
	}
	if err != nil {
		return err
	}
	o.root = root
	return nil
}

// listRequest makes the request for the models of one upstream. The client's own key may
// be one for the default upstream, so no other gets it here, where the client has named no
// model.
func (g *ruleset) listRequest(ctx context.Context, r *http.Request, to *target) *http.Request {
	out := r.Clone(sending.FewInformational(ctx))
	out.Body, out.ContentLength, out.TransferEncoding, out.RequestURI = nil, 0, nil, ""
	for name := range out.Header {
		if headers.IsHopByHop(name, r.Header) || strings.HasPrefix(name, "If-") || name == "Range" {
			delete(out.Header, name)
		}
	}
	out.Header.Set("Accept-Encoding", "identity")
	if to != g.engine.targets[""] {
		g.access.DropKeys(out)
	}
	g.address(out, to)
	return out
}

// merged returns the first list with the models of all of them, each of which begins
// where a request for it goes.
func (e *engine) merged(offers []*offer, api string) []byte {
	base := offers[0].root
	var edits []jsonedit.Edit
	for _, member := range listMembers {
		list := base.Get(member)
		if !list.IsArray() {
			continue
		}
		with := []byte{'['}
		for _, entry := range e.offered(offers, member, api) {
			if len(with) > 1 {
				with = append(with, ',')
			}
			with = append(with, entry...)
		}
		edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(list), With: append(with, ']')})
	}
	return jsonedit.Splice(nil, []byte(base.Raw), edits)
}

// offered returns the entries of a list. The API of the list decides first whose entry
// of a model it is. One that only another API leads to is there too.
func (e *engine) offered(offers []*offer, member, api string) (entries []string) {
	best := map[string]*target{}
	each := func(f func(o *offer, name string, entry gjson.Result)) {
		for _, o := range offers {
			for _, entry := range o.root.Get(member).Array() {
				f(o, offeredModel(entry), entry)
			}
		}
	}
	each(func(o *offer, name string, _ gjson.Result) {
		switch {
		case e.target(e.route(api, modelname.Bounded(name))) == o.to:
			best[name] = o.to
		case best[name] == nil && slices.ContainsFunc(codecs, func(c codec) bool { return e.target(e.route(c.Name(), modelname.Bounded(name))) == o.to }):
			best[name] = o.to
		}
	})
	each(func(o *offer, name string, entry gjson.Result) {
		if best[name] == o.to {
			delete(best, name)
			entries = append(entries, entry.Raw)
		}
	})
	return entries
}

// offeredModel returns the name of a model in a list.
func offeredModel(entry gjson.Result) string {
	for _, member := range []string{"id", "model", "name"} {
		if v := entry.Get(member); v.Type == gjson.String && v.Str != "" {
			return strings.TrimPrefix(v.Str, "models/")
		}
	}
	return ""
}
