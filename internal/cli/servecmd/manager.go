package servecmd

import (
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/serve/systemd"
)

// A manager is the program that started this process and wants to know how it is:
// systemd, or nobody.
type manager struct {
	getenv func(string) string
	log    *slog.Logger
}

func newManager(getenv func(string) string, log *slog.Logger) *manager {
	return &manager{getenv, log}
}

func (m *manager) tell(states ...string) {
	if err := systemd.Notify(m.getenv, states...); err != nil {
		m.log.Warn("the service manager was not told", "what", states[0], "error", err.Error())
	}
}

// stopping tells that the process stops, and how long that may take, so that the
// manager's own limit need not fit the settings of the gateway.
func (m *manager) stopping(within time.Duration) { m.tell(systemd.Stopping(within)...) }

// reportTo tells the manager that the gateway is ready, and then, as often as it
// wants, that it is alive.
func (p *parts) reportTo(m *manager) (end func()) {
	p.server.manager = m
	m.tell("READY=1", "STATUS=The gateway is at "+p.at.gateway.String())
	every := systemd.Watchdog(m.getenv)
	if every == 0 {
		return func() {}
	}
	handler := p.server.http.Handler // not later: the server puts another before it
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		beat := time.NewTicker(every / 2)
		defer beat.Stop()
		for {
			select {
			case <-stop:
				return
			case <-beat.C:
				if alive(handler, serving.Reach(p.front)) {
					m.tell("WATCHDOG=1")
				}
			}
		}
	})
	return func() { close(stop); watching.Wait() }
}

// alive asks the handler for /healthz as a client would. If the handler hangs, so does
// this, and the manager hears nothing.
func alive(h http.Handler, at *url.URL) bool {
	r, err := http.NewRequest(http.MethodGet, at.JoinPath("healthz").String(), http.NoBody)
	if err != nil {
		return false
	}
	r.RemoteAddr = at.Host
	w := &statusOnly{}
	h.ServeHTTP(w, r)
	return w.status == http.StatusOK
}

// A statusOnly is the writer of a response of which only the status counts.
type statusOnly struct {
	header http.Header
	status int
}

func (w *statusOnly) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

func (w *statusOnly) WriteHeader(status int)      { w.status = status }
func (w *statusOnly) Write(p []byte) (int, error) { return len(p), nil }
