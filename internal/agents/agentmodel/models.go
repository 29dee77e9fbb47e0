// Package agentmodel serves agents as models: it is a transport to a model server
// that also has a model agent/NAME for each agent. It speaks OpenAI's chat
// completions and responses and Ollama's chat. Thoughts are in the API's field for
// reasoning, narration and the progress of tools in a member of its own, and the
// content is visible text only. A request that names an agent never reaches the model
// server: where no agent can answer it, it is refused.
package agentmodel

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// Prefix begins the names of agents as models.
const Prefix = "agent/"

// Models is a transport to a model server that also has agents as models. Set its
// fields before the first request, and Close it after the last one.
type Models struct {
	// Base reaches the model server.
	Base   http.RoundTripper
	Agents []*agent.Agent
	// Record, if set, gets each conversation as a run.
	Record *record.Writer
	// Kept has the conversations that clients continue by a name or a response. If
	// nil, none are kept.
	Kept *conversation.Store
	// Log gets reports of faults. If nil, nothing is logged.
	Log *slog.Logger

	consents consent.Ledger
	working  sync.WaitGroup
	mu       sync.Mutex
	stops    map[*answer]context.CancelFunc
}

// Has reports whether a model is an agent.
func (m *Models) Has(model string) bool { return m.named(model) != nil }

// named returns the agent that a model's name stands for, or nil. Ollama's clients
// add a tag to names.
func (m *Models) named(model string) *agent.Agent {
	name, ok := strings.CutPrefix(strings.TrimSuffix(model, ":latest"), Prefix)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(m.Agents, func(a *agent.Agent) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return m.Agents[i]
}

// apis are the APIs that agents answer, by the ends of their paths.
var apis = []struct {
	path  string
	codec wire.Codec
}{
	{"/chat/completions", openai.Chat}, {"/responses", responses.Codec}, {"/api/chat", ollama.Chat},
}

// RoundTrip answers a request for an agent, adds the agents to lists of models, and
// passes everything else on.
func (m *Models) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.TrimRight(r.URL.Path, "/")
	if len(m.Agents) > 0 {
		for _, answers := range []func(*http.Request, string) (*http.Response, error, bool){m.show, m.list, m.own} {
			if resp, err, ok := answers(r, path); ok {
				return resp, err
			}
		}
	}
	if r.Header.Get(conversationHeader) != "" { // it is for agents, and nobody else's business
		r = r.Clone(r.Context())
		r.Header.Del(conversationHeader)
	}
	return m.Base.RoundTrip(r)
}

// CloseIdleConnections closes those to the model server.
func (m *Models) CloseIdleConnections() {
	if t, ok := m.Base.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Close ends all answers and waits until they are recorded.
func (m *Models) Close() {
	m.mu.Lock()
	for _, stop := range m.stops {
		stop()
	}
	m.mu.Unlock()
	m.working.Wait()
}

// own answers or refuses a request that names an agent. No request that does may reach
// the model server: it has a text for the agent.
func (m *Models) own(r *http.Request, path string) (resp *http.Response, err error, ok bool) {
	names, body := modelsOf(r)
	if r.Method == http.MethodPost && len(names) > 0 {
		if a := m.named(names[0]); a != nil {
			for _, api := range apis {
				if strings.HasSuffix(path, api.path) {
					closeBody(r)
					resp, err = m.answer(r, &answer{of: m, agent: a, codec: api.codec, body: body, header: r.Header})
					return resp, err, true
				}
			}
		}
	}
	i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, Prefix) })
	if i < 0 && !inPath.MatchString(path) {
		return nil, nil, false
	}
	closeBody(r)
	message := "an agent answers POST requests to chat completions, responses and Ollama's chat, as the request's model"
	if i >= 0 && !m.Has(names[i]) {
		message = "there is no agent of this name"
	}
	return jsonResponse(r, http.StatusNotFound, errorCodec(path).Error(http.StatusNotFound, message)), nil, true
}

// inPath matches a path that names an agent as its model.
var inPath = lazyregexp.New(`/(models?|deployments|engines)/` + Prefix)

// errorCodec returns a codec that writes errors as clients of a path expect them.
func errorCodec(path string) wire.Codec {
	switch {
	case strings.Contains(path, "/api/"):
		return ollama.Chat
	case strings.HasSuffix(path, "/messages"), strings.HasSuffix(path, "/messages/count_tokens"):
		return anthropic.Messages
	}
	return openai.Chat
}

// modelsOf returns the models that a request names, the one that it asks first, and its
// body. A body that is still being received names none.
func modelsOf(r *http.Request) (models []string, body []byte) {
	models = r.URL.Query()["model"]
	if r.GetBody == nil {
		return models, nil
	}
	from, err := r.GetBody()
	if err != nil {
		return models, nil
	}
	defer from.Close()
	if body, err = files.ReadAll(from, max(r.ContentLength, 0)); err != nil {
		return models, nil
	}
	if kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		return append(modelsOfForm(body, params["boundary"]), models...), body
	}
	root, err := foreignjson.Parse(body)
	if err != nil {
		return models, body
	}
	var inBody []string
	// Ollama's older requests have a name; OpenRouter's, LiteLLM's and Anthropic's have
	// models that may answer too; a batch of Anthropic's has requests.
	for _, path := range []string{"model", "name", "models", "fallbacks", "fallbacks.#.model", "requests.#.params.model"} {
		for _, name := range root.Get(path).Array() {
			inBody = append(inBody, name.Str)
		}
	}
	return append(inBody, models...), body
}

// The bounds of what is looked at of a form.
const (
	maxFormParts = 64
	maxModelName = 256 // bytes
)

// modelsOfForm returns the models that a form names, as those do that come with sound.
func modelsOfForm(body []byte, boundary string) (models []string) {
	form := multipart.NewReader(bytes.NewReader(body), boundary)
	for range maxFormParts {
		part, err := form.NextRawPart()
		if err != nil {
			break
		}
		if part.FormName() == "model" {
			name, _ := files.ReadAll(io.LimitReader(part, maxModelName), maxModelName)
			models = append(models, strings.TrimSpace(string(name)))
		}
	}
	return models
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// answer runs an answer, and returns its response as soon as it begins.
func (m *Models) answer(r *http.Request, x *answer) (*http.Response, error) {
	ctx, stop := context.WithCancel(r.Context())
	m.mu.Lock()
	if m.stops == nil {
		m.stops = map[*answer]context.CancelFunc{}
	}
	m.stops[x] = stop
	m.mu.Unlock()
	from, to := io.Pipe()
	x.to, x.began = to, make(chan struct{})
	m.working.Go(func() {
		defer func() {
			m.mu.Lock()
			delete(m.stops, x)
			m.mu.Unlock()
			stop()
		}()
		x.serve(ctx)
	})
	select {
	case <-x.began:
	case <-ctx.Done():
		from.Close()
		return nil, ctx.Err()
	}
	resp := responseOf(r, x.status, x.kind, &replyBody{from, stop})
	resp.ContentLength = -1
	return resp, nil
}

// A replyBody ends the answer when nobody reads it any more.
type replyBody struct {
	*io.PipeReader
	stop context.CancelFunc
}

func (b *replyBody) Close() error {
	b.stop()
	return b.PipeReader.Close()
}

func responseOf(r *http.Request, status int, kind string, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {kind}}, Body: body, Request: r,
	}
}

func jsonResponse(r *http.Request, status int, text []byte) *http.Response {
	resp := responseOf(r, status, "application/json", io.NopCloser(bytes.NewReader(text)))
	resp.ContentLength = int64(len(text))
	return resp
}
