package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sotto-llm/sotto/internal/seldom"
)

// mostSent is how many spans go into one request.
const mostSent = 512

// A queue hands spans to an exporter. Nothing waits for it: a span that finds it full is
// lost, and counted. The SDK has a processor that does the same, and tells nobody how many
// it lost.
type queue struct {
	to    sdktrace.SpanExporter
	every time.Duration
	log   *slog.Logger

	spans  chan sdktrace.ReadOnlySpan
	closed atomic.Bool
	end    chan struct{} // closed when no more spans come
	ended  chan struct{} // closed when all are sent or lost
	once   sync.Once
	ctx    context.Context // of the requests
	cancel context.CancelFunc

	sent, lost, failed, refused prometheus.Counter
	failing                     bool // the log says so; only the sender uses it
	warned                      seldom.Limit
}

func newQueue(to sdktrace.SpanExporter, c Config) (*queue, error) {
	counts := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sotto", Name: "otel_spans_total",
		Help: "Spans for the collector, by what became of them: sent, dropped because the queue was full, failed, or refused by a collector that took the others of the request."}, []string{"result"})
	if c.Metrics != nil {
		if err := c.Metrics.Register(counts); err != nil {
			return nil, err
		}
	}
	q := &queue{
		to: to, every: c.Every, log: c.Log, spans: make(chan sdktrace.ReadOnlySpan, c.Queue), end: make(chan struct{}), ended: make(chan struct{}),
		sent: counts.WithLabelValues("sent"), lost: counts.WithLabelValues("dropped"), failed: counts.WithLabelValues("failed"),
		refused: counts.WithLabelValues("refused"), warned: seldom.Limit{Every: time.Minute, Most: 1},
	}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	go q.run()
	return q, nil
}

// OnStart does nothing.
func (q *queue) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd takes a span, or loses it. It never waits.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.closed.Load() {
		q.lost.Inc()
		return
	}
	select {
	case q.spans <- s:
	default:
		q.lost.Inc()
	}
}

// ForceFlush does nothing: the queue is sent at intervals, and by Shutdown.
func (q *queue) ForceFlush(context.Context) error { return nil }

// Shutdown sends what waits, until ctx ends. The rest is lost.
func (q *queue) Shutdown(ctx context.Context) error {
	q.closed.Store(true)
	q.once.Do(func() { close(q.end) })
	select {
	case <-q.ended:
	case <-ctx.Done():
		q.cancel()
		<-q.ended
	}
	for { // a span that came in the last moment
		select {
		case <-q.spans:
			q.lost.Inc()
			continue
		default:
		}
		return q.to.Shutdown(ctx)
	}
}

// run sends what waits: when there is enough for a request, and at intervals.
func (q *queue) run() {
	defer close(q.ended)
	defer q.cancel()
	tick := time.NewTicker(q.every)
	defer tick.Stop()
	var batch []sdktrace.ReadOnlySpan
	for {
		select {
		case s := <-q.spans:
			if batch = append(batch, s); len(batch) < mostSent {
				continue
			}
		case <-tick.C:
		case <-q.end:
			q.rest(batch)
			return
		}
		q.send(batch)
		batch = nil
	}
}

// rest sends all that is left.
func (q *queue) rest(batch []sdktrace.ReadOnlySpan) {
	for {
		select {
		case s := <-q.spans:
			if batch = append(batch, s); len(batch) < mostSent {
				continue
			}
			q.send(batch)
			batch = nil
		default:
			q.send(batch)
			return
		}
	}
}

// send sends spans, and counts what became of them. The log says once that the collector
// fails, and once that it is back.
func (q *queue) send(batch []sdktrace.ReadOnlySpan) {
	if len(batch) == 0 {
		return
	}
	err := q.to.ExportSpans(q.ctx, batch)
	if p, ok := errors.AsType[*partial](err); ok {
		n := min(p.refused, int64(len(batch)))
		q.refused.Add(float64(n))
		q.sent.Add(float64(len(batch)) - float64(n))
		if q.warned.Now("") {
			q.log.Warn("the collector does not take all traces", "spans", len(batch), "refused", n, "says", p.says)
		}
		err = nil
	} else if err == nil {
		q.sent.Add(float64(len(batch)))
	} else {
		q.failed.Add(float64(len(batch)))
	}
	switch {
	case err == nil && q.failing:
		q.log.Info("traces are sent again")
	case err != nil && !q.failing:
		q.log.Warn("traces are lost: the collector does not take them", "error", err.Error())
	}
	q.failing = err != nil
}
