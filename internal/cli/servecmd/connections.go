package servecmd

import (
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// bound applies the bounds of the settings to a listener and counts its connections
// in the metrics. It logs when connections begin to be refused and when that is
// over.
func bound(s *settings.Settings, l net.Listener, metrics *prometheus.Registry, log *slog.Logger) net.Listener {
	bounds := s.Connections
	said := &refusals{log: log}
	bounds.Refused, bounds.Accepted = said.refused, said.accepted
	bounded := serving.Bound(l, bounds)
	metrics.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sotto", Name: "connections",
			Help: "Connections of clients. Over HTTP/2, each request under way counts as one."}, func() float64 { return float64(bounded.Open()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "sotto", Name: "connections_refused_total",
			Help: "Connections that were closed at once, and requests of HTTP/2 that were refused, because there were too many, in total or from one address."}, func() float64 { return float64(bounded.Refused()) }),
	)
	return bounded
}

// A refusals logs the begin and the end of a period in which connections are
// refused.
type refusals struct {
	log *slog.Logger

	mu   sync.Mutex
	last time.Time // of the last refusal; zero if there was none recently
}

// refusalsFor is how long no connection may be refused before the period counts as
// over.
const refusalsFor = 10 * time.Second

func (r *refusals) refused() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.IsZero() {
		r.log.Error("connections are refused: there are too many (limits.connections, limits.connections-per-address)")
	}
	r.last = time.Now()
}

func (r *refusals) accepted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.last.IsZero() && time.Since(r.last) >= refusalsFor {
		r.last = time.Time{}
		r.log.Info("connections are accepted again")
	}
}
