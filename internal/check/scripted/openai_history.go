package scripted

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// histories check what a request must return, by Model.Wire. A check returns nil,
// or the refusal in the provider's words.
var histories = map[string]func(m *Model, q *chatRequest) *fault{
	"deepseek": deepseekHistory,
	"moonshot": moonshotHistory,
	"google":   googleHistory,
	"routed":   routedHistory,
}

// deepseekHistory requires every message with tool calls to return its
// reasoning_content unchanged.
func deepseekHistory(m *Model, q *chatRequest) *fault {
	if q.off() {
		return nil
	}
	for _, message := range q.Messages {
		if message.Role != "assistant" || len(message.ToolCalls) == 0 {
			continue
		}
		if message.ReasoningContent == nil || !m.thought(*message.ReasoningContent) {
			f := badRequest("The `reasoning_content` in the thinking mode must be passed back to the API.")
			f.code = "invalid_request_error"
			return f
		}
	}
	return nil
}

// moonshotHistory requires every message with tool calls to have a
// reasoning_content.
func moonshotHistory(_ *Model, q *chatRequest) *fault {
	if q.off() {
		return nil
	}
	for i, message := range q.Messages {
		if message.Role == "assistant" && len(message.ToolCalls) > 0 && message.ReasoningContent == nil {
			f := badRequest("thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i)
			f.body = object{{"error", object{{"message", f.message}, {"type", "invalid_request_error"}}}}
			return f
		}
	}
	return nil
}

// routedHistory requires every message that calls tools after the user's last one to return its signed
// thought, and every thought that is returned to be as it was signed.
func routedHistory(m *Model, q *chatRequest) *fault {
	current := true
	for i := len(q.Messages) - 1; i >= 0; i-- {
		message := &q.Messages[i]
		if current = current && message.Role != "user"; message.Role != "assistant" {
			continue
		}
		text, signature := "", ""
		for _, d := range message.Details {
			if d.Type != "reasoning.text" || d.Index != 0 {
				return badRequest("messages.%d: an element of reasoning_details is not this provider's", i)
			}
			text, signature = text+d.Text, signature+d.Signature
		}
		switch {
		case len(message.Details) > 0 && signature != sign(m.Name, text):
			return badRequest("messages.%d: Invalid `signature` in `thinking` block", i)
		case len(message.Details) == 0 && current && len(message.ToolCalls) > 0:
			return badRequest("messages.%d: Expected `thinking`, but found `tool_use`", i)
		}
	}
	return nil
}

// googleHistory requires the first call of every message with tool calls to return
// its signature.
func googleHistory(m *Model, q *chatRequest) *fault {
	for i, message := range q.Messages {
		if message.Role != "assistant" || len(message.ToolCalls) == 0 {
			continue
		}
		call := message.ToolCalls[0]
		switch signature := call.Extra.Google.Signature; {
		case signature == "":
			return googleFault("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", call.Function.Name, i+1)
		case signature != signCall(m.Name, arguments(call.Function.Arguments)):
			return googleFault("Corrupted thought signature.")
		}
	}
	return nil
}

// arguments returns the text of a call's arguments, which are JSON in a string.
func arguments(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// signCall signs a call with its arguments, whose white space clients change.
func signCall(model, arguments string) string {
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(arguments)) != nil {
		return sign(model, arguments)
	}
	return sign(model, compact.String())
}

// googleFault is Google's JSON for an error, which is in an array.
func googleFault(format string, args ...any) *fault {
	f := badRequest(format, args...)
	f.body = array{object{{"error", object{{"code", http.StatusBadRequest}, {"message", f.message}, {"status", "INVALID_ARGUMENT"}}}}}
	return f
}
