package gateway

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/account"
	"github.com/sotto-llm/sotto/record"
)

// An Exchange is what telemetry gets to know of one request to a model and its reply:
// names, times and counts. It has no text of either.
type Exchange struct {
	// ID is the exchange's name in the log and in the record.
	ID string
	// API is the name of the codec, such as openai.chat. Model, Route, Dialect and Caller
	// are fit to be shown.
	API, Model, Route, Dialect, Caller string
	// ModelLabel is Model, or "other" if more models than Limits.Labels were asked for: a
	// label of metrics, whose number is bounded.
	ModelLabel string
	Upstream   *url.URL
	Began      time.Time
	// Streaming says that the request asked for a stream.
	Streaming bool

	// What follows is known when the exchange has ended.

	Ended time.Time
	// Replied is when the header of the upstream's response came. FirstThought, FirstAnswer
	// and FirstCall are when the first of each came in a stream. They are zero if none came.
	Replied, FirstThought, FirstAnswer, FirstCall time.Time
	// Status is that of the response, and Outcome how the exchange ended: answered, refused,
	// failed or canceled.
	Status   int
	Outcome  string
	Streamed bool
	// Reasoning and Text are bytes that the client got, or with a display of hide would
	// have got, and Leaked bytes of reasoning that stood in the text.
	Reasoning, Text, Leaked int
	// Usage is nil if the provider did not count.
	Usage      *record.Usage
	ResponseID string
	// Ends are how the choices ended, and Calls the names of the tools that they call.
	Ends     []sotto.End
	Calls    []string
	Findings []sotto.Code
}

// Listen returns an observer that calls a function for each exchange, before anything goes
// to the upstream. header is what the client sent, and must not be changed. The headers
// that the function returns go to the upstream in place of the client's under the same
// names. If traceparent is among them, the log and the record have its trace and its span.
// The gateway calls ended, if it is not nil, when the exchange has ended.
//
// The functions are called by the goroutine that serves the exchange, so they must not wait.
func Listen(began func(e Exchange, header http.Header) (upstream http.Header, ended func(Exchange))) Observer {
	return Observer{attach: func(e *engine) (observer, error) {
		key := new(byte) // of this observer
		models := newLabels(e.config.Limits.Labels)
		return observer{
			begun: func(x *exchange, r *http.Request, upstream *url.URL) {
				x.upstream = upstream
				header, ended := began(x.outline(models), r.Header)
				x.hears(key, header, ended)
			},
			ended: func(x *exchange) {
				if ended := x.heard[key]; ended != nil {
					ended(x.outline(models))
				}
			},
		}, nil
	}}
}

// hears notes what a listener returned.
func (x *exchange) hears(key *byte, header http.Header, ended func(Exchange)) {
	if x.heard == nil {
		x.heard, x.outward = map[*byte]func(Exchange){}, http.Header{}
	}
	x.heard[key] = ended
	for name, values := range header {
		x.outward[http.CanonicalHeaderKey(name)] = values
	}
	if trace, span := account.ReadTrace(header.Get("traceparent")); trace != "" {
		x.trace, x.span = trace, span
	}
}

// outline is what listeners get to know of the exchange.
func (x *exchange) outline(models *labels) Exchange {
	e := Exchange{
		ID: x.exchange, API: x.codec.Name(), Model: x.model, ModelLabel: models.of(x.model), Route: x.route.Name, Dialect: x.family.dialect, Caller: x.caller,
		Upstream: x.upstream, Began: x.Began, Streaming: x.request.Stream,
	}
	if x.ended == "" {
		return e
	}
	r := &x.reading
	e.Ended, e.Replied = x.Began.Add(x.took), x.header
	if x.streamed {
		e.FirstThought, e.FirstAnswer, e.FirstCall = r.FirstThought, r.FirstAnswer, r.FirstCall
	}
	e.Status, e.Outcome, e.Streamed, e.Leaked = x.status, x.ended, x.streamed, r.Reasoning
	e.Reasoning, e.Text = r.Given()
	e.Usage, e.ResponseID, e.Calls, e.Findings = x.usage(), r.ID, slices.Clone(r.Calls.Tools), r.FindingCodes()
	for _, c := range r.Choices {
		if c != nil {
			e.Ends = append(e.Ends, c.End)
		}
	}
	return e
}

// outwards gives the header of a request to the upstream what listeners returned for it.
func (x *exchange) outwards(h http.Header) { maps.Copy(h, x.outward) }
