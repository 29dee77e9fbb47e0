package gateway

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/recording"
	"github.com/sotto-llm/sotto/record"
)

// An Observer sees the exchanges of a gateway and changes none of them. The log is an
// observer of every gateway; [Metrics] and [Listen] make others.
type Observer struct {
	attach func(g observing.Gauges) (observing.Observer, error)
	counts bool // it answers GET /metrics
}

// Metrics returns an observer that counts exchanges in a registry, which the gateway
// serves at /metrics. Each gateway needs a registry of its own: a second one on the
// same registry is an error of [New].
func Metrics(reg *prometheus.Registry) Observer {
	return Observer{counts: true, attach: func(g observing.Gauges) (observing.Observer, error) { return observing.Metrics(reg, g) }}
}

// A Recorder takes the events of exchanges. A [*record.Writer] is one.
type Recorder interface {
	// Enqueue takes an event and never waits. It reports false if the event is
	// lost.
	Enqueue(e record.Event) bool
	// Dropped is how many events were lost so far, including those that Enqueue had
	// accepted.
	Dropped() uint64
}

var _ Recorder = (*record.Writer)(nil)

// observe attaches the observers. An exchange that has ended is counted, logged and
// recorded, in this order.
func (e *engine) observe() (observing.Observers, error) {
	var list observing.Observers
	given := e.config.Observers
	if !slices.ContainsFunc(given, func(o Observer) bool { return o.counts }) {
		given = append(slices.Clone(given), Metrics(prometheus.NewRegistry()))
	}
	gauges := observing.Gauges{Labels: e.config.Limits.Labels, Open: e.places.Open.Taken, Memory: e.budget.State}
	if e.recorder != nil {
		gauges.Record = e.recorder.Losses
	}
	for _, o := range given {
		if o.attach == nil {
			continue
		}
		made, err := o.attach(gauges)
		if err != nil {
			return nil, err
		}
		list = append(list, made)
	}
	return append(list, observing.Log(e.config.Logger, e.config.Limits.Labels)), nil
}

// newRecorder returns nil if nothing is recorded.
func newRecorder(c Config) *recording.Recorder {
	if c.Recorder == nil {
		return nil
	}
	return recording.New(c.Recorder, c.Logger, c.Limits.MemoryBytes, c.recording())
}

// recording is what the configuration says of the record.
func (c *Config) recording() recording.Config {
	return recording.Config{Secrets: c.secrets(), Headers: c.RecordHeaders, Recorded: c.Limits.Recorded, Route: defaultRoute, Upstream: defaultUpstream}
}
