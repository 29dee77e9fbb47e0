package wire

// A Writer writes one reply in the JSON of one API, from events. It is not safe for
// concurrent use. The results are appended to dst.
//
// It gets events of these kinds: texts, thoughts and narration, as they go to the client;
// calls, refusals, finishes and the model; faults, whose Raw holds only what is shown; of its
// own API EventMembers, EventOther and EventSealed; and of another API EventUsage, EventSlot
// and EventPicture.
// In a stream of another API, the token counts come before the end or with it.
type Writer interface {
	// Frames appends frames of a stream. The events came together, so they may share a
	// frame. Their texts are valid until the call returns.
	Frames(dst []byte, events []Event) []byte
	// Fail appends the error by which a stream ends.
	Fail(dst []byte, err error) []byte
	// KeepAlive appends bytes that clients of the API ignore.
	KeepAlive(dst []byte) []byte
	// Whole appends the body of a reply that is not streamed.
	Whole(dst []byte, events []Event) []byte
}

// The objects whose members an [EventMembers] may have.
const (
	MembersOfReply   = "reply" // the frame, or the body
	MembersOfChoice  = "choice"
	MembersOfMessage = "message" // the message or the delta of a choice
	MembersOfTokens  = "tokens"  // the log probabilities of a choice's tokens
	MembersOfRole    = "role"    // none: the message says whose it is
	MembersOfBlock   = "block"   // a block, as it begins
	MembersOfPiece   = "piece"   // a piece of the block Index that is no text, such as a citation
	MembersOfEnd     = "end"     // the end of the reply
	MembersOfPing    = "ping"    // none: the upstream says that it is alive
	MembersOfList    = "list"    // none: the body is a list of objects, one for each choice
	MembersOfDone    = "done"    // none: the stream ends with [DONE], which not every server sends

	MembersOfFrame    = "frame"    // one event of a stream, and nothing else
	MembersOfStart    = "start"    // the event that begins the message
	MembersOfCitation = "citation" // a source of the text of a choice, or of the block Index
	// An item, a part of one, and an event of the API about one, by the event's Index and Part.
	// An item begins with its members, none if it is not shown, and ends with those that are
	// Whole. A part begins so too: the texts of its Choice belong to it from then on.
	MembersOfItem  = "item"
	MembersOfPart  = "part"
	MembersOfEvent = "event"
)

// OwnText is the choice of a text that belongs to none of the upstream's texts: what the
// client gets for an answer where there was none.
const OwnText = -1
