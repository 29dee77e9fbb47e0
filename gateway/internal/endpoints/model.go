package endpoints

import (
	"bytes"
	"cmp"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/tidwall/gjson"
)

// Model returns the model that a request names which passes: in its body, or else in its path.
// A body that was not read whole is nil. If the body is a JSON object, Model returns that too.
func (e *Endpoint) Model(r *http.Request, body []byte) (model string, root gjson.Result) {
	root, ok := jsonOf(r, body)
	switch {
	case ok:
		model = modelOfBody(root)
	default:
		model, root = modelOfForm(r, body), gjson.Result{}
	}
	return cmp.Or(model, e.modelOfPath(Segments(r.URL.Path))), root
}

// jsonOf parses the JSON body of a request that passes.
func jsonOf(r *http.Request, body []byte) (gjson.Result, bool) {
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

// MayNameModel reports whether the body of a request that passes may name a model or a
// file, so that it must be read before it is known where it goes.
func MayNameModel(h http.Header) bool {
	_, form := formBoundary(h)
	return form || bodies.IsJSON(h)
}

// modelOfPath returns the model that a path names.
func (e *Endpoint) modelOfPath(segments []string) string {
	for i := len(segments) - 2; i >= 0; i-- {
		rest := segments[i+1:]
		switch segments[i] {
		case "models", "tunedModels":
			name := strings.Join(rest, "/")
			if verb := strings.LastIndexByte(name, ':'); verb > 0 && strings.Contains(e.Path, "{}:") {
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
