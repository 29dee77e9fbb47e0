package gateway

import "net/http"

// operations answers requests about the gateway itself.
func (g *Handler) operations(w http.ResponseWriter, r *http.Request, e endpoint) bool {
	if e.kind != own && e.kind != probe {
		return false
	}
	switch e.path {
	case "/healthz":
		answerText(w, http.StatusOK, "ok")
	case "/readyz":
		if g.closing.Load() {
			answerText(w, http.StatusServiceUnavailable, "shutting down")
		} else {
			answerText(w, http.StatusOK, "ready")
		}
	case "/metrics":
		g.now().engine.observers.metrics().ServeHTTP(w, r)
	}
	return true
}

func answerText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}
