package gateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// A kind says what the gateway does with the requests of an endpoint: by the kind
// that a provider gives it, or by one of the gateway's own.
type kind uint8

const (
	unknown  = kind(wire.EndpointUnknown) // passes on this machine if no route hides reasoning
	replies  = kind(wire.EndpointReplies)
	harmless = kind(wire.EndpointHarmless)
	local    = kind(wire.EndpointLocal)
	unread   = kind(wire.EndpointUnread)
	stored   = kind(wire.EndpointStored)
	results  = kind(wire.EndpointResults)
	audio    = kind(wire.EndpointAudio)
	own      = kind(wire.EndpointAudio + 1) // the gateway answers it
	probe    = kind(wire.EndpointAudio + 2) // the gateway answers it, even without a token
	socketed = kind(wire.EndpointAudio + 3) // replies over a WebSocket, which a codec reads
)

// An endpoint is a route that the gateway knows.
type endpoint struct {
	methods string // separated by spaces; if empty, any. GET includes HEAD
	// path is the whole path, without a prefix. {} stands for one segment, {...}
	// for one or more, {}:verb for a segment that ends in a verb.
	path  string
	kind  kind
	codec codec              // reads the replies, and writes the errors; if nil, errors are written as OpenAI's
	of    string             // the kind of the things that it leads to, which belong to callers
	users wire.EndpointUsers // who may use it, where its kind does not say it
}

// endpoints are all that the gateway knows. This table alone decides whether a
// request is admitted from another machine, read, passed, or refused because
// reasoning is hidden. The first row that fits is used, so a fixed path stands
// before a pattern.
var endpoints = slices.Concat(gatewayEndpoints, providersEndpoints(), amazonEndpoints, serverEndpoints, otherEndpoints)

// providersEndpoints are those of the providers that have a codec.
func providersEndpoints() []endpoint {
	var list []endpoint
	for _, p := range providers.All() {
		for _, e := range p.Endpoints {
			list = append(list, endpoint{e.Methods, e.Path, kind(e.Kind), e.Codec, e.Of, e.For})
		}
	}
	return list
}

var gatewayEndpoints = []endpoint{
	{methods: "GET", path: "/healthz", kind: probe},
	{methods: "GET", path: "/readyz", kind: probe},
	{methods: "GET", path: "/metrics", kind: own},
}

// Amazon's SageMaker.
var amazonEndpoints = []endpoint{
	{path: "/endpoints/{}/invocations", kind: unread},
	{path: "/endpoints/{}/invocations-response-stream", kind: unread},
	{path: "/invocations", kind: unread},
}

// Servers of open models: llama.cpp's other routes, vLLM
// (docs/serving/openai_compatible_server.md), SGLang, text-generation-inference,
// KoboldCpp, LM Studio, Triton.
var serverEndpoints = []endpoint{
	{methods: "POST", path: "/tokenize", kind: harmless},
	{methods: "POST", path: "/detokenize", kind: harmless},
	{methods: "POST", path: "/embedding", kind: harmless},
	{methods: "POST", path: "/embed", kind: harmless},
	{methods: "POST", path: "/rerank", kind: harmless},
	{methods: "POST", path: "/reranking", kind: harmless},
	{methods: "POST", path: "/v1/rerank", kind: harmless},
	{methods: "POST", path: "/v1/reranking", kind: harmless},
	{methods: "POST", path: "/v2/rerank", kind: harmless},

	{path: "/generate", kind: unread},
	{path: "/generate_stream", kind: unread},
	{methods: "POST", path: "/", kind: unread}, // text-generation-inference
	{path: "/vertex", kind: unread},
	{path: "/api/v1/generate", kind: unread},
	{path: "/api/v1/stream", kind: unread},
	{path: "/api/extra/generate/{...}", kind: unread},
	{path: "/api/v1/chat", kind: unread},
	{path: "/inference/v1/generate", kind: unread},
	{path: "/generative_scoring", kind: unread},
	{path: "/separate_reasoning", kind: unread},
	{path: "/v2/models/{}/generate", kind: unread},
	{path: "/v2/models/{}/generate_stream", kind: unread},
	{path: "/v2/models/{}/infer", kind: unread},

	{methods: "GET", path: "/health", kind: local, users: wire.ForAll},
	{methods: "GET", path: "/v1/health", kind: local, users: wire.ForAll},
	{methods: "GET", path: "/version", kind: local, users: wire.ForAll},
	{methods: "GET", path: "/info", kind: local},
	{methods: "GET", path: "/load", kind: local},
	{path: "/ping", kind: local, users: wire.ForAll},
	{path: "/props", kind: local},
	{path: "/apply-template", kind: local, users: wire.ForAll},
	{methods: "POST", path: "/chat_tokenize", kind: local},
	{methods: "GET", path: "/get_server_info", kind: local},
	{methods: "GET", path: "/server_info", kind: local},
	{path: "/lora-adapters", kind: local},
	{path: "/models/load", kind: local},
	{path: "/models/unload", kind: local},
	{path: "/v1/load_lora_adapter", kind: local},
	{path: "/v1/unload_lora_adapter", kind: local},
	{methods: "GET", path: "/api/v0/models", kind: local, users: wire.ForAll},
	{methods: "GET", path: "/api/v0/models/{...}", kind: local, users: wire.ForAll},
}

