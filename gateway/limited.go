package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/sotto-llm/sotto/gateway/internal/admission"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/places"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// CallerLimits bound what the caller of a token may do. Zero means no bound.
type CallerLimits = access.Limits

// limit begins a request against the limits of its caller. It returns the request with its
// share, and what ends it. If a limit is reached, it answers the request.
func (g *ruleset) limit(w http.ResponseWriter, r *http.Request, e *endpoints.Endpoint) (_ *http.Request, end func(), ok bool) {
	if !places.Counts(r, e) {
		return r, func() {}, true
	}
	share, refused := g.admit(r.Context())
	if refused != nil {
		g.engine.limited(w, r, e.Codec, refused)
		admission.Refuse(w, r, faultname.LimitReached, http.StatusTooManyRequests, refused.Error())
		return r, nil, false
	}
	return r.WithContext(places.WithShare(r.Context(), share)), share.Release, true
}

// admit begins a request of a caller.
func (g *ruleset) admit(ctx context.Context) (*access.Share, *access.LimitError) {
	share, refused := g.engine.places.Limiter.Take(access.Account(ctx))
	if refused != nil {
		g.engine.observers.Limited(access.Caller(ctx), refused)
	}
	return share, refused
}

// arrive begins a request to an endpoint, if there is a place for it now.
func (g *ruleset) arrive(w http.ResponseWriter, r *http.Request, to *endpoints.Endpoint) (*places.Place, *http.Request, error) {
	waits := to.Kind != endpoints.Stored && !g.asksAll(r, to) // these read no body
	return g.engine.places.Arrive(w, r, waits, g.engine.observers.Limited)
}

// limited sets the headers of the answer to a caller that has reached a limit.
func (e *engine) limited(w http.ResponseWriter, r *http.Request, c codec, err error) {
	if refused, ok := errors.AsType[*access.LimitError](err); ok {
		e.places.SetLimits(w.Header(), c, access.Account(r.Context()))
		w.Header().Set("Retry-After", strconv.Itoa(refused.Seconds()))
	}
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
	return int64(n) / observing.BytesPerToken
}
