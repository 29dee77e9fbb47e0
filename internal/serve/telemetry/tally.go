package telemetry

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/internal/base/lograte"
)

// A tally counts what became of what is sent, and tells the log: once that the collector
// fails, once that it is back, and once a minute what it refuses.
type tally struct {
	of                          string // for the log
	sent, lost, failed, refused prometheus.Counter
	log                         *slog.Logger
	failing                     atomic.Bool
	warned                      lograte.Limit
}

// newTally returns a tally whose counters have a name, in the registry if there is one.
func newTally(c Config, of, name, help string) (*tally, error) {
	counts := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sotto", Name: name, Help: help}, []string{"result"})
	if c.Registry != nil {
		if err := c.Registry.Register(counts); err != nil {
			return nil, err
		}
	}
	return &tally{
		of: of, log: c.Log, warned: lograte.Limit{Every: time.Minute, Most: 1},
		sent: counts.WithLabelValues("sent"), lost: counts.WithLabelValues("dropped"),
		failed: counts.WithLabelValues("failed"), refused: counts.WithLabelValues("refused"),
	}, nil
}

// count counts n of them, by what sending them returned.
func (t *tally) count(n int, err error) {
	if p, ok := errors.AsType[*partial](err); ok {
		refused := min(p.refused, int64(n))
		t.refused.Add(float64(refused))
		t.sent.Add(float64(int64(n) - refused))
		if t.warned.Now("") {
			t.log.Warn("the collector does not take all "+t.of, "sent", n, "refused", refused, "says", p.says)
		}
		err = nil
	} else if err == nil {
		t.sent.Add(float64(n))
	} else {
		t.failed.Add(float64(n))
	}
	switch was := t.failing.Swap(err != nil); {
	case err == nil && was:
		t.log.Info(t.of + " are sent again")
	case err != nil && !was:
		t.log.Warn(t.of+" are lost: the collector does not take them", "error", err.Error())
	}
}
