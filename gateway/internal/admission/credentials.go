package admission

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/headers"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// GoesOn makes the upstream's headers and query from the client's. It leaves out
// what is meant for the gateway, and adds own, the upstream's key, if it has one. The client's own key
// is sent to the upstream only if the gateway has neither a token nor a key for this
// upstream. With several upstreams, none gets the key of another, even from a client that
// has it, or a cookie, which another may have set.
func (a *Control) GoesOn(out *http.Request, own string) {
	h := out.Header
	for name := range h {
		if headers.StaysHere(name) {
			delete(h, name)
		}
	}
	out.Trailer = nil
	if a.several {
		h.Del("Cookie")
		headers.Drop(out, nil, func(value string) bool { return a.ofAnother(value, own) })
	}
	if !a.Guarded() && own == "" {
		return
	}
	name := keyHeader(out)
	a.DropKeys(out)
	switch {
	case own == "":
	case name == "":
		h.Set("Authorization", "Bearer "+own)
	default:
		h.Set(name, own)
	}
}

// ofAnother reports whether a value has the key of another upstream in it.
func (a *Control) ofAnother(value, own string) bool {
	return slices.ContainsFunc(a.keys, func(key string) bool { return key != own && strings.Contains(value, key) })
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

// DropKeys removes the client's credentials from a request, and the tokens wherever
// else they appear.
func (a *Control) DropKeys(out *http.Request) {
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
	headers.Drop(out, headers.IsKeyName, a.HasToken)
}
