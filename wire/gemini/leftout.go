package gemini

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/leftout"
	"github.com/sotto-llm/sotto/wire"
)

// What is read of a reply for a client of another API.
var (
	leftOfCall = leftout.Object("id name args willContinue", nil)
	leftOfPart = leftout.Object("text "+thoughtMember+" "+signatureMember, leftout.Members{
		"functionCall": leftOfCall, "inlineData": leftout.Answer(isPicture), "fileData": leftout.Answer(nil),
	})
	leftOfThought = leftout.Object("text "+thoughtMember+" "+signatureMember, leftout.Members{"functionCall": leftOfCall})
	leftOfParts   = leftout.Choose(func(part gjson.Result) *leftout.Value {
		if part.Get(thoughtMember).Type == gjson.True { // a picture in a thought is no part of the answer
			return leftOfThought
		}
		return leftOfPart
	})
	leftOfCandidate = leftout.Object("index finishReason", leftout.Members{
		"content":       leftout.Object("role", leftout.Members{"parts": leftout.List(leftOfParts)}),
		"safetyRatings": leftout.QuietUnless("blocked"),
	}).WithQuiet("avgLogprobs tokenCount")
	leftOfEnd   = leftOfCandidate.WithQuiet("finishMessage") // "Model generated function call(s)."
	leftOfOther = leftout.As("/candidates[1]", leftout.Lost)
	leftOfReply = leftout.Object("modelVersion responseId createTime error", leftout.Members{
		"candidates": leftout.List(leftout.Choose(func(candidate gjson.Result) *leftout.Value {
			if candidate.Get("index").Num > 0 {
				return leftOfOther
			}
			if candidate.Get("finishReason").Str == "STOP" {
				return leftOfEnd
			}
			return leftOfCandidate
		})),
		"usageMetadata":  leftout.Object("promptTokenCount candidatesTokenCount thoughtsTokenCount totalTokenCount cachedContentTokenCount", nil).RestQuiet(),
		"promptFeedback": leftout.Object("blockReason blockReasonMessage", leftout.Members{"safetyRatings": leftout.QuietUnless("blocked")}),
	}).WithQuiet("modelStatus")
)

// LeftOut says what a reply loses at a client of another API.
func (codec) LeftOut() *leftout.Value { return leftOfReply }

// isPicture reports whether data of a part is a picture that other APIs have a place for.
func isPicture(data gjson.Result) bool {
	_, ok := pictureOf(0, data)
	return ok
}

func pictureOf(choice int, data gjson.Result) (wire.Event, bool) {
	return wire.Picture(choice, 0, data.Get("mimeType").Str, data.Get("data").Str)
}
