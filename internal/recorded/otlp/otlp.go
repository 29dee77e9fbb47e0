// Package otlp writes the events of a record as OpenTelemetry spans and log
// records, by the semantic conventions for generative AI.
package otlp

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// The JSON shapes of OTLP that this package writes, by
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: identifiers in
// hexadecimal, 64-bit numbers as strings, enumerations as numbers.

// Attributes and values of the semantic conventions for generative AI, version
// 1.41.0, the last version with gen_ai in the common registry
// (https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai).
const (
	SemconvSchema = "https://opentelemetry.io/schemas/1.41.0"

	GenAIOperation       = "gen_ai.operation.name"
	GenAIProvider        = "gen_ai.provider.name"
	GenAIModel           = "gen_ai.request.model"
	GenAIResponseID      = "gen_ai.response.id"
	GenAIStream          = "gen_ai.request.stream"
	GenAIFinishReasons   = "gen_ai.response.finish_reasons"
	GenAIInputTokens     = "gen_ai.usage.input_tokens"
	GenAIOutputTokens    = "gen_ai.usage.output_tokens"
	GenAIReasoningTokens = "gen_ai.usage.reasoning.output_tokens"
	GenAICacheRead       = "gen_ai.usage.cache_read.input_tokens"
	GenAICacheWrite      = "gen_ai.usage.cache_creation.input_tokens"
	GenAIFirstChunk      = "gen_ai.response.time_to_first_chunk" // in seconds
	GenAITools           = "gen_ai.tool.definitions"
	GenAIInputMessages   = "gen_ai.input.messages"
	GenAIOutputMessages  = "gen_ai.output.messages"
	GenAIConversation    = "gen_ai.conversation.id"
	GenAIAgent           = "gen_ai.agent.name"
	GenAITool            = "gen_ai.tool.name"
	GenAIToolCall        = "gen_ai.tool.call.id"
	GenAIToolArguments   = "gen_ai.tool.call.arguments"
	GenAIToolResult      = "gen_ai.tool.call.result"
	GenAIEvaluation      = "gen_ai.evaluation.name"
	GenAIScoreLabel      = "gen_ai.evaluation.score.label"
	GenAIScoreValue      = "gen_ai.evaluation.score.value"
	GenAIExplanation     = "gen_ai.evaluation.explanation"
	evaluationEvent      = "gen_ai.evaluation.result"

	OperationChat       = "chat"
	OperationCompletion = "text_completion"
	operationTool       = "execute_tool"
	operationAgent      = "invoke_agent"

	ErrorType     = "error.type"
	ServerAddress = "server.address"
	ServerPort    = "server.port"
)

// Kinds of spans, codes of statuses and severities of log records.
const (
	kindInternal = 1
	kindClient   = 3

	statusError = 2

	severityInfo  = 9
	severityError = 17
)

// A Span is a call, a cycle or a run.
type Span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []Attribute `json:"attributes"`
	Status     otlpStatus  `json:"status"`
}

type otlpStatus struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// A Log is a log record.
type Log struct {
	Time       string      `json:"timeUnixNano"`
	Severity   int         `json:"severityNumber"`
	Text       string      `json:"severityText"`
	EventName  string      `json:"eventName"`
	Body       *Value      `json:"body,omitempty"`
	Attributes []Attribute `json:"attributes"`
	TraceID    string      `json:"traceId,omitempty"`
	SpanID     string      `json:"spanId,omitempty"`
}

// nanoseconds writes a time as nanoseconds since 1970. The zero time is "".
func nanoseconds(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(max(0, t.UnixNano()), 10)
}

// An Attribute is a value with its name.
type Attribute struct {
	Key   string `json:"key"`
	Value Value  `json:"value"`
}

// A Value has one member set.
type Value struct {
	String *string    `json:"stringValue,omitempty"`
	Bool   *bool      `json:"boolValue,omitempty"`
	Int    *string    `json:"intValue,omitempty"`
	Double *float64   `json:"doubleValue,omitempty"`
	Array  *otlpArray `json:"arrayValue,omitempty"`
}

type otlpArray struct {
	Values []Value `json:"values"`
}

// attributes collects attributes. Its setters leave out empty values where a value
// is optional.
type attributes []Attribute

func (a *attributes) set(key string, v Value) { *a = append(*a, Attribute{key, v}) }

func stringValue(s string) Value { return Value{String: &s} }

func (a *attributes) text(key, s string) {
	if s != "" {
		a.set(key, stringValue(s))
	}
}

func (a *attributes) number(key string, n int64) {
	s := strconv.FormatInt(n, 10)
	a.set(key, Value{Int: &s})
}

func (a *attributes) double(key string, f float64) { a.set(key, Value{Double: &f}) }

func (a *attributes) flag(key string, on bool) {
	if on {
		a.set(key, Value{Bool: &on})
	}
}

func (a *attributes) texts(key string, list []string) {
	if len(list) == 0 {
		return
	}
	values := make([]Value, len(list))
	for i, s := range list {
		values[i] = stringValue(s)
	}
	a.set(key, Value{Array: &otlpArray{values}})
}

// json sets an attribute that is a string of JSON. Spans use such attributes for
// structures.
func (a *attributes) json(key string, v any) {
	if text, err := CompactJSON(v); err == nil && text != "null" && text != "[]" {
		a.text(key, text)
	}
}

// CompactJSON returns a value as JSON, in the form of attributes.
func CompactJSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// A Line is a line of an OTLP file: the contents of one request.
type Line struct {
	Spans []Resource `json:"resourceSpans,omitempty"`
	Logs  []Resource `json:"resourceLogs,omitempty"`
}

// A Resource holds the spans or log records of one program.
type Resource struct {
	Resource struct {
		Attributes []Attribute `json:"attributes"`
	} `json:"resource"`
	ScopeSpans []Scope `json:"scopeSpans,omitempty"`
	ScopeLogs  []Scope `json:"scopeLogs,omitempty"`
	Schema     string  `json:"schemaUrl"`
}

// A Scope holds the spans or log records of one library.
type Scope struct {
	Scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	} `json:"scope"`
	Spans  []Span `json:"spans,omitempty"`
	Logs   []Log  `json:"logRecords,omitempty"`
	Schema string `json:"schemaUrl"`
}
