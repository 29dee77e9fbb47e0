// Package telemetry sends a trace of each exchange of a gateway to a collector, and the
// metrics of all, by OpenTelemetry: OTLP over HTTP, with the semantic conventions for
// generative AI. A span has names, times and counts. It has no text of a request or a reply,
// unless that is asked for.
//
// The SDK makes the spans and the metrics. The official clients of OTLP over HTTP are not
// used: they bring gRPC along, so [client] sends what is encoded here.
package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
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
	"github.com/sotto-llm/sotto/internal/recorded/otlp"
)

// A Config says where traces and metrics go. Zero fields have the defaults.
type Config struct {
	Signals
	// Version is that of the program.
	Version string
	// Registry counts what is sent, and goes to the collector with the other metrics. If nil,
	// nothing is counted.
	Registry *prometheus.Registry
	Log      *slog.Logger
	// Content says that spans have the texts of requests and replies, if the gateway records
	// to [Telemetry.Recorder].
	Content bool

	Queue int           // spans that may wait; 2048, or 512 with texts
	Every time.Duration // how often they are sent; 5 s

	through http.RoundTripper // of tests
}

// A Telemetry sends spans and metrics. It is safe for concurrent use.
type Telemetry struct {
	carrier propagation.TraceContext

	queue    *queue    // nil if no traces are sent
	contents *contents // nil if spans have no texts
	tracer   trace.Tracer
	meter    *meter // nil if no metrics are sent
}

// scope is the name of what makes the spans.
const scope = "github.com/sotto-llm/sotto/gateway"

// mostAttribute bounds a text in a span, in bytes.
const mostAttribute = 1 << 10

// Open connects to the collector when it has something to send.
func Open(c Config) (*Telemetry, error) {
	if c.Queue == 0 && c.Content {
		c.Queue = mostWaiting
	}
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
	t := &Telemetry{}
	if c.Traces.URL != nil {
		if t.queue, err = newQueue(otlptrace.NewUnstarted(spanClient{newClient(c.Traces, c.through)}), c); err != nil {
			return nil, err
		}
		limits := sdktrace.NewSpanLimits() // from the environment
		limits.AttributeValueLengthLimit = mostAttribute
		if c.Content {
			limits.AttributeValueLengthLimit = mostContent
			t.contents = &contents{waiting: map[string]waiting{}}
		}
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(t.queue), sdktrace.WithResource(about), sdktrace.WithRawSpanLimits(limits))
		t.tracer = provider.Tracer(scope, trace.WithInstrumentationVersion(c.Version), trace.WithSchemaURL(otlp.SemconvSchema))
	}
	if c.Metrics.URL != nil {
		if t.meter, err = newMeter(c, about); err != nil {
			return nil, errors.Join(err, t.Close(context.Background()))
		}
	}
	return t, nil
}

// Close sends the spans that wait, and the metrics a last time, until ctx ends. What is left
// then is lost, and counted.
//
// The SDK's own Shutdown of traces leaves the queue alone if ctx has ended.
func (t *Telemetry) Close(ctx context.Context) error {
	var parts sync.WaitGroup
	var errs [2]error
	if t.contents != nil {
		t.contents.close()
	}
	if t.queue != nil {
		parts.Go(func() { errs[0] = t.queue.Shutdown(ctx) })
	}
	if t.meter != nil {
		parts.Go(func() { errs[1] = t.meter.provider.Shutdown(ctx) })
	}
	parts.Wait()
	return errors.Join(errs[:]...)
}

// Observer makes a span of each exchange of a gateway, and measures it. The span belongs to
// the trace of the request, and the request to the upstream to the span.
func (t *Telemetry) Observer() gateway.Observer {
	return gateway.Listen(func(e gateway.Exchange, header http.Header) (http.Header, func(gateway.Exchange)) {
		ctx := t.carrier.Extract(context.Background(), propagation.HeaderCarrier(header))
		if t.tracer == nil {
			return nil, func(e gateway.Exchange) { t.measure(ctx, e) }
		}
		ctx, span := t.tracer.Start(ctx, nameOf(e), trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(e.Began), trace.WithAttributes(asked(e)...))
		out := http.Header{}
		t.carrier.Inject(ctx, propagation.HeaderCarrier(out))
		return out, func(e gateway.Exchange) {
			t.measure(ctx, e)
			switch {
			case !span.IsRecording():
			case t.contents == nil:
				t.end(ctx, span, e)
			default:
				t.contents.wait(e.ID, func(texts ...attribute.KeyValue) {
					span.SetAttributes(texts...)
					t.end(ctx, span, e)
				})
			}
		}
	})
}

// measure measures an exchange that has ended, if metrics are sent.
func (t *Telemetry) measure(ctx context.Context, e gateway.Exchange) {
	if t.meter != nil {
		t.meter.ended(ctx, e)
	}
}
