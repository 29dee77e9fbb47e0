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

// Doors decide who may come in, and with which key a request goes on.
type doors struct {
	public, passAll bool
	origins         []string
	token           [sha256.Size]byte
	hasToken        bool
	upstreamKey     string
	answer          func(w http.ResponseWriter, r *http.Request, status int, why string) // if nil, the API's error
}

// A Door lets clients in by the gateway's rules to a server that stands beside
// one: on loopback only by a Host of this machine, and pages of other origins
// only where they are allowed.
type Door struct {
	// Public and AllowOrigins are as in [Config].
	Public       bool
	AllowOrigins []string
	// Refuse answers a request that may not come in.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, why string)
}

// Open reports whether a request may come in, and answers it if not. It answers
// the preflights of allowed pages too.
func (d Door) Open(w http.ResponseWriter, r *http.Request) bool {
	s := doors{public: d.Public, passAll: true, origins: d.AllowOrigins, answer: d.Refuse}
	return s.open(w, r)
}

// Credential returns the API key of a request, by whichever of the usual ways
// it came.
func Credential(r *http.Request) string { return credential(r) }

// refuse answers a request that may not come in.
func (d *doors) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if d.answer != nil {
		d.answer(w, r, status, why)
		return
	}
	refuse(w, codecOf(r.URL.Path), status, why)
}

func newDoors(c Config) doors {
	return doors{
		public: c.Public, passAll: c.PassAll, origins: c.AllowOrigins,
		token: sha256.Sum256([]byte(c.Token)), hasToken: c.Token != "", upstreamKey: c.UpstreamKey,
	}
}

// open reports whether a request may come in, and answers it if not.
func (d *doors) open(w http.ResponseWriter, r *http.Request) bool {
	if !d.public && !loopbackHost(r.Host) {
		// A name that somebody made resolve to this machine (DNS rebinding).
		d.refuse(w, r, http.StatusForbidden, "this gateway serves only this machine: the request's Host is "+quoteShort(r.Host))
		return false
	}
	if d.public && !d.passAll && path.Clean(r.URL.Path) != strings.TrimSuffix(r.URL.Path, "/") && r.URL.Path != "/" {
		refuse(w, nil, http.StatusBadRequest, "the path is not plain")
		return false
	}
	if !d.origin(w, r) {
		return false
	}
	if d.hasToken && !d.authorised(r) && !isProbe(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="sotto"`)
		d.refuse(w, r, http.StatusUnauthorized, "this gateway needs its token as the API key")
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
func (d *doors) origin(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			d.refuse(w, r, http.StatusForbidden, "a page of another site may not use this gateway: see --allow-origin")
			return false
		}
		return true
	}
	if sameOrigin(origin, r) {
		return true
	}
	if !slices.Contains(d.origins, origin) && !slices.Contains(d.origins, "*") {
		d.refuse(w, r, http.StatusForbidden, "the origin "+quoteShort(origin)+" may not use this gateway: see --allow-origin")
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
func (d *doors) authorised(r *http.Request) bool {
	sum := sha256.Sum256([]byte(credential(r)))
	return subtle.ConstantTimeCompare(sum[:], d.token[:]) == 1
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
	a := r.Header.Get("Authorization")
	if kind, key, ok := strings.Cut(a, " "); ok && strings.EqualFold(kind, "Bearer") {
		a = strings.TrimSpace(key)
	}
	add(a)
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
func (d *doors) keys(out *http.Request) {
	h := out.Header
	h.Del("Origin") // the door for pages is here
	h.Del("Referer")
	for name := range h {
		if strings.HasPrefix(name, "Sec-Fetch-") {
			h.Del(name)
		}
	}
	if !d.hasToken && d.upstreamKey == "" {
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
	if d.upstreamKey == "" {
		return
	}
	h.Set("Authorization", "Bearer "+d.upstreamKey)
	if anthropic || strings.Contains(out.URL.Path+"/", "/messages/") {
		h.Del("Authorization")
		h.Set("X-Api-Key", d.upstreamKey)
	}
}

// open paths are what passes in public beside the routes of models: what
// clients ask before and beside them, and nothing that changes the server.
var openPaths = map[string][]string{
	http.MethodGet:  {"/models", "/api/tags", "/api/version", "/api/ps"},
	http.MethodPost: {"/api/show", "/embeddings", "/api/embed", "/api/embeddings", "/messages/count_tokens", "/rerank", "/tokenize"},
}

// passes reports whether what is no route of a model may go on.
func (d *doors) passes(r *http.Request) bool {
	if !d.public || d.passAll {
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
