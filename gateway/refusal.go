package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/bridging"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/places"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/internal/sending"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/wire"
)

// failure returns the name, the status and the text of an answer that replaces a reply.
func failure(err error) (name faultname.Name, status int, text string) {
	var own *faults.Request
	var large *http.MaxBytesError
	var judged *guardError
	var said *wire.Fault
	var forgotten *wire.TurnError
	switch {
	case errors.As(err, &said):
		return nameOfFault(said), bridging.Status(said.Status), said.Text
	case errors.As(err, &judged):
		return judged.name(), judged.status, judged.said()
	case errors.As(err, &own):
		return own.Name, own.Status, own.Error()
	case errors.As(err, &forgotten):
		return nameOfTurn(forgotten), http.StatusBadRequest, "the upstream keeps no conversations, and does not know the response that the request continues"
	case errors.As(err, &large):
		return faultname.BodyTooLarge, http.StatusRequestEntityTooLarge, bodies.TooLarge(large.Limit).Error()
	case errors.Is(err, ErrShutdown):
		return faultname.GatewayStopping, http.StatusServiceUnavailable, ErrShutdown.Error()
	case errors.Is(err, bodies.ErrSilent), errors.Is(err, sending.ErrNoHeader):
		return faultname.UpstreamSilent, http.StatusGatewayTimeout, "upstream: " + faults.Text(err)
	case errors.Is(err, errDeadline), errors.Is(err, context.DeadlineExceeded):
		return faultname.DeadlinePassed, http.StatusGatewayTimeout, errDeadline.Error()
	}
	return nameOfReply(err), http.StatusBadGateway, "upstream: " + faults.Text(err)
}

// nameOfFault names an error that the upstream reported.
func nameOfFault(f *wire.Fault) faultname.Name {
	if f.TooLong {
		return faultname.ContextLengthExceeded
	}
	return faultname.UpstreamRefused
}

// nameOfReply names what is wrong with a reply, or else with the connection to the upstream.
func nameOfReply(err error) faultname.Name {
	for _, n := range []struct {
		err  error
		name faultname.Name
	}{
		{wire.ErrUnreadable, faultname.ReplyUnreadable},
		{reading.ErrNoAnswer, faultname.NoVisibleAnswer},
		{reading.ErrStartUnknown, faultname.StartUnknown},
		{reading.ErrStopped, faultname.ThinkingStopped},
		{budget.ErrOverdrawn, faultname.MemoryUsedUp},
	} {
		if errors.Is(err, n.err) {
			return n.name
		}
	}
	return faultname.UpstreamFailed
}

// turnNames are the codes of the Responses API as names.
var turnNames = map[wire.TurnFault]faultname.Name{
	wire.TurnMalformed: faultname.InvalidRequest, wire.TurnBadLane: faultname.InvalidStreamID, wire.TurnLanes: faultname.WebSocketStreamLimitReached,
	wire.TurnWaiting: faultname.WebSocketQueueFull, wire.TurnForgotten: faultname.PreviousResponseNotFound, wire.TurnExpired: faultname.WebSocketConnectionLimit,
	wire.TurnNoConversation: faultname.ConversationNotFound, wire.TurnLocked: faultname.ConversationLocked,
}

// nameOfTurn names why a turn is refused.
func nameOfTurn(e *wire.TurnError) faultname.Name { return turnNames[e.Fault] }

func (g *ruleset) refuse(w http.ResponseWriter, r *http.Request, c codec, err error) {
	status, name := http.StatusInternalServerError, faultname.Name("")
	var bad *faults.Request
	if errors.As(err, &bad) {
		status, name = bad.Status, bad.Name
	}
	said, ofTurn := errors.AsType[*wire.TurnError](err)
	text := []byte(nil)
	if socket, ok := c.(wire.SocketCodec); ok && ofTurn {
		name = nameOfTurn(said)
		status, text = socket.TurnError(said)
	}
	if places.OfLoad(err) { // many of these must make neither log nor record grow
		g.engine.limited(w, r, c, err)
		faults.Refuse(w, c, name, status, err.Error())
		return
	}
	f := observing.Refusal{Identity: observing.IdentityOf(r), API: c.Name(), Caller: access.Caller(r.Context()), Name: name, Status: status, Err: err}
	w.Header().Set(observing.IDHeader, f.ID)
	g.engine.observers.Refused(f)
	if g.engine.recorder != nil {
		g.engine.recorder.Refused(r, g.engine.soleUpstream(), f)
	}
	if text != nil {
		faults.RefuseWith(w, name, status, text)
		return
	}
	faults.Refuse(w, c, name, status, err.Error())
}
