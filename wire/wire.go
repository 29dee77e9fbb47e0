// Package wire connects the gateway and the providers' APIs. It defines what a
// codec is.
//
// A streamed reply takes a straight path. A codec gets a frame and reports what it
// finds in it to a [Reader]: texts of the model, reasoning, calls, token counts. The
// Reader separates reasoning from answer in the texts, and the codec writes the
// parts that it gets back into the frame:
//
//	frame → codec reports what it found → Reader, per choice → codec writes the parts → frame
//
// A frame is parsed once. Whoever keeps a reply, such as the record, takes it from
// what the codec found.
//
// A codec knows the JSON of one API and nothing about markers; a Reader knows
// markers and nothing about JSON. A codec leaves everything that it need not change
// byte for byte: members that it does not know, the order of keys, the spelling of
// numbers. Each provider is one folder beside this package.
package wire

import (
	"github.com/sotto-llm/sotto"
)

// A Framing says how the frames of a streamed reply are separated.
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
	// Capabilities say what the API has room for.
	Capabilities() Capabilities
	// Request finds in the body of a request what the gateway must know. The body
	// is valid JSON. It returns an error if the body is not a request of the API, if
	// it is not an object, or if a member that something is decided by appears twice.
	Request(body []byte) (*Request, error)
	// Transcribe reports the messages of a request in full, for a record of them.
	Transcribe(body []byte, to Transcript)
	// Edit appends to dst the body with changes made to its messages.
	Edit(dst, body []byte, changes []Change) ([]byte, error)
	// Reply returns what rewrites one reply.
	Reply(s Settings) Reply
	// Writer returns what writes one reply from events, whichever codec has read them.
	Writer(s Settings) Writer
	// Error returns an error in the provider's own JSON, with the status.
	Error(status int, message string) []byte
}

// A ModelNamer is a [Codec] of an API whose requests need not name a model, because the provider keeps what says which one
// answers.
type ModelNamer interface {
	Codec
	// ModelIn returns the model that an event of a reply, or a whole one, names. later says that only a later event can
	// name it.
	ModelIn(data []byte) (model string, later bool)
}

// An ErrorHeader is a [Codec] whose errors have their type in a header.
type ErrorHeader interface {
	ErrorHeader(status int) (name, value string)
}

// Capabilities say what an API has room for. The zero value is an API whose message
// is one text and nothing beside it.
type Capabilities struct {
	// Members says that a message may have members of any name beside its text, for
	// reasoning and for narration. Otherwise reasoning is a block or an item of its own.
	Members bool
	// Field is the member that reasoning is put into, if clients of the API read it
	// from no other.
	Field string
	// Kind is the kind of the blocks or items that hold reasoning. It is empty if
	// members do.
	Kind string
	// Texts says that the choices of a reply are its texts, in their order: the API
	// has a list of blocks or items, and numbers no choices.
	Texts bool
	// Adjacent says that the texts of a reply stand next to each other, so that
	// clients join them without a space.
	Adjacent bool
	// Items says that messages are single items: a text, a thought and a call are a
	// message each.
	Items bool
	// Kept is of what kind the replies are that the provider keeps under an id, as [Endpoint].Of has it. If it is
	// empty, they are completions.
	Kept string
	// NoBlanks says that the API refuses a text that is blank.
	NoBlanks bool
	// Unsigned says that blocks of reasoning carry no signature, so that one that Sotto
	// made looks like one of the provider's.
	Unsigned bool
	// Lists says that the body of a whole reply may be a list: one object for each
	// choice.
	Lists bool
	// NoComments says that clients take a comment in a stream for an error.
	NoComments bool
	// RawPrompts says that every server of the API takes a rendered prompt as it is. Some
	// servers of others put it into the model's template.
	RawPrompts bool
	// Resumes says that every server of the API resumes a last message of the assistant.
	// Some servers of others begin another turn.
	Resumes bool
	// Calls says that the codec can write calls of tools: see [Call].
	Calls bool
	// FreeCalls says that every server of the API has tools that take a text. Some servers of others
	// have them, too.
	FreeCalls bool
	// Placeholder is a signature that the provider accepts on a call that it has not made, in place of
	// its own; "" if it accepts none.
	Placeholder string
	// Pictures says that clients read a picture of the model's in a reply.
	Pictures bool
	// WholeCalls says that a call comes whole in a stream. ObjectCalls says that clients read the
	// arguments of a call as an object, even while they come.
	WholeCalls, ObjectCalls bool
}

