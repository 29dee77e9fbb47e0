package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
)

// Credential returns the API key of a request, whichever of the usual ways it was
// sent in.
func Credential(r *http.Request) string { return credential(r) }

// authorised compares the token in constant time, which hides its length too.
func (a *access) authorised(r *http.Request) bool {
	sum := sha256.Sum256([]byte(credential(r)))
	return subtle.ConstantTimeCompare(sum[:], a.token[:]) == 1
}

// credential returns the API key of a request, by the first of the ways that
// providers' clients send one.
func credential(r *http.Request) string {
	if all := credentials(r); len(all) > 0 {
		return all[0]
	}
	return ""
}

// credentials returns all keys that a request has, wherever APIs look for one. The
// first is the one that counts.
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
	for _, p := range protocols(r.Header) {
		if key, ok := strings.CutPrefix(p, keyProtocol); ok {
			add(key)
		}
	}
	return all
}

// keyHeaders are the headers beside Authorization that hold API keys.
var keyHeaders = []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// keyProtocol is the prefix of a key among the protocols of a WebSocket: pages
// cannot send a key in any other header of one.
const keyProtocol = "openai-insecure-api-key."

// protocols returns the protocols that a WebSocket may speak.
func protocols(h http.Header) []string {
	var list []string
	for _, v := range h["Sec-Websocket-Protocol"] {
		for p := range strings.SplitSeq(v, ",") {
			list = append(list, strings.TrimSpace(p))
		}
	}
	return list
}

// goesOn makes the upstream's headers and query from the client's. It leaves out
// what is meant for the gateway, and adds the upstream's key. The client's own key
// is sent to the upstream only if the gateway has neither a token nor a key of its
// own.
func (a *access) goesOn(out *http.Request) {
	h := out.Header
	for name := range h {
		if staysHere(name) {
			delete(h, name)
		}
	}
	out.Trailer = nil
	if a.tokenText == "" && a.upstreamKey == "" {
		return
	}
	anthropic := h.Get("X-Api-Key") != ""
	a.dropKeys(out)
	if a.upstreamKey == "" {
		return
	}
	h.Set("Authorization", "Bearer "+a.upstreamKey)
	if anthropic || strings.Contains(out.URL.Path+"/", "/messages/") {
		h.Del("Authorization")
		h.Set("X-Api-Key", a.upstreamKey)
	}
}

// dropKeys removes the client's credentials from a request, and the token wherever
// else it appears.
func (a *access) dropKeys(out *http.Request) {
	h := out.Header
	var kept []string
	for _, p := range protocols(h) {
		if !strings.HasPrefix(p, keyProtocol) {
			kept = append(kept, p)
		}
	}
	h.Del("Sec-Websocket-Protocol")
	if len(kept) > 0 {
		h.Set("Sec-Websocket-Protocol", strings.Join(kept, ", "))
	}
	for name, values := range h {
		if isKeyName(name) || slices.ContainsFunc(values, a.isToken) {
			delete(h, name)
		}
	}
	q, changed := out.URL.Query(), false
	for name, values := range q {
		if isKeyName(name) || name == "key" || slices.ContainsFunc(values, a.isToken) {
			delete(q, name)
			changed = true
		}
	}
	if changed {
		out.URL.RawQuery = q.Encode()
	}
}

// isKeyName reports whether a header or parameter holds a credential.
func isKeyName(name string) bool {
	switch spelled(name) {
	case "authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "apikey", "x-goog-api-key", "access-token", "x-auth-token", "x-access-token":
		return true
	}
	return false
}

// isToken reports whether a value is the gateway's token, with or without a scheme
// before it.
func (a *access) isToken(value string) bool {
	words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ,;=\"", r) })
	return a.tokenText != "" && slices.Contains(words, a.tokenText)
}

// spelled returns a header's name as servers compare it that treat an underscore as
// a hyphen.
func spelled(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// staysHere reports whether a client's header ends at the gateway. Headers that
// name another path, method, host or user speak for a proxy that the upstream
// trusts. They would lead a request past what was admitted.
func staysHere(name string) bool {
	name = spelled(name)
	return slices.Contains(proxyHeaders, name) || strings.Contains(name, "method-override") ||
		slices.ContainsFunc(proxyPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

var proxyHeaders = []string{
	"origin", "referer", // access control for pages is done here
	"client-ip", "true-client-ip", "x-client-ip", "x-cluster-client-ip", "x-real-ip", "x-proxyuser-ip", "cf-connecting-ip", "fastly-client-ip",
	"base-url", "destination", "forwarded", "host-override", "http2-settings", "proxy", "request-uri", "script-name", "via",
	"remote-user", "x-remote-user", "x-authenticated-user", "x-webauth-user", "x-user",
	"x-host", "x-path", "x-path-info", "x-script-name", "x-uri", "x-url", "x-request-uri", "x-request-url",
}

var proxyPrefixes = []string{
	"sec-fetch-", // access control for pages is done here
	"x-accel-", "x-envoy-", "x-forward", "x-http-dest", "x-http-host", "x-http-method", "x-http-path", "x-host-", "x-method",
	"x-original-", "x-override-", "x-proxy-", "x-replaced-", "x-rewrite-", "x-sendfile", "x-waws-",
}
