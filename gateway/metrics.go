package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/wire"
)

// bytesPerToken is used to estimate tokens from bytes.
const bytesPerToken = 4

// metrics count what the gateway does. Labels are bounded: a model beyond the
// limit is "other".
type metrics struct {
	exchanges *prometheus.CounterVec
	leaks     *prometheus.CounterVec
	byRoute   *prometheus.CounterVec
	doubts    *prometheus.CounterVec
	unread    *prometheus.CounterVec
	calls     *prometheus.CounterVec
	misses    *prometheus.CounterVec
	upstreams *prometheus.CounterVec
	unlisted  *prometheus.CounterVec
	resent    *prometheus.CounterVec
	fences    *prometheus.CounterVec
	stopped   *prometheus.CounterVec
	switched  *prometheus.CounterVec
	judged    *prometheus.CounterVec
	passed    *prometheus.CounterVec
	channels  *prometheus.CounterVec
	prompts   *prometheus.CounterVec
	cached    *prometheus.CounterVec
	missing   *prometheus.CounterVec
	bytes     *prometheus.CounterVec
	tokens    *prometheus.CounterVec
	hold      prometheus.Histogram
	judging   *prometheus.HistogramVec
	seconds   *prometheus.HistogramVec
	thought   *prometheus.HistogramVec
	answer    *prometheus.HistogramVec
	header    *prometheus.HistogramVec
	callers   *callerMetrics

	models *labels
}

// Metrics returns an observer that counts exchanges in a registry, which the gateway
// serves at /metrics. Each gateway needs a registry of its own: a second one on the
// same registry is an error of [New].
func Metrics(reg *prometheus.Registry) Observer {
	return Observer{counts: true, attach: func(e *engine) (observer, error) {
		m, err := newMetrics(reg, e)
		if err != nil {
			return observer{}, err
		}
		return observer{ended: m.exchange, limited: m.callers.refused, judged: m.judgement, unread: m.overlooked, unlisted: m.withoutList, resent: m.again, metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true})}, nil
	}}
}

// ownMetrics are those of a gateway for which nobody gave a registry.
func ownMetrics() Observer { return Metrics(prometheus.NewRegistry()) }

func newMetrics(reg *prometheus.Registry, e *engine) (*metrics, error) {
	var all []prometheus.Collector
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sotto", Name: name, Help: help}, labels)
		all = append(all, v)
		return v
	}
	m := &metrics{
		exchanges: counter("exchanges_total", "Exchanges with a model, by how they ended.", "api", "model", "outcome"),
		leaks:     counter("leaks_corrected_total", "Replies whose content held reasoning, by the form it had there.", "api", "model", "kind"),
		passed:    counter("leaks_passed_total", "Replies whose content held reasoning, and that passed unchanged because the display is keep.", "api", "model", "kind"),
		byRoute:   counter("route_leaks_total", "Replies whose content held reasoning, by the route that they took, and by what became of it: corrected or passed.", "route", "result"),
		channels:  counter("reply_bytes_total", "Bytes of the texts of replies, by what they are: reasoning or text.", "api", "model", "channel"),
		prompts:   counter("prompt_tokens_total", "Tokens of prompts as the provider counts them, by what was done to earlier reasoning.", "model", "history"),
		cached:    counter("prompt_cached_tokens_total", "Those of them that the provider read from its cache.", "model", "history"),
		doubts:    counter("doubts_total", "Diagnostics of replies, by code.", "code"),
		fences:    counter("json_fences_dropped_total", "Replies in JSON from which a code fence was dropped.", "model"),
		stopped:   counter("thinking_stopped_total", "Replies that were ended because of their reasoning.", "model", "why"),
		switched:  counter("thinking_switched_total", "Requests whose control of thinking was translated, by how much of it was kept.", "api", "model", "result"),
		judged:    counter("guard_decisions_total", "Pieces of replies that a guard judged, by what it decided, or failed to.", "model", "channel", "action"),
		missing:   counter("json_missing_total", "Replies that are not the JSON that was asked for, by the layer at fault.", "model", "layer"),
		calls:     counter("text_calls_total", "Calls of tools that models wrote into their texts, where calls is field: moved into the API's field, or left as text.", "api", "model", "what"),
		upstreams: counter("upstream_exchanges_total", "Exchanges with a model, by the upstream that they went to, and by how they ended.", "upstream", "outcome"),
		unlisted:  counter("upstream_lists_failed_total", "Times that an upstream did not say which models it has.", "upstream"),
		resent:    counter("upstream_retries_total", "Requests that were sent to an upstream again, by why.", "upstream", "why"),
		unread:    counter("unread_total", "Responses that look like a model's reply, on paths that are not read.", "path"),
		misses:    counter("restore_misses_total", "Messages of requests whose reasoning was to be restored, and of which nothing was remembered.", "model"),
		bytes:     counter("reasoning_removed_bytes_total", "Bytes of reasoning removed from the content of replies, or from histories.", "from"),
		tokens:    counter("reasoning_removed_tokens_estimated_total", "Tokens of reasoning removed, estimated from the bytes.", "from"),
		hold: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "sotto", Name: "hold_seconds",
			Help: "How long text of a reply waited until its channel was certain.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "sotto", Name: "exchange_seconds",
			Help: "How long exchanges took.", Buckets: prometheus.ExponentialBuckets(0.05, 3, 9)}, []string{"api"}),
		judging: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "sotto", Name: "guard_seconds",
			Help: "How long a guard took to judge a piece of a reply.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}, []string{"model"}),
		thought: firstSeconds("first_thought_seconds", "How long after its request the first thought of a streamed reply came."),
		answer:  firstSeconds("first_answer_seconds", "How long after its request the first visible text of a streamed reply came."),
		header: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "sotto", Name: "upstream_header_seconds",
			Help: "How long after a request the header of the upstream's response came.", Buckets: prometheus.ExponentialBuckets(0.01, 2.5, 10)}, []string{"upstream"}),
		models:  newLabels(e.config.Limits.Labels),
		callers: newCallerMetrics(counter, e.config.Limits.Labels),
	}
	all = append(all, m.hold, m.judging, m.seconds, m.thought, m.answer, m.header, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sotto", Name: "open_exchanges",
		Help: "Exchanges under way."}, func() float64 { return float64(e.places.Open.Taken()) }))
	all = slices.Concat(all, memoryCollectors(e.budget), e.recorder.collectors())
	for i, c := range all {
		if err := reg.Register(c); err != nil {
			for _, c := range all[:i] {
				reg.Unregister(c)
			}
			return nil, fmt.Errorf("metrics: each gateway needs its own registry: %w", err)
		}
	}
	return m, nil
}