// Other providers: Mistral, Replicate, xAI, Hugging Face, Cloudflare,
// watsonx.
var otherEndpoints = []endpoint{
	{path: "/v1/predictions", kind: unread, of: "predictions"},
	{path: "/v1/predictions/{...}", kind: unread, of: "predictions"},
	{path: "/v1/chat/deferred-completion/{}", kind: unread, of: "deferred-completion"},
	{methods: "POST", path: "/v1/models/{...}/predictions", kind: unread, of: "predictions"},
	{methods: "POST", path: "/models/{...}", kind: unread},
	{path: "/accounts/{}/ai/run/{...}", kind: unread},
	{path: "/ml/v1/text/{}", kind: unread},

	// A model's name may hold slashes, so this row stands after all rows with paths
	// that follow a name.
	{methods: "GET", path: "/v1/models/{...}", kind: harmless},
	{methods: "DELETE", path: "/v1/models/{...}", kind: local},
}

// takes reports whether an endpoint accepts a method.
func (e *endpoint) takes(method string) bool {
	if method == "HEAD" {
		method = "GET"
	}
	return e.methods == "" || slices.Contains(strings.Fields(e.methods), method)
}

// scope returns what a token must open for the endpoint; it is empty if no token is
// needed.
func (e *endpoint) scope() Scope {
	switch {
	case e.kind == probe:
		return ""
	case e.kind == own:
		return ScopeMetrics
	case e.users == wire.ForOperator, e.users == wire.ForKind && e.of == "" && (e.kind == local || e.kind == unknown):
		return ScopeOperator
	}
	return ScopeModels
}

// isModel reports whether an endpoint returns a model's text.
func (e *endpoint) isModel() bool {
	return e.kind == replies || e.kind == stored || e.kind == results || e.kind == unread || e.kind == audio
}

// isOpen reports whether other machines may use an endpoint: what it returns belongs
// to the request that asked for it, and it changes nothing.
func (e *endpoint) isOpen() bool {
	return e.kind == replies || e.kind == socketed || e.kind == harmless || e.kind == audio
}

// read returns the codec that reads what the endpoint returns to a request, or nil.
func (e *endpoint) read(method string) codec {
	if e.kind == replies || e.kind == stored && method != http.MethodHead {
		return e.codec
	}
	return nil
}

// A pattern is the path of an endpoint in segments.
type pattern []string

var patterns = func() []pattern {
	list := make([]pattern, len(endpoints))
	for i, e := range endpoints {
		list[i] = segmentsOf(e.path)
	}
	return list
}()

// segmentsOf splits a path at its slashes. A slash at the end does not count.
func segmentsOf(path string) []string {
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

// A found endpoint is where a path leads.
type found struct {
	endpoint
	exact bool // the path is spelled as in the endpoint
	at    int  // how many segments precede the endpoint's path
}

// look finds the endpoint that segments end in, among those that are allowed. The
// longest match wins: /api/generate, not /generate. But where that match leaves the
// path's end open, an end that says what the reply is wins: servers put
// /chat/completions below names of models, as in /models/ORG/NAME/v1/chat/completions.
func look(segments []string, may func(*endpoint) bool) found {
	first := longest(segments, 0, may)
	if first.kind != unread || !strings.HasSuffix(first.path, "{...}") {
		return first
	}
	end := longest(segments, first.at+1, func(e *endpoint) bool {
		return e.kind == replies && strings.Count(e.path, "/") > 1 && may(e)
	})
	if end.kind == replies {
		return end
	}
	return first
}

// longest finds the longest match that begins at a segment or after it.
func longest(segments []string, from int, may func(*endpoint) bool) found {
	for at := from; at < max(1, len(segments)); at++ {
		for i := range endpoints {
			e := &endpoints[i]
			if at > 0 && e.whole() || !may(e) {
				continue
			}
			if ok, exact := patterns[i].fits(segments[at:]); ok {
				return found{*e, exact, at}
			}
		}
	}
	return found{}
}

// whole reports whether an endpoint's path allows no prefix.
func (e *endpoint) whole() bool { return e.kind == own || e.kind == probe || e.path == "/" }
