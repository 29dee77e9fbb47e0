// Package endpoints knows the routes of the providers and of the gateway: which endpoint a
// path leads to, what it returns, who may use it, and where it is at an upstream.
package endpoints

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// A Kind says what the gateway does with the requests of an endpoint: by the kind
// that a provider gives it, or by one of the gateway's own.
type Kind uint8

const (
	Unknown  = Kind(wire.EndpointUnknown) // passes on this machine if no route hides reasoning
	Replies  = Kind(wire.EndpointReplies)
	Harmless = Kind(wire.EndpointHarmless)
	Local    = Kind(wire.EndpointLocal)
	Unread   = Kind(wire.EndpointUnread)
	Stored   = Kind(wire.EndpointStored)
	Results  = Kind(wire.EndpointResults)
	Audio    = Kind(wire.EndpointAudio)
	Own      = Kind(wire.EndpointAudio + 1) // the gateway answers it
	Probe    = Kind(wire.EndpointAudio + 2) // the gateway answers it, even without a token
	Socketed = Kind(wire.EndpointAudio + 3) // replies over a WebSocket, which a codec reads
)

// An Endpoint is a route that the gateway knows.
type Endpoint struct {
	Methods string // separated by spaces; if empty, any. GET includes HEAD
	// Path is the whole path, without a prefix. {} stands for one segment, {...}
	// for one or more, {}:verb for a segment that ends in a verb.
	Path  string
	Kind  Kind
	Codec wire.Codec         // reads the replies, and writes the errors; if nil, errors are written as OpenAI's
	Of    string             // the kind of the things that it leads to, which belong to callers
	users wire.EndpointUsers // who may use it, where its kind does not say it

	Provider *wire.Provider // whose API it is of; nil if no one provider's
	Counts   bool           // it counts the tokens of a request
	// Stands is what it answers in front of a server of another API; see [wire.Endpoint].
	Stands func(body []byte, models []wire.Model) (reply []byte, mediaType string, ok bool)
	// Else is what it is to requests of another API; see [wire.Endpoint].
	Else *wire.Else
	// Kept says what it asks of what the gateway may keep in place of the upstream. If the request may go no
	// further than here, Barred says why.
	Kept   wire.KeptRoute
	Barred error
}

// All are the endpoints that the gateway knows. This table alone decides whether a
// request is admitted from another machine, read, passed, or refused because
// reasoning is hidden. The first row that fits is used, so a fixed path stands
// before a pattern.
var All = slices.Concat(gatewayEndpoints, providersEndpoints(), amazonEndpoints, serverEndpoints, otherEndpoints)

// providersEndpoints are those of the providers that have a codec.
func providersEndpoints() []Endpoint {
	var list []Endpoint
	for _, p := range providers.All() {
		for _, e := range p.Endpoints {
			list = append(list, Endpoint{e.Methods, e.Path, Kind(e.Kind), e.Codec, e.Of, e.For, p, e.Counts, e.Stands, e.Else, e.Kept, nil})
		}
	}
	return list
}

var gatewayEndpoints = []Endpoint{
	{Methods: "GET", Path: "/healthz", Kind: Probe},
	{Methods: "GET", Path: "/readyz", Kind: Probe},
	{Methods: "GET", Path: "/metrics", Kind: Own},
}

// Amazon's SageMaker.
var amazonEndpoints = []Endpoint{
	{Path: "/endpoints/{}/invocations", Kind: Unread},
	{Path: "/endpoints/{}/invocations-response-stream", Kind: Unread},
	{Path: "/invocations", Kind: Unread},
}

