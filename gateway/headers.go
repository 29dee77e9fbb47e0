package gateway

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// A headerGroup is headers of an upstream's response that clients get. All others stay
// here: they could speak for the gateway, or carry what a reply's body may not.
type headerGroup struct {
	names  string // separated by spaces; one that ends in * stands for all that begin so
	why    string // clients get them
	hidden headerForm
}

// headerGroups are all headers that pass from an upstream's response, its trailers and its
// informational responses. The first group with a name decides. Set-Cookie and what the
// gateway says of itself have rules of their own.
var headerGroups = []headerGroup{
	{"content-type", "how to read the body", aMediaType},
	{"content-length content-encoding content-language content-md5 digest content-digest repr-digest", "how to read the body", aFact},
	{"content-range accept-ranges", "which part of a file this is", someWords("bytes", "none")},
	{"content-disposition", "whether the body is a file", someWords("attachment", "inline")},
	{"date age expires last-modified", "how old the response is", aNumber},
	{"etag", "whether a copy is still right", aFact},
	{"cache-control pragma", "who may keep a copy", someWords("no-cache", "no-store", "no-transform", "private", "public", "must-revalidate", "proxy-revalidate",
		"immutable", "max-age", "s-maxage", "stale-while-revalidate", "stale-if-error")},
	{"vary", "who may keep a copy", someWords("*", "accept", "accept-encoding", "accept-language", "authorization", "content-type", "cookie", "origin", "user-agent")},
	{"allow", "what the path accepts", someWords("get", "head", "post", "put", "patch", "delete", "options")},
	{"www-authenticate", "why it is 401", someWords("bearer", "basic", "negotiate")},
	{"location x-goog-upload-url x-goog-upload-control-url", "where to go on, such as with an upload", anAddress},
	{"retry-after retry-after-ms x-should-retry openai-poll-after-ms", "when to ask again", aNumber},
	{"deprecation sunset", "until when the path works", aNumber},
	{"server", "which program answers", aFact},
	{"x-accel-buffering", "a proxy before the gateway must not hold a stream back", someWords("no", "yes")},
	{"x-content-type-options x-frame-options referrer-policy", "what a browser must not do", someWords("nosniff", "deny", "sameorigin", "no-referrer", "same-origin")},
	{"link content-location content-security-policy x-api-warning x-error-message", "text that the provider documents", unseen},
	{"request-id x-request-id x-correlation-id x-trace-id trace-id x-client-request-id x-generation-id x-debug-trace-id apim-request-id mistral-correlation-id traceresponse x-cloud-trace-context x-log-id x-tt-logid x-error-code",
		"the id to name when something fails", aFact},
	{"ratelimit ratelimit-* x-ratelimit-* x-rate-limit-* x-endpoint-monthly-call-limit x-trial-endpoint-*", "what is left of limits",
		someWords("limit", "remaining", "reset", "policy", `"default"`, "q", "w", "r", "t")},
	{"openai-* anthropic-* x-amzn-* x-amz-* x-goog-* x-gemini-* x-ms-* azureml-* x-groq-* x-together-* x-ds-* x-fireworks-* fireworks-* x-openrouter-* x-dashscope-* msh-* x-codex-* x-oai-* x-models-etag x-reasoning-included num_chars num_tokens",
		"what the provider's SDK reads", aFact},
	{"x-litellm-* x-vllm-* x-inference-* x-compute-* x-metrics-* x-total-* x-validation-time x-queue-time x-time-per-token x-prompt-tokens x-generated-tokens x-process-time x-response-time", "what the server says of its work", aFact},
	{"cf-ray cf-cache-status cf-aig-* x-envoy-upstream-service-time x-kong-* x-portkey-* helicone-*", "what a gateway or proxy before the model says of its work", aFact},
	{"upgrade connection sec-websocket-*", "how a WebSocket begins", aFact},
}

// copiedPrefix begins the names under which LiteLLM copies the headers of its provider.
// They pass if those pass.
const copiedPrefix = "llm_provider-"

// A headerList is the groups by whole name and by beginning of a name.
type headerList struct {
	whole, begins map[string]*headerGroup
}

// listedHeaders makes the list when a response first needs it.
var listedHeaders = sync.OnceValue(func() headerList {
	whole, begins := map[string]*headerGroup{}, map[string]*headerGroup{}
	for i := range headerGroups {
		for name := range strings.FieldsSeq(headerGroups[i].names) {
			if prefix, ok := strings.CutSuffix(name, "*"); ok {
				begins[prefix] = &headerGroups[i]
			} else if whole[name] == nil {
				whole[name] = &headerGroups[i]
			}
		}
	}
	return headerList{whole, begins}
})

// headerGroupOf returns the group of a header; nil if it does not pass.
func headerGroupOf(name string) *headerGroup {
	name = strings.TrimPrefix(strings.ToLower(name), copiedPrefix)
	list := listedHeaders()
	if g := list.whole[name]; g != nil {
		return g
	}
	for prefix, g := range list.begins {
		if strings.HasPrefix(name, prefix) && len(name) > len(prefix) {
			return g
		}
	}
	return nil
}

// A headerLaw says which headers of an upstream a client gets.
type headerLaw struct {
	hides   bool // reasoning is hidden, so that values must have a known form
	cookies bool // there is one upstream, so that the client sends its cookies only there
	all     bool // whatever the upstream sends, except what the gateway says of itself
}

