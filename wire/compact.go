package wire

// A CompactCodec is a [KeptCodec] whose API makes a conversation shorter: a summary takes the place of what the
// model said and what tools gave, and the client sends it back as an item that it cannot read.
type CompactCodec interface {
	KeptCodec
	// SummaryBody appends the body of the turn that asks the model for the summary. It has the conversation of body,
	// which asks to make that shorter and is valid JSON, and then the instruction as a message of the user's. The
	// reply is neither streamed nor stored. The error is a *TurnError.
	SummaryBody(dst, body []byte, instruction string) ([]byte, error)
	// UserItems returns the user's messages of such a body, without the instruction, as the API shows them. Commas
	// are between them.
	UserItems(body []byte) []byte
	// SummaryOf returns the visible text of a whole reply. The error says why there is no whole summary in it.
	SummaryOf(reply []byte) (string, error)
	// Compacted appends the answer: the user's messages, and the sealed summary. Id, time and usage are the reply's.
	Compacted(dst, reply, users []byte, sealed string) []byte
	// OpenSummaries appends the body of a request in which messages of the user's have taken the place of sealed
	// summaries. open returns the text of the message, or ok false if the summary is not the gateway's. at is where
	// it stands.
	OpenSummaries(dst, body []byte, open func(at, sealed string) (text string, ok bool, err error)) ([]byte, error)
}
