package admission

import (
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// scopeFor returns the scope that a request needs. One that is refused for everybody needs
// no more than any request to the upstream, so that its caller hears why.
func (a *Control) scopeFor(r *http.Request, f endpoints.Found, ofModel, refused bool) access.Scope {
	scope := f.Scope()
	if f.Kind == endpoints.Own || f.Kind == endpoints.Socketed {
		return scope
	}
	switch {
	case refused, endpoints.ListHas(r.Header["Upgrade"], "websocket") && (ofModel || a.public):
		return access.Models
	case r.Method == http.MethodGet && endpoints.AsksWebSocket(r): // nobody reads what comes over it
		return access.Operator
	case f.Of != "" && a.Has(r, access.Operator): // who has only this scope
		return access.Operator
	}
	return scope
}

// permit reports whether the caller of a request has a scope, and answers the request if
// not. Without tokens nobody has the scope of operators where others than the programs of
// this machine may come, as the names of allow-hosts say.
func (a *Control) permit(w http.ResponseWriter, r *http.Request, scope access.Scope) (*http.Request, bool) {
	if scope == access.Operator {
		inside := access.IsInside(r.Context())
		switch {
		case !a.Guarded() && a.named && !inside:
			Refuse(w, r, faultname.ScopeMissing, http.StatusForbidden, "with allow-hosts, this route needs the scope \"operator\", which only a token can have: give callers tokens with --token-file")
			return r, false
		case a.Guarded() && inside && !a.Has(r, scope):
			Refuse(w, r, faultname.ScopeMissing, http.StatusForbidden, "this caller does not have the scope \"operator\"")
			return r, false
		}
	}
	return a.Authorize(w, r, scope)
}

// Restricted reports whether the caller of a request that was admitted may use only what
// it made itself. Without tokens there is one caller.
func (a *Control) Restricted(r *http.Request) bool { return a.Guarded() && !a.Has(r, access.Operator) }
