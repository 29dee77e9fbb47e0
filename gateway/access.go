package gateway

import (
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/internal/access"
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
	f, err := findFor(r)
	if err != nil {
		return false
	}
	p := providerOf(f.codec)
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
	f := look(segmentsOf(r.URL.Path[:min(len(r.URL.Path), access.MaxPath)]), func(e *endpoint) bool { return e.codec != nil })
	refuse(w, f.codec, status, why)
}

// admit reports whether a request is admitted, and answers it if not. It returns
// the endpoint that the request goes to, and the request with its caller.
func (a *admission) admit(w http.ResponseWriter, r *http.Request) (endpoint, *http.Request, bool) {
	no := func(status int, why string) (endpoint, *http.Request, bool) {
		refuseAt(w, r, status, why)
		return endpoint{}, r, false
	}
	if !a.Enter(w, r) {
		return endpoint{}, r, false
	}
	f, err := findFor(r)
	if err != nil {
		return no(http.StatusBadRequest, err.Error())
	}
	if over, ok := upgradesTo(r); ok {
		f = over
	}
	if p := providerOf(f.codec); p != nil && p.Refuses != nil {
		if err := p.Refuses(r); err != nil {
			return no(http.StatusForbidden, err.Error())
		}
	}
	if f.kind == probe {
		return f.endpoint, r, true
	}
	model, err := find(r.URL, (*endpoint).isModel) // by any method
	status, why := a.refusal(r, f, model.isModel())
	var ok bool
	if r, ok = a.permit(w, r, a.scopeFor(r, f, model.isModel(), status != 0)); !ok {
		return endpoint{}, r, false
	}
	if f.kind == own {
		return f.endpoint, r, true
	}
	if err != nil {
		return no(http.StatusBadRequest, err.Error())
	}
	if f.kind != socketed && !a.upgrade(w, r, model.isModel()) {
		return endpoint{}, r, false
	}
	if status != 0 {
		return no(status, why)
	}
	return f.endpoint, r, true
}

// refusal returns the reason why a request may not go where it leads, if there is
// one. Which endpoint a path leads to depends on the request's method too.
func (a *admission) refusal(r *http.Request, f found, ofModel bool) (status int, why string) {
	switch {
	case a.hides && ofModel && (f.kind == unread || f.kind == audio || f.kind == unknown):
		return http.StatusForbidden, "the gateway hides reasoning, and does not read what this route returns: " +
			"POST to /v1/chat/completions, /v1/completions, /v1/responses, /v1/messages, /v1beta/models/MODEL:generateContent, /model/MODEL/converse, /api/chat or /api/generate"
	case a.passAll:
		return 0, ""
	case a.hides && f.kind == unknown:
		return http.StatusForbidden, "the gateway hides reasoning, and does not know what this route returns: to forward it anyway, set --pass-all"
	case a.public && (!f.isOpen() || !a.isWhole(r, f)):
		return http.StatusNotFound, "for other machines, this gateway forwards only the routes of models and model lists: see --path-prefix and --pass-all"
	}
	return 0, ""
}

// isWhole reports whether the endpoint's path is preceded by nothing except the
// configured prefix.
func (a *admission) isWhole(r *http.Request, f found) bool {
	if f.at == 0 {
		return true
	}
	return a.prefix != "" && strings.HasPrefix(r.URL.EscapedPath(), a.prefix+"/") && f.at == len(segmentsOf(a.prefix))
}

// upgrade reports whether a request is admitted with regard to the protocol upgrade
// it asks for, and answers it if not. What a model says over a WebSocket is read on the
// routes of [wire.SocketCodec] only. Another route of a model accepts none: the answer is
// 426, which tells clients that know both to use HTTP. A public gateway accepts no
// WebSocket on any other route. Any other protocol is ignored, as HTTP allows: requests tunnelled
// through h2c would bypass all the rules here.
func (a *admission) upgrade(w http.ResponseWriter, r *http.Request, ofModel bool) bool {
	asked, only := r.Header["Upgrade"], r.Method == http.MethodGet && asksWebSocket(r)
	r.Header.Del("Upgrade")
	switch {
	case !listHas(asked, "websocket"):
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

// listHas reports whether a header whose value is a list contains a word.
func listHas(values []string, word string) bool {
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(item), word) {
				return true
			}
		}
	}
	return false
}
