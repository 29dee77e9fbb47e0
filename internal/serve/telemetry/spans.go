package telemetry

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/otlp"
)

// mostListed bounds a list in a span.
const mostListed = 16

// mostName bounds a name that a model chose.
const mostName = 256

// guardEnded is the gateway's diagnostic of a reply that a guard ended.
const guardEnded sotto.Code = "guard_ended"

// modelAPI is the API in which the model was asked: the provider is that of the upstream.
func modelAPI(e gateway.Exchange) string { return cmp.Or(e.UpstreamAPI, e.API) }

// nameOf is the name of the span of an exchange.
func nameOf(e gateway.Exchange) string {
	_, operation := otlp.CallOf(modelAPI(e))
	if e.Model == "" { // a reply that is fetched
		return operation
	}
	return operation + " " + e.Model
}

// asked are the attributes that are known when an exchange begins.
func asked(e gateway.Exchange) []attribute.KeyValue {
	provider, operation := otlp.CallOf(modelAPI(e))
	list := []attribute.KeyValue{
		attribute.String(otlp.GenAIOperation, operation), attribute.String(otlp.GenAIProvider, provider),
		attribute.String("sotto.exchange.id", e.ID), attribute.String("sotto.api", e.API),
		attribute.String("sotto.route", e.Route), attribute.String("sotto.dialect", e.Dialect),
	}
	if e.UpstreamAPI != "" {
		list = append(list, attribute.String("sotto.upstream_api", e.UpstreamAPI))
	}
	if e.Model != "" {
		list = append(list, attribute.String(otlp.GenAIModel, e.Model))
	}
	if e.Streaming {
		list = append(list, attribute.Bool(otlp.GenAIStream, true))
	}
	if e.Caller != "" {
		list = append(list, attribute.String("sotto.caller", e.Caller))
	}
	return append(list, server(e.Upstream)...)
}

// server are the attributes of the upstream.
func server(u *url.URL) []attribute.KeyValue {
	if u == nil {
		return nil
	}
	list := []attribute.KeyValue{attribute.String(otlp.ServerAddress, u.Hostname())}
	if port, err := strconv.Atoi(u.Port()); err == nil {
		list = append(list, attribute.Int(otlp.ServerPort, port))
	}
	return list
}

// end ends the span of an exchange, with the spans of its parts below it.
func (t *Telemetry) end(ctx context.Context, span trace.Span, e gateway.Exchange) {
	for _, p := range partsOf(e) {
		_, part := t.tracer.Start(ctx, p.name, trace.WithTimestamp(p.from), trace.WithAttributes(p.attributes...))
		part.End(trace.WithTimestamp(p.to))
	}
	span.SetAttributes(answered(e)...)
	if e.Outcome != "answered" {
		span.SetAttributes(attribute.String(otlp.ErrorType, failureOf(e)))
		if e.Outcome != "canceled" {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End(trace.WithTimestamp(e.Ended))
}

// failureOf is the class of an error: the status of a refusal, or how the exchange ended.
func failureOf(e gateway.Exchange) string {
	if e.Outcome == "refused" {
		return strconv.Itoa(e.Status)
	}
	return e.Outcome
}

// answered are the attributes that are known when an exchange has ended.
func answered(e gateway.Exchange) []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.Int("http.response.status_code", e.Status), attribute.String("sotto.outcome", e.Outcome),
		attribute.Int("sotto.reply.bytes", e.Reasoning+e.Text), attribute.Int("sotto.reply.reasoning.bytes", e.Reasoning),
		attribute.Bool("sotto.reply.leaked", e.Leaked > 0),
	}
	if e.ResponseID != "" {
		list = append(list, attribute.String(otlp.GenAIResponseID, e.ResponseID))
	}
	if u := e.Usage; u != nil {
		for _, n := range []struct {
			key   string
			value int64
			least int64 // a provider that does not count it says 0
		}{
			{otlp.GenAIInputTokens, u.Input, 0}, {otlp.GenAIOutputTokens, u.Output, 0}, {otlp.GenAIReasoningTokens, u.Reasoning, 1},
			{otlp.GenAICacheRead, u.CacheRead, 1}, {otlp.GenAICacheWrite, u.CacheWrite, 1},
		} {
			if n.value >= n.least {
				list = append(list, attribute.Int64(n.key, n.value))
			}
		}
	}
	var ends, found []string
	for _, end := range e.Ends[:min(len(e.Ends), mostListed)] {
		if end == sotto.EndAborted && slices.Contains(e.Findings, guardEnded) { // as the client was told
			ends = append(ends, "content_filter")
			continue
		}
		ends = append(ends, otlp.FinishReason(end, len(e.Calls) > 0))
	}
	for _, code := range e.Findings[:min(len(e.Findings), mostListed)] {
		found = append(found, string(code))
	}
	if len(ends) > 0 {
		list = append(list, attribute.StringSlice(otlp.GenAIFinishReasons, ends))
	}
	if len(found) > 0 {
		list = append(list, attribute.StringSlice("sotto.reply.diagnostics", found))
	}
	if parts := momentsOf(e); len(parts) > 0 {
		list = append(list, attribute.Float64(otlp.GenAIFirstChunk, parts[0].from.Sub(e.Began).Seconds()))
	}
	return list
}

// A part of an exchange is a span below it.
type part struct {
	name       string
	from, to   time.Time
	attributes []attribute.KeyValue
}

// partsOf are the parts of an exchange: the wait for the upstream, and in a stream the
// reasoning, the answer and the calls of tools, each from its first piece to that of the
// next.
func partsOf(e gateway.Exchange) []part {
	var list []part
	if !e.Replied.IsZero() {
		list = append(list, part{name: "upstream wait", from: e.Began, to: e.Replied})
	}
	moments := momentsOf(e)
	for i := range moments {
		if moments[i].to = e.Ended; i+1 < len(moments) {
			moments[i].to = moments[i+1].from
		}
	}
	return append(list, moments...)
}

// momentsOf are the parts of a stream by when they began.
func momentsOf(e gateway.Exchange) []part {
	calls := slices.Clone(e.Calls[:min(len(e.Calls), mostListed)])
	for i, name := range calls { // the limit of attributes may be that of texts
		calls[i] = shorttext.Escape(name, mostName)
	}
	list := []part{
		{name: "reasoning", from: e.FirstThought, attributes: []attribute.KeyValue{attribute.Int("sotto.reply.reasoning.bytes", e.Reasoning)}},
		{name: "answer", from: e.FirstAnswer, attributes: []attribute.KeyValue{attribute.Int("sotto.reply.text.bytes", e.Text)}},
		{name: "tool call", from: e.FirstCall, attributes: []attribute.KeyValue{attribute.StringSlice("sotto.tools", calls)}},
	}
	list = slices.DeleteFunc(list, func(p part) bool { return p.from.IsZero() })
	slices.SortStableFunc(list, func(a, b part) int { return cmp.Or(a.from.Compare(b.from), 0) })
	return list
}
