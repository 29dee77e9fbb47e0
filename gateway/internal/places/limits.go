package places

import (
	"context"
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/wire"
)

// shareKey is the context key of what a request takes of its caller's limits.
type shareKey struct{}

// ShareOf returns what a request takes of its caller's limits.
func ShareOf(ctx context.Context) *access.Share {
	s, _ := ctx.Value(shareKey{}).(*access.Share)
	return s
}

// WithShare returns a context with what a request takes of its caller's limits.
func WithShare(ctx context.Context, s *access.Share) context.Context {
	return context.WithValue(ctx, shareKey{}, s)
}

// Counts reports whether a request counts against its caller's limits: one that makes a
// server work. Lists, the states of replies that are made in the background, and results
// do not count, so that who waits for a reply does not pay for each look.
func Counts(r *http.Request, e *endpoints.Endpoint) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions && e.Kind != endpoints.Stored
}

// SetLimits sets the headers in which an API says what is left of limits, if it has
// such headers. Those of the upstream are about the gateway's own key.
func (l *Places) SetLimits(h http.Header, c wire.Codec, account string) {
	to, ok := c.(wire.LimitHeaders)
	if !ok {
		return
	}
	var left []wire.LimitLeft
	for _, s := range l.Limiter.Standing(account) {
		left = append(left, wire.LimitLeft(s))
	}
	to.SetLimits(h, left)
}