// A Reply rewrites one reply, either frame by frame or whole. It is not safe for
// concurrent use. The results are appended to dst, which must not share memory with
// the arguments.
type Reply interface {
	// Frame appends the output for a frame: its Raw as it came, an edited frame,
	// several frames, or nothing.
	Frame(dst []byte, f Frame, r Reader) []byte
	// End appends what must follow the last frame of the upstream's stream: held
	// text, and, if err is not nil, the error in a form that the provider's clients
	// see.
	End(dst []byte, err error, r Reader) []byte
	// KeepAlive appends bytes that clients of the API ignore.
	KeepAlive(dst []byte) []byte
	// Whole appends the output for the body of a reply that is not streamed. The
	// body is valid JSON.
	Whole(dst, body []byte, r Reader) []byte
}

// A Cutter is a [Reply] whose stream can be ended before the upstream ends it.
type Cutter interface {
	// Cut appends the frames by which the provider ends a stream at a limit of tokens,
	// for a stream that has come so far. They are not for the client: they go through
	// Frame, like those of the upstream.
	Cut(dst []byte, r Reader) []byte
}

// Cut returns the frames by which a reply can be cut; ok is false if its codec has none.
func Cut(y Reply, r Reader) (frames []byte, ok bool) {
	c, ok := y.(Cutter)
	if !ok {
		return nil, false
	}
	frames = c.Cut(nil, r)
	return frames, frames != nil
}

// CutWord returns the provider's word for why a reply was cut: limit, or filter if the
// [Reader] says that it was cut because of what it says.
func CutWord(r Reader, limit, filter string) string {
	if f, ok := r.(interface{ Filtered() bool }); ok && f.Filtered() {
		return filter
	}
	return limit
}

// A Hider is a [Reply] that can begin to hide reasoning while it is under way: from the
// next frame on, it is as if [Settings.Hide] had been set. What the client has already
// stays.
type Hider interface{ Hide() }

// Hide makes a reply hide reasoning from now on; ok is false if its codec cannot.
func Hide(y Reply) (ok bool) {
	h, ok := y.(Hider)
	if ok {
		h.Hide()
	}
	return ok
}

// A Holder is a [Reply] or a [Writer] that keeps something of what came until later.
type Holder interface {
	// Held returns about how many bytes of memory it keeps.
	Held() int
}

// Held returns about how many bytes a reply or a writer keeps.
func Held(y any) int {
	if h, ok := y.(Holder); ok {
		return h.Held()
	}
	return 0
}

// A Frame is one frame of a stream as it came.
type Frame struct {
	Raw  []byte // all its bytes, with its end
	Type []byte // of an SSE event
	Data []byte // the JSON; nil if there is none, as in a comment
	At   int    // offset of Data in Raw; -1 if Data is not one piece of it
}

// Settings say in what form a client wants a reply.
type Settings struct {
	// Fields are the members that reasoning is written to, if the API leaves a
	// choice. If empty, native reasoning stays in the members that it came in.
	Fields []string
	// Hide says that no reasoning may reach the client in any way, such as by the
	// log probabilities of its tokens.
	Hide bool
	// Inline says that reasoning goes into the text, and that no member holds it.
	Inline bool
	// Quiet says that no narration may reach the client, not even what the server has in a
	// member of its own.
	Quiet bool
	// Summary says that the API's items of reasoning have summaries, if the API tells
	// summaries from the reasoning itself.
	Summary bool
	// Sign says that blocks of reasoning that nobody has signed are signed, if the API
	// signs them.
	Sign bool
	// Slot, if set, returns what stands in the slot of a thought that the client does not see whole, in
	// place of the provider's signature or encrypted reasoning. It is asked for the thought of an
	// Index when the codec has reported all of it. If it returns nothing, the client gets
	// what the provider has sent.
	Slot func(index int) string
	// Cuts says that the reply may be cut: see [Cutter].
	Cuts bool
	// Keep says that the reply passes unchanged, and is only read.
	Keep bool
	// Written says that nothing passes as it came: what the client gets is written from
	// events by a [Writer].
	Written bool
	// Writer, if set, is of another API than the codec, and writes the reply in place of the
	// codec's own: see [Bridge]. Such a reply is Written.
	Writer *Bridge
	// Request is what the codec found in the request.
	Request *Request
}

