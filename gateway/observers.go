package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// An Observer sees the exchanges of a gateway and changes none of them. The log, the
// record and what is learned are observers of every gateway; [Metrics] makes another
// one.
type Observer struct {
	attach func(e *engine) (observer, error)
	counts bool // it answers GET /metrics
}

// An observer is told what happens. Each function may be nil. Those with an exchange
// are called by the goroutine that serves it, one after the other.
type observer struct {
	// begun: the request was read, and nothing has been sent yet.
	begun func(x *exchange, r *http.Request, upstream *url.URL)
	// replied: the header of the upstream's response is here, and its body is unread.
	replied func(x *exchange, resp *http.Response)
	// settled: the first choice has ended, and the client does not know it yet. It may
	// ask again at once.
	settled func(x *exchange)
	// judged: a guard has judged a piece of the reply, or failed to.
	judged func(x *exchange, d judgement)
	// ended: the exchange is over, whichever way.
	ended func(x *exchange)
	// refused: a request to a model's route did not become an exchange.
	refused func(r *http.Request, c codec, upstream *url.URL, status int, err error)
	// limited: a request was refused because its caller has reached a limit.
	limited func(caller string, e *access.LimitError)
	// unread: a response that passed looks like a model's reply. The path is fit to be
	// shown, and to is where it led.
	unread func(path string, to endpoints.Endpoint)
	// unlisted: an upstream did not say which models it has.
	unlisted func(to *target, err error)
	// resent: a request is sent to an upstream again.
	resent func(to *target, why string)
	// close is called when nothing more will happen.
	close func() error
	// metrics answers GET /metrics.
	metrics http.Handler
}

type observers []observer

// observe attaches the observers. What a settled reply showed is learned first; an
// exchange that has ended is counted, logged and recorded, in this order.
func (e *engine) observe() (observers, error) {
	list := observers{e.learning()}
	given := e.config.Observers
	if !slices.ContainsFunc(given, func(o Observer) bool { return o.counts }) {
		given = append(slices.Clone(given), ownMetrics())
	}
	for _, o := range given {
		if o.attach == nil {
			continue
		}
		made, err := o.attach(e)
		if err != nil {
			return nil, err
		}
		list = append(list, made)
	}
	list = append(list, e.logging())
	if e.recorder != nil {
		list = append(list, e.recorder.observer())
	}
	return list, nil
}

func (all observers) begun(x *exchange, r *http.Request, upstream *url.URL) {
	for _, o := range all {
		if o.begun != nil {
			o.begun(x, r, upstream)
		}
	}
}

func (all observers) replied(x *exchange, resp *http.Response) {
	for _, o := range all {
		if o.replied != nil {
			o.replied(x, resp)
		}
	}
}

func (all observers) settled(x *exchange) {
	for _, o := range all {
		if o.settled != nil {
			o.settled(x)
		}
	}
}

func (all observers) judged(x *exchange, d judgement) {
	for _, o := range all {
		if o.judged != nil {
			o.judged(x, d)
		}
	}
}

func (all observers) ended(x *exchange) {
	for _, o := range all {
		if o.ended != nil {
			o.ended(x)
		}
	}
}

func (all observers) refused(r *http.Request, c codec, upstream *url.URL, status int, err error) {
	for _, o := range all {
		if o.refused != nil {
			o.refused(r, c, upstream, status, err)
		}
	}
}

func (all observers) limited(caller string, e *access.LimitError) {
	for _, o := range all {
		if o.limited != nil {
			o.limited(caller, e)
		}
	}
}

func (all observers) unread(path string, to endpoints.Endpoint) {
	for _, o := range all {
		if o.unread != nil {
			o.unread(path, to)
		}
	}
}

func (all observers) unlisted(to *target, err error) {
	for _, o := range all {
		if o.unlisted != nil {
			o.unlisted(to, err)
		}
	}
}

func (all observers) resent(to *target, why string) {
	for _, o := range all {
		if o.resent != nil {
			o.resent(to, why)
		}
	}
}

func (all observers) close() error {
	var errs []error
	for _, o := range all {
		if o.close != nil {
			errs = append(errs, o.close())
		}
	}
	return errors.Join(errs...)
}

// metrics returns what answers GET /metrics.
func (all observers) metrics() http.Handler {
	for _, o := range all {
		if o.metrics != nil {
			return o.metrics
		}
	}
	return http.NotFoundHandler()
}
