package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/wire"
)

// byBody decides by the body of a request which API it is of, where two have the same path, and sets e to the endpoint of
// that API. It is the only place that does so. Nothing else is decided before: who may come in is the same for both, or was
// asked for both. If the request is refused, ok is false. done must be called when the request has ended.
func (g *ruleset) byBody(w http.ResponseWriter, r *http.Request, e *endpoints.Endpoint) (_ *http.Request, done func(), ok bool) {
	done = func() {}
	if other, two := e.Other(r.Method); two {
		hold, err := g.engine.budget.Open()
		if err != nil {
			g.refuse(w, r, e.Codec, err)
			return r, done, false
		}
		done = hold.Leave
		body, err := bodies.ReadRequest(w, r, g.engine.config.Limits.Body, hold)
		said := len(bytes.TrimSpace(body)) > 0
		if err == nil && said {
			if unread := foreignjson.Check(body); unread != nil { // a lenient upstream could read what we cannot
				err = faults.New(faultname.BodyNotJSON, http.StatusBadRequest, fmt.Errorf("the request's body %w", unread))
			}
		}
		asks := false
		if err == nil && said {
			err = hold.Use(budget.ParsedCost(body), func() error {
				asks = e.Else.Asks(body)
				return nil
			})
		}
		if err != nil {
			g.refuse(w, r, e.Codec, err)
			return r, done, false
		}
		if r = withBody(r, body); asks {
			*e = other
		}
	}
	return r, done, e.Kept != wire.KeptNothing || !g.barred(w, r, e)
}

// readKey is the context key of the body of a request that was read before the request was served. Its memory is reserved
// until the request has ended.
type readKey struct{}

// withBody gives a request a body that was read.
func withBody(r *http.Request, body []byte) *http.Request {
	again := r.WithContext(context.WithValue(r.Context(), readKey{}, body))
	again.Body, again.ContentLength, again.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return again
}

// bodyOf reads the body of a request, unless it was read before.
func (g *ruleset) bodyOf(w http.ResponseWriter, r *http.Request, hold *budget.Charge) ([]byte, error) {
	if body, ok := r.Context().Value(readKey{}).([]byte); ok {
		_, err := io.Copy(io.Discard, r.Body) // so that it has arrived
		return body, err
	}
	return bodies.ReadRequest(w, r, g.engine.config.Limits.Body, hold)
}
