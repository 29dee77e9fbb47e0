// Package telemetry sends a trace of each exchange of a gateway to a collector, by
// OpenTelemetry: OTLP over HTTP, with the semantic conventions for generative AI. A span has
// names, times and counts, and no text of a request or a reply.
//
// The SDK makes the spans. The official client of OTLP over HTTP is not used: it brings gRPC
// along, so [client] sends what the official exporter has encoded.
package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/otlp"
)

// A Config says where traces go. Zero fields have the defaults.
type Config struct {
	// Endpoint is the collector. Its path is followed by /v1/traces.
	Endpoint *url.URL
	// Header is added to each request, such as the key of the collector.
	Header http.Header
	// Version is that of the program.
	Version string
	// Metrics counts the spans. If nil, nothing is counted.
	Metrics prometheus.Registerer
	Log     *slog.Logger

	Queue int           // spans that may wait; 2048
	Every time.Duration // how often they are sent; 5 s

	through http.RoundTripper // of tests
}

// A Tracer sends spans. It is safe for concurrent use.
type Tracer struct {
	queue   *queue
	tracer  trace.Tracer
	carrier propagation.TraceContext
}

// scope is the name of what makes the spans.
const scope = "github.com/sotto-llm/sotto/gateway"

// mostAttribute bounds a text in a span, in bytes.
const mostAttribute = 1 << 10

// Open returns a tracer. It connects to the collector when it has spans to send.
func Open(c Config) (*Tracer, error) {
	if c.Queue == 0 {
		c.Queue = 2048
	}
	if c.Every == 0 {
		c.Every = 5 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	about, err := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "sotto"), attribute.String("service.version", c.Version), attribute.String("service.instance.id", uuid.NewString()),
	), resource.WithFromEnv()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, err
	}
	q, err := newQueue(otlptrace.NewUnstarted(spanClient{newClient(c.Endpoint.JoinPath("v1", "traces"), c.Header, c.through)}), c)
	if err != nil {
		return nil, err
	}
	limits := sdktrace.NewSpanLimits() // from the environment
	limits.AttributeValueLengthLimit = mostAttribute
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(q), sdktrace.WithResource(about), sdktrace.WithRawSpanLimits(limits))
	return &Tracer{
		queue:  q,
		tracer: provider.Tracer(scope, trace.WithInstrumentationVersion(c.Version), trace.WithSchemaURL(otlp.SemconvSchema)),
	}, nil
}

// Close sends the spans that wait, until ctx ends. What is left then is lost, and counted.
//
// The SDK's own Shutdown leaves the queue alone if ctx has ended.
func (t *Tracer) Close(ctx context.Context) error { return t.queue.Shutdown(ctx) }

// Observer makes a span of each exchange of a gateway. The span belongs to the trace of the
// request, and the request to the upstream to the span.
func (t *Tracer) Observer() gateway.Observer {
	return gateway.Listen(func(e gateway.Exchange, header http.Header) (http.Header, func(gateway.Exchange)) {
		ctx := t.carrier.Extract(context.Background(), propagation.HeaderCarrier(header))
		ctx, span := t.tracer.Start(ctx, nameOf(e), trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(e.Began), trace.WithAttributes(asked(e)...))
		out := http.Header{}
		t.carrier.Inject(ctx, propagation.HeaderCarrier(out))
		if !span.IsRecording() {
			return out, nil
		}
		return out, func(e gateway.Exchange) { t.end(ctx, span, e) }
	})
}