// firstSeconds is a histogram of times to the first of something, by model and API.
func firstSeconds(name, help string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "sotto", Name: name, Help: help,
		Buckets: prometheus.ExponentialBuckets(0.01, 2.5, 10)}, []string{"api", "model"})
}

// first counts how long after its request something came first, if it came.
func (m *metrics) first(to *prometheus.HistogramVec, x *exchange, model string, moment time.Time) {
	if d := x.since(moment); d > 0 {
		x.count(to.WithLabelValues(x.codec.Name(), model), d)
	}
}

// count counts a time, with the trace of the exchange as its exemplar if there is one.
func (x *exchange) count(to prometheus.Observer, d time.Duration) {
	if with, ok := to.(prometheus.ExemplarObserver); ok && x.trace != "" {
		with.ObserveWithExemplar(d.Seconds(), prometheus.Labels{"trace_id": x.trace, "exchange_id": x.exchange})
		return
	}
	to.Observe(d.Seconds())
}

func (m *metrics) exchange(x *exchange) {
	model := m.models.of(x.model)
	m.exchanges.WithLabelValues(x.codec.Name(), model, x.ended).Inc()
	m.upstreams.WithLabelValues(x.to.name, x.ended).Inc()
	if !x.header.IsZero() {
		x.count(m.header.WithLabelValues(x.to.name), max(x.header.Sub(x.Began), 1))
	}
	x.count(m.seconds.WithLabelValues(x.codec.Name()), x.took)
	m.first(m.thought, x, model, x.reading.FirstThought)
	m.first(m.answer, x, model, x.reading.FirstAnswer)
	found := x.reading.FindingCodes()
	for _, code := range found {
		m.doubts.WithLabelValues(string(code)).Inc()
	}
	if n := x.reading.Reasoning; n > 0 {
		leaks, result := m.leaks, x.leak()
		if result == leakPassed {
			leaks = m.passed
		} else {
			m.removed("reply", n)
		}
		m.byRoute.WithLabelValues(x.route.Name, result).Inc()
		leaks.WithLabelValues(x.codec.Name(), model, leakKind(found, &x.reading)).Inc()
	}
	m.shares(x, model)
	m.callers.exchange(x)
	m.textCalls(x, model)
	if x.reading.Cut && !x.reading.Filtered() {
		m.stopped.WithLabelValues(model, string(x.reading.StopCause())).Inc()
	}
	if x.switched != nil {
		m.switched.WithLabelValues(x.codec.Name(), model, string(x.switched.Grade)).Inc()
	}
	if x.reading.JSONFences() {
		m.fences.WithLabelValues(model).Inc()
	}
	if layer := x.reading.JSONLayer(); layer != "" && x.complete {
		m.missing.WithLabelValues(model, layer).Inc()
	}
	if !x.engine.config.HistoryDryRun {
		m.removed("history", x.plan.Removed)
		if n := x.plan.Missed; n > 0 {
			m.misses.WithLabelValues(model).Add(float64(n))
		}
	}
	if x.reading.Held > 0 {
		x.count(m.hold, x.reading.Held)
	}
}

