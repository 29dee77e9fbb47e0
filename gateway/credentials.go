package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Credential returns the API key of a request, by whichever of the usual ways
// it came.
func Credential(r *http.Request) string { return credential(r) }

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
