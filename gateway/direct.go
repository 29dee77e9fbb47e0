package gateway

import (
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/things"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/wire"
)

// targetFor returns the upstream of a request to a model: that of the named model's route.
// Other models that may answer are of the same upstream. A path may name the model, as
// Azure's do; it is then among those.
func (e *engine) targetFor(api string, q *wire.Request) *target {
	name := q.Model
	if name == "" && len(q.Fallbacks) > 0 {
		name = modelname.Bounded(q.Fallbacks[0])
	}
	return e.target(e.route(api, name))
}

// direct returns the upstream of a request that passes. If its path or its body names
// something that an upstream made, such as a file, it goes there. If one of them names a
// model, the model's route decides, and otherwise the request goes where one without a
// model goes. A body that was not read whole is nil.
func (e *engine) direct(r *http.Request, at *endpoints.Endpoint, body []byte) *target {
	if !e.several() {
		return e.targets[""]
	}
	model, root := at.Model(r, body)
	ids := endpoints.Segments(r.URL.Path)
	if root.Exists() {
		ids = append(ids, things.Asked(root)...)
	}
	if made := e.makers.Find(ids); made != "" {
		if t := e.targets[upstreamKey(made)]; t != nil {
			return t
		}
	}
	if model == "" {
		return e.unnamed(at.Codec)
	}
	api := ""
	if at.Codec != nil {
		api = at.Codec.Name()
	}
	return e.target(e.route(api, modelname.Bounded(model)))
}
