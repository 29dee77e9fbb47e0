package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
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
	// UpstreamAPI is the API that the upstream speaks, if the client speaks another.
	UpstreamAPI string
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
	Ends     []sotto.Ending
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
	return Observer{attach: func(g observing.Gauges) (observing.Observer, error) {
		models := observing.NewLabels(g.Labels)
		return observing.Observer{Begun: func(x observing.Exchange, header http.Header) (http.Header, func(*observing.Report)) {
			upstream, ended := began(outline(&x, models), header)
			if ended == nil {
				return upstream, nil
			}
			return upstream, func(r *observing.Report) { ended(outcome(r, models)) }
		}}, nil
	}}
}

// outline is what listeners get to know of an exchange that begins.
func outline(x *observing.Exchange, models *observing.Labels) Exchange {
	return Exchange{
		ID: x.ID, API: x.API, UpstreamAPI: x.UpstreamAPI, Model: x.Model, ModelLabel: models.Of(x.Model), Route: x.Route, Dialect: x.Dialect, Caller: x.Caller,
		Upstream: x.Address, Began: x.Began, Streaming: x.Streaming,
	}
}

// outcome is what listeners get to know of an exchange that has ended.
func outcome(r *observing.Report, models *observing.Labels) Exchange {
	e := outline(&r.Exchange, models)
	e.Ended, e.Replied, e.FirstThought, e.FirstAnswer, e.FirstCall = r.Began.Add(r.Took), r.Replied, r.FirstThought, r.FirstAnswer, r.FirstCall
	e.Status, e.Outcome, e.Streamed, e.Reasoning, e.Text, e.Leaked = r.Status, r.Outcome, r.Streamed, r.Thought, r.Text, r.Leaked
	e.ResponseID, e.Ends, e.Calls, e.Findings = r.ResponseID, slices.Clone(r.Ends), slices.Clone(r.Calls), slices.Clone(r.Codes)
	if r.Usage != nil {
		u := *r.Usage
		e.Usage = &u
	}
	return e
}