// A Bridge is between a client of one API and an upstream of another.
type Bridge struct {
	Writer
	// Texts says that the client's API has a list of texts, as in [Capabilities]; FromTexts that the
	// upstream's has.
	Texts, FromTexts bool
	// WholeCalls and ObjectCalls are those of the client's API, as in [Capabilities].
	WholeCalls, ObjectCalls bool
	// Model is the model of the request, for replies that do not name it.
	Model string
	// Tagged says that the client gets thoughts in its texts. Then their copies wait for a call or for
	// the end.
	Tagged bool
	// Slot returns a copy of the thoughts of the reply that came since it was asked last, for
	// the client's opaque slot; "" if it gets none. calls and bytes are those of calls and texts
	// that the client got between the copy before and the thoughts. If nil, it gets none.
	Slot func(calls, bytes int) string
	// CallID returns the id that the client gets for a call, from that which the upstream gave; "" if
	// it gave none.
	CallID func(id string) string
	// Pictures says that clients of the API read pictures in a reply.
	Pictures bool
	// Left, if set, takes the JSON of each frame, or of the whole reply, after its events, and notes which
	// members go to no client. It returns an error if one is a part of the answer.
	Left func(data []byte) error
	// FaultKind, if set, is that of the upstream's codec: see [FaultCodec].
	FaultKind func(name, raw string) (status int, tooLong bool)
	// Tools are those of the client that the upstream has functions for, by the names of these.
	Tools map[string]Origin
}

// An Origin is a tool of a client that another API has only a function for: one in the group Space, or
// one that takes a text, which the function has as its member [FreeInput].
type Origin struct {
	Name, Space string
	Free        bool
}

// FreeInput is the member of the arguments of a function that stands for a tool which takes a text.
const FreeInput = "input"

// A Place says where in a client's frame a part belongs.
type Place uint8

const (
	Content   Place = iota // the text of the answer
	Reasoning              // the field, block or item of reasoning
	Narration              // the field of progress
	// Call is a call of a tool that the model wrote into its text. Only codecs that say
	// so in their [Capabilities] get one. The call comes whole, and the reason for which
	// the reply ends becomes the API's own for calls, if the model stopped of its own
	// accord.
	Call
	// Member is a text that belongs to no text of the reply. The part's Name is its place.
	// Only a reply that is [Settings.Written] gets one.
	Member
)

// A Part is text for one place. The text of a call are its arguments, a JSON object.
type Part struct {
	Place    Place
	Text     []byte
	ID, Name string // of a call; or the place of a Member
}

// A Reader takes what a codec finds in a reply, and separates reasoning and answer in
// its texts. Choices are
// numbered as in the API, from 0. Parts come in their order in the reply, and are
// valid until the next call.
type Reader interface {
	// Found takes what the codec found next. For a text and a thought it returns what
	// goes to the client.
	Found(e Event) []Part
	// Close ends a choice, and returns the rest that was held. For a choice that is
	// closed already it returns nothing.
	Close(choice int, end sotto.Ending) []Part
	// Open returns the choices that were read and not closed, in order.
	Open() []int
	// Fail notes why the reply is incomplete: an error of the upstream's, or one
	// that the codec found.
	Fail(err error)
	// Finish ends a reply of an API whose choices are its texts, once they are closed.
	// It returns what the client gets in a text of its own, because the reply had no
	// answer; or an error, if the reply must not end well.
	Finish(end sotto.Ending) ([]Part, error)
	// Findings are the remarks on the reply so far, separated by commas, for the
	// metadata of its end.
	Findings() string
	// Share returns how many bytes of the model's texts there were so far, and
	// how many of them were reasoning found in content.
	Share() (reasoning, all int)
}

