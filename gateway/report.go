package gateway

import (
	"math"
	"net/http"
	"slices"

	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/internal/recording"
	"github.com/sotto-llm/sotto/gateway/internal/sockets"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire"
)

// What is observed of an exchange is made here, and nowhere else.

// begun tells the observers that the exchange begins.
func (x *exchange) begun(r *http.Request) {
	as := x.observed()
	x.outward, x.heard = x.engine.observers.Begun(&as, r.Header)
	x.identity = as.Identity
	if x.engine.recorder != nil {
		x.rec = x.engine.recorder.Begin(&as, r, &x.reading, sockets.IDs(r.Context())...)
	}
}

// reportEnd tells the observers that the exchange is over, and records it.
func (x *exchange) reportEnd() {
	r := x.report()
	x.engine.observers.Ended(r, x.heard)
	if x.rec == nil {
		return
	}
	s := recording.Source{Report: r, Codec: x.codec, Body: x.body, Original: x.original, Given: &x.reading, Said: x.said(), Judgements: x.judgements, Charge: x.charge}
	if x.switched != nil {
		s.Switch = x.switched.Client
	}
	if b := x.bridge; b != nil {
		s.Client, s.Asked = b.Client, b.Said
	}
	x.rec.End(s)
}

// judged notes a judgement, and tells the observers.
func (x *exchange) judged(d observing.Judgement) {
	d.Unheard = d.Err != nil && x.gone()
	x.judgements.Note(d)
	x.engine.observers.Judged(x.observed(), d)
}

// observed is what observers learn of the exchange when it begins.
func (x *exchange) observed() observing.Exchange {
	return observing.Exchange{
		Identity: x.identity, API: x.clientCodec().Name(), UpstreamAPI: x.upstreamAPI(), LeftOut: x.bridge.LeftOut(), Model: x.model, Route: x.route.Name, Dialect: x.family.dialect, Caller: x.caller,
		Upstream: x.to.name, Address: x.to.url, Began: x.Began, Streaming: x.request.Stream, Size: len(x.body),
		Display: x.route.Display, OnFailure: x.route.Guard.OnFailure,
	}
}

// report is what observers learn of the exchange, as far as it has come.
func (x *exchange) report() *observing.Report {
	y := &x.reading
	r := &observing.Report{
		Exchange: x.observed(),
		Outcome:  x.ended, Took: x.took, Err: x.err, Status: x.status, Streamed: x.streamed, Complete: x.complete, Retries: x.retries, Path: x.asked,
		Replied: x.header, ResponseID: y.ID, Start: y.Start, Bytes: y.All, Leaked: y.Reasoning,
		Codes: y.FindingCodes(), Findings: y.Findings(), Calls: slices.Clone(y.Calls.Tools), Moved: y.Moved, Left: y.Left,
		Filtered: y.Filtered(), JSONFences: y.JSONFences(), JSONMissing: y.JSONLayer(), Held: y.Held,
		Counted: y.Tokens.Usage(), Usage: x.usage(),
	}
	if x.err != nil && x.ended == "failed" {
		r.Name, _, _ = failure(x.err)
	}
	if x.streamed {
		r.FirstThought, r.FirstAnswer, r.FirstCall = y.FirstThought, y.FirstAnswer, y.FirstCall
	}
	r.Thought, r.Text = y.Given()
	if y.Cut {
		r.Stopped = y.StopCause()
	}
	for _, c := range y.Choices {
		if c != nil {
			r.Ends = append(r.Ends, c.End)
			r.BeganInside = r.BeganInside || c.Lessons.Inside
		}
	}
	r.Spent = x.spent()
	r.History = observing.History{
		First:   !slices.ContainsFunc(x.request.Messages, func(m wire.Message) bool { return m.Role == "assistant" }),
		Removed: x.plan.Removed, Restored: x.plan.Restored, Missed: x.plan.Missed, Changed: x.plan.Changed(), DryRun: x.engine.config.HistoryDryRun, Plan: x.plan.String(),
	}
	if x.switched != nil {
		r.Switched, r.SwitchGrade = x.switched.String(), string(x.switched.Grade)
	}
	return r
}

// spent returns the tokens of the exchange: as the provider counts them, or estimated from
// the bytes. One that the upstream refused has none.
func (x *exchange) spent() observing.Spent {
	if u := x.reading.Tokens.Usage(); u != nil {
		return observing.Spent{Input: max(u.Input, 0), Output: max(u.Output, 0), Counted: true}
	}
	if x.status < 200 || x.status > 299 {
		return observing.Spent{Counted: true}
	}
	thought, text := x.reading.Given()
	return observing.Spent{Input: x.promptEstimate(), Output: int64(thought+text) / observing.BytesPerToken}
}

// said is the reading of all that the upstream sent, also of what a guard kept from the
// client.
func (x *exchange) said() *reading.Reading {
	if x.ahead != nil {
		return x.ahead
	}
	return &x.reading
}

// usage returns the tokens that the provider counted. If it does not count
// reasoning, that is estimated from the bytes, as it is for the client.
func (x *exchange) usage() *record.Usage {
	said := x.said()
	u := said.Tokens.Usage()
	if u == nil || u.Reasoning > 0 || said.Reasoning == 0 {
		return u
	}
	u.Reasoning = int64(math.Round(float64(u.Output) * float64(said.Reasoning) / float64(said.All)))
	u.Estimated = true
	return u
}
