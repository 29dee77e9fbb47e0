package recordship

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/record"
)

// metrics say how far the store is behind the record.
type metrics struct {
	bytes    prometheus.Gauge
	event    prometheus.Gauge
	seconds  prometheus.GaugeFunc
	since    atomic.Int64 // when the first event that is not there was written, in ns; 0 without
	objects  *prometheus.CounterVec
	sent     prometheus.Counter
	failures prometheus.Counter
}

func (m *metrics) register(to prometheus.Registerer) error {
	gauge := func(name, help string) prometheus.GaugeOpts {
		return prometheus.GaugeOpts{Namespace: "sotto", Subsystem: "record_ship", Name: name, Help: help}
	}
	counter := func(name, help string) prometheus.CounterOpts { return prometheus.CounterOpts(gauge(name, help)) }
	m.bytes = prometheus.NewGauge(gauge("lag_bytes", "Bytes of the record that the object store lacks, at the last step."))
	m.event = prometheus.NewGauge(gauge("oldest_event", "The number of the first event that the object store lacks; 0 if it has all."))
	m.seconds = prometheus.NewGaugeFunc(gauge("lag_seconds", "The age of the first event that the object store lacks; 0 if it has all."), func() float64 {
		since := m.since.Load()
		if since == 0 {
			return 0
		}
		return max(0, time.Since(time.Unix(0, since)).Seconds())
	})
	m.objects = prometheus.NewCounterVec(counter("objects_total", "Objects that the object store confirmed, by kind."), []string{"kind"})
	m.sent = prometheus.NewCounter(counter("bytes_total", "Bytes of these objects, compressed."))
	m.failures = prometheus.NewCounter(counter("failures_total", "Steps that failed. What they should have shipped is kept on the disk."))
	if to == nil {
		return nil
	}
	for _, c := range []prometheus.Collector{m.bytes, m.event, m.seconds, m.objects, m.sent, m.failures} {
		if err := to.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func (m *metrics) shipped(kind string, size int) {
	m.objects.WithLabelValues(kind).Inc()
	m.sent.Add(float64(size))
}

func (m *metrics) waiting(size int64, oldest record.Mark) {
	m.bytes.Set(float64(size))
	m.event.Set(float64(oldest.First))
	since := int64(0)
	if size > 0 && !oldest.Time.IsZero() {
		since = oldest.Time.UnixNano()
	}
	m.since.Store(since)
}
