package gateway

import (
	"crypto/sha256"
	"net/http"
	"path"
	"slices"
	"strings"
)

// access decides whose requests are admitted, and with which key they go on.
type access struct {
	public, passAll bool
	origins         []string
	token           [sha256.Size]byte
	hasToken        bool
	upstreamKey     string
	answer          func(w http.ResponseWriter, r *http.Request, status int, why string) // if nil, the API's error
}

// An Access admits requests by the gateway's rules to a server that stands beside
// one: on loopback only by a Host of this machine, and pages of other origins
// only where they are allowed.
type Access struct {
	// Public and AllowOrigins are as in [Config].
	Public       bool
	AllowOrigins []string
	// Refuse answers a request that is not admitted.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, why string)
}

// Admit reports whether a request is admitted, and answers it if not. It answers
// the preflights of allowed pages too.
func (a Access) Admit(w http.ResponseWriter, r *http.Request) bool {
	own := access{public: a.Public, passAll: true, origins: a.AllowOrigins, answer: a.Refuse}
	return own.open(w, r)
}

// refuse answers a request that is not admitted.
func (a *access) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if a.answer != nil {
		a.answer(w, r, status, why)
		return
	}
	refuse(w, codecOf(r.URL.Path), status, why)
}

func newAccess(c Config) access {
	return access{
		public: c.Public, passAll: c.PassAll, origins: c.AllowOrigins,
		token: sha256.Sum256([]byte(c.Token)), hasToken: c.Token != "", upstreamKey: c.UpstreamKey,
	}
}

// open reports whether a request is admitted, and answers it if not.
func (a *access) open(w http.ResponseWriter, r *http.Request) bool {
	if !a.public && !loopbackHost(r.Host) {
		// A name that somebody made resolve to this machine (DNS rebinding).
		a.refuse(w, r, http.StatusForbidden, "this gateway serves only this machine: the request's Host is "+quoteShort(r.Host))
		return false
	}
	if a.public && !a.passAll && path.Clean(r.URL.Path) != strings.TrimSuffix(r.URL.Path, "/") && r.URL.Path != "/" {
		refuse(w, nil, http.StatusBadRequest, "the path is not plain")
		return false
	}
	if !a.origin(w, r) {
		return false
	}
	if a.hasToken && !a.authorised(r) && !isProbe(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="sotto"`)
		a.refuse(w, r, http.StatusUnauthorized, "this gateway needs its token as the API key")
		return false
	}
	return true
}

func quoteShort(s string) string { return `"` + strings.ToValidUTF8(s[:min(len(s), 64)], "?") + `"` }

// isProbe says that a request only asks whether the gateway lives.
func isProbe(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.URL.Path == "/healthz" || r.URL.Path == "/readyz")
}

// open paths are what passes in public beside the routes of models: what
// clients ask before and beside them, and nothing that changes the server.
var openPaths = map[string][]string{
	http.MethodGet:  {"/models", "/api/tags", "/api/version", "/api/ps"},
	http.MethodPost: {"/api/show", "/embeddings", "/api/embed", "/api/embeddings", "/messages/count_tokens", "/rerank", "/tokenize"},
}

// passes reports whether what is no route of a model may go on.
func (a *access) passes(r *http.Request) bool {
	if !a.public || a.passAll {
		return true
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return slices.ContainsFunc(openPaths[method], func(p string) bool {
		return strings.HasSuffix(r.URL.Path, p) || p == "/models" && strings.Contains(r.URL.Path, "/v1/models/")
	})
}