// values returns what passes of a header's values.
func (l headerLaw) values(name string, values []string) []string {
	switch {
	case l.all && !l.hides:
		if strings.HasPrefix(spelled(name), "sotto-") {
			return nil
		}
		return values
	case strings.EqualFold(name, "Set-Cookie"):
		if l.cookies && !l.hides {
			return values
		}
		return nil
	}
	g := headerGroupOf(name)
	switch {
	case g == nil:
		return nil
	case !l.hides:
		return values
	case g.hidden.of == nil || len(name) > longestHeaderName || len(values) > mostHeaderValues:
		return nil
	}
	var shown []string
	for _, v := range values {
		if v, ok := g.hidden.of(strings.TrimSpace(v)); ok {
			shown = append(shown, v)
		}
	}
	return shown
}

// apply leaves in a header what passes, and returns the names of what does not.
func (l headerLaw) apply(h http.Header) (dropped []string) {
	for name, values := range h {
		shown := l.values(name, values)
		if len(shown) < len(values) {
			dropped = append(dropped, name)
		}
		if h[name] = shown; len(shown) == 0 {
			delete(h, name)
		}
	}
	return dropped
}

// listed leaves in a response what passes of its headers and trailers.
func (e *engine) listed(resp *http.Response, l headerLaw) (dropped []string) {
	dropped = l.apply(resp.Header)
	resp.Trailer = nil
	if t, ok := resp.Body.(*trailedBody); ok && !l.hides {
		t.law = &l
		resp.Trailer = l.announced(t.from.Trailer)
	}
	slices.Sort(dropped)
	return dropped
}

// announced returns the trailers that pass of those that an upstream announces.
func (l headerLaw) announced(trailer http.Header) http.Header {
	var shown http.Header
	for name := range trailer {
		if l.values(name, []string{""}) != nil {
			if shown == nil {
				shown = http.Header{}
			}
			shown[name] = nil
		}
	}
	return shown
}

// A trailedBody is the body of an upstream's response whose trailers the client gets only
// as far as a law lets them pass. net/http writes them to the response that it made, so
// the client's response is another.
type trailedBody struct {
	io.ReadCloser
	from, to *http.Response
	law      *headerLaw // nil if none pass
}

// withoutTrailers returns a response that has no trailers until [engine.listed] lets
// some pass.
func withoutTrailers(resp *http.Response) *http.Response {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return resp // its body is a connection
	}
	to := *resp
	to.Trailer = nil
	to.Body = &trailedBody{ReadCloser: resp.Body, from: resp, to: &to}
	return &to
}

// Close adds the trailers that pass. net/http has read them by then.
func (b *trailedBody) Close() error {
	err := b.ReadCloser.Close()
	if b.law == nil {
		return err
	}
	for name, values := range b.from.Trailer {
		shown := b.law.values(name, values)
		if len(shown) == 0 {
			continue
		}
		if b.to.Trailer == nil {
			b.to.Trailer = http.Header{}
		}
		b.to.Trailer[name] = shown
	}
	return err
}

// A firstWriter is what a response is written to. It lets informational responses pass by
// the law: only their headers that are listed, and where reasoning is hidden nothing but
// status 100. The proxy clears all headers after an informational response. The
// gateway's own are put back.
type firstWriter struct {
	http.ResponseWriter
	law     headerLaw
	own     http.Header // set before the proxy began
	cleared bool        // … and cleared by the proxy
}

func newFirstWriter(w http.ResponseWriter, l headerLaw) *firstWriter {
	return &firstWriter{ResponseWriter: w, law: l, own: w.Header().Clone()}
}

// Unwrap returns the writer for an [http.ResponseController].
func (w *firstWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *firstWriter) Header() http.Header {
	h := w.ResponseWriter.Header()
	if w.cleared {
		w.cleared = false
		maps.Copy(h, w.own)
	}
	return h
}

func (w *firstWriter) WriteHeader(status int) {
	if status < 100 || status > 199 || status == http.StatusSwitchingProtocols {
		w.Header()
		w.ResponseWriter.WriteHeader(status)
		return
	}
	h := w.ResponseWriter.Header()
	for name := range w.own {
		delete(h, name)
	}
	if w.law.hides {
		clear(h)
	}
	w.law.apply(h)
	if w.cleared = true; !w.law.hides || status == http.StatusContinue {
		w.ResponseWriter.WriteHeader(status)
	}
}

// lawOf returns which headers of the response to a request pass.
func (g *ruleset) lawOf(ctx context.Context) headerLaw {
	l := headerLaw{hides: g.engine.config.hides(), cookies: !g.engine.several()}
	if x := exchangeOf(ctx); x != nil {
		l.hides = x.route.Display == routing.DisplayHide
	}
	return l
}

// undelivered writes to the log which headers of a response stayed here.
func (e *engine) undelivered(r *http.Request, names []string) {
	log := e.config.Logger
	if len(names) == 0 || !log.Enabled(r.Context(), slog.LevelDebug) {
		return
	}
	fields := []any{"names", faults.Plain(strings.Join(names, " "))}
	if x := exchangeOf(r.Context()); x != nil {
		fields = append(x.identity.fields(), fields...)
	}
	log.Debug("headers of the upstream's response are not passed on", fields...)
}

// quietly is a transport whose errors are quiet. It accepts no header of more than
// header bytes, whatever transport it wraps, and passes no trailers on by itself.
type quietly struct {
	http.RoundTripper
	header int
}

func (t quietly) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, faults.Quiet(err)
	}
	if access.HeaderSize(resp.Header) > t.header {
		resp.Body.Close()
		return nil, fmt.Errorf("the header of the response is larger than %d bytes", t.header)
	}
	return withoutTrailers(resp), nil
}
