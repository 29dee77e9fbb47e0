package telemetry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// mostSent is how many spans go into one request, if they have no texts.
const mostSent = 512

// A queue hands spans to an exporter. Nothing waits for it: a span that finds it full is
// lost, and counted. The SDK has a processor that does the same, and tells nobody how many
// it lost.
type queue struct {
	to    sdktrace.SpanExporter
	every time.Duration
	most  int // spans in a request

	spans  chan sdktrace.ReadOnlySpan
	closed atomic.Bool
	end    chan struct{} // closed when no more spans come
	ended  chan struct{} // closed when all are sent or lost
	once   sync.Once
	ctx    context.Context // of the requests
	cancel context.CancelFunc

	counts *tally
}

func newQueue(to sdktrace.SpanExporter, c Config) (*queue, error) {
	counts, err := newTally(c, "traces", "otel_spans_total", "Spans for the collector, by what became of them: sent, dropped because the queue was full, failed, or refused by a collector that took the others of the request.")
	if err != nil {
		return nil, err
	}
	q := &queue{to: to, every: c.Every, most: mostSent, counts: counts, spans: make(chan sdktrace.ReadOnlySpan, c.Queue), end: make(chan struct{}), ended: make(chan struct{})}
	if c.Content {
		q.most = mostTogether
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
		q.counts.lost.Inc()
		return
	}
	select {
	case q.spans <- s:
	default:
		q.counts.lost.Inc()
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
			q.counts.lost.Inc()
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
			if batch = append(batch, s); len(batch) < q.most {
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
			if batch = append(batch, s); len(batch) < q.most {
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

// send sends spans, and counts what became of them.
func (q *queue) send(batch []sdktrace.ReadOnlySpan) {
	if len(batch) > 0 {
		q.counts.count(len(batch), q.to.ExportSpans(q.ctx, batch))
	}
}
