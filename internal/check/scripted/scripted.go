// Package scripted is an upstream that plays scripted replies over the APIs of
// OpenAI, Ollama, Anthropic, Google, Amazon Bedrock, llama.cpp and Cohere, with the
// faults of real ones. You can try and test the gateway with it, without a model or a network.
//
// The model's name chooses the reply. [Models] lists the models, with the right
// reading of each reply. If a request offers tools, a model with tools calls one.
// If the last message is a tool's result, the model sends the answer after it.
// Models with a thinking switch obey that of a request. A token limit cuts the
// reply after as many deltas.
//
// Providers that require their reasoning back refuse a history without it, in their
// own words: deepseek-v3.2, kimi-k2.6, gemini and claude. Further models ([Loops]) call twice in
// a turn. One of them encrypts its thoughts in the Responses API, and checks them.
//
// The replies are those that `sotto demo` also shows, and those of models.jsonl.
package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// MaxBody bounds the body of a request, in bytes.
const MaxBody = 8 << 20

// Options are the settings of a handler.
type Options struct {
	// Pause is the time before each frame of a stream; if zero, none.
	Pause time.Duration
	// Now is the clock. If nil, time.Now. Ids depend only on the request and the
	// time: with a clock that does not move, equal requests get equal bytes.
	Now func() time.Time
	// Calls are made instead of the script's, if the request does not offer its tool.
	// The first whose tool the request offers is made. Programs with tools of their
	// own can so be led through one.
	Calls []ToolCall
}

// New returns the upstream.
func New(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle(r.pattern, &handler{r, o})
	}
	return mux
}

// A route is one path of a provider's API.
type route struct {
	pattern string
	refuse  func(x *exchange, f *fault) object // the provider's JSON for an error
	serve   func(x *exchange) error
}

var routes = []route{
	{"POST /v1/chat/completions", openaiError, serveChat},
	{"POST /v1/completions", openaiError, serveCompletions},
	{"POST /completion", llamaError, serveLlama},
	{"POST /completions", llamaError, serveLlama},
	{"POST /v1/responses", openaiError, serveResponses},
	{"GET /v1/models", openaiError, serveModels},
	{"GET /v1/models/{model...}", openaiError, serveModel},
	{"/v1/", openaiError, serveNothing},
	{"POST /v2/chat", cohereError, serveCohere},
	{"POST /model/{call...}", bedrockError, serveBedrock},
	{"POST /v1/messages", anthropicError, serveMessages},
	{"POST /v1/messages/count_tokens", anthropicError, serveCountTokens},
	{"POST /v1beta/models/{call...}", geminiError, serveGemini},
	{"POST /v1/models/{call...}", geminiError, serveGemini},
	{"GET /v1beta/models", geminiError, serveGeminiModels},
	{"GET /v1beta/models/{model...}", geminiError, serveGeminiModel},
	{"POST /api/chat", ollamaError, serveOllamaChat},
	{"POST /api/generate", ollamaError, serveOllamaGenerate},
	{"POST /api/show", ollamaError, serveOllamaShow},
	{"GET /api/tags", ollamaError, serveOllamaTags},
	{"GET /api/version", ollamaError, serveOllamaVersion},
	{"GET /{$}", ollamaError, serveOllamaRoot},
}

type handler struct {
	route
	options Options
}

// ServeHTTP answers a request. Errors are in the provider's own JSON.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{w: w, r: r, pause: h.options.Pause, now: h.options.Now(), calls: h.options.Calls}
	err := x.readRequest()
	if err == nil {
		err = h.serve(x)
	}
	if f, ok := errors.AsType[*fault](err); ok {
		if f.retryAfter {
			w.Header().Set("Retry-After", "1")
		}
		if f.body == nil {
			f.body = h.refuse(x, f)
		}
		x.reply(f.status, f.body)
	}
	// Any other error means that the client disconnected.
}

// A fault is a refused request.
type fault struct {
	status     int
	message    string
	kind, code string // in the provider's terms; if empty, they follow from the status
	retryAfter bool
	body       any // instead of the route's own JSON
}

func (f *fault) Error() string { return f.message }

func badRequest(format string, args ...any) *fault {
	return &fault{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// An exchange is one request and its answer.
type exchange struct {
	w     http.ResponseWriter
	r     *http.Request
	pause time.Duration
	now   time.Time
	calls []ToolCall // see Options

	body  []byte
	seed  []byte // the seed of ids
	model *Model
	name  string // the model's name, as the request spells it
}

// readRequest reads the whole body.
func (x *exchange) readRequest() error {
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, MaxBody))
	x.body, x.seed = body, seed(body, x.now)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &fault{status: http.StatusRequestEntityTooLarge, message: "Request body too large"}
	}
	return err
}

// decode reads the body as JSON into v.
func (x *exchange) decode(v any) error {
	if len(x.body) == 0 {
		return badRequest("missing request body")
	}
	if err := json.Unmarshal(x.body, v); err != nil {
		return badRequest("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// cast finds the model that the request names.
func (x *exchange) cast(name string) error {
	if name == "" {
		return badRequest("model is required")
	}
	model, ok := Find(name)
	if !ok {
		return &fault{status: http.StatusNotFound, message: name, code: "model_not_found"}
	}
	x.model, x.name = model, name
	if model.Fault == Busy {
		return &fault{status: http.StatusTooManyRequests, message: "busy", retryAfter: true}
	}
	return nil
}

// perform chooses the reply to the request.
func (x *exchange) perform(c cue, choice int) performance {
	c.calls = x.calls
	return x.model.perform(c, choice)
}

// promptTokens is the reported number of tokens in the request.
func (x *exchange) promptTokens() int { return len(x.body)/4 + 1 }

// reply answers with a single JSON value.
func (x *exchange) reply(status int, v any) error {
	return x.replyWith(encoder{}, status, v)
}

func (x *exchange) replyWith(e encoder, status int, v any) error {
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(status)
	_, err := x.w.Write(e.encode(nil, v))
	return err
}

// whole answers with a reply that is not streamed.
func (x *exchange) whole(e encoder, v object) error {
	switch x.model.Fault {
	case Fails:
		return &fault{status: http.StatusInternalServerError, message: failure}
	case BreaksOff, HangsUp:
		x.w.Header().Set("Content-Type", "application/json")
		b := e.encode(nil, v)
		x.w.Write(b[:len(b)/2])
		if x.model.Fault == BreaksOff {
			http.NewResponseController(x.w).Flush()
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	return x.replyWith(e, http.StatusOK, v)
}
