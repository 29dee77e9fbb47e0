package gateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// goesOn makes the upstream's headers and query from the client's. It leaves out
// what is meant for the gateway, and adds the upstream's key. The client's own key
// is sent to the upstream only if the gateway has neither a token nor a key for this
// upstream. With several upstreams, none gets the key of another, even from a client that
// has it, or a cookie, which another may have set.
func (a *admission) goesOn(out *http.Request, to *target) {
	h := out.Header
	for name := range h {
		if staysHere(name) {
			delete(h, name)
		}
	}
	out.Trailer = nil
	if a.several {
		h.Del("Cookie")
		drop(out, nil, func(value string) bool { return a.ofAnother(value, to) })
	}
	if !a.Guarded() && to.key == "" {
		return
	}
	name := keyHeader(out)
	a.dropKeys(out)
	switch {
	case to.key == "":
	case name == "":
		h.Set("Authorization", "Bearer "+to.key)
	default:
		h.Set(name, to.key)
	}
}

// ofAnother reports whether a value has the key of another upstream in it.
func (a *admission) ofAnother(value string, to *target) bool {
	return slices.ContainsFunc(a.keys, func(key string) bool { return key != to.key && strings.Contains(value, key) })
}

// keyHeader returns the header in which a request's provider takes the key: the one
// that the client used, or the one that the path asks for. It is "" for
// Authorization.
func keyHeader(out *http.Request) string {
	for _, p := range endpoints.Providers {
		if name := p.KeyHeader; name != "" && (out.Header.Get(name) != "" || strings.Contains(out.URL.Path+"/", p.KeyPath)) {
			return name
		}
	}
	return ""
}

// dropKeys removes the client's credentials from a request, and the tokens wherever
// else they appear.
func (a *admission) dropKeys(out *http.Request) {
	h := out.Header
	var kept []string
	for _, p := range access.Protocols(h) {
		if !strings.HasPrefix(p, access.KeyProtocol) {
			kept = append(kept, p)
		}
	}
	h.Del("Sec-Websocket-Protocol")
	if len(kept) > 0 {
		h.Set("Sec-Websocket-Protocol", strings.Join(kept, ", "))
	}
	drop(out, isKeyName, a.HasToken)
}

// drop removes the headers and parameters of a request that have a name or a value.
func drop(out *http.Request, named, has func(string) bool) {
	is := func(name string, values []string) bool {
		return named != nil && named(name) || slices.ContainsFunc(values, has)
	}
	for name, values := range out.Header {
		if is(name, values) {
			delete(out.Header, name)
		}
	}
	q, changed := out.URL.Query(), false
	for name, values := range q {
		if is(name, values) || named != nil && name == "key" {
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
