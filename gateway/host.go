package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/sockets"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// Shutdown ends the WebSocket connections, which [http.Server.Shutdown] does not know:
// each closes with status 1001 when the replies that it has under way have ended. New
// ones are refused. If the context ends first, Shutdown cuts those that are left, and
// returns the context's error.
//
// It also waits for the replies that are under way in the background, and ends those that are left
// with the context: they have failed then.
func (g *Handler) Shutdown(ctx context.Context) error {
	return errors.Join(g.sockets.Shutdown(ctx), g.now().engine.jobs.wait(ctx))
}

// A host is a ruleset as WebSocket connections see it.
type host struct{ *ruleset }

func (h host) Settings() sockets.Settings {
	e := h.engine
	return sockets.Settings{Body: e.config.Limits.Body, Silence: e.config.Silence, KeepAlive: e.config.KeepAlive, Budget: e.budget, Log: e.config.Logger}
}

// Admits admits the handshake again if other rules have admitted it. If these have, its
// token may have expired.
func (h host) Admits(handshake *http.Request, by sockets.Rules) bool {
	if by == sockets.Rules(h) {
		return h.access.Holds(handshake)
	}
	_, _, ok := h.access.Admit(&refusedWriter{header: http.Header{}}, handshake.Clone(handshake.Context()))
	return ok
}

func (h host) Place(caller string) (*access.Slot, error) { return h.engine.places.Open.Take(caller) }

func (h host) Share(ctx context.Context) (*access.Share, *access.LimitError) { return h.admit(ctx) }

func (h host) Serve(w http.ResponseWriter, r *http.Request, e endpoints.Endpoint) { h.serve(w, r, e) }

func (h host) Refuse(w http.ResponseWriter, r *http.Request, c codec, err error) {
	h.refuse(w, r, c, err)
}

func (h host) Failure(err error) (status int, text string) {
	_, status, text = failure(err)
	return status, text
}

// A refusedWriter takes a refusal that nobody reads.
type refusedWriter struct{ header http.Header }

func (w *refusedWriter) Header() http.Header         { return w.header }
func (w *refusedWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *refusedWriter) WriteHeader(int)             {}
