package a2aserver

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/internal/base/tracecontext"
)

// traced returns a context with the trace that a message belongs to: that of the request's
// header traceparent, or else of the message's metadata, which also pass where HTTP headers do
// not. Without a valid one, a trace begins.
func traced(ctx context.Context, m *a2a.Message) context.Context {
	if tracecontext.From(ctx).Trace == "" && m != nil {
		text, _ := m.Metadata[tracecontext.Name].(string)
		ctx = tracecontext.With(ctx, tracecontext.Read(text))
	}
	return tracecontext.Begun(ctx)
}
