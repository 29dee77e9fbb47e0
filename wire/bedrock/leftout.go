package bedrock

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/leftout"
)

// What is read of a reply for a client of another API. The events of a stream have different members, so one
// object has those of all of them.
var (
	leftOfThought = leftout.Object("text signature redactedContent", leftout.Members{"reasoningText": leftout.Object("text signature", nil)})
	leftOfCall    = leftout.Object("toolUseId name input type", nil)
	leftOfServed  = leftout.As("+."+servedCall, leftout.Lost)
	leftOfFile    = leftout.Answer(nil)
	leftOfBlock   = leftout.Object("text", leftout.Members{
		reasoningMember: leftOfThought,
		callMember: leftout.Choose(func(call gjson.Result) *leftout.Value {
			if isServed(call) {
				return leftOfServed
			}
			return leftOfCall
		}),
		citationsMember: leftout.Object("", leftout.Members{"content": leftout.List(leftout.Object("text", nil))}),
		"citation":      leftout.As("+."+citationsMember+".citations", leftout.Lost),
		"image":         leftOfFile, "video": leftOfFile, "audio": leftOfFile, "document": leftOfFile,
	})
	leftOfReply = leftout.Object("p role contentBlockIndex stopReason message error originalStatusCode originalMessage __type code", leftout.Members{
		"output": leftout.Object("", leftout.Members{
			"message": leftout.Object("role", leftout.Members{"content": leftout.List(leftOfBlock)}),
		}),
		"start": leftout.As("/output.message.content[]", leftOfBlock), "delta": leftout.As("/output.message.content[]", leftOfBlock),
		"usage": leftout.Object("inputTokens outputTokens totalTokens cacheReadInputTokens cacheWriteInputTokens", nil).RestQuiet(),
	}).WithQuiet("metrics serviceTier performanceConfig")
)

// LeftOut says what a reply loses at a client of another API.
func (converse) LeftOut() *leftout.Value { return leftOfReply }

// servedCall is the type of a call of a tool that Amazon runs itself.
const servedCall = "server_tool_use"

func isServed(call gjson.Result) bool { return call.Get("type").Str == servedCall }
