package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/sotto-llm/sotto/wire"
)

// A requestError is a fault of the client's request.
type requestError struct {
	status int
	err    error
}

func (e *requestError) Error() string { return e.err.Error() }
func (e *requestError) Unwrap() error { return e.err }

// failure returns the status and the text of an answer that replaces a reply.
func failure(err error) (status int, text string) {
	var own *requestError
	var large *http.MaxBytesError
	var judged *guardError
	switch {
	case errors.As(err, &judged):
		return judged.status, judged.said()
	case errors.As(err, &own):
		return own.status, own.Error()
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, tooLarge(large.Limit).Error()
	case errors.Is(err, ErrShutdown):
		return http.StatusServiceUnavailable, ErrShutdown.Error()
	case errors.Is(err, errSilent), errors.Is(err, errNoHeader):
		return http.StatusGatewayTimeout, "upstream: " + clientText(err)
	case errors.Is(err, errDeadline), errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, errDeadline.Error()
	}
	return http.StatusBadGateway, "upstream: " + clientText(err)
}

func (g *ruleset) refuse(w http.ResponseWriter, r *http.Request, c codec, err error) {
	status := http.StatusInternalServerError
	var bad *requestError
	if errors.As(err, &bad) {
		status = bad.status
	}
	if ofLoad(err) { // many of these must make neither log nor record grow
		g.engine.limited(w, r, c, err)
		refuse(w, c, status, err.Error())
		return
	}
	w.Header().Set(exchangeIDHeader, identityOf(r).exchange)
	g.engine.observers.refused(r, c, g.engine.soleUpstream(), status, err)
	refuse(w, c, status, err.Error())
}

// refuse answers with an error in the provider's own JSON format.
func refuse(w http.ResponseWriter, c codec, status int, message string) {
	if c == nil {
		c = codecs[0]
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if c, ok := c.(wire.ErrorHeader); ok {
		w.Header().Set(c.ErrorHeader(status))
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(c.Error(status, plain(message)), '\n'))
}
