package gateway

import (
	"errors"
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
)

// operations answers requests about the gateway itself.
func (g *Handler) operations(w http.ResponseWriter, r *http.Request, e endpoints.Endpoint) bool {
	if e.Kind != endpoints.Own && e.Kind != endpoints.Probe {
		return false
	}
	switch e.Path {
	case "/healthz":
		answerText(w, http.StatusOK, "ok")
	case "/readyz":
		status, text := g.readiness()
		answerText(w, status, text)
	case "/metrics":
		g.now().engine.observers.Metrics().ServeHTTP(w, r)
	}
	return true
}

// readiness says whether new exchanges should come.
func (g *Handler) readiness() (status int, text string) {
	if g.closing.Load() {
		return http.StatusServiceUnavailable, "shutting down"
	}
	if ready := g.now().engine.config.Ready; ready != nil {
		if err := ready(); err != nil {
			if some, ok := errors.AsType[*DegradedError](err); ok {
				return http.StatusOK, some.Text
			}
			return http.StatusServiceUnavailable, err.Error()
		}
	}
	if g.now().access.Shut() {
		return http.StatusOK, "ready, but no token is valid: nobody can use the gateway"
	}
	return http.StatusOK, "ready"
}

// A DegradedError of [Config.Ready] says that the gateway can serve some requests, and
// not all of them.
type DegradedError struct{ Text string }

func (e *DegradedError) Error() string { return e.Text }

func answerText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}
