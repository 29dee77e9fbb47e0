package gateway

import (
	"context"
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/admission"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/wire"
)

// CallerLimits bound what the caller of a token may do. Zero means no bound.
type CallerLimits = access.Limits

// shareKey is the context key of what a request takes of its caller's limits.
type shareKey struct{}

func shareOf(ctx context.Context) *access.Share {
	s, _ := ctx.Value(shareKey{}).(*access.Share)
	return s
}

// counts reports whether a request counts against its caller's limits: one that makes a
// server work. Lists, the states of replies that are made in the background, and results
// do not count, so that who waits for a reply does not pay for each look.
func counts(r *http.Request, e *endpoints.Endpoint) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions && e.Kind != endpoints.Stored
}

// limit begins a request against the limits of its caller. It returns the request with its
// share, and what ends it. If a limit is reached, it answers the request.
func (g *ruleset) limit(w http.ResponseWriter, r *http.Request, e *endpoints.Endpoint) (_ *http.Request, end func(), ok bool) {
	if !counts(r, e) {
		return r, func() {}, true
	}
	share, refused := g.take(r.Context())
	if refused != nil {
		g.engine.limited(w, r, e.Codec, refused)
		admission.Refuse(w, r, http.StatusTooManyRequests, refused.Error())
		return r, nil, false
	}
	return r.WithContext(context.WithValue(r.Context(), shareKey{}, share)), share.Release, true
}

// take begins a request of a caller.
func (g *ruleset) take(ctx context.Context) (*access.Share, *access.LimitError) {
	share, refused := g.engine.limiter.Take(access.Account(ctx))
	if refused != nil {
		g.engine.observers.limited(access.Caller(ctx), refused)
	}
	return share, refused
}

// limitHeaders sets the headers in which an API says what is left of limits, if it has
// such headers. Those of the upstream are about the gateway's own key.
func (e *engine) limitHeaders(h http.Header, c codec, account string) {
	to, ok := c.(wire.LimitHeaders)
	if !ok {
		return
	}
	var left []wire.LimitLeft
	for _, s := range e.limiter.Standing(account) {
		left = append(left, wire.LimitLeft(s))
	}
	to.SetLimits(h, left)
}

// promptEstimate estimates the tokens of a prompt from its texts, before the provider has
// counted them.
func (x *exchange) promptEstimate() int64 {
	n := len(x.request.Prompt) + len(x.request.Prefill)
	for i := range x.request.Messages {
		for _, text := range x.request.Messages[i].Texts {
			n += len(text)
		}
	}
	return int64(n) / bytesPerToken
}

// spent returns the tokens of the exchange: as the provider counts them, or estimated from
// the bytes. One that the upstream refused has none.
func (x *exchange) spent() (input, output int64, counted bool) {
	if u := x.reading.Tokens.Usage(); u != nil {
		return max(u.Input, 0), max(u.Output, 0), true
	}
	if x.status < 200 || x.status > 299 {
		return 0, 0, true
	}
	thought, text := x.reading.Given()
	return x.promptEstimate(), int64(thought+text) / bytesPerToken, false
}
