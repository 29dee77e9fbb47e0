package gateway

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/things"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
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
	segments := endpoints.Segments(r.URL.Path)
	ids, model := slices.Clone(segments), modelOfPath(segments, at)
	if root, ok := bodyOf(r, body); ok {
		ids = append(ids, things.Asked(root)...)
		if name := modelOfBody(root); name != "" {
			model = name
		}
	} else if name := modelOfForm(r, body); name != "" {
		model = name
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

// bodyOf parses the JSON body of a request that passes.
func bodyOf(r *http.Request, body []byte) (gjson.Result, bool) {
	if len(body) == 0 || !bodies.IsJSON(r.Header) {
		return gjson.Result{}, false
	}
	root, err := foreignjson.Parse(body)
	return root, err == nil && root.IsObject()
}

// modelOfBody returns the model that a body names: of a request, of Ollama's older
// requests, or of the first request of a batch.
func modelOfBody(root gjson.Result) string {
	for _, path := range []string{"model", "name", "requests.0.params.model"} {
		if name := root.Get(path); name.Type == gjson.String && name.Str != "" {
			return name.Str
		}
	}
	return ""
}

// formBoundary returns the boundary of a form with files.
func formBoundary(h http.Header) (boundary string, ok bool) {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	return params["boundary"], err == nil && kind == "multipart/form-data" && params["boundary"] != ""
}

// maxFormParts bounds the parts of a form that are looked at.
const maxFormParts = 64

// modelOfForm returns the model that a form names, as those do that come with sound.
func modelOfForm(r *http.Request, body []byte) string {
	boundary, ok := formBoundary(r.Header)
	if !ok {
		return ""
	}
	form := multipart.NewReader(bytes.NewReader(body), boundary)
	for range maxFormParts {
		part, err := form.NextRawPart()
		if err != nil {
			return ""
		}
		if part.FormName() == "model" && part.FileName() == "" {
			name, _ := io.ReadAll(io.LimitReader(part, modelname.Most))
			return strings.TrimSpace(string(name))
		}
	}
	return ""
}

// namesModel reports whether the body of a request that passes may name a model or a
// file, so that it must be read before it is known where it goes.
func namesModel(h http.Header) bool {
	_, form := formBoundary(h)
	return form || bodies.IsJSON(h)
}

// modelOfPath returns the model that a path names.
func modelOfPath(segments []string, at *endpoints.Endpoint) string {
	for i := len(segments) - 2; i >= 0; i-- {
		rest := segments[i+1:]
		switch segments[i] {
		case "models", "tunedModels":
			name := strings.Join(rest, "/")
			if verb := strings.LastIndexByte(name, ':'); verb > 0 && strings.Contains(at.Path, "{}:") {
				name = name[:verb]
			}
			return name
		case "deployments":
			return rest[0]
		case "model": // and then a verb
			return strings.Join(rest[:max(1, len(rest)-1)], "/")
		}
	}
	return ""
}
