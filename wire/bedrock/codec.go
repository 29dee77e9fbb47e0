package bedrock

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
	"github.com/sotto-llm/sotto/wire/turn"
	"github.com/sotto-llm/sotto/wire/written"
)

// Converse is converse and converse-stream.
var Converse turn.API = converse{}

type converse struct{}

// The members by which blocks say what they are.
const (
	textMember      = "text"
	reasoningMember = "reasoningContent"
	citationsMember = "citationsContent"
	callMember      = "toolUse"
	resultMember    = "toolResult"
)

var errUnfinished = errors.New("the upstream ended the stream before the message was finished")

func (converse) Name() string          { return apiName }
func (converse) Framing() wire.Framing { return wire.SSE }

func (converse) Capabilities() wire.Capabilities {
	return wire.Capabilities{Kind: reasoningMember, Texts: true, Adjacent: true, NoBlanks: true, Unsigned: true, Calls: true, ObjectCalls: true}
}

// Request reads the body. The model is in the path, and so is whether the reply is
// streamed.
func (converse) Request(body []byte) (*wire.Request, error) {
	root, err := chatjson.ReadRequestOf(body, requestKeys)
	if err != nil {
		return nil, err
	}
	list := root.Get("messages")
	if !list.IsArray() {
		return nil, chatjson.ErrNoMessages
	}
	q := &wire.Request{}
	list.ForEach(func(_, m gjson.Result) bool {
		q.Messages = append(q.Messages, readMessage(m).Message)
		return true
	})
	q.Prefill = chatjson.PrefillOf(q.Messages)
	q.Switch = chatjson.SwitchOf(root, q.Messages)
	q.JSON = root.Get("outputConfig.textFormat.type").Str == "json_schema"
	root.Get("toolConfig.tools").ForEach(func(_, v gjson.Result) bool {
		q.Tools = true
		if tool := v.Get("toolSpec"); tool.Get("name").Str != "" {
			q.Declared = append(q.Declared, wire.Tool{Name: tool.Get("name").Str, Schema: tool.Get("inputSchema.json").Raw})
		}
		return true
	})
	return q, nil
}

func (converse) Reply(s wire.Settings) wire.Reply {
	y := &reply{set: s}
	if !s.Written {
		y.flow.To = y
		return y
	}
	y.set, y.beside.on = written.Settings(s), true
	y.flow.To = blocks.Nowhere{}
	return written.Reply(y, converse{}.Writer(s), s)
}

// Error returns an error as the API writes it. Its type is in a header.
func (converse) Error(_ int, message string) []byte {
	body, _ := json.Marshal(map[string]string{"message": message})
	return body
}

// ErrorHeader returns the header with the type of an error.
func (converse) ErrorHeader(status int) (name, value string) {
	return "X-Amzn-Errortype", errorType(status)
}

var _ wire.ErrorHeader = converse{}

// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html#API_runtime_Converse_Errors
func errorType(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "AccessDeniedException"
	case http.StatusNotFound:
		return "ResourceNotFoundException"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "ModelTimeoutException"
	case http.StatusTooManyRequests:
		return "ThrottlingException"
	case http.StatusBadGateway:
		return "ModelErrorException"
	case http.StatusServiceUnavailable:
		return "ServiceUnavailableException"
	}
	if status >= 500 {
		return "InternalServerException"
	}
	return "ValidationException"
}

// exceptionOf returns the exception that a stream has for a status. There are fewer of them than of types of errors.
func exceptionOf(status int) string {
	switch status {
	case http.StatusTooManyRequests:
		return "throttlingException"
	case http.StatusServiceUnavailable:
		return "serviceUnavailableException"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "modelTimeoutException"
	case http.StatusBadGateway:
		return broken
	}
	if status >= 500 {
		return "internalServerException"
	}
	return "validationException"
}

// exceptions are the statuses of the exceptions of a stream.
var exceptions = map[string]int{
	"throttlingException": http.StatusTooManyRequests, "serviceUnavailableException": http.StatusServiceUnavailable,
	"modelTimeoutException": http.StatusGatewayTimeout, broken: http.StatusBadGateway, "internalServerException": http.StatusInternalServerError,
	"validationException": http.StatusBadRequest,
}

// FaultKind implements [wire.FaultCodec]. The API has no exception for a request that is too long: its message
// says it.
func (converse) FaultKind(name, raw string) (status int, tooLong bool) {
	status = exceptions[name]
	return status, (status == http.StatusBadRequest || name == "") && strings.HasPrefix(strings.ToLower(messageOf(raw)), "input is too long")
}

// endOf reads why a message ended.
//
// Where the provider stops a message for what it says, or cannot make a call of it, the
// text breaks off where it is. An unknown reason says nothing about the text's end.
func endOf(reason string) sotto.Ending {
	switch reason {
	case "end_turn", "stop_sequence", "tool_use":
		return sotto.EndStopped
	case "max_tokens", "model_context_window_exceeded":
		return sotto.EndCut
	case "guardrail_intervened", "content_filtered", "malformed_model_output", "malformed_tool_use":
		return sotto.EndAborted
	}
	return sotto.EndUnknown
}

// counted reports token counts.
func counted(u gjson.Result, r wire.Reader) {
	if !u.IsObject() {
		return
	}
	r.Found(wire.Event{Kind: wire.EventUsage, Usage: wire.Usage{
		Input: chatjson.Count(u.Get("inputTokens")), Output: chatjson.Count(u.Get("outputTokens")), Reasoning: -1,
		CacheRead: chatjson.Count(u.Get("cacheReadInputTokens")), CacheWrite: chatjson.Count(u.Get("cacheWriteInputTokens")), Apart: true,
	}})
}

// found reports a block that is neither text nor reasoning: a call of a tool, or output
// of another kind. In a stream it is the start of one.
func found(w *blocks.Flow, block gjson.Result, b beside, r wire.Reader) (calls bool) {
	w.Block++
	f := wire.Event{Kind: wire.EventOther, Choice: w.Choice, Index: w.Block, Raw: block.Raw}
	if call := block.Get(callMember); call.IsObject() {
		f.Kind, f.ID, f.Name = wire.EventCall, call.Get("toolUseId").Str, call.Get("name").Str
		f.Text, f.Own = chatjson.ValueText(call.Get("input")), isServed(call)
	} else if members := jsonedit.Members(block); len(members) > 0 {
		f.Name, f.Raw = members[0].Key, b.block(block.Raw, w.Block, r)
	}
	r.Found(f)
	return f.Kind == wire.EventCall
}

// sealed reports what a block of reasoning has besides its text: its signature, or
// encrypted reasoning.
func sealed(w *blocks.Flow, block gjson.Result, b beside, r wire.Reader) (any bool) {
	for _, name := range []string{"signature", "redactedContent"} {
		if v := block.Get(name); v.Type == gjson.String {
			if b.on && v.Str != "" {
				w.Seal(r)
			}
			r.Found(wire.Event{Kind: wire.EventSealed, Choice: w.Choice, Index: w.Block, Name: name, Text: chatjson.ValueText(v)})
			any = any || v.Str != ""
		}
	}
	return any
}
