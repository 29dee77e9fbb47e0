package observing

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/sotto-llm/sotto/internal/base/tracecontext"
)

// IDHeader is where a response says which exchange it is of. The log, the record and traces
// have the exchange under this id.
const IDHeader = "Sotto-Exchange-Id"

// idKey is the context key of a request's exchange id.
type idKey struct{}

// Identified gives a request the id of its exchange, so that a request that is refused
// before it becomes one has an id too.
func Identified(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), idKey{}, newID()))
}

// newID makes an id. Later ids sort after earlier ones.
func newID() string { return uuid.Must(uuid.NewV7()).String() } // it fails if the system has no randomness

// An Identity is what joins the lines, events and spans of one exchange.
type Identity struct {
	ID string
	// Trace is the trace that the exchange belongs to, by W3C Trace Context: that of the
	// request, or of an observer that traces. Span is the exchange's own in it, if an observer
	// traces. Both are empty without a trace.
	Trace, Span string
}

// IdentityOf returns the identity of the exchange that a request begins.
func IdentityOf(r *http.Request) Identity {
	var i Identity
	if i.ID, _ = r.Context().Value(idKey{}).(string); i.ID == "" {
		i.ID = newID()
	}
	i.Trace = tracecontext.Read(r.Header.Get(tracecontext.Name)).Trace
	return i
}

// join joins the trace of a header, if it names one.
func (i *Identity) join(traceparent string) {
	if p := tracecontext.Read(traceparent); p.Trace != "" {
		i.Trace, i.Span = p.Trace, p.Span
	}
}

// Fields are what the log says of it.
func (i Identity) Fields() []any {
	fields := []any{"exchange_id", i.ID}
	if i.Trace != "" {
		fields = append(fields, "trace_id", i.Trace)
	}
	if i.Span != "" {
		fields = append(fields, "span_id", i.Span)
	}
	return fields
}
