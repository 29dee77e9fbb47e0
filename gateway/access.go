package gateway

import (
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// A Token is what one caller sends as its API key. Its Name is in the log and in the
// record, and its Secret never is; a Hash may stand in its place. Its Scopes are what it
// opens; without any, it opens everything. Its Limits bound what the caller may do in this
// process; replicas do not share them.
type Token = access.Token

// A Scope is a part of a server that a token opens.
type Scope = access.Scope

// The scopes of a token.
const (
	ScopeModels   Scope = "models"   // the models, and what the caller made at the upstream, such as files
	ScopeOperator Scope = "operator" // administering the upstream, every other route, and what every caller made there
	ScopeRecord   Scope = "record"   // reading the record
	ScopeConsole  Scope = "console"  // looking at this process: the metrics, and the servers beside the gateway that show it
	ScopeAgent    Scope = "agent"    // the A2A server beside the gateway
	ScopeMetrics  Scope = "metrics"  // the metrics alone
	ScopeDebug    Scope = "debug"    // the debug server beside the gateway alone
)

// admission decides which requests are admitted, and which key the upstream gets
// with them.
type admission struct {
	*access.Control
	public, passAll bool
	named           bool // other names than this machine's lead here, so that others may
	hides           bool // some route hides reasoning
	prefix          string
	keys            []string // of all upstreams
	several         bool     // there is more than one upstream
}

func newAdmission(c Config) admission {
	return admission{
		Control: access.New(access.Rules{
			Name: "gateway", Public: c.Public, Tokens: c.tokens(), Closed: c.Closed, AllowHosts: c.AllowHosts, AllowOrigins: c.AllowOrigins,
			Methods: []string{http.MethodGet, http.MethodPost, http.MethodOptions}, Expose: []string{"Sotto-Diagnostics", "Sotto-History", "Sotto-Thinking", "Sotto-Figures", failedHeader, exchangeIDHeader},
			MaxHeader: c.Limits.Header, URLKeys: keyInURL, Log: c.Logger, Refuse: refuseAt,
		}),
		public: c.Public, passAll: c.PassAll, named: len(c.AllowHosts) > 0,
		hides: c.hides(), prefix: c.PathPrefix,
		keys: c.keys(), several: len(c.Upstreams) > 0,
	}
}

// keyInURL reports whether a request goes to an API whose clients send their key in the
// URL. On no other route is it a token.
func keyInURL(r *http.Request) bool {
	f, err := endpoints.For(r)
	if err != nil {
		return false
	}
	p := endpoints.Provider(f.Codec)
	return p != nil && p.KeyInURL
}

// tokens returns all tokens, also the one that has no name of its own.
func (c *Config) tokens() []Token {
	if c.Token == "" {
		return c.Tokens
	}
	return append([]Token{{Name: access.Single, Secret: c.Token}}, c.Tokens...)
}

// refuseAt answers a request that is not admitted, in the form of the API that its
// path belongs to.
func refuseAt(w http.ResponseWriter, r *http.Request, status int, why string) {
	f := endpoints.Look(endpoints.Segments(r.URL.Path[:min(len(r.URL.Path), access.MaxPath)]), func(e *endpoints.Endpoint) bool { return e.Codec != nil })
	faults.Refuse(w, f.Codec, status, why)
}

// admit reports whether a request is admitted, and answers it if not. It returns
// the endpoint that the request goes to, and the request with its caller.
func (a *admission) admit(w http.ResponseWriter, r *http.Request) (endpoints.Endpoint, *http.Request, bool) {
	no := func(status int, why string) (endpoints.Endpoint, *http.Request, bool) {
		refuseAt(w, r, status, why)
		return endpoints.Endpoint{}, r, false
	}
	if !a.Enter(w, r) {
		return endpoints.Endpoint{}, r, false
	}
	f, err := endpoints.For(r)
	if err != nil {
		return no(http.StatusBadRequest, err.Error())
	}
	if over, ok := endpoints.UpgradesTo(r); ok {
		f = over
	}
	if p := endpoints.Provider(f.Codec); p != nil && p.Refuses != nil {
		if err := p.Refuses(r); err != nil {
			return no(http.StatusForbidden, err.Error())
		}
	}
	if f.Kind == endpoints.Probe {
		return f.Endpoint, r, true
	}
	model, err := endpoints.Find(r.URL, (*endpoints.Endpoint).IsModel) // by any method
	status, why := a.refusal(r, f, model.IsModel())
	var ok bool
	if r, ok = a.permit(w, r, a.scopeFor(r, f, model.IsModel(), status != 0)); !ok {
		return endpoints.Endpoint{}, r, false
	}
	if f.Kind == endpoints.Own {
		return f.Endpoint, r, true
	}
	if err != nil {
		return no(http.StatusBadRequest, err.Error())
	}
	if f.Kind != endpoints.Socketed && !a.upgrade(w, r, model.IsModel()) {
		return endpoints.Endpoint{}, r, false
	}
	if status != 0 {
		return no(status, why)
	}
	return f.Endpoint, r, true
}

// refusal returns the reason why a request may not go where it leads, if there is
// one. Which endpoint a path leads to depends on the request's method too.
func (a *admission) refusal(r *http.Request, f endpoints.Found, ofModel bool) (status int, why string) {
	switch {
	case a.hides && ofModel && (f.Kind == endpoints.Unread || f.Kind == endpoints.Audio || f.Kind == endpoints.Unknown):
		return http.StatusForbidden, "the gateway hides reasoning, and does not read what this route returns: " +
			"POST to /v1/chat/completions, /v1/completions, /v1/responses, /v1/messages, /v1beta/models/MODEL:generateContent, /model/MODEL/converse, /api/chat or /api/generate"
	case a.passAll:
		return 0, ""
	case a.hides && f.Kind == endpoints.Unknown:
		return http.StatusForbidden, "the gateway hides reasoning, and does not know what this route returns: to forward it anyway, set --pass-all"
	case a.public && (!f.IsOpen() || !a.isWhole(r, f)):
		return http.StatusNotFound, "for other machines, this gateway forwards only the routes of models and model lists: see --path-prefix and --pass-all"
	}
	return 0, ""
}

// isWhole reports whether the endpoint's path is preceded by nothing except the
// configured prefix.
func (a *admission) isWhole(r *http.Request, f endpoints.Found) bool {
	if f.At == 0 {
		return true
	}
	return a.prefix != "" && strings.HasPrefix(r.URL.EscapedPath(), a.prefix+"/") && f.At == len(endpoints.Segments(a.prefix))
}

// upgrade reports whether a request is admitted with regard to the protocol upgrade
// it asks for, and answers it if not. What a model says over a WebSocket is read on the
// routes of [wire.SocketCodec] only. Another route of a model accepts none: the answer is
// 426, which tells clients that know both to use HTTP. A public gateway accepts no
// WebSocket on any other route. Any other protocol is ignored, as HTTP allows: requests tunnelled
// through h2c would bypass all the rules here.
func (a *admission) upgrade(w http.ResponseWriter, r *http.Request, ofModel bool) bool {
	asked, only := r.Header["Upgrade"], r.Method == http.MethodGet && endpoints.AsksWebSocket(r)
	r.Header.Del("Upgrade")
	switch {
	case !endpoints.ListHas(asked, "websocket"):
		return true
	case ofModel:
		w.Header().Set("Upgrade", "HTTP/1.1")
		w.Header().Set("Connection", "Upgrade")
		refuseAt(w, r, http.StatusUpgradeRequired, "the gateway does not read this WebSocket: use HTTP on this route")
		return false
	case a.public:
		refuseAt(w, r, http.StatusForbidden, "this gateway accepts no WebSockets from other machines")
		return false
	}
	if only {
		r.Header.Set("Upgrade", "websocket")
	}
	return true
}
