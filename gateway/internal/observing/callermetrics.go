package observing

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/internal/net/access"
)

// callerMetrics count what each caller uses. A server without tokens has no callers.
type callerMetrics struct {
	exchanges, tokens, bytes, limited *prometheus.CounterVec

	callers *Labels
}

func newCallerMetrics(counter func(name, help string, labels ...string) *prometheus.CounterVec, most int) *callerMetrics {
	return &callerMetrics{
		exchanges: counter("caller_exchanges_total", "Exchanges with a model, by the caller and by how they ended.", "caller", "outcome"),
		tokens:    counter("caller_tokens_total", "Tokens of callers: input, cached (a part of it), output, reasoning (a part of it). The source is the provider's count, or an estimate from bytes.", "caller", "kind", "source"),
		bytes:     counter("caller_reply_bytes_total", "Bytes of the texts of replies, by the caller and by what they are: reasoning or text.", "caller", "channel"),
		limited:   counter("caller_limited_total", "Requests that were refused with 429, by the caller and by the limit that it had reached.", "caller", "limit"),
		callers:   NewLabels(most),
	}
}

// exchange counts an exchange that has ended.
func (m *callerMetrics) exchange(r *Report) {
	if r.Caller == "" {
		return
	}
	caller := m.callers.Of(r.Caller)
	m.exchanges.WithLabelValues(caller, r.Outcome).Inc()
	m.bytes.WithLabelValues(caller, "reasoning").Add(float64(r.Thought))
	m.bytes.WithLabelValues(caller, "text").Add(float64(r.Text))
	source := "provider"
	if !r.Spent.Counted {
		source = "estimate"
	}
	m.tokens.WithLabelValues(caller, "input", source).Add(float64(r.Spent.Input))
	m.tokens.WithLabelValues(caller, "output", source).Add(float64(r.Spent.Output))
	if u := r.Counted; u != nil {
		m.tokens.WithLabelValues(caller, "cached", source).Add(float64(max(u.CacheRead, 0)))
		m.tokens.WithLabelValues(caller, "reasoning", source).Add(float64(max(u.Reasoning, 0)))
	}
}

// refused counts a request that was refused because its caller has reached a limit.
func (m *callerMetrics) refused(caller string, e *access.LimitError) {
	m.limited.WithLabelValues(m.callers.Of(caller), e.Limit).Inc()
}
