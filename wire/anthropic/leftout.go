package anthropic

import "github.com/sotto-llm/sotto/internal/data/leftout"

// What is read of a reply for a client of another API.
var (
	leftOfBlock = leftout.ByType(map[string]*leftout.Value{
		"text":              leftout.Object("type text", nil),
		"thinking":          leftout.Object("type thinking signature", nil),
		"redacted_thinking": leftout.Object("type data", nil),
		"tool_use": leftout.Object("type id name input", leftout.Members{
			"caller": leftout.ByType(map[string]*leftout.Value{"direct": leftout.Read}),
		}),
		"container_upload": leftout.As("+.container_upload", leftout.Answer(nil)), // a file
	})
	leftOfDelta = leftout.ByType(map[string]*leftout.Value{
		"text_delta": leftout.Read, "thinking_delta": leftout.Read, "signature_delta": leftout.Read, "input_json_delta": leftout.Read,
		"citations_delta": leftout.As("+.citations", leftout.Lost), "compaction_delta": leftout.As("+.compaction", leftout.Lost),
	})
	leftOfUsage = leftout.Object("input_tokens output_tokens cache_creation_input_tokens cache_read_input_tokens", leftout.Members{
		"output_tokens_details": leftout.Object("reasoning_tokens", nil).RestQuiet(),
	}).RestQuiet()
	leftOfMessage = leftout.Object("id type role model stop_reason error", leftout.Members{
		"content": leftout.List(leftOfBlock), "usage": leftOfUsage,
	}).WithQuiet("request_id")
	leftOfReply = leftout.ByType(map[string]*leftout.Value{
		"": leftOfMessage, "message": leftOfMessage, "error": leftout.Read, "ping": leftout.Read,
		"message_start":       leftout.Object("type", leftout.Members{"message": leftout.As("+", leftOfMessage)}),
		"content_block_start": leftout.Object("type index", leftout.Members{"content_block": leftout.As("content[]", leftOfBlock)}),
		"content_block_delta": leftout.Object("type index", leftout.Members{"delta": leftout.As("content[]", leftOfDelta)}),
		"content_block_stop":  leftout.Object("type index", nil),
		"message_delta": leftout.Object("type", leftout.Members{
			"delta": leftout.As("+", leftout.Object("stop_reason", nil)), "usage": leftOfUsage,
		}),
		"message_stop": leftout.Object("type", nil).WithQuiet("amazon-bedrock-invocationMetrics"),
	})
)

// LeftOut says what a reply loses at a client of another API.
func (messages) LeftOut() *leftout.Value { return leftOfReply }
