package gateway

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/sotto-llm/sotto/gateway/internal/account"
)

// exchangeIDHeader is where a response says which exchange it is of. The log, the record
// and traces have the exchange under this id.
const exchangeIDHeader = "Sotto-Exchange-Id"

// idKey is the context key of a request's exchange id.
type idKey struct{}

// identified gives a request the id of its exchange, so that a request that is refused
// before it becomes one has an id too.
func identified(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), idKey{}, newExchangeID()))
}

// newExchangeID makes an id. Later ids sort after earlier ones.
func newExchangeID() string { return uuid.Must(uuid.NewV7()).String() } // it fails if the system has no randomness

// An identity is what joins the lines, events and spans of one exchange.
type identity struct {
	exchange string
	// trace is the trace that the exchange belongs to, by W3C Trace Context: that of the
	// request, or of a listener that traces. span is the exchange's own in it, if a listener
	// traces. Both are empty without a trace.
	trace, span string
}

// identityOf returns the identity of the exchange that a request begins.
func identityOf(r *http.Request) identity {
	var i identity
	if i.exchange, _ = r.Context().Value(idKey{}).(string); i.exchange == "" {
		i.exchange = newExchangeID()
	}
	i.trace, _ = account.ReadTrace(r.Header.Get("traceparent"))
	return i
}

// fields are what the log says of it.
func (i identity) fields() []any {
	fields := []any{"exchange_id", i.exchange}
	if i.trace != "" {
		fields = append(fields, "trace_id", i.trace)
	}
	if i.span != "" {
		fields = append(fields, "span_id", i.span)
	}
	return fields
}
