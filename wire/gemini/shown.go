package gemini

import "github.com/sotto-llm/sotto/wire/shown"

// The members that pass by themselves in a reply that is written from events. What is read
// is not here: texts, reasoning, calls, errors and why a candidate ended. Nor are the
// segments of grounding supports: they quote the text as the upstream sent it.
var (
	// shownSealed is what stays of a part whose thought is hidden, for the client to return.
	shownSealed = shown.Object(thoughtMember, shown.Members{signatureMember: shown.Sealed})
	shownPart   = shownSealed.With("", shown.Members{
		"functionResponse":    shown.Object("id", shown.Members{"name": shown.Text, "response": shown.Opaque}),
		"executableCode":      shown.Object("id language", shown.Members{"code": shown.Text}),
		"codeExecutionResult": shown.Object("id outcome", shown.Members{"output": shown.Text}),
		"inlineData":          shown.Object("mimeType", shown.Members{"data": shown.Sealed, "displayName": shown.Text}),
		"fileData":            shown.Object("mimeType fileUri", shown.Members{"displayName": shown.Text}),
	})
	// shownCall are the members of a call of which others come in pieces.
	shownCall = shown.Object("willContinue", shown.Members{"partialArgs": shown.Opaque})

	shownRating = shown.Object("category probability probabilityScore severity severityScore blocked", nil)
	shownSource = shown.Object("startIndex endIndex uri license", shown.Members{"title": shown.Text})
	shownChunk  = shown.Object("uri", shown.Members{"title": shown.Text, "domain": shown.Text})
	shownGround = shown.Object("", shown.Members{
		"webSearchQueries": shown.List(shown.Text), "searchEntryPoint": shown.Object("sdkBlob", shown.Members{"renderedContent": shown.Text}),
		"groundingChunks": shown.List(shown.Object("", shown.Members{"web": shownChunk, "retrievedContext": shownChunk, "maps": shownChunk})),
	})
	shownContent = shown.Object("role", nil)
	// envelope is what each event repeats of a candidate.
	envelope       = shown.Object("index tokenCount avgLogprobs", shown.Members{"safetyRatings": shown.List(shownRating)})
	shownCandidate = envelope.With("", shown.Members{
		"finishMessage": shown.Text, "groundingMetadata": shownGround,
		"citationMetadata":   shown.Object("", shown.Members{"citationSources": shown.List(shownSource), "citations": shown.List(shownSource)}),
		"urlContextMetadata": shown.Object("", shown.Members{"urlMetadata": shown.List(shown.Object("retrievedUrl urlRetrievalStatus", nil))}),
	})

	shownDetails = shown.List(shown.Object("modality tokenCount", nil))
	shownUsage   = shown.Object("promptTokenCount candidatesTokenCount thoughtsTokenCount totalTokenCount cachedContentTokenCount toolUsePromptTokenCount trafficType serviceTier", shown.Members{
		"promptTokensDetails": shownDetails, "candidatesTokensDetails": shownDetails, "cacheTokensDetails": shownDetails, "toolUsePromptTokensDetails": shownDetails,
	})
	// shownHead are the members that name the reply.
	shownHead  = shown.Object("modelVersion responseId", nil)
	shownReply = shownHead.With("createTime", shown.Members{
		"usageMetadata":  shownUsage,
		"promptFeedback": shown.Object("blockReason", shown.Members{"blockReasonMessage": shown.Text, "safetyRatings": shown.List(shownRating)}),
	})
)

// Shown returns the trees, for documents and tests.
func Shown() []shown.Tree {
	return []shown.Tree{
		{Of: "the reply", Value: shownReply},
		{Of: "each event", Value: shownHead},
		{Of: "a candidate", Value: shownCandidate},
		{Of: "a candidate, in each event", Value: envelope},
		{Of: "the content", Value: shownContent},
		{Of: "a part", Value: shownPart},
		{Of: "a part with a hidden thought", Value: shownSealed},
		{Of: "a call in pieces", Value: shownCall},
	}
}
