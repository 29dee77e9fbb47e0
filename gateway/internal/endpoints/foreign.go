package endpoints

import (
	"net/http"
	"slices"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/turn"
)

// ModelsOf returns whose clients ask for a list of models at an endpoint, and whether they ask for one
// model of it. It is nil if the endpoint is not such a list. Where providers have the same path, the
// headers of the request tell.
func (e *Endpoint) ModelsOf(r *http.Request) (p *wire.Provider, one bool) {
	for _, q := range Providers {
		m := q.Models
		if m == nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
			continue
		}
		all, single := slices.Contains(m.Lists, e.Path), slices.Contains(m.One, e.Path)
		if !all && !single {
			continue
		}
		if m.Asked != nil && m.Asked(r.Header) {
			return q, single
		}
		if m.Asked == nil && p == nil {
			p, one = q, single
		}
	}
	return p, one
}

// IsOf reports whether servers of an API have the endpoint for this request. What belongs to no
// provider may be of any server.
func (e *Endpoint) IsOf(api turn.API, r *http.Request) bool {
	if p, _ := e.ModelsOf(r); p != nil {
		return p.Has(api)
	}
	if e.Provider == nil || e.Codec == api {
		return true
	}
	if _, talks := e.Codec.(turn.API); talks && e.Kind != Results {
		return false
	}
	return e.Provider.Has(api)
}

// CountOf returns how the tokens of a request are counted in the API of a codec, or nil.
func CountOf(c wire.Codec) *wire.Count {
	p := Provider(c)
	if p == nil {
		return nil
	}
	i := slices.IndexFunc(p.Counts, func(n wire.Count) bool { return n.Codec == c })
	if i < 0 {
		return nil
	}
	return &p.Counts[i]
}
