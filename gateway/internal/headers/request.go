package headers

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
)

// Drop removes the headers and parameters of a request that have a name or a value.
func Drop(out *http.Request, named, has func(string) bool) {
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

// IsKeyName reports whether a header or parameter holds a credential.
func IsKeyName(name string) bool {
	switch spelled(name) {
	case "authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "apikey", "x-goog-api-key", "access-token", "x-auth-token", "x-access-token":
		return true
	}
	return false
}

// spelled returns a header's name as servers compare it that treat an underscore as
// a hyphen.
func spelled(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// StaysHere reports whether a client's header ends at the gateway. Headers that
// name another path, method, host or user speak for a proxy that the upstream
// trusts. They would lead a request past what was admitted.
func StaysHere(name string) bool {
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

// IsHopByHop reports whether a header is about one connection.
func IsHopByHop(name string, h http.Header) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect":
		return true
	}
	return endpoints.ListHas(h["Connection"], name)
}
