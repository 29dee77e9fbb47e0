package bedrock

import (
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// What the API shows where reasoning is hidden. A signed block of reasoning stays
// without its text, for the client to return. Not here: the trace of a guardrail, which
// has the model's output as it was, and additional fields of the response, whose paths
// the client chooses.
var (
	shownLocation = shown.Object("", shown.Members{
		"documentChar": shownPlace, "documentPage": shownPlace, "documentChunk": shownPlace,
		"searchResultLocation": shown.Object("searchResultIndex start end", nil),
		"web":                  shown.Object("", shown.Members{"url": shown.Text, "domain": shown.Text}),
	})
	shownPlace    = shown.Object("documentIndex start end", nil)
	shownCitation = shown.Object("", shown.Members{
		"title": shown.Text, "source": shown.Text, "location": shownLocation,
		"sourceContent": shown.List(shown.Object("", shown.Members{"text": shown.Text})),
	})
	shownTexts = shown.List(shown.Object("", shown.Members{"text": shown.Text}))
	shownBlock = shown.OneOf(shown.Members{
		textMember: shown.Text,
		reasoningMember: shown.OneOf(shown.Members{
			"reasoningText": shown.Object("", shown.Members{"text": shown.Blank, "signature!": shown.Sealed}), "redactedContent": shown.Sealed,
		}),
		citationsMember: shown.Object("", shown.Members{"content": shownTexts, "citations": shown.List(shownCitation)}),
		callMember:      shown.Object("toolUseId type", shown.Members{"name": shown.Text, "input": shown.Opaque}),
		resultMember:    shown.Object("toolUseId type status", shown.Members{"content": shown.Opaque}),
		"image":         shownFile, "video": shownFile, "audio": shownFile, "document": shownFile,
	})
	shownFile  = shown.Object("format", shown.Members{"name": shown.Text, "source": shown.Object("", shown.Members{"bytes": shown.Sealed, "s3Location": shown.Object("uri bucketOwner", nil)})})
	shownStart = shown.OneOf(shown.Members{
		callMember:   shown.Object("toolUseId type", shown.Members{"name": shown.Text}),
		resultMember: shown.Object("toolUseId type status", nil),
		"image":      shown.Object("format", nil),
	})
	shownDelta = shown.OneOf(shown.Members{
		textMember:      shown.Text,
		reasoningMember: shown.OneOf(shown.Members{"signature": shown.Sealed, "redactedContent": shown.Sealed}),
		callMember:      shown.Object("", shown.Members{"input!": shown.Text}),
		resultMember:    shown.Opaque,
		"citation":      shownCitation,
		"image":         shownFile,
	})
	shownTier      = shown.Object("type", nil)
	shownSpeed     = shown.Object("latency", nil)
	shownException = shown.Object("originalStatusCode", shown.Members{"message": shown.Text, "originalMessage": shown.Text})
)

// The event by which a stream is kept open has no name of Amazon's, so clients drop it.
const keepAlive = "keepAlive"

// padding is the member of events that hides how long their texts are.
const padding = "p"

var converseShown = &shown.API{
	Framing: wire.SSE,
	Events: map[string]*shown.Value{
		"messageStart":      shown.Object("role "+padding, nil),
		"contentBlockStart": shown.Object("contentBlockIndex "+padding, shown.Members{"start!": shownStart}),
		"contentBlockDelta": shown.Object("contentBlockIndex "+padding, shown.Members{"delta!": shownDelta}),
		"contentBlockStop":  shown.Object("contentBlockIndex "+padding, nil),
		"messageStop":       shown.Object("stopReason "+padding, nil),
		"metadata": shown.Object(padding, shown.Members{
			"usage": shown.Counts, "metrics": shown.Counts, "serviceTier": shownTier, "performanceConfig": shownSpeed,
		}),
		keepAlive: shown.Object("", nil),
		exceptionPrefix + "internalServerException":     shownException,
		exceptionPrefix + broken:                        shownException,
		exceptionPrefix + "modelTimeoutException":       shownException,
		exceptionPrefix + "serviceUnavailableException": shownException,
		exceptionPrefix + "throttlingException":         shownException,
		exceptionPrefix + "validationException":         shownException,
	},
	Body: shown.Object("stopReason", shown.Members{
		"output": shown.Object("", shown.Members{"message": shown.Object("role", shown.Members{"content": shown.List(shownBlock)})}),
		"usage":  shown.Counts, "metrics": shown.Counts, "serviceTier": shownTier, "performanceConfig": shownSpeed,
		"error": shown.Fault,
	}),
	Needs: []string{"output"},
}
