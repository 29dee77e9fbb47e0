package telemetry

import (
	"encoding/hex"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// What the SDK has of metrics, in the types of the protocol. The official exporter has the
// same in a package of its own, which only it can import.

// encode returns the request of a collector, which is a MetricsData by its encoding, and how
// many data points are in it.
func encode(rm *metricdata.ResourceMetrics) (data *metricspb.MetricsData, points int) {
	r := &metricspb.ResourceMetrics{Resource: &resourcepb.Resource{Attributes: encodeSet(*rm.Resource.Set())}, SchemaUrl: rm.Resource.SchemaURL()}
	for _, sm := range rm.ScopeMetrics {
		s := &metricspb.ScopeMetrics{Scope: &commonpb.InstrumentationScope{Name: sm.Scope.Name, Version: sm.Scope.Version}, SchemaUrl: sm.Scope.SchemaURL}
		for _, m := range sm.Metrics {
			out := &metricspb.Metric{Name: m.Name, Description: m.Description, Unit: m.Unit}
			n := encodeData(out, m.Data)
			if n == 0 {
				continue
			}
			points += n
			s.Metrics = append(s.Metrics, out)
		}
		if len(s.Metrics) > 0 {
			r.ScopeMetrics = append(r.ScopeMetrics, s)
		}
	}
	return &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{r}}, points
}

// encodeData fills in the data of a metric, and returns how many points it has. No metric
// here is a summary or has exponential buckets.
func encodeData(m *metricspb.Metric, data metricdata.Aggregation) int {
	switch d := data.(type) {
	case metricdata.Gauge[float64]:
		g := &metricspb.Gauge{DataPoints: numbers(d.DataPoints)}
		m.Data = &metricspb.Metric_Gauge{Gauge: g}
		return len(g.DataPoints)
	case metricdata.Sum[float64]:
		s := &metricspb.Sum{DataPoints: numbers(d.DataPoints), AggregationTemporality: temporality(d.Temporality), IsMonotonic: d.IsMonotonic}
		m.Data = &metricspb.Metric_Sum{Sum: s}
		return len(s.DataPoints)
	case metricdata.Histogram[float64]:
		return histogram(m, d)
	case metricdata.Histogram[int64]:
		return histogram(m, d)
	}
	return 0
}

func temporality(t metricdata.Temporality) metricspb.AggregationTemporality {
	if t == metricdata.DeltaTemporality {
		return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	}
	return metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
}

func numbers(list []metricdata.DataPoint[float64]) []*metricspb.NumberDataPoint {
	out := make([]*metricspb.NumberDataPoint, len(list))
	for i, p := range list {
		out[i] = &metricspb.NumberDataPoint{
			Attributes: encodeSet(p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
			Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: p.Value}, Exemplars: exemplars(p.Exemplars),
		}
	}
	return out
}

func histogram[N int64 | float64](m *metricspb.Metric, d metricdata.Histogram[N]) int {
	h := &metricspb.Histogram{AggregationTemporality: temporality(d.Temporality)}
	for _, p := range d.DataPoints {
		sum := float64(p.Sum)
		h.DataPoints = append(h.DataPoints, &metricspb.HistogramDataPoint{
			Attributes: encodeSet(p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
			Count: p.Count, Sum: &sum, BucketCounts: p.BucketCounts, ExplicitBounds: p.Bounds, Min: extreme(p.Min), Max: extreme(p.Max),
			Exemplars: exemplars(p.Exemplars),
		})
	}
	m.Data = &metricspb.Metric_Histogram{Histogram: h}
	return len(h.DataPoints)
}

func extreme[N int64 | float64](e metricdata.Extrema[N]) *float64 {
	v, ok := e.Value()
	if !ok {
		return nil
	}
	f := float64(v)
	return &f
}

func exemplars[N int64 | float64](list []metricdata.Exemplar[N]) []*metricspb.Exemplar {
	var out []*metricspb.Exemplar
	for _, e := range list {
		x := &metricspb.Exemplar{FilteredAttributes: keyValues(e.FilteredAttributes), TimeUnixNano: nanoseconds(e.Time), SpanId: identifier(e.SpanID, 8), TraceId: identifier(e.TraceID, 16)}
		switch v := any(e.Value).(type) {
		case int64:
			x.Value = &metricspb.Exemplar_AsInt{AsInt: v}
		case float64:
			x.Value = &metricspb.Exemplar_AsDouble{AsDouble: v}
		}
		out = append(out, x)
	}
	return out
}

// identifier returns the bytes of an id. The bridge from Prometheus has its digits in place of
// the bytes, and a collector refuses a whole request with such an id.
func identifier(id []byte, size int) []byte {
	if len(id) == 2*size {
		id, _ = hex.AppendDecode(nil, id)
	}
	if len(id) != size {
		return nil
	}
	return id
}

// nanoseconds are those since 1970; the zero time is 0.
func nanoseconds(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(0, t.UnixNano()))
}

func encodeSet(s attribute.Set) []*commonpb.KeyValue { return keyValues(s.ToSlice()) }

// keyValues encodes attributes. Those of metrics, and of a resource, are texts, whole
// numbers and lists of texts.
func keyValues(list []attribute.KeyValue) []*commonpb.KeyValue {
	var out []*commonpb.KeyValue
	for _, a := range list {
		out = append(out, &commonpb.KeyValue{Key: string(a.Key), Value: value(a.Value)})
	}
	return out
}

func value(v attribute.Value) *commonpb.AnyValue {
	text := func(s string) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
	}
	switch v.Type() {
	case attribute.INT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.STRINGSLICE:
		a := &commonpb.ArrayValue{}
		for _, s := range v.AsStringSlice() {
			a.Values = append(a.Values, text(s))
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: a}}
	case attribute.STRING:
		return text(v.AsString())
	}
	return text(v.String())
}