// Servers of open models: llama.cpp's other routes, vLLM
// (docs/serving/openai_compatible_server.md), SGLang, text-generation-inference,
// KoboldCpp, LM Studio, Triton.
var serverEndpoints = []Endpoint{
	{Methods: "POST", Path: "/tokenize", Kind: Harmless},
	{Methods: "POST", Path: "/detokenize", Kind: Harmless},
	{Methods: "POST", Path: "/embedding", Kind: Harmless},
	{Methods: "POST", Path: "/embed", Kind: Harmless},
	{Methods: "POST", Path: "/rerank", Kind: Harmless},
	{Methods: "POST", Path: "/reranking", Kind: Harmless},
	{Methods: "POST", Path: "/v1/rerank", Kind: Harmless},
	{Methods: "POST", Path: "/v1/reranking", Kind: Harmless},
	{Methods: "POST", Path: "/v2/rerank", Kind: Harmless},

	{Path: "/generate", Kind: Unread},
	{Path: "/generate_stream", Kind: Unread},
	{Methods: "POST", Path: "/", Kind: Unread}, // text-generation-inference
	{Path: "/vertex", Kind: Unread},
	{Path: "/api/v1/generate", Kind: Unread},
	{Path: "/api/v1/stream", Kind: Unread},
	{Path: "/api/extra/generate/{...}", Kind: Unread},
	{Path: "/api/v1/chat", Kind: Unread},
	{Path: "/inference/v1/generate", Kind: Unread},
	{Path: "/generative_scoring", Kind: Unread},
	{Path: "/separate_reasoning", Kind: Unread},
	{Path: "/v2/models/{}/generate", Kind: Unread},
	{Path: "/v2/models/{}/generate_stream", Kind: Unread},
	{Path: "/v2/models/{}/infer", Kind: Unread},

	{Methods: "GET", Path: "/health", Kind: Local, users: wire.ForAll},
	{Methods: "GET", Path: "/v1/health", Kind: Local, users: wire.ForAll},
	{Methods: "GET", Path: "/version", Kind: Local, users: wire.ForAll},
	{Methods: "GET", Path: "/info", Kind: Local},
	{Methods: "GET", Path: "/load", Kind: Local},
	{Path: "/ping", Kind: Local, users: wire.ForAll},
	{Path: "/props", Kind: Local},
	{Path: "/apply-template", Kind: Local, users: wire.ForAll},
	{Methods: "POST", Path: "/chat_tokenize", Kind: Local},
	{Methods: "GET", Path: "/get_server_info", Kind: Local},
	{Methods: "GET", Path: "/server_info", Kind: Local},
	{Path: "/lora-adapters", Kind: Local},
	{Path: "/models/load", Kind: Local},
	{Path: "/models/unload", Kind: Local},
	{Path: "/v1/load_lora_adapter", Kind: Local},
	{Path: "/v1/unload_lora_adapter", Kind: Local},
	{Methods: "GET", Path: "/api/v0/models", Kind: Local, users: wire.ForAll},
	{Methods: "GET", Path: "/api/v0/models/{...}", Kind: Local, users: wire.ForAll},
}

// Other providers: Mistral, Replicate, xAI, Hugging Face, Cloudflare,
// watsonx.
var otherEndpoints = []Endpoint{
	{Path: "/v1/predictions", Kind: Unread, Of: "predictions"},
	{Path: "/v1/predictions/{...}", Kind: Unread, Of: "predictions"},
	{Path: "/v1/chat/deferred-completion/{}", Kind: Unread, Of: "deferred-completion"},
	{Methods: "POST", Path: "/v1/models/{...}/predictions", Kind: Unread, Of: "predictions"},
	{Methods: "POST", Path: "/models/{...}", Kind: Unread},
	{Path: "/accounts/{}/ai/run/{...}", Kind: Unread},
	{Path: "/ml/v1/text/{}", Kind: Unread},

	// A model's name may hold slashes, so this row stands after all rows with paths
	// that follow a name.
	{Methods: "GET", Path: "/v1/models/{...}", Kind: Harmless},
	{Methods: "DELETE", Path: "/v1/models/{...}", Kind: Local},
}

// Other returns the endpoint of the other API at the same path, for a method that has a body; ok is false if there is none.
func (e *Endpoint) Other(method string) (other Endpoint, ok bool) {
	if e.Else == nil || method != http.MethodPost {
		return *e, false
	}
	other = *e
	other.Kind, other.Codec, other.Else, other.Kept, other.Barred = Replies, e.Else.Codec, nil, wire.KeptNothing, nil
	return other, true
}

// Takes reports whether an endpoint accepts a method.
func (e *Endpoint) Takes(method string) bool {
	if method == "HEAD" {
		method = "GET"
	}
	return e.Methods == "" || slices.Contains(strings.Fields(e.Methods), method)
}

