package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
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

// Credential returns the API key of a request, by whichever of the usual ways
// it came.
func Credential(r *http.Request) string { return credential(r) }

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

// loopbackHost reports whether a Host names this machine.
func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// origin keeps out web pages that were not allowed: a page of another site must
// not spend the key. It answers their preflights.
func (a *access) origin(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			a.refuse(w, r, http.StatusForbidden, "a page of another site may not use this gateway: see --allow-origin")
			return false
		}
		return true
	}
	if sameOrigin(origin, r) {
		return true
	}
	if !slices.Contains(a.origins, origin) && !slices.Contains(a.origins, "*") {
		a.refuse(w, r, http.StatusForbidden, "the origin "+quoteShort(origin)+" may not use this gateway: see --allow-origin")
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Sotto-Diagnostics, Sotto-History")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return true
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
	if ask := r.Header.Get("Access-Control-Request-Headers"); ask != "" {
		h.Set("Access-Control-Allow-Headers", ask)
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return false
}

// sameOrigin reports whether a page of the gateway's own asks.
func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// authorised compares the token in constant time, its length hidden too.
func (a *access) authorised(r *http.Request) bool {
	sum := sha256.Sum256([]byte(credential(r)))
	return subtle.ConstantTimeCompare(sum[:], a.token[:]) == 1
}

// credential is the API key of a request, by the first of the ways that
// providers' clients send one.
func credential(r *http.Request) string {
	if all := credentials(r); len(all) > 0 {
		return all[0]
	}
	return ""
}

// credentials are all that a request has, wherever APIs look for one; the first
// is the one that counts.
func credentials(r *http.Request) []string {
	var all []string
	add := func(s string) {
		if s != "" {
			all = append(all, s)
		}
	}
	auth := r.Header.Get("Authorization")
	if kind, key, ok := strings.Cut(auth, " "); ok && strings.EqualFold(kind, "Bearer") {
		auth = strings.TrimSpace(key)
	}
	add(auth)
	for _, h := range keyHeaders {
		add(r.Header.Get(h))
	}
	add(r.URL.Query().Get("key"))
	return all
}

// keyHeaders are the headers beside Authorization that hold API keys.
var keyHeaders = []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// keys gives the upstream's request its key: the client's own passes through
// where the gateway has neither a token nor a key of its own.
func (a *access) keys(out *http.Request) {
	h := out.Header
	h.Del("Origin") // access control for pages is here
	h.Del("Referer")
	for name := range h {
		if strings.HasPrefix(name, "Sec-Fetch-") {
			h.Del(name)
		}
	}
	if !a.hasToken && a.upstreamKey == "" {
		return
	}
	anthropic := h.Get("X-Api-Key") != ""
	h.Del("Authorization")
	h.Del("Cookie")
	for _, name := range keyHeaders {
		h.Del(name)
	}
	if q := out.URL.Query(); q.Has("key") {
		q.Del("key")
		out.URL.RawQuery = q.Encode()
	}
	if a.upstreamKey == "" {
		return
	}
	h.Set("Authorization", "Bearer "+a.upstreamKey)
	if anthropic || strings.Contains(out.URL.Path+"/", "/messages/") {
		h.Del("Authorization")
		h.Set("X-Api-Key", a.upstreamKey)
	}
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
