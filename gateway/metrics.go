package gateway

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sotto-llm/sotto"
)

// bytesPerToken is used to estimate tokens from bytes.
const bytesPerToken = 4

// metrics count what the gateway does. Labels are bounded: a model beyond the
// limit is "other".
type metrics struct {
	exchanges *prometheus.CounterVec
	leaks     *prometheus.CounterVec
	doubts    *prometheus.CounterVec
	bytes     *prometheus.CounterVec
	tokens    *prometheus.CounterVec
	hold      prometheus.Histogram
	seconds   *prometheus.HistogramVec
	handler   http.Handler

	mu     sync.Mutex
	max    int
	models map[string]bool
}

func newMetrics(reg *prometheus.Registry, labels int, open *atomic.Int64) (*metrics, error) {
	var all []prometheus.Collector
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sotto", Name: name, Help: help}, labels)
		all = append(all, v)
		return v
	}
	m := &metrics{
		exchanges: counter("exchanges_total", "Exchanges with a model, by how they ended.", "api", "model", "outcome"),
		leaks:     counter("leaks_corrected_total", "Replies whose content held reasoning, by how it stood there.", "model", "kind"),
		doubts:    counter("doubts_total", "Remarks on replies, by code.", "code"),
		bytes:     counter("reasoning_removed_bytes_total", "Bytes of reasoning taken out of the content of replies, or of histories.", "from"),
		tokens:    counter("reasoning_removed_tokens_estimated_total", "The same in tokens, estimated from the bytes.", "from"),
		hold: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "sotto", Name: "hold_seconds",
			Help: "How long text of a reply waited for what decides its place.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "sotto", Name: "exchange_seconds",
			Help: "How long exchanges took.", Buckets: prometheus.ExponentialBuckets(0.05, 3, 9)}, []string{"api"}),
		max: labels, models: map[string]bool{},
	}
	all = append(all, m.hold, m.seconds, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sotto", Name: "open_exchanges",
		Help: "Exchanges under way."}, func() float64 { return float64(open.Load()) }))
	for i, c := range all {
		if err := reg.Register(c); err != nil {
			for _, c := range all[:i] {
				reg.Unregister(c)
			}
			return nil, fmt.Errorf("metrics: each gateway needs a registry of its own: %w", err)
		}
	}
	m.handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return m, nil
}

// model bounds the label.
func (m *metrics) model(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.models[name] {
		if len(m.models) >= m.max {
			return "other"
		}
		m.models[name] = true
	}
	return name
}

func (m *metrics) exchange(x *exchange) {
	model := m.model(x.model)
	m.exchanges.WithLabelValues(x.codec.Name(), model, x.ended).Inc()
	m.seconds.WithLabelValues(x.codec.Name()).Observe(x.took.Seconds())
	found := x.reading.findings()
	for _, code := range found {
		m.doubts.WithLabelValues(string(code)).Inc()
	}
	if n := x.reading.reasoning; n > 0 {
		m.leaks.WithLabelValues(model, leakKind(found, &x.reading)).Inc()
		m.removed("reply", n)
	}
	if !x.g.config.HistoryDryRun {
		m.removed("history", x.plan.Removed)
	}
	if x.reading.held > 0 {
		m.hold.Observe(x.reading.held.Seconds())
	}
}

func (m *metrics) removed(from string, n int) {
	m.bytes.WithLabelValues(from).Add(float64(n))
	m.tokens.WithLabelValues(from).Add(float64(n) / bytesPerToken)
}

// leakKind says in which form reasoning was in the content.
func leakKind(found []sotto.Code, r *reading) string {
	for _, code := range found {
		switch code {
		case sotto.CodeOrphanClose, sotto.CodeTruncated, sotto.CodeAssumedUnclosed:
			return string(code)
		}
	}
	for _, c := range r.choices {
		if c != nil && c.lessons.inside {
			return "pre_opened"
		}
	}
	return "block"
}
