package access

import (
	"net/http"
	"slices"
)

// Has reports whether the caller of a request that was admitted has a scope in addition
// to the one that admitted it. A request of [Inside] has the scopes of the token that it is
// made for. Without tokens nobody has a scope.
func (c *Control) Has(r *http.Request, s Scope) bool {
	ring := c.ring.Load()
	if IsInside(r.Context()) {
		name := Account(r.Context())
		return name != "" && slices.ContainsFunc(ring.tokens, func(t Token) bool {
			return t.Name == name && !t.expired() && t.opens(s)
		})
	}
	t, ok := ring.find(Key(r))
	return ok && !t.expired() && t.opens(s)
}
