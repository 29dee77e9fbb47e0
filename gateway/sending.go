package gateway

import (
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/sending"
)

// A sender is the transport of the proxy: it sends each request to its target.
type sender struct{ engine *engine }

func (s sender) RoundTrip(r *http.Request) (*http.Response, error) {
	to := targetOf(r.Context())
	way := s.engine.way(to)
	way.Replays = changesNothing(r)
	return way.Send(r, repeatable(r), func(why string) { s.engine.resent(r, to, why) })
}

// way returns how requests reach a target.
func (e *engine) way(to *target) sending.Way {
	return sending.Way{Transport: to.transport, Header: e.config.Limits.Header, HeaderTimeout: to.headerTimeout, Silence: to.silence, Retries: to.retries}
}

// repeatable reports whether a request that the upstream may have handled can be sent
// again. One that may have had an effect can be only if it asks a model, which has none
// besides its cost.
func repeatable(r *http.Request) bool {
	if x := exchangeOf(r.Context()); x != nil {
		return !x.stored || r.Method == http.MethodGet
	}
	return r.Method == http.MethodGet || r.Method == http.MethodHead || passageOf(r.Context()).harmless
}

// changesNothing reports whether a request leaves nothing at the upstream, however often it is sent.
func changesNothing(r *http.Request) bool {
	if x := exchangeOf(r.Context()); x != nil {
		return x.changesNothing()
	}
	return passageOf(r.Context()).harmless
}

func (x *exchange) changesNothing() bool { return !x.stored && !x.request.Stores }

// resent tells the observers that a request is sent again.
func (e *engine) resent(r *http.Request, to *target, why string) {
	e.resentOf(exchangeOf(r.Context()), to, why)
}

// resentOf is resent for the request of an exchange, or of none.
func (e *engine) resentOf(x *exchange, to *target, why string) {
	if x != nil {
		x.retries++
		observing.Debug(e.config.Logger, x.identity, "the request is sent to the upstream again", "upstream", to.name, "why", why, "retry", x.retries)
	}
	e.observers.Resent(to.name, why)
}
