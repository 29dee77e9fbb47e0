package observing

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

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
	bridged   *prometheus.CounterVec
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

	models *Labels
}

// Gauges are what the metrics show of the gateway itself.
type Gauges struct {
	Labels int        // the setting limits.labels
	Open   func() int // exchanges under way
	Memory func() (used, most, refused int64)
	Record func() Losses // nil if nothing is recorded
}

// Losses are what a record lacks.
type Losses struct{ Truncated, Unsearched, Dropped uint64 }

// Metrics returns the observer that counts exchanges in a registry, and serves it.
func Metrics(reg *prometheus.Registry, g Gauges) (Observer, error) {
	m, err := newMetrics(reg, g)
	if err != nil {
		return Observer{}, err
	}
	return Observer{
		Ended: m.exchange, Limited: m.callers.refused, Judged: m.judgement, Unread: m.overlooked, Unlisted: m.withoutList, Resent: m.again,
		Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true}),
	}, nil
}

func newMetrics(reg *prometheus.Registry, g Gauges) (*metrics, error) {
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
		bridged:   counter("bridged_exchanges_total", "Exchanges whose client and upstream speak different APIs, by how they ended.", "api", "upstream_api", "outcome"),
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
		models:  NewLabels(g.Labels),
		callers: newCallerMetrics(counter, g.Labels),
	}
	all = append(all, m.hold, m.judging, m.seconds, m.thought, m.answer, m.header, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sotto", Name: "open_exchanges",
		Help: "Exchanges under way."}, func() float64 { return float64(g.Open()) }))
	all = slices.Concat(all, g.memory(), g.record())
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
func (m *metrics) first(to *prometheus.HistogramVec, r *Report, model string, moment time.Time) {
	if d := r.Since(moment); d > 0 {
		r.count(to.WithLabelValues(r.API, model), d)
	}
}

// count counts a time, with the trace of the exchange as its exemplar if there is one.
func (r *Report) count(to prometheus.Observer, d time.Duration) {
	if with, ok := to.(prometheus.ExemplarObserver); ok && r.Trace != "" {
		with.ObserveWithExemplar(d.Seconds(), prometheus.Labels{"trace_id": r.Trace, "exchange_id": r.Identity.ID})
		return
	}
	to.Observe(d.Seconds())
}

func (m *metrics) exchange(r *Report) {
	model := m.models.Of(r.Model)
	m.exchanges.WithLabelValues(r.API, model, r.Outcome).Inc()
	m.upstreams.WithLabelValues(r.Upstream, r.Outcome).Inc()
	if r.UpstreamAPI != "" {
		m.bridged.WithLabelValues(r.API, r.UpstreamAPI, r.Outcome).Inc()
	}
	if !r.Replied.IsZero() {
		r.count(m.header.WithLabelValues(r.Upstream), max(r.Replied.Sub(r.Began), 1))
	}
	r.count(m.seconds.WithLabelValues(r.API), r.Took)
	m.first(m.thought, r, model, r.FirstThought)
	m.first(m.answer, r, model, r.FirstAnswer)
	for _, code := range r.Codes {
		m.doubts.WithLabelValues(string(code)).Inc()
	}
	if n := r.Leaked; n > 0 {
		leaks, result := m.leaks, r.Leak()
		if result == LeakPassed {
			leaks = m.passed
		} else {
			m.removed("reply", n)
		}
		m.byRoute.WithLabelValues(r.Route, result).Inc()
		leaks.WithLabelValues(r.API, model, r.leakKind()).Inc()
	}
	m.shares(r, model)
	m.callers.exchange(r)
	m.textCalls(r, model)
	if r.Stopped != "" && !r.Filtered {
		m.stopped.WithLabelValues(model, string(r.Stopped)).Inc()
	}
	if r.Switched != "" {
		m.switched.WithLabelValues(r.API, model, r.SwitchGrade).Inc()
	}
	if r.JSONFences {
		m.fences.WithLabelValues(model).Inc()
	}
	if layer := r.JSONMissing; layer != "" && r.Complete {
		m.missing.WithLabelValues(model, layer).Inc()
	}
	if !r.History.DryRun {
		m.removed("history", r.History.Removed)
		if n := r.History.Missed; n > 0 {
			m.misses.WithLabelValues(model).Add(float64(n))
		}
	}
	if r.Held > 0 {
		r.count(m.hold, r.Held)
	}
}

// judgement counts what a guard decided about a piece.
func (m *metrics) judgement(x Exchange, j Judgement) {
	model := m.models.Of(x.Model)
	m.judged.WithLabelValues(model, string(j.Channel), j.action()).Inc()
	m.judging.WithLabelValues(model).Observe(j.Took.Seconds())
}

// shares counts how much of a reply was reasoning, and how much of its prompt came from
// the provider's cache. Whether removing reasoning costs the cache shows in the latter,
// by what was done to the history.
func (m *metrics) shares(r *Report, model string) {
	m.channels.WithLabelValues(r.API, model, "reasoning").Add(float64(r.Thought))
	m.channels.WithLabelValues(r.API, model, "text").Add(float64(r.Text))
	if u := r.Counted; u != nil && u.Input > 0 {
		done := r.History.Done()
		m.prompts.WithLabelValues(model, done).Add(float64(u.Input))
		m.cached.WithLabelValues(model, done).Add(float64(max(u.CacheRead, 0)))
	}
}

// textCalls counts the calls in the texts of a reply.
func (m *metrics) textCalls(r *Report, model string) {
	for what, n := range map[string]int{"moved": r.Moved, "left": r.Left} {
		if n > 0 {
			m.calls.WithLabelValues(r.API, model, what).Add(float64(n))
		}
	}
}

// overlooked counts a response that passed unread, by the row of the table that its
// path leads to: paths hold ids.
func (m *metrics) overlooked(_, row string) {
	m.unread.WithLabelValues(cmp.Or(row, "unknown")).Inc()
}

func (m *metrics) withoutList(upstream string, _ error) { m.unlisted.WithLabelValues(upstream).Inc() }

func (m *metrics) again(upstream, why string) { m.resent.WithLabelValues(upstream, why).Inc() }

func (m *metrics) removed(from string, n int) {
	m.bytes.WithLabelValues(from).Add(float64(n))
	m.tokens.WithLabelValues(from).Add(float64(n) / BytesPerToken)
}

// memory are the metrics of the budget.
func (g *Gauges) memory() []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sotto", Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "sotto", Name: "memory_refused_total",
			Help: "Exchanges that were refused or ended because limits.memory was used up."}, func() float64 { _, _, refused := g.Memory(); return float64(refused) }),
		gauge("memory_bytes", "Bytes of limits.memory that exchanges use.", func() float64 { used, _, _ := g.Memory(); return float64(used) }),
		gauge("memory_limit_bytes", "The setting limits.memory.", func() float64 { _, most, _ := g.Memory(); return float64(most) }),
	}
}

// record are the metrics of the record, if there is one.
func (g *Gauges) record() []prometheus.Collector {
	if g.Record == nil {
		return nil
	}
	counter := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "sotto", Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		counter("record_truncated_total", "Exchanges that were recorded only in part because of a limit.",
			func() float64 { return float64(g.Record().Truncated) }),
		counter("record_unsearched_secrets_total", "Credentials that were too many to search for. Their events may hold them, and say how many.",
			func() float64 { return float64(g.Record().Unsearched) }),
		counter("record_dropped_total", "Events that were not recorded because the queue was full or the disk failed.",
			func() float64 { return float64(g.Record().Dropped) }),
	}
}
