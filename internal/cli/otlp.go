package cli

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// The shapes of OTLP in JSON that are written here, by
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: identifiers
// in hexadecimal, 64-bit numbers as strings, enumerations as numbers.

// Attributes and values of the semantic conventions for generative AI, version
// 1.41.0, the last with gen_ai in the registry of all
// (https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai).
const (
	semconvSchema = "https://opentelemetry.io/schemas/1.41.0"

	genAIOperation       = "gen_ai.operation.name"
	genAIProvider        = "gen_ai.provider.name"
	genAIModel           = "gen_ai.request.model"
	genAIStream          = "gen_ai.request.stream"
	genAIFinishReasons   = "gen_ai.response.finish_reasons"
	genAIInputTokens     = "gen_ai.usage.input_tokens"
	genAIOutputTokens    = "gen_ai.usage.output_tokens"
	genAIReasoningTokens = "gen_ai.usage.reasoning.output_tokens"
	genAIInputMessages   = "gen_ai.input.messages"
	genAIOutputMessages  = "gen_ai.output.messages"
	genAIConversation    = "gen_ai.conversation.id"
	genAIAgent           = "gen_ai.agent.name"
	genAITool            = "gen_ai.tool.name"
	genAIToolCall        = "gen_ai.tool.call.id"
	genAIToolArguments   = "gen_ai.tool.call.arguments"
	genAIToolResult      = "gen_ai.tool.call.result"
	genAIEvaluation      = "gen_ai.evaluation.name"
	genAIScoreLabel      = "gen_ai.evaluation.score.label"
	genAIScoreValue      = "gen_ai.evaluation.score.value"
	genAIExplanation     = "gen_ai.evaluation.explanation"
	evaluationEvent      = "gen_ai.evaluation.result"

	operationChat       = "chat"
	operationCompletion = "text_completion"
	operationTool       = "execute_tool"
	operationAgent      = "invoke_agent"

	errorType     = "error.type"
	serverAddress = "server.address"
	serverPort    = "server.port"
)

// Kinds of spans, codes of statuses and severities of log records.
const (
	kindInternal = 1
	kindClient   = 3

	statusError = 2

	severityInfo  = 9
	severityError = 17
)

type otlpSpan struct {
	TraceID    string          `json:"traceId"`
	SpanID     string          `json:"spanId"`
	Parent     string          `json:"parentSpanId,omitempty"`
	Name       string          `json:"name"`
	Kind       int             `json:"kind"`
	Start      string          `json:"startTimeUnixNano"`
	End        string          `json:"endTimeUnixNano"`
	Attributes []otlpAttribute `json:"attributes"`
	Status     otlpStatus      `json:"status"`
}

type otlpStatus struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

type otlpLog struct {
	Time       string          `json:"timeUnixNano"`
	Severity   int             `json:"severityNumber"`
	Text       string          `json:"severityText"`
	EventName  string          `json:"eventName"`
	Body       *otlpValue      `json:"body,omitempty"`
	Attributes []otlpAttribute `json:"attributes"`
	TraceID    string          `json:"traceId,omitempty"`
	SpanID     string          `json:"spanId,omitempty"`
}

// nanoseconds writes a time as those since 1970; the zero time is "".
func nanoseconds(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(max(0, t.UnixNano()), 10)
}

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

// otlpValue has one member set.
type otlpValue struct {
	String *string    `json:"stringValue,omitempty"`
	Bool   *bool      `json:"boolValue,omitempty"`
	Int    *string    `json:"intValue,omitempty"`
	Double *float64   `json:"doubleValue,omitempty"`
	Array  *otlpArray `json:"arrayValue,omitempty"`
}

type otlpArray struct {
	Values []otlpValue `json:"values"`
}

// attributes collects them; values that say nothing are left out by the setters
// that have no need to say it.
type attributes []otlpAttribute

func (a *attributes) set(key string, v otlpValue) { *a = append(*a, otlpAttribute{key, v}) }

func stringValue(s string) otlpValue { return otlpValue{String: &s} }

func (a *attributes) text(key, s string) {
	if s != "" {
		a.set(key, stringValue(s))
	}
}

func (a *attributes) number(key string, n int64) {
	s := strconv.FormatInt(n, 10)
	a.set(key, otlpValue{Int: &s})
}

func (a *attributes) double(key string, f float64) { a.set(key, otlpValue{Double: &f}) }

func (a *attributes) flag(key string, on bool) {
	if on {
		a.set(key, otlpValue{Bool: &on})
	}
}

func (a *attributes) texts(key string, list []string) {
	if len(list) == 0 {
		return
	}
	values := make([]otlpValue, len(list))
	for i, s := range list {
		values[i] = stringValue(s)
	}
	a.set(key, otlpValue{Array: &otlpArray{values}})
}

// json sets an attribute that is a string of JSON, as those of spans are which
// hold structures.
func (a *attributes) json(key string, v any) {
	if text, err := compactJSON(v); err == nil && text != "null" && text != "[]" {
		a.text(key, text)
	}
}

func compactJSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// An otlpLine is a line of a file of OTLP: what one request would send.
type otlpLine struct {
	Spans []otlpResource `json:"resourceSpans,omitempty"`
	Logs  []otlpResource `json:"resourceLogs,omitempty"`
}

type otlpResource struct {
	Resource struct {
		Attributes []otlpAttribute `json:"attributes"`
	} `json:"resource"`
	ScopeSpans []otlpScope `json:"scopeSpans,omitempty"`
	ScopeLogs  []otlpScope `json:"scopeLogs,omitempty"`
	Schema     string      `json:"schemaUrl"`
}

type otlpScope struct {
	Scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	} `json:"scope"`
	Spans  []otlpSpan `json:"spans,omitempty"`
	Logs   []otlpLog  `json:"logRecords,omitempty"`
	Schema string     `json:"schemaUrl"`
}
