package cohere

import "github.com/sotto-llm/sotto/internal/data/leftout"

// What is read of a reply for a client of another API.
var (
	leftOfPart = leftout.ByType(map[string]*leftout.Value{
		"text": leftout.Object("type text", nil), "thinking": leftout.Object("type thinking", nil),
		"": leftout.Object("text thinking", nil), // a piece of one
	})
	leftOfCall    = leftout.Object("id type", leftout.Members{"function": leftout.Object("name arguments", nil)})
	leftOfMessage = leftout.Object("role "+plan, leftout.Members{
		"content": leftout.TextOr(leftout.List(leftOfPart)), "tool_calls": leftout.List(leftOfCall),
	})
	leftOfUsage = leftout.Object("cached_tokens", leftout.Members{"tokens": leftout.Object("input_tokens output_tokens", nil).RestQuiet()}).RestQuiet()
	leftOfBody  = leftout.Object("id finish_reason error", leftout.Members{"message": leftOfMessage, "usage": leftOfUsage})
	leftOfReply = leftout.ByType(map[string]*leftout.Value{
		"": leftOfBody, "error": leftout.Read,
		"message-start":   leftOf(leftOfMessage),
		"content-start":   leftOf(leftOfPiece),
		"content-delta":   leftOf(leftOfPiece),
		"content-end":     leftOf(leftOfPiece),
		"tool-plan-delta": leftOf(leftOfPiece),
		"tool-call-start": leftOf(leftOfPiece),
		"tool-call-delta": leftOf(leftOfPiece),
		"tool-call-end":   leftOf(leftOfPiece),
		"citation-start":  leftOf(leftOfPiece),
		"citation-end":    leftOf(leftOfPiece),
		"message-end":     leftout.Object("type id", leftout.Members{"delta": leftout.As("+", leftout.Object("finish_reason error", leftout.Members{"usage": leftOfUsage}))}),
	})
	// leftOfPiece is the message of an event, which has one element of each list.
	leftOfPiece = leftout.Object(plan, leftout.Members{
		"content": leftout.As("content[]", leftOfPart), "tool_calls": leftout.As("tool_calls[]", leftOfCall),
	})
)

// leftOf is an event about the message.
func leftOf(message *leftout.Value) *leftout.Value {
	return leftout.Object("type id index", leftout.Members{
		"delta": leftout.As("+", leftout.Object("", leftout.Members{"message": message})),
	})
}

// LeftOut says what a reply loses at a client of another API.
func (chat) LeftOut() *leftout.Value { return leftOfReply }