// judgement counts what a guard decided about a piece.
func (m *metrics) judgement(x *exchange, d judgement) {
	model := m.models.of(x.model)
	m.judged.WithLabelValues(model, string(d.part.Channel), d.action()).Inc()
	m.judging.WithLabelValues(model).Observe(d.took.Seconds())
}

// shares counts how much of a reply was reasoning, and how much of its prompt came from
// the provider's cache. Whether removing reasoning costs the cache shows in the latter,
// by what was done to the history.
func (m *metrics) shares(x *exchange, model string) {
	thought, text := x.reading.Given()
	m.channels.WithLabelValues(x.codec.Name(), model, "reasoning").Add(float64(thought))
	m.channels.WithLabelValues(x.codec.Name(), model, "text").Add(float64(text))
	if u := x.reading.Tokens.Usage(); u != nil && u.Input > 0 {
		done := historyDone(x)
		m.prompts.WithLabelValues(model, done).Add(float64(u.Input))
		m.cached.WithLabelValues(model, done).Add(float64(max(u.CacheRead, 0)))
	}
}

// textCalls counts the calls in the texts of a reply.
func (m *metrics) textCalls(x *exchange, model string) {
	for what, n := range map[string]int{"moved": x.reading.Moved, "left": x.reading.Left} {
		if n > 0 {
			m.calls.WithLabelValues(x.codec.Name(), model, what).Add(float64(n))
		}
	}
}

// historyFirst is what was done to the reasoning of earlier messages if there are none.
const historyFirst = "first"

// historyDone says in one word what was done to the reasoning of earlier messages.
func historyDone(x *exchange) string {
	switch {
	case !slices.ContainsFunc(x.request.Messages, func(m wire.Message) bool { return m.Role == "assistant" }):
		return historyFirst
	case x.engine.config.HistoryDryRun || x.plan.Removed == 0 && x.plan.Restored == 0:
		return "kept"
	case x.plan.Removed > 0:
		return "removed"
	}
	return "restored"
}

// overlooked counts a response that passed unread, by the row of the table that its
// path leads to: paths hold ids.
func (m *metrics) overlooked(_ string, to endpoints.Endpoint) {
	m.unread.WithLabelValues(cmp.Or(to.Path, "unknown")).Inc()
}

func (m *metrics) withoutList(to *target, _ error) { m.unlisted.WithLabelValues(to.name).Inc() }

func (m *metrics) again(to *target, why string) { m.resent.WithLabelValues(to.name, why).Inc() }

func (m *metrics) removed(from string, n int) {
	m.bytes.WithLabelValues(from).Add(float64(n))
	m.tokens.WithLabelValues(from).Add(float64(n) / bytesPerToken)
}

// leakKind says in which form reasoning was in the content.
func leakKind(found []sotto.Code, r *reading.Reading) string {
	for _, code := range found {
		switch code {
		case sotto.CodeOrphanClose, sotto.CodeTruncated, sotto.CodeAssumedUnclosed:
			return string(code)
		}
	}
	for _, c := range r.Choices {
		if c != nil && c.Lessons.Inside {
			return "pre_opened"
		}
	}
	return "block"
}

// memoryCollectors are the metrics of the budget.
func memoryCollectors(b *budget.Budget) []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sotto", Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "sotto", Name: "memory_refused_total",
			Help: "Exchanges that were refused or ended because limits.memory was used up."}, func() float64 { _, _, refused := b.State(); return float64(refused) }),
		gauge("memory_bytes", "Bytes of limits.memory that exchanges use.", func() float64 { used, _, _ := b.State(); return float64(used) }),
		gauge("memory_limit_bytes", "The setting limits.memory.", func() float64 { _, most, _ := b.State(); return float64(most) }),
	}
}

// collectors are the metrics of the record, if there is one.
func (r *recorder) collectors() []prometheus.Collector {
	if r == nil {
		return nil
	}
	counter := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "sotto", Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		counter("record_truncated_total", "Exchanges that were recorded only in part because of a limit.",
			func() float64 { return float64(r.truncated.Load()) }),
		counter("record_unsearched_secrets_total", "Credentials that were too many to search for. Their events may hold them, and say how many.",
			func() float64 { return float64(r.unsearched.Load()) }),
		counter("record_dropped_total", "Events that were not recorded because the queue was full or the disk failed.",
			func() float64 { return float64(r.dropped()) }),
	}
}
