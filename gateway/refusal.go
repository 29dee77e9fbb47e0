package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/bridging"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/places"
	"github.com/sotto-llm/sotto/gateway/internal/sending"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/wire"
)

// failure returns the status and the text of an answer that replaces a reply.
func failure(err error) (status int, text string) {
	var own *faults.Request
	var large *http.MaxBytesError
	var judged *guardError
	var said *wire.Fault
	var forgotten *wire.TurnError
	switch {
	case errors.As(err, &said):
		return bridging.Status(said.Status), said.Text
	case errors.As(err, &judged):
		return judged.status, judged.said()
	case errors.As(err, &own):
		return own.Status, own.Error()
	case errors.As(err, &forgotten):
		return http.StatusBadRequest, "the upstream keeps no conversations, and does not know the response that the request continues"
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, bodies.TooLarge(large.Limit).Error()
	case errors.Is(err, ErrShutdown):
		return http.StatusServiceUnavailable, ErrShutdown.Error()
	case errors.Is(err, bodies.ErrSilent), errors.Is(err, sending.ErrNoHeader):
		return http.StatusGatewayTimeout, "upstream: " + faults.Text(err)
	case errors.Is(err, errDeadline), errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, errDeadline.Error()
	}
	return http.StatusBadGateway, "upstream: " + faults.Text(err)
}

func (g *ruleset) refuse(w http.ResponseWriter, r *http.Request, c codec, err error) {
	status := http.StatusInternalServerError
	var bad *faults.Request
	if errors.As(err, &bad) {
		status = bad.Status
	}
	said, ofTurn := errors.AsType[*wire.TurnError](err)
	text := []byte(nil)
	if socket, ok := c.(wire.SocketCodec); ok && ofTurn {
		status, text = socket.TurnError(said)
	}
	if places.OfLoad(err) { // many of these must make neither log nor record grow
		g.engine.limited(w, r, c, err)
		faults.Refuse(w, c, status, err.Error())
		return
	}
	f := observing.Refusal{Identity: observing.IdentityOf(r), API: c.Name(), Caller: access.Caller(r.Context()), Status: status, Err: err}
	w.Header().Set(observing.IDHeader, f.ID)
	g.engine.observers.Refused(f)
	if g.engine.recorder != nil {
		g.engine.recorder.Refused(r, g.engine.soleUpstream(), f)
	}
	if text != nil {
		faults.RefuseWith(w, status, text)
		return
	}
	faults.Refuse(w, c, status, err.Error())
}
