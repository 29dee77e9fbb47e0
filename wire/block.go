package wire

// A BlockCodec is a codec of an API whose messages are lists of blocks, in which reasoning stands
// where the model thought: before, between and after texts and calls.
type BlockCodec interface {
	Codec
	// Lists are the member of a request that has the messages, and the member of a message that
	// has the blocks. It is empty if the messages are items, so that those of a reply are its blocks.
	Lists() (messages, blocks string)
	// Block says what a block is. Its JSON was checked.
	Block(raw string) Block
}

// A BesideCodec is a [BlockCodec] whose messages may have a thought beside the list of blocks, and have their
// calls there.
type BesideCodec interface {
	BlockCodec
	// Beside is the member that has the thought. As a block it is an object with that member.
	Beside() string
}

// A JoiningCodec is a [BlockCodec] that reads messages of the model that follow each other as one: clients
// send a reply back in as many messages or blocks as it had pieces.
type JoiningCodec interface {
	BlockCodec
	// IsReply reports whether a message is the model's.
	IsReply(raw string) bool
}

// A ListCodec is a codec of an API whose messages have their thoughts in members. One of these may be a list of
// what the provider signed or encrypted, which clients send back as it came.
type ListCodec interface {
	Codec
	// ThoughtLists are the member of a request that has the messages, and the member of a message that
	// has the list.
	ThoughtLists() (messages, list string)
	// Slot returns the text of an element that a client may carry a copy in, or "".
	Slot(element string) string
}

// A BlockKind says what a block of a message is.
type BlockKind uint8

const (
	BlockOther BlockKind = iota
	BlockText
	BlockThought // reasoning, or what the provider encrypted of it
	BlockCall
)

// A Block is a block of a message of the assistant.
type Block struct {
	Kind BlockKind
	Raw  string // its JSON
	Text string // of a text or a thought
	ID   string // of a call, or its tool's name if it has none
	// Proof is the provider's signature, or the encrypted reasoning. It goes back only as it came.
	Proof string
}

// A ProofRefuser is a codec that knows how servers of its API say that they refuse a proof: a
// signature that is not theirs, or encrypted reasoning that they cannot read.
type ProofRefuser interface {
	// RefusesProof reports whether the body of a response of status 400 says so.
	RefusesProof(body []byte) bool
}
