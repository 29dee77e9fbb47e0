package gemini

import (
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// What the API shows where reasoning is hidden. A signed thought stays without its
// text, for the client to return. The segments of grounding supports are not here:
// they quote the text as the upstream sent it.
var (
	shownPart = shown.Object(thoughtMember, shown.Members{
		"text": shown.Text, signatureMember: shown.Sealed,
		"functionCall":        shown.Object("id willContinue", shown.Members{"name": shown.Text, "args": shown.Opaque, "partialArgs": shown.Opaque}),
		"functionResponse":    shown.Object("id", shown.Members{"name": shown.Text, "response": shown.Opaque}),
		"executableCode":      shown.Object("id language", shown.Members{"code": shown.Text}),
		"codeExecutionResult": shown.Object("id outcome", shown.Members{"output": shown.Text}),
		"inlineData":          shown.Object("mimeType", shown.Members{"data": shown.Sealed, "displayName": shown.Text}),
		"fileData":            shown.Object("mimeType fileUri", shown.Members{"displayName": shown.Text}),
	})
	shownRating = shown.Object("category probability probabilityScore severity severityScore blocked", nil)
	shownSource = shown.Object("startIndex endIndex uri license", shown.Members{"title": shown.Text})
	shownChunk  = shown.Object("uri", shown.Members{"title": shown.Text, "domain": shown.Text})
	shownGround = shown.Object("", shown.Members{
		"webSearchQueries": shown.List(shown.Text), "searchEntryPoint": shown.Object("sdkBlob", shown.Members{"renderedContent": shown.Text}),
		"groundingChunks": shown.List(shown.Object("", shown.Members{"web": shownChunk, "retrievedContext": shownChunk, "maps": shownChunk})),
	})
	shownCandidate = shown.Object("index finishReason tokenCount avgLogprobs", shown.Members{
		"content": shown.Object("role", shown.Members{"parts": shown.List(shownPart)}), "finishMessage": shown.Text,
		"safetyRatings": shown.List(shownRating), "groundingMetadata": shownGround,
		"citationMetadata":   shown.Object("", shown.Members{"citationSources": shown.List(shownSource), "citations": shown.List(shownSource)}),
		"urlContextMetadata": shown.Object("", shown.Members{"urlMetadata": shown.List(shown.Object("retrievedUrl urlRetrievalStatus", nil))}),
	})
	shownDetails = shown.List(shown.Object("modality tokenCount", nil))
	shownUsage   = shown.Object("promptTokenCount candidatesTokenCount thoughtsTokenCount totalTokenCount cachedContentTokenCount toolUsePromptTokenCount trafficType serviceTier", shown.Members{
		"promptTokensDetails": shownDetails, "candidatesTokensDetails": shownDetails, "cacheTokensDetails": shownDetails, "toolUsePromptTokensDetails": shownDetails,
	})
	shownBody = shown.Object("modelVersion responseId createTime", shown.Members{
		"candidates": shown.List(shownCandidate), "usageMetadata": shownUsage, "error": shown.Fault,
		"promptFeedback": shown.Object("blockReason", shown.Members{"blockReasonMessage": shown.Text, "safetyRatings": shown.List(shownRating)}),
	})
)

var generateShown = &shown.API{Framing: wire.SSE, Frame: shownBody, Body: shownBody, Needs: []string{"candidates", "promptFeedback"}}
