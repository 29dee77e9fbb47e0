package anthropic

import (
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/turn"
	"github.com/sotto-llm/sotto/wire/written"
)

// Messages is the Messages API.
var Messages turn.API = messages{}

type messages struct{}

func (messages) Name() string          { return apiName }
func (messages) Framing() wire.Framing { return wire.SSE }

func (messages) Capabilities() wire.Capabilities {
	return wire.Capabilities{Kind: "thinking", Texts: true, Adjacent: true, NoBlanks: true, Calls: true, ObjectCalls: true}
}

func (messages) Request(body []byte) (*wire.Request, error) {
	root, err := chatjson.ReadRequest(body)
	if err != nil {
		return nil, err
	}
	if !root.Get("messages").IsArray() {
		return nil, chatjson.ErrNoMessages
	}
	q := &wire.Request{Model: root.Get("model").Str, Stream: root.Get("stream").Bool()}
	if q.Fallbacks, err = chatjson.FallbacksOf(root); err != nil {
		return nil, err
	}
	chatjson.ReadConversation(q, root)
	return q, nil
}

func (messages) Edit(dst, body []byte, changes []wire.Change) ([]byte, error) {
	return chatjson.EditBlocks(dst, body, jsonedit.Parse(body).Get("messages"), changes)
}

func (m messages) Reply(s wire.Settings) wire.Reply {
	if !s.Written {
		return newReply(s)
	}
	y := newReply(written.Settings(s))
	y.flow.To = nowhere{}
	return written.Reply(y, m.Writer(s), s)
}

func newReply(s wire.Settings) *reply {
	y := &reply{late: -1, set: s}
	y.flow.To = y
	return y
}

func (messages) Error(status int, message string) []byte {
	return appendError(nil, errorType(status), message)
}

// errorType returns the API's error type for a status.
func errorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusServiceUnavailable, 529:
		return "overloaded_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

// appendError appends the API's error object.
func appendError(dst []byte, kind, message string) []byte {
	dst = append(append(append(dst, `{"type":"error","error":{"type":"`...), kind...), `","message":`...)
	dst = jsontext.AppendVerbatim(dst, []byte(strings.ToValidUTF8(message, "\ufffd")))
	return append(dst, "}}"...)
}

// endOf reads a stop reason. Without one, the reply continues.
//
// A refusal breaks the text off where it is: sotto.EndAborted. A paused turn
// continues in the next reply, so more would have come: sotto.EndCut. An unknown
// reason says nothing about the text's end.
func endOf(reason gjson.Result) (end sotto.Ending, ok bool) {
	if reason.Type != gjson.String {
		return sotto.EndUnknown, false
	}
	switch reason.Str {
	case "end_turn", "stop_sequence", "tool_use":
		return sotto.EndStopped, true
	case "max_tokens", "model_context_window_exceeded", "pause_turn":
		return sotto.EndCut, true
	case "refusal":
		return sotto.EndAborted, true
	}
	return sotto.EndUnknown, true
}