// Scope returns what a token must open for the endpoint; it is empty if no token is
// needed.
func (e *Endpoint) Scope() access.Scope {
	switch {
	case e.Kind == Probe:
		return ""
	case e.Kind == Own:
		return access.Metrics
	case e.users == wire.ForOperator, e.users == wire.ForKind && e.Of == "" && (e.Kind == Local || e.Kind == Unknown):
		return access.Operator
	}
	return access.Models
}

// IsModel reports whether an endpoint returns a model's text.
func (e *Endpoint) IsModel() bool {
	return e.Kind == Replies || e.Kind == Stored || e.Kind == Results || e.Kind == Unread || e.Kind == Audio
}

// IsOpen reports whether other machines may use an endpoint: what it returns belongs
// to the request that asked for it, and it changes nothing.
func (e *Endpoint) IsOpen() bool {
	return e.Kind == Replies || e.Kind == Socketed || e.Kind == Harmless || e.Kind == Audio
}

// Read returns the codec that reads what the endpoint returns to a request, or nil.
func (e *Endpoint) Read(method string) wire.Codec {
	if e.Kind == Replies || e.Kind == Stored && method != http.MethodHead {
		return e.Codec
	}
	return nil
}

// A pattern is the path of an endpoint in segments.
type pattern []string

var patterns = func() []pattern {
	list := make([]pattern, len(All))
	for i, e := range All {
		list[i] = Segments(e.Path)
	}
	return list
}()

// Segments splits a path at its slashes. A slash at the end does not count.
func Segments(path string) []string {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// fits reports whether segments match a pattern, and whether their fixed parts are
// spelled as in the pattern: some servers accept capitals too.
func (p pattern) fits(segments []string) (ok, exact bool) {
	exact = true
	for i, part := range p {
		if part == "{...}" {
			for n := i + 1; n <= len(segments); n++ {
				if ok, rest := p[i+1:].fits(segments[n:]); ok {
					return true, exact && rest
				}
			}
			return false, false
		}
		if i >= len(segments) {
			return false, false
		}
		ok, same := fitsSegment(part, segments[i])
		if !ok {
			return false, false
		}
		exact = exact && same
	}
	return len(segments) == len(p), exact
}

func fitsSegment(part, segment string) (ok, exact bool) {
	verb, named := strings.CutPrefix(part, "{}")
	switch {
	case !named:
		return strings.EqualFold(part, segment), part == segment
	case verb == "":
		return true, true
	}
	i := strings.LastIndexByte(segment, ':')
	if i < 1 {
		return false, false
	}
	return verb == ":{}" || strings.EqualFold(verb, segment[i:]), verb == ":{}" || verb == segment[i:]
}

// A Found endpoint is where a path leads.
type Found struct {
	Endpoint
	exact bool // the path is spelled as in the endpoint
	At    int  // how many segments precede the endpoint's path
}

// Look finds the endpoint that segments end in, among those that are allowed. The
// longest match wins: /api/generate, not /generate. But where that match leaves the
// path's end open, an end that says what the reply is wins: servers put
// /chat/completions below names of models, as in /models/ORG/NAME/v1/chat/completions.
func Look(segments []string, may func(*Endpoint) bool) Found {
	first := longest(segments, 0, may)
	if first.Kind != Unread || !strings.HasSuffix(first.Path, "{...}") {
		return first
	}
	end := longest(segments, first.At+1, func(e *Endpoint) bool {
		return e.Kind == Replies && strings.Count(e.Path, "/") > 1 && may(e)
	})
	if end.Kind == Replies {
		return end
	}
	return first
}

// longest finds the longest match that begins at a segment or after it.
func longest(segments []string, from int, may func(*Endpoint) bool) Found {
	for at := from; at < max(1, len(segments)); at++ {
		for i := range All {
			e := &All[i]
			if at > 0 && e.whole() || !may(e) {
				continue
			}
			if ok, exact := patterns[i].fits(segments[at:]); ok {
				return Found{*e, exact, at}
			}
		}
	}
	return Found{}
}

// whole reports whether an endpoint's path allows no prefix.
func (e *Endpoint) whole() bool { return e.Kind == Own || e.Kind == Probe || e.Path == "/" }