// A Request is what the gateway must know about a request.
type Request struct {
	Model string
	// Fallbacks are other models that may answer instead, if the request lists
	// some, as requests to OpenRouter and LiteLLM do.
	Fallbacks []string
	Stream    bool
	// JSON says that the request asks for a reply in JSON.
	JSON bool
	// Switch says how the request turns thinking on or off, in one word that is the
	// same for the same setting: "think=true", "reasoning_effort=high". It is empty
	// if the request does not say.
	Switch string
	// Summary says that the request asks for summaries of the reasoning.
	Summary bool
	// Sealed says that the client of an API with items keeps encrypted reasoning and sends it
	// back: it asks for that, or the provider keeps nothing.
	Sealed bool
	// Stores says that the provider keeps the reply under an id of its own, so that a request that
	// is sent twice leaves two.
	Stores bool
	// Unnamed says that the request does not name the model that answers, and that the reply does: see [ModelNamer].
	Unnamed bool
	// Limit is the most tokens that the reply may have; 0 if the request does not say it. Only codecs of APIs whose
	// replies say no reason for their end report it.
	Limit int64
	// Prompt is the rendered prompt, if the API takes one. Its end is read.
	Prompt string
	// Prefill is the text with which an assistant message at the end begins the
	// reply.
	Prefill  string
	Messages []Message
	// Items says that the messages are single items, as [Capabilities] has it.
	Items bool
	// Tools says that the request offers tools. Declared are those that the client runs,
	// and NoCalls says that none may be called.
	Tools    bool
	Declared []Tool
	NoCalls  bool
	// OwnIDs says that clients of the API may give calls ids of their own, because the
	// API itself needs none.
	OwnIDs bool
}

// A Tool is one that a request declares.
type Tool struct {
	Name   string
	Schema string // of its arguments, as JSON; may be empty
}

// A Message is one of a request's earlier messages.
type Message struct {
	Role string // system, user, assistant or tool
	// Texts are the message's texts, decoded, in order.
	Texts []string
	// Thoughts are the reasoning that comes back with it.
	Thoughts []Thought
	// Calls says that it calls tools. Results says that it holds a tool's result.
	Calls, Results bool
	// CallIDs are the ids of its calls, or of the calls whose results it has. Where
	// one has no id it is the tool's name, and Names says so.
	CallIDs []string
	Names   bool
	// Called are the names of the tools that it calls, in order.
	Called []string
	// Signed says which of the calls come back with the provider's signature, by
	// their index in CallIDs. It may be shorter.
	Signed []bool
	// Empty are the members for reasoning that the message has and that are empty
	// strings.
	Empty []string
}

// A Thought is reasoning that a client sends back.
type Thought struct {
	Name string // the member or the kind of block that holds it
	Text string
	// Sealed says that it is signed or encrypted: opaque, to be kept byte for byte.
	// Minted says that its form shows that Sotto made it: the provider would have
	// signed it. Passed says that Sotto made the signature alone, and that the upstream itself
	// sent the block unsigned.
	Sealed, Minted, Passed bool
	// Proof is the signature, or the encrypted reasoning, if the codec tells it apart.
	Proof string
}

// A Change says what the history policy does to a message.
type Change struct {
	Message int // its index in Request.Messages
	// Drop are indices of Thoughts that are removed.
	Drop []int
	// Texts are new texts by their index; a text that becomes empty stays as "". A
	// message that calls tools and has no text gets one before its calls, at index 0.
	Texts map[int]string
	// Add is reasoning to be put into Field, in place of what the message has there. If
	// the API has a [Capabilities.Kind], that is the field: a block or an item of the kind
	// is put before what the message says.
	// Nothing is added if Field is empty. Add may be empty: some providers require the
	// member.
	Field, Add string
	// Before are items that are put before the message, byte for byte, if the API has
	// [Capabilities.Items].
	Before []string
	// Listed is a list of an API with one ([ListCodec]), as JSON: the message gets it in place of what it
	// has there.
	Listed string
	// Sign are signatures to be put on calls, by their index in CallIDs.
	Sign map[int]string
	// IDs are new ids of calls, or of the calls whose results the message has, by their index in
	// CallIDs. An empty one removes the id. Nothing is added to a call that has none.
	IDs map[int]string
}

// A Transcript takes the messages of a request, as [Codec.Transcribe] reports them.
// What it gets is valid until the call returns.
type Transcript interface {
	// Message begins a message. callID is the id of the call whose result it has.
	Message(role, callID string, texts ...[]byte)
	// Thought adds reasoning to the message begun last: the member or the kind of
	// block that holds it, and whether it is signed or encrypted.
	Thought(name string, text []byte, sealed bool)
	// Call adds a tool call to it.
	Call(id, name string, arguments []byte)
}
