package gateway_test

// The members of a reply of Gemini's API: those of the declarations of Google's SDK, and
// those of the codec's tree.
const (
	fullGeminiParts = `{"text":"musing","thought":true,"thoughtSignature":"c2ln"},` +
		`{"thought":true,"inlineData":{"mimeType":"image/png","data":"iVBO","displayName":"musing"},"thoughtSignature":"c2ln"},` +
		`{"functionCall":{"id":"call_1","name":"f","args":{"a":"b"},"willContinue":false,"partialArgs":[{"jsonPath":"$.a","stringValue":"b"}]},"thoughtSignature":"c2ln"},` +
		`{"functionResponse":{"id":"call_1","name":"f","response":{"output":"3"},"scheduling":"SILENT","willContinue":false,"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBO"}}]}},` +
		`{"executableCode":{"id":"e1","language":"PYTHON","code":"print(2+2)"}},{"codeExecutionResult":{"id":"e1","outcome":"OUTCOME_OK","output":"4"}},` +
		`{"inlineData":{"mimeType":"image/png","data":"iVBO","displayName":"four"},"mediaResolution":{"level":"LOW","numTokens":1}},` +
		`{"fileData":{"mimeType":"video/mp4","fileUri":"https://a/b","displayName":"four"},"videoMetadata":{"startOffset":"1s","endOffset":"2s","fps":1}},` +
		`{"toolCall":{"id":"t1","toolType":"GOOGLE_SEARCH","args":{"q":"4"}}},{"toolResponse":{"id":"t1","toolType":"GOOGLE_SEARCH","response":{"r":"4"}}},` +
		`{"text":"It is 4.","thoughtSignature":"c2ln","partMetadata":{"a":"b"}}`
	fullGeminiChunks = `{"web":{"uri":"https://a","title":"A","domain":"a"}},{"retrievedContext":{"uri":"https://a","title":"A","text":"t","documentName":"d","ragChunk":{"text":"t"},"fileSearchStore":"s"}},` +
		`{"maps":{"uri":"https://a","title":"A","text":"t","placeId":"p","placeAnswerSources":{"reviewSnippets":[{"title":"A","reviewId":"r","googleMapsUri":"https://a"}]}}}`
	fullGeminiMore = `,"tokenCount":9,"avgLogprobs":-0.5,"finishMessage":"Done.",` +
		`"safetyRatings":[{"category":"HARM_CATEGORY_HATE_SPEECH","probability":"LOW","probabilityScore":0.1,"severity":"LOW","severityScore":0.1,"blocked":false,"overwrittenThreshold":"x"}],` +
		`"groundingMetadata":{"webSearchQueries":["four"],"imageSearchQueries":["four"],"retrievalQueries":["four"],"searchEntryPoint":{"renderedContent":"<div>four</div>","sdkBlob":"c2ln"},` +
		`"groundingChunks":[` + fullGeminiChunks + `],"groundingSupports":[{"segment":{"partIndex":0,"startIndex":0,"endIndex":2,"text":"It"},"groundingChunkIndices":[0],"confidenceScores":[0.5]}],` +
		`"retrievalMetadata":{"googleSearchDynamicRetrievalScore":0.5},"googleMapsWidgetContextToken":"w","sourceFlaggingUris":[{"sourceId":"s","flagContentUri":"https://a"}]},` +
		`"citationMetadata":{"citationSources":[{"startIndex":0,"endIndex":2,"uri":"https://a","license":"MIT"}],"citations":[{"startIndex":0,"endIndex":2,"uri":"https://a","title":"A","license":"MIT","publicationDate":{"year":2026,"month":1,"day":1}}]},` +
		`"urlContextMetadata":{"urlMetadata":[{"retrievedUrl":"https://a","urlRetrievalStatus":"URL_RETRIEVAL_STATUS_SUCCESS"}]},` +
		`"logprobsResult":{"chosenCandidates":[{"token":"musing","tokenId":424242,"logProbability":-1}],"topCandidates":[{"candidates":[{"token":"musing","logProbability":-1}]}],"logProbabilitySum":-1},` +
		`"groundingAttributions":[{"sourceId":{"groundingPassage":{"passageId":"p","partIndex":0}},"content":{"parts":[{"text":"musing"}]}}]`
	fullGeminiRoot = `"modelVersion":"m","responseId":"r1","createTime":"2026-11-26T00:00:00Z","modelStatus":{"modelStage":"STABLE","message":"musing","retirementTime":"2027-01-01T00:00:00Z"},` +
		`"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":9,"thoughtsTokenCount":3,"totalTokenCount":17,"cachedContentTokenCount":1,"toolUsePromptTokenCount":1,"trafficType":"ON_DEMAND","serviceTier":"standard",` +
		`"promptTokensDetails":[{"modality":"TEXT","tokenCount":5}],"candidatesTokensDetails":[{"modality":"TEXT","tokenCount":9}],"cacheTokensDetails":[{"modality":"TEXT","tokenCount":1}],"toolUsePromptTokensDetails":[{"modality":"TEXT","tokenCount":1}]}`
	fullGeminiBlocked = `"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"No.","safetyRatings":[{"category":"HARM_CATEGORY_HATE_SPEECH","probability":"HIGH","blocked":true}]}`
)

// geminiArray is the path at which the stream is an array.
const geminiArray = geminiPath + "?alt=json"

func init() {
	candidate := func(index, parts, more string) string {
		return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"index":` + index + more + `}],` + fullGeminiRoot + `}`
	}
	frames := []string{
		candidate("0", fullGeminiParts, fullGeminiMore),
		candidate("1", geminiText("b"), `,"finishReason":"MAX_TOKENS"`),
		candidate("0", geminiText(" Yes."), `,"finishReason":"STOP"`+fullGeminiMore),
		`{` + fullGeminiBlocked + `,` + fullGeminiRoot + `}`,
		`{"error":{"code":503,"message":"busy","status":"UNAVAILABLE","details":[{"@type":"t","reason":"musing"}]}}`,
	}
	body := candidate("0", fullGeminiParts, `,"finishReason":"STOP"`+fullGeminiMore)
	fullReplies = append(
		fullReplies,
		fullReply{path: geminiPath, frames: frames, body: body},
		fullReply{path: geminiArray, frames: frames, body: `{"candidates":[{"content":{"parts":[{"text":"musing","thought":true},` + geminiText("It is 4.") + `],"role":"model"},"finishReason":"STOP"}],` + fullGeminiBlocked + `,` + fullGeminiRoot + `}`},
	)
}
