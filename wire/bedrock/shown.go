package bedrock

import "github.com/sotto-llm/sotto/wire/shown"

// The members that pass by themselves in a reply that is written from events. What is read
// is not here: texts, reasoning, calls and errors. Not here either: the trace of a
// guardrail, which has the model's output as it was, and additional fields of the response,
// whose paths the client chooses.
var (
	shownPlace    = shown.Object("documentIndex start end", nil)
	shownLocation = shown.Object("", shown.Members{
		"documentChar": shownPlace, "documentPage": shownPlace, "documentChunk": shownPlace,
		"searchResultLocation": shown.Object("searchResultIndex start end", nil),
		"web":                  shown.Object("", shown.Members{"url": shown.Text, "domain": shown.Text}),
	})
	shownTexts    = shown.List(shown.Object("", shown.Members{"text": shown.Text}))
	shownCitation = shown.Object("", shown.Members{
		"title": shown.Text, "source": shown.Text, "location": shownLocation, "sourceContent": shownTexts,
	})

	shownFile = shown.Object("format", shown.Members{
		"name": shown.Text, "source": shown.Object("", shown.Members{"bytes": shown.Sealed, "s3Location": shown.Object("uri bucketOwner", nil)}),
	})
	shownResult = shown.Object("toolUseId type status", shown.Members{
		"content": shown.List(shown.OneOf(shown.Members{
			"text": shown.Text, "json": shown.Texts,
			"image": shownFile, "video": shownFile, "document": shownFile,
			"searchResult": shown.Object("", shown.Members{"source": shown.Text, "title": shown.Text, "content": shownTexts}),
		})),
	})
	// shownBlock is a block of another kind, shownStart its start in a stream, and shownPiece
	// a piece of it.
	shownBlock = shown.OneOf(shown.Members{
		resultMember: shownResult, "image": shownFile, "video": shownFile, "audio": shownFile, "document": shownFile,
	})
	shownStart = shown.OneOf(shown.Members{
		resultMember: shown.Object("toolUseId type status", nil), "image": shown.Object("format", nil),
	})
	shownPiece = shown.OneOf(shown.Members{
		resultMember: shown.List(shown.OneOf(shown.Members{"text": shown.Piece, "json": shown.Texts})), "image": shownFile,
	})

	// shownFrame is the member of events that hides how long their texts are.
	shownFrame    = shown.Object("p", nil)
	shownMetadata = shown.Object("", shown.Members{
		"usage": shown.Counts, "metrics": shown.Counts,
		"serviceTier": shown.Object("type", nil), "performanceConfig": shown.Object("latency", nil),
	})
	shownException = shown.Object("originalStatusCode", shown.Members{"originalMessage": shown.Text})
)

// The event by which a stream is kept open has no name of Amazon's, so clients drop it.
const keepAlive = "keepAlive"

// shownExceptions are the names of exceptions that the API documents.
var shownExceptions = map[string]bool{
	"internalServerException": true, broken: true, "modelTimeoutException": true, "serviceUnavailableException": true,
	"throttlingException": true, "validationException": true,
}

// Shown returns the trees, for documents and tests.
func Shown() []shown.Tree {
	return []shown.Tree{
		{Of: "metadata, or a whole reply", Value: shownMetadata},
		{Of: "each event", Value: shownFrame},
		{Of: "an exception", Value: shownException},
		{Of: "a block", Value: shownBlock},
		{Of: "the start of a block", Value: shownStart},
		{Of: "a piece of a block", Value: shownPiece},
		{Of: "a citation", Value: shownCitation},
	}
}
