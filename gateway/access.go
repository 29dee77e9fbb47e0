package gateway

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
)

// access decides which requests are admitted, and which key the upstream gets with
// them.
type access struct {
	public, passAll bool
	authenticated   bool // callers prove who they are
	hides           bool // some route hides reasoning
	prefix          string
	hosts, origins  []string
	listed          bool // names are listed: only these are served
	token           [sha256.Size]byte
	tokenText       string
	upstreamKey     string
	answer          func(w http.ResponseWriter, r *http.Request, status int, why string) // if nil, the API's error
}

// An Access admits requests to a server that stands beside a gateway, by the
// gateway's rules: by their method, path and Host. Pages of other origins are
// admitted only where they are allowed.
type Access struct {
	// Public, AllowHosts and AllowOrigins are as in [Config].
	Public       bool
	AllowHosts   []string
	AllowOrigins []string
	// Authenticated says that the server itself asks callers for a token.
	Authenticated bool
	// Refuse answers a request that is not admitted.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, why string)
}

// Admit reports whether a request is admitted, and answers it if not. It also
// answers the preflights of allowed pages.
func (a Access) Admit(w http.ResponseWriter, r *http.Request) bool {
	own := access{
		public: a.Public, authenticated: a.Authenticated, hosts: ownHosts(a.Public, a.AllowHosts), listed: len(a.AllowHosts) > 0,
		origins: a.AllowOrigins, answer: a.Refuse,
	}
	_, ok := own.enter(w, r)
	return ok
}

func newAccess(c Config) access {
	hides := func(r Route) bool { return r.Display == DisplayHide }
	return access{
		public: c.Public, passAll: c.PassAll, authenticated: c.Token != "",
		hides: hides(c.Default) || slices.ContainsFunc(c.Routes, hides), prefix: c.PathPrefix,
		hosts: ownHosts(c.Public, c.AllowHosts), listed: len(c.AllowHosts) > 0, origins: c.AllowOrigins,
		token: sha256.Sum256([]byte(c.Token)), tokenText: c.Token, upstreamKey: c.UpstreamKey,
	}
}

// refuse answers a request that is not admitted.
func (a *access) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if a.answer != nil {
		a.answer(w, r, status, plain(why))
		return
	}
	f := look(segmentsOf(r.URL.Path[:min(len(r.URL.Path), maxPath)]), func(e *endpoint) bool { return e.codec != nil })
	refuse(w, f.codec, status, why)
}

// enter checks the request itself: its method, path, Host and origin. It returns
// where the path leads.
func (a *access) enter(w http.ResponseWriter, r *http.Request) (found, bool) {
	if !methodPasses(r.Method) {
		w.Header().Set("Allow", strings.Join(requestMethods, ", "))
		a.refuse(w, r, http.StatusMethodNotAllowed, "the method "+quote(r.Method)+" is not served")
		return found{}, false
	}
	f, err := findFor(r)
	if err != nil {
		a.refuse(w, r, http.StatusBadRequest, err.Error())
		return found{}, false
	}
	return f, a.host(w, r) && a.origin(w, r)
}

// admit reports whether a request is admitted, and answers it if not. It returns
// the endpoint that the request goes to.
func (a *access) admit(w http.ResponseWriter, r *http.Request) (endpoint, bool) {
	f, ok := a.enter(w, r)
	if !ok {
		return endpoint{}, false
	}
	if a.tokenText != "" && f.kind != probe && !a.authorised(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="sotto"`)
		a.refuse(w, r, http.StatusUnauthorized, "this gateway needs its token as the API key")
		return endpoint{}, false
	}
	if f.kind == own || f.kind == probe {
		return f.endpoint, true
	}
	model, err := find(r.URL, (*endpoint).isModel) // by any method
	if err != nil {
		a.refuse(w, r, http.StatusBadRequest, err.Error())
		return endpoint{}, false
	}
	if !a.upgrade(w, r, model.isModel()) {
		return endpoint{}, false
	}
	if status, why := a.refusal(r, f, model.isModel()); status != 0 {
		a.refuse(w, r, status, why)
		return endpoint{}, false
	}
	return f.endpoint, true
}

// refusal returns the reason why a request may not go where it leads, if there is
// one. Which endpoint a path leads to depends on the request's method too.
func (a *access) refusal(r *http.Request, f found, ofModel bool) (status int, why string) {
	switch {
	case a.hides && ofModel && f.kind != replies && f.kind != harmless && f.kind != local:
		return http.StatusForbidden, "display hides reasoning, and the gateway does not read what this route returns: " +
			"POST to /v1/chat/completions, /v1/completions, /v1/responses, /v1/messages, /api/chat or /api/generate"
	case a.passAll:
		return 0, ""
	case a.hides && f.kind == unknown:
		return http.StatusForbidden, "display hides reasoning, and the gateway does not know what this route returns: --pass-all passes it all the same"
	case a.public && (f.kind != replies && f.kind != harmless || !a.isWhole(r, f)):
		return http.StatusNotFound, "this gateway passes only the routes of models, and lists, for other machines: see --path-prefix and --pass-all"
	}
	return 0, ""
}

// isWhole reports whether the endpoint's path is preceded by nothing except the
// configured prefix.
func (a *access) isWhole(r *http.Request, f found) bool {
	if f.at == 0 {
		return true
	}
	return a.prefix != "" && strings.HasPrefix(r.URL.EscapedPath(), a.prefix+"/") && f.at == len(segmentsOf(a.prefix))
}

// upgrade reports whether a request is admitted with regard to the protocol upgrade
// it asks for, and answers it if not. Text of a model that comes over a WebSocket
// would not be read, so no route of a model accepts one. The answer is 426, which
// tells clients that know both to use HTTP. A public gateway accepts no WebSocket on
// any route. Any other protocol is ignored, as HTTP allows: requests tunnelled
// through h2c would bypass all the rules here.
func (a *access) upgrade(w http.ResponseWriter, r *http.Request, ofModel bool) bool {
	asked := r.Header["Upgrade"]
	r.Header.Del("Upgrade")
	switch {
	case !listHas(asked, "websocket"):
		return true
	case ofModel:
		w.Header().Set("Upgrade", "HTTP/1.1")
		w.Header().Set("Connection", "Upgrade")
		a.refuse(w, r, http.StatusUpgradeRequired, "the gateway does not read WebSockets: use HTTP on this route")
		return false
	case a.public:
		a.refuse(w, r, http.StatusForbidden, "this gateway takes no WebSockets from other machines")
		return false
	}
	if r.Method == http.MethodGet && len(asked) == 1 && strings.EqualFold(asked[0], "websocket") &&
		listHas(r.Header["Connection"], "upgrade") {
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
