// Package wire is the seam between the gateway and the providers' APIs: what a
// codec is, and the tools that all of them are made with.
//
// The way of a streamed reply is straight. A codec gets a frame, finds the texts
// of the model in it, gives each to a [Reader], which tells reasoning from
// answer, and writes the parts that it gets back into the frame:
//
//	frame → codec finds the text → Reader, per choice → codec writes the parts → frame
//
// A codec knows the JSON of one API and nothing of markers; a Reader knows
// markers and nothing of JSON. What a codec has no reason to change it leaves
// byte for byte: members that it does not know, the order of keys, the spelling
// of numbers. Each provider is one folder beside this package.
package wire

import (
	"github.com/sotto-llm/sotto"
)

// A Framing says how the frames of a streamed reply are parted.
type Framing uint8

const (
	SSE    Framing = iota // server-sent events: text/event-stream
	NDJSON                // a JSON object a line: application/x-ndjson
)

// A Codec knows one API of a provider. It holds no state and is safe for
// concurrent use.
type Codec interface {
	// Name is what configuration and metrics call the API: "openai.chat".
	Name() string
	// Framing says how streamed replies are framed.
	Framing() Framing
	// Request finds in the body of a request what the gateway must know. The
	// body is valid JSON; one that is not a request of the API is an error, and so
	// is one that [ReadRequest] refuses.
	Request(body []byte) (*Request, error)
	// Edit appends to dst the body with changes made to its messages.
	Edit(dst, body []byte, changes []Change) ([]byte, error)
	// Reply returns the writer of one reply.
	Reply(s Settings) Reply
	// Error returns an error in the provider's own JSON, with the status.
	Error(status int, message string) []byte
}

// A Reply rewrites one reply: frame by frame, or whole. It is not safe for
// concurrent use. The results are appended to dst, which no argument may share.
type Reply interface {
	// Frame appends what becomes of a frame: its Raw as it came, an edited
	// frame, several, or nothing.
	Frame(dst []byte, f Frame, r Reader) []byte
	// End appends what must stand behind the last frame of the upstream's
	// stream: held text, and, if err is not nil, the error in a form that the
	// provider's clients see.
	End(dst []byte, err error, r Reader) []byte
	// KeepAlive appends bytes that clients of the API pass over.
	KeepAlive(dst []byte) []byte
	// Whole appends what becomes of the body of a reply that is not streamed.
	// It is valid JSON.
	Whole(dst, body []byte, r Reader) []byte
}

// A Frame is one frame of a stream as it came.
type Frame struct {
	Raw  []byte // all its bytes, with its end
	Type []byte // of an SSE event
	Data []byte // the JSON; nil where there is none, as in a comment
	At   int    // offset of Data in Raw; -1 where it is not one piece of it
}

// Settings are what a client asked of a reply's form.
type Settings struct {
	// Fields are the members that reasoning is written to, where the API leaves
	// a choice; if empty, native reasoning stays in the members that it came in.
	Fields []string
	// Hide says that no reasoning may reach the client by any way, such as the
	// log probabilities of its tokens.
	Hide bool
	// Keep says that the reply passes as it is, and is only looked at.
	Keep bool
	// Request is what the codec found in the request.
	Request *Request
}

// A Place is where in a client's frame a part belongs.
type Place uint8

const (
	Content   Place = iota // the text of the answer
	Reasoning              // the field, block or item of reasoning
	Narration              // the field of progress
)

// A Part is text for one place.
type Part struct {
	Place Place
	Text  []byte
}

// A Reader tells the texts of a reply apart. Choices are numbered as the API
// does, from 0. Parts come in their order in the reply, and are valid until the
// next call.
type Reader interface {
	// Text reads content of the model.
	Text(choice int, text []byte) []Part
	// Native reads reasoning that the upstream has told apart itself.
	Native(choice int, text []byte) []Part
	// Close ends a choice: its held rest. A choice that was closed gives nothing.
	Close(choice int, end sotto.End) []Part
	// Open returns the choices that were read and not closed, in order.
	Open() []int
	// Fail notes why the reply is no whole one: an error of the upstream's, or one
	// that the codec found.
	Fail(err error)
	// Share returns how many bytes of the model's texts there were so far, and
	// how many of them were reasoning found in content.
	Share() (reasoning, all int)
}

// Same says that parts are the text as it was read: its frame needs no change.
func Same(parts []Part, text []byte) bool {
	switch len(parts) {
	case 0:
		return len(text) == 0
	case 1:
		return parts[0].Place == Content && len(parts[0].Text) == len(text) && string(parts[0].Text) == string(text)
	}
	return false
}

// A Request is what the gateway must know of one.
type Request struct {
	Model string
	// Fallbacks are other models that may answer instead, where the request lists
	// some, as OpenRouter's do.
	Fallbacks []string
	Stream    bool
	// Switch is how the request turns thinking on or off, in one word that is
	// the same for the same setting: "think=true", "reasoning_effort=high";
	// empty where it does not say.
	Switch string
	// Prompt is the rendered prompt where the API takes one, for its tail.
	Prompt string
	// Prefill is the text that an assistant message at the end begins the reply
	// with.
	Prefill  string
	Messages []Message
}

// A Message is one of a request's earlier messages.
type Message struct {
	Role string // system, user, assistant or tool
	// Texts are the message's texts, decoded, in order.
	Texts []string
	// Thoughts are the reasoning that comes back with it.
	Thoughts []Thought
	// Calls says that it calls tools; Results that it holds a tool's result.
	Calls, Results bool
	// CallIDs are the ids of the calls, or of those that it has the results of;
	// the tools' names where the API has no ids.
	CallIDs []string
}

// A Thought is reasoning that a client sends back.
type Thought struct {
	Name string // the member or the kind of block that holds it
	Text string
	// Sealed says that it is signed or encrypted: opaque, to be kept byte for
	// byte. Minted says that by its form it was made by Sotto: the provider
	// would have signed it.
	Sealed, Minted bool
}

// A Change is what the history policy does to a message.
type Change struct {
	Message int // its index in Request.Messages
	// Drop are indices of Thoughts that go.
	Drop []int
	// Texts are new texts by their index; a text that becomes empty stays as "".
	Texts map[int]string
	// Add is reasoning put into Field, which the message has not; nothing if
	// Field is empty.
	Field, Add string
}
