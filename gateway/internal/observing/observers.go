package observing

import (
	"net/http"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// An Observer is told what happens. Each function may be nil. Those about an exchange are
// called by the goroutine that serves it, one after the other.
type Observer struct {
	// Begun: the request was read, and nothing has been sent yet. header is the client's. The
	// headers that it returns go to the upstream in place of the client's under the same
	// names, and ended, if it is not nil, is called when the exchange has ended.
	Begun func(x Exchange, header http.Header) (upstream http.Header, ended func(*Report))
	// Replied: the header of the upstream's response came so long after the request, and the
	// body is unread.
	Replied func(of Identity, status int, after time.Duration)
	// Judged: a guard has judged a piece of the reply, or failed to.
	Judged func(x Exchange, j Judgement)
	// Ended: the exchange is over, whichever way.
	Ended func(*Report)
	// Refused: a request to a model's route did not become an exchange.
	Refused func(Refusal)
	// Limited: a request was refused because its caller has reached a limit.
	Limited func(caller string, e *access.LimitError)
	// Unread: a response that passed looks like a model's reply. The path is fit to be
	// shown, and row is the path of the endpoint that it leads to; paths hold ids.
	Unread func(path, row string)
	// Unlisted: an upstream did not say which models it has.
	Unlisted func(upstream string, err error)
	// Resent: a request is sent to an upstream again.
	Resent func(upstream, why string)
	// Metrics answers GET /metrics.
	Metrics http.Handler
}

// A Refusal is a request to a model's route that did not become an exchange.
type Refusal struct {
	Identity
	API, Caller string
	Name        faultname.Name
	Status      int
	Err         error
}

// Observers are told one after the other.
type Observers []Observer

// Begun returns the headers that go to the upstream, and who is told of the end. A
// trace and a span that one of them returns are those of the exchange, also for the next.
func (all Observers) Begun(x *Exchange, header http.Header) (upstream http.Header, heard []func(*Report)) {
	for _, o := range all {
		if o.Begun == nil {
			continue
		}
		more, ended := o.Begun(*x, header)
		if ended != nil {
			heard = append(heard, ended)
		}
		for name, values := range more {
			if upstream == nil {
				upstream = http.Header{}
			}
			upstream[http.CanonicalHeaderKey(name)] = values
		}
		x.join(more.Get("traceparent"))
	}
	return upstream, heard
}

// Replied tells all of them.
func (all Observers) Replied(of Identity, status int, after time.Duration) {
	for _, o := range all {
		if o.Replied != nil {
			o.Replied(of, status, after)
		}
	}
}

// Judged tells all of them.
func (all Observers) Judged(x Exchange, j Judgement) {
	for _, o := range all {
		if o.Judged != nil {
			o.Judged(x, j)
		}
	}
}

// Ended tells those that wanted to know of the end of this exchange, and all others.
func (all Observers) Ended(r *Report, heard []func(*Report)) {
	for _, ended := range heard {
		ended(r)
	}
	for _, o := range all {
		if o.Ended != nil {
			o.Ended(r)
		}
	}
}

// Refused tells all of them.
func (all Observers) Refused(f Refusal) {
	for _, o := range all {
		if o.Refused != nil {
			o.Refused(f)
		}
	}
}

// Limited tells all of them.
func (all Observers) Limited(caller string, e *access.LimitError) {
	for _, o := range all {
		if o.Limited != nil {
			o.Limited(caller, e)
		}
	}
}

// Unread tells all of them.
func (all Observers) Unread(path, row string) {
	for _, o := range all {
		if o.Unread != nil {
			o.Unread(path, row)
		}
	}
}

// Unlisted tells all of them.
func (all Observers) Unlisted(upstream string, err error) {
	for _, o := range all {
		if o.Unlisted != nil {
			o.Unlisted(upstream, err)
		}
	}
}

// Resent tells all of them.
func (all Observers) Resent(upstream, why string) {
	for _, o := range all {
		if o.Resent != nil {
			o.Resent(upstream, why)
		}
	}
}

// Metrics returns what answers GET /metrics.
func (all Observers) Metrics() http.Handler {
	i := slices.IndexFunc(all, func(o Observer) bool { return o.Metrics != nil })
	if i < 0 {
		return http.NotFoundHandler()
	}
	return all[i].Metrics
}
