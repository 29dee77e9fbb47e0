package agentmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// maxList bounds a list of models of the model server, in bytes.
const maxList = 16 << 20

// list answers requests for lists of models, and for an agent by its name.
func (m *Models) list(r *http.Request, path string) (*http.Response, error, bool) {
	switch {
	case r.Method != http.MethodGet:
	case r.Header.Get("Anthropic-Version") != "": // an API that agents do not answer
	case strings.HasSuffix(path, "/v1/models"):
		resp, err := m.extended(r, "data", m.openAIModels())
		return resp, err, true
	case strings.HasSuffix(path, "/api/tags"):
		resp, err := m.extended(r, "models", m.ollamaModels())
		return resp, err, true
	default:
		if _, name, ok := strings.Cut(path, "/v1/models/"); ok && m.Has(name) {
			return jsonResponse(r, http.StatusOK, encode(m.openAIModel(m.named(name)))), nil, true
		}
	}
	return nil, nil, false
}

// extended passes a request on, and adds entries to the list in the response.
func (m *Models) extended(r *http.Request, member string, entries []any) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept-Encoding", "identity")
	resp, err := m.Base.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := files.ReadAll(resp.Body, maxList)
	resp.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("the list of models: %w", err)
	}
	if root, err := foreignjson.Parse(body); err == nil {
		body = appended(body, root.Get(member), entries)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return resp, nil
}

// appended puts entries at the end of a list in a body.
func appended(body []byte, list gjson.Result, entries []any) []byte {
	if !list.IsArray() || list.Index <= 0 {
		return body
	}
	more := encode(entries)
	more = more[1 : len(more)-1]
	end := list.Index + len(list.Raw) - 1
	if len(list.Array()) > 0 {
		more = append([]byte{','}, more...)
	}
	return bytes.Join([][]byte{body[:end], more, body[end:]}, nil)
}

func (m *Models) openAIModels() []any {
	var list []any
	for _, a := range m.Agents {
		list = append(list, m.openAIModel(a))
	}
	return list
}

func (*Models) openAIModel(a *agent.Agent) any {
	return map[string]any{"id": Prefix + a.Name, "object": "model", "created": 0, "owned_by": "sotto", "description": a.Description}
}

// details is what Ollama says of a model.
var details = map[string]any{"parent_model": "", "format": "agent", "family": "agent", "families": []string{"agent"}, "parameter_size": "", "quantization_level": ""}

func (m *Models) ollamaModels() []any {
	var list []any
	for _, a := range m.Agents {
		name := Prefix + a.Name
		list = append(list, map[string]any{"name": name, "model": name, "modified_at": time.Unix(0, 0).UTC(), "size": 0, "digest": "", "details": details})
	}
	return list
}

// show answers Ollama's request for what is known of a model.
func (m *Models) show(r *http.Request, path string) (*http.Response, error, bool) {
	if r.Method != http.MethodPost || r.Body == nil || !strings.HasSuffix(path, "/api/show") {
		return nil, nil, false
	}
	body, err := files.ReadAll(r.Body, maxList)
	if err != nil {
		return nil, err, true
	}
	closeBody(r)
	r.Body = io.NopCloser(bytes.NewReader(body))
	root, err := foreignjson.Parse(body)
	if err != nil {
		return nil, nil, false
	}
	name := root.Get("model").Str
	if name == "" {
		name = root.Get("name").Str
	}
	if !m.Has(name) {
		return nil, nil, false
	}
	return jsonResponse(r, http.StatusOK, encode(map[string]any{
		"modelfile": "", "parameters": "", "template": "", "details": details, "model_info": map[string]any{"general.architecture": "agent"},
		"capabilities": []string{"completion", "thinking"}, "modified_at": time.Unix(0, 0).UTC(),
	})), nil, true
}

// encode writes JSON without escapes for HTML. What it gets are values of this
// package, so it cannot fail.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("agentmodel: " + err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
