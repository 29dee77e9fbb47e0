package telemetry

import (
	"context"
	"errors"
	"slices"

	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/recorded/otlp"
)

// The buckets that the conventions want.
var (
	secondsBuckets = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokensBuckets  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	firstBuckets   = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0}
	perBuckets     = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5}
)

// A meter measures exchanges by the conventions: as the client of a model server, and as
// the server of its own clients, for whom dashboards of model servers are made.
type meter struct {
	provider *sdkmetric.MeterProvider

	duration  genaiconv.ClientOperationDuration
	tokens    genaiconv.ClientTokenUsage
	chunk     genaiconv.ClientOperationTimeToFirstChunk
	request   genaiconv.ServerRequestDuration
	first     genaiconv.ServerTimeToFirstToken
	perOutput genaiconv.ServerTimePerOutputToken
}

// newMeter returns a meter whose measurements go to the collector, together with all that
// the registry has. The SDK collects them in a goroutine of its own, so nothing waits for
// the collector, and a collector that is away costs no memory.
func newMeter(c Config, about *resource.Resource) (*meter, error) {
	counts, err := newTally(c, "metrics", "otel_points_total", "Data points of metrics for the collector, by what became of them: sent, failed, or refused by a collector that took the others of the request.")
	if err != nil {
		return nil, err
	}
	options := []sdkmetric.PeriodicReaderOption{}
	if c.Interval > 0 {
		options = append(options, sdkmetric.WithInterval(c.Interval))
	}
	if c.Registry != nil {
		options = append(options, sdkmetric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(c.Registry))))
	}
	reader := sdkmetric.NewPeriodicReader(&pointExporter{client: newClient(c.Metrics, c.through), counts: counts, delta: c.Delta}, options...)
	m := &meter{provider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(about))}
	made := m.provider.Meter(scope, metric.WithInstrumentationVersion(c.Version), metric.WithSchemaURL(otlp.SemconvSchema))
	var errs [6]error
	m.duration, errs[0] = genaiconv.NewClientOperationDuration(made, metric.WithExplicitBucketBoundaries(secondsBuckets...))
	m.tokens, errs[1] = genaiconv.NewClientTokenUsage(made, metric.WithExplicitBucketBoundaries(tokensBuckets...))
	m.chunk, errs[2] = genaiconv.NewClientOperationTimeToFirstChunk(made, metric.WithExplicitBucketBoundaries(secondsBuckets...))
	m.request, errs[3] = genaiconv.NewServerRequestDuration(made, metric.WithExplicitBucketBoundaries(secondsBuckets...))
	m.first, errs[4] = genaiconv.NewServerTimeToFirstToken(made, metric.WithExplicitBucketBoundaries(firstBuckets...))
	m.perOutput, errs[5] = genaiconv.NewServerTimePerOutputToken(made, metric.WithExplicitBucketBoundaries(perBuckets...))
	return m, errors.Join(errs[:]...)
}

// ended measures an exchange that has ended. The span in ctx is the exemplar.
func (m *meter) ended(ctx context.Context, e gateway.Exchange) {
	provider, operation := otlp.CallOf(modelAPI(e))
	about := append([]attribute.KeyValue{attribute.String(otlp.GenAIOperation, operation), attribute.String(otlp.GenAIProvider, provider)}, server(e.Upstream)...)
	if e.Model != "" {
		about = append(about, attribute.String(otlp.GenAIModel, e.ModelLabel))
	}
	all := attribute.NewSet(slices.Clone(about)...) // it sorts them
	and := func(a attribute.KeyValue) attribute.Set {
		return attribute.NewSet(slices.Concat(about, []attribute.KeyValue{a})...)
	}
	with := all
	if e.Outcome != "answered" {
		with = and(attribute.String(otlp.ErrorType, boundedFailure(e)))
	}
	took := e.Ended.Sub(e.Began).Seconds()
	m.duration.RecordSet(ctx, took, with)
	m.request.RecordSet(ctx, took, with)
	output := int64(0)
	if u := e.Usage; u != nil {
		output = u.Output
		for kind, n := range map[genaiconv.TokenTypeAttr]int64{genaiconv.TokenTypeInput: u.Input, genaiconv.TokenTypeOutput: u.Output} {
			if n >= 0 {
				m.tokens.RecordSet(ctx, n, and(attribute.String("gen_ai.token.type", string(kind))))
			}
		}
	}
	moments := momentsOf(e)
	if len(moments) == 0 {
		return
	}
	came := moments[0].from
	m.chunk.RecordSet(ctx, came.Sub(e.Began).Seconds(), all)
	if e.Outcome != "answered" {
		return
	}
	m.first.RecordSet(ctx, came.Sub(e.Began).Seconds(), all)
	if output > 1 {
		m.perOutput.RecordSet(ctx, e.Ended.Sub(came).Seconds()/float64(output-1), all)
	}
}

// boundedFailure is the class of an error for metrics, whose values an upstream must not
// choose.
func boundedFailure(e gateway.Exchange) string {
	if e.Outcome == "refused" && (e.Status < 400 || e.Status > 599) {
		return "_OTHER"
	}
	return failureOf(e)
}

// A pointExporter sends metrics through a client. It is an [sdkmetric.Exporter].
type pointExporter struct {
	*client
	counts *tally
	delta  bool
}

// Temporality says whether a metric has what is new since the last time.
func (x *pointExporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	if x.delta {
		return sdkmetric.DeltaTemporalitySelector(k)
	}
	return sdkmetric.DefaultTemporalitySelector(k)
}

// Aggregation is the default, with the buckets of each instrument.
func (x *pointExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

// Export sends metrics, and counts what became of them. It returns no error, which the SDK
// would write to the standard error output each time.
func (x *pointExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	data, points := encode(rm)
	if points > 0 {
		x.counts.count(points, x.post(ctx, data))
	}
	return nil
}

// ForceFlush does nothing: Export has sent all.
func (x *pointExporter) ForceFlush(context.Context) error { return nil }

// Shutdown does nothing: the connections belong to a shared transport.
func (x *pointExporter) Shutdown(context.Context) error { return nil }
