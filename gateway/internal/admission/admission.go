// Package admission decides which requests a gateway admits, and which credentials the
// upstream gets with them.
package admission

import (
	"errors"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/wire"
)

// Rules are what a gateway admits.
type Rules struct {
	access.Rules
	PassAll bool     // requests that nobody reads are forwarded
	Hides   bool     // some route hides reasoning
	Prefix  string   // the path below which the gateway is
	Keys    []string // of all upstreams
	Several bool     // there is more than one upstream
}

// A Control admits requests.
type Control struct {
	*access.Control
	public, passAll, hides, several bool
	named                           bool // other names than this machine's lead here, so that others may
	prefix                          string
	keys                            []string
}

// New returns a control with some rules. Their Methods, MoreMethods, URLKeys and Refuse are set
// here: they are the same for all gateways.
func New(r Rules) *Control {
	r.Methods, r.MoreMethods = []string{http.MethodGet, http.MethodPost, http.MethodOptions}, keptMethods
	r.URLKeys, r.Refuse = keyInURL, func(w http.ResponseWriter, r *http.Request, status int, why string) { Refuse(w, r, "", status, why) }
	return &Control{
		Control: access.New(r.Rules), public: r.Public, passAll: r.PassAll, hides: r.Hides, several: r.Several,
		named: len(r.AllowHosts) > 0, prefix: r.Prefix, keys: r.Keys,
	}
}

// keptMethods returns the methods by which clients change what the gateway may keep itself, on
// the route of a preflight. On other routes, which may lead to the administration of a model
// server, pages do not get them.
func keptMethods(preflight *http.Request) (methods []string) {
	for _, m := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
		r := http.Request{Method: m, URL: preflight.URL}
		if f, err := endpoints.For(&r); err == nil && f.Kept != wire.KeptNothing {
			methods = append(methods, m)
		}
	}
	return methods
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

// Refuse answers a request that is not admitted, in the form of the API that its
// path belongs to.
func Refuse(w http.ResponseWriter, r *http.Request, name faultname.Name, status int, why string) {
	f := endpoints.Look(endpoints.Segments(r.URL.Path[:min(len(r.URL.Path), access.MaxPath)]), func(e *endpoints.Endpoint) bool { return e.Codec != nil })
	faults.Refuse(w, f.Codec, name, status, why)
}

// Admit reports whether a request is admitted, and answers it if not. It returns
// the endpoint that the request goes to, and the request with its caller. What the gateway may keep
// itself, and what its body may show to be of another API, is admitted to the gateway, and perhaps barred from the upstream.
func (a *Control) Admit(w http.ResponseWriter, r *http.Request) (endpoints.Endpoint, *http.Request, bool) {
	no := func(name faultname.Name, status int, why string) (endpoints.Endpoint, *http.Request, bool) {
		Refuse(w, r, name, status, why)
		return endpoints.Endpoint{}, r, false
	}
	if !a.Enter(w, r) {
		return endpoints.Endpoint{}, r, false
	}
	f, err := endpoints.For(r)
	if err != nil {
		return no(faultname.PathMalformed, http.StatusBadRequest, err.Error())
	}
	if over, ok := endpoints.UpgradesTo(r); ok {
		f = over
	}
	if p := endpoints.Provider(f.Codec); p != nil && p.Refuses != nil {
		if err := p.Refuses(r); err != nil {
			return no(faultname.SignedByAWS, http.StatusForbidden, err.Error())
		}
	}
	if f.Kind == endpoints.Probe {
		return f.Endpoint, r, true
	}
	model, err := endpoints.Find(r.URL, (*endpoints.Endpoint).IsModel) // by any method
	name, status, why := a.refusal(r, f, model.IsModel())
	var ok bool
	if r, ok = a.permit(w, r, a.scopeFor(r, f, model.IsModel(), status != 0)); !ok {
		return endpoints.Endpoint{}, r, false
	}
	if f.Kind == endpoints.Own {
		return f.Endpoint, r, true
	}
	if err != nil {
		return no(faultname.PathMalformed, http.StatusBadRequest, err.Error())
	}
	if f.Kind != endpoints.Socketed && !a.upgrade(w, r, model.IsModel()) {
		return endpoints.Endpoint{}, r, false
	}
	if other, ok := f.Other(r.Method); ok {
		asked := endpoints.Found{Endpoint: other, At: f.At}
		if _, closed, _ := a.refusal(r, asked, model.IsModel()); closed != 0 {
			f.Else = nil
		}
	}
	if status != 0 {
		if !a.isWhole(r, f) {
			f.Kept = wire.KeptNothing
		}
		if _, ok := f.Other(r.Method); f.Kept == wire.KeptNothing && !ok {
			return no(name, status, why)
		}
		f.Barred = faults.New(name, status, errors.New(why))
	}
	return f.Endpoint, r, true
}

// refusal returns the reason why a request may not go where it leads, if there is
// one. Which endpoint a path leads to depends on the request's method too.
func (a *Control) refusal(r *http.Request, f endpoints.Found, ofModel bool) (name faultname.Name, status int, why string) {
	switch {
	case a.hides && ofModel && (f.Kind == endpoints.Unread || f.Kind == endpoints.Audio || f.Kind == endpoints.Unknown):
		return faultname.RouteNotRead, http.StatusForbidden, "the gateway hides reasoning, and does not read what this route returns: " +
			"POST to /v1/chat/completions, /v1/completions, /v1/responses, /v1/messages, /v1beta/models/MODEL:generateContent, /model/MODEL/converse, /api/chat or /api/generate"
	case a.passAll:
		return "", 0, ""
	case a.hides && f.Kind == endpoints.Unknown:
		return faultname.RouteNotRead, http.StatusForbidden, "the gateway hides reasoning, and does not know what this route returns: to forward it anyway, set --pass-all"
	case a.public && (!f.IsOpen() || !a.isWhole(r, f)):
		return faultname.RouteClosed, http.StatusNotFound, "for other machines, this gateway forwards only the routes of models and model lists: see --path-prefix and --pass-all"
	}
	return "", 0, ""
}

// isWhole reports whether the endpoint's path is preceded by nothing except the
// configured prefix.
func (a *Control) isWhole(r *http.Request, f endpoints.Found) bool {
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
func (a *Control) upgrade(w http.ResponseWriter, r *http.Request, ofModel bool) bool {
	asked, only := r.Header["Upgrade"], r.Method == http.MethodGet && endpoints.AsksWebSocket(r)
	r.Header.Del("Upgrade")
	switch {
	case !endpoints.ListHas(asked, "websocket"):
		return true
	case ofModel:
		w.Header().Set("Upgrade", "HTTP/1.1")
		w.Header().Set("Connection", "Upgrade")
		Refuse(w, r, faultname.WebSocketNotRead, http.StatusUpgradeRequired, "the gateway does not read this WebSocket: use HTTP on this route")
		return false
	case a.public:
		Refuse(w, r, faultname.WebSocketClosed, http.StatusForbidden, "this gateway accepts no WebSockets from other machines")
		return false
	}
	if only {
		r.Header.Set("Upgrade", "websocket")
	}
	return true
}
