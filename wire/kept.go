package wire

// A KeptCodec is a [SocketCodec] whose API has conversations that its servers keep: a request names
// the reply or the conversation that it continues, and has only what is new. A gateway can keep them
// for a server that does not.
type KeptCodec interface {
	SocketCodec
	// Continues reads what the body of a request continues, and what it adds. The body is valid
	// JSON. The error is a *TurnError.
	Continues(body []byte) (*Turn, error)
	// WholeBody appends the body of the same request with the whole conversation: items come
	// before those of the turn, with commas between them, and nothing names what is kept.
	WholeBody(dst []byte, t *Turn, items []byte) []byte
	// Named appends an event of a reply, or a whole reply, with the names that it has where it
	// is kept. What is not a reply stays as it is.
	Named(dst, data []byte, n KeptNames) []byte
	// KeptReply returns the reply that an event or a whole body ends with, as it is kept, or
	// nil if the reply does not end with it or cannot be continued. left is what was heard
	// before.
	KeptReply(data []byte, left *TurnLeft) []byte
	// KeptOutput returns the items that a kept reply adds to its conversation, with commas
	// between them.
	KeptOutput(reply []byte) []byte
	// KeptItems returns a list of items as the API shows them: each with an id, which is made
	// of the prefix and its place if the client gave none.
	KeptItems(items []byte, prefix string) []KeptItem
	// Failed appends a kept reply that is under way as one that has failed.
	Failed(dst, reply []byte, why string) []byte
	// AppendKept appends an object of the API that stands for something kept.
	AppendKept(dst []byte, o KeptObject) []byte
}

// KeptNames are what a reply says of where it is kept.
type KeptNames struct {
	ID           string // empty if the reply keeps the one that it has
	Previous     string // the reply that it continues; empty if none
	Conversation string // that it belongs to; empty if to none
	Stored       bool
	Background   bool
}

// A KeptItem is an item of a conversation.
type KeptItem struct {
	ID   string
	Raw  []byte // as the API shows it, with its id
	Sent []byte // as it was sent or got
}

// A KeptObject is an answer about what is kept.
type KeptObject struct {
	Kind     KeptKind
	ID       string
	Created  int64  // in seconds since 1970
	Metadata []byte // a JSON object
	Items    []KeptItem
	More     bool // there are further items

	// Of a reply that is under way, or has ended without one.
	Model string
	State KeptState
	Fault string
}

// A KeptState says how far a reply is that nobody waits for.
type KeptState string

// The states, as far as they have no output.
const (
	KeptUnderWay  KeptState = "in_progress"
	KeptFailed    KeptState = "failed"
	KeptCancelled KeptState = "cancelled"
)

// A KeptKind is a kind of answer about what is kept.
type KeptKind uint8

// The kinds of answers.
const (
	KeptDeletedReply        KeptKind = iota // a reply was deleted
	KeptList                                // a page of items
	KeptConversation                        // a conversation
	KeptDeletedConversation                 // one was deleted
	KeptReplyState                          // a reply without output
)

// A KeptRoute says what a request to an endpoint asks of those who keep replies and conversations.
type KeptRoute uint8

// The endpoints of what is kept.
const (
	KeptNothing       KeptRoute = iota
	KeptReplies                 // one reply
	KeptInput                   // the items that a reply was asked with
	KeptCancel                  // a reply under way is to end
	KeptCompact                 // a conversation is to become shorter
	KeptConversations           // a new conversation
	KeptOne                     // one conversation
	KeptOfOne                   // the items of one
	KeptItemOfOne               // one item of one
)
