// Package turn has a request to a model in no API's words: a conversation, the tools that
// may be called, and how the reply is to be. A codec that is an [API] reads its requests into
// a [Request], and writes them from one, whichever codec has read it.
//
//	body of one API → ReadTurn → Request → For(other) → WriteTurn → body of another
//
// What holds:
//
//   - Read and written by one codec, a request is the same JSON, apart from the order of
//     members, a member that is null, and a list of one text that was a single text. Members
//     that only this API has are kept in an [Extra] of the object that they belong to.
//   - Texts, arguments of calls, schemas, numbers, signatures and encrypted data are byte for
//     byte those that were read.
//   - Nothing is lost in silence: [Request.For] names each member that only the API had, and
//     WriteTurn returns an [UnsupportedError] for what its API has no place for.
package turn

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/switches"
)

// An API is a codec whose requests are conversations.
type API interface {
	wire.Codec
	// ReadTurn reads the body of a request, which is JSON that was checked. What it returns
	// may share memory with the body.
	ReadTurn(body []byte) (*Request, error)
	// WriteTurn appends the body of a request. Extras of other APIs are not looked at: see
	// [Request.For]. If the API has no place for something, the error is an [*UnsupportedError].
	WriteTurn(dst []byte, q *Request) ([]byte, error)
	// Path returns where servers of the API take a request, with its query: some have the model
	// and whether the reply is streamed in it. It is escaped.
	Path(q *Request) string
	// Word returns the path of the member that says a field in requests of the API, or "" if none does. That
	// of a part or a tool is the path in it, or begins with a slash if it is a member of the request.
	Word(f Field) string
}

// An UnsupportedError is an error of something in a request that an API has no place for.
type UnsupportedError struct {
	What string // in a few words, such as "an image in a tool's result"
	API  string // the codec's name
	// Of is the member that asks for it, if it is one of the request itself, and Path is where it
	// is in the request that was read, in the words of its API. Either may be empty.
	Of   Field
	Path string
}

func (e *UnsupportedError) Error() string {
	text := e.API + " has no place for " + e.What
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	return text
}

// At says where a thing is that an API has no place for, if the error does not say it yet.
func At(err error, path string) error {
	if e, ok := errors.AsType[*UnsupportedError](err); ok && e.Path == "" && e.Of == "" {
		e.Path = path
	}
	return err
}

// A Field is a member of a [Request] that every API has its own word for.
type Field string

// The fields.
const (
	OfStream      Field = "Stream"
	OfChoice      Field = "Choice"
	OfParallel    Field = "Parallel"
	OfThinking    Field = "Thinking"
	OfFormat      Field = "Format"
	OfMaxTokens   Field = "MaxTokens"
	OfStop        Field = "Stop"
	OfChoices     Field = "Choices"
	OfTemperature Field = "Temperature"
	OfTopP        Field = "TopP"
	OfTopK        Field = "TopK"
	OfMinP        Field = "MinP"
	OfPresence    Field = "PresencePenalty"
	OfFrequency   Field = "FrequencyPenalty"
	OfSeed        Field = "Seed"
	// Those of a part, a tool or a group of tools.
	OfDetail      Field = "Detail"
	OfFailed      Field = "Failed"
	OfStrict      Field = "Strict"
	OfDescription Field = "Description"
)

// A Request asks a model for a reply. Zero values say nothing.
type Request struct {
	Model    string
	Stream   bool
	Messages []Message
	Tools    []Tool
	Choice   Choice
	// Parallel says whether the model may call several tools at once.
	Parallel *bool
	Thinking Thinking
	Format   Format
	// MaxTokens bounds the reply. MaxName is the member that says so, if the API has several:
	// "max_tokens" or "max_completion_tokens".
	MaxTokens json.Number
	MaxName   string
	Sampling  Sampling
	Stop      []string
	// Choices is how many replies are asked for.
	Choices json.Number
	// Usage says whether a stream ends with token counts, where the API leaves a choice.
	Usage *bool
	// Sealed says that the client keeps encrypted reasoning and sends it back, where an API leaves it out
	// unless it is asked for.
	Sealed bool
	// Unkept says that the provider need not keep the reply, where an API keeps it unless it is told.
	Unkept bool
	Extra  Extra
	// Left are the paths of what WriteTurn has left out because its API has no place for it and the
	// answer does not depend on it. They are in the words of the API that was read.
	Left []Left
	// Located says that For keeps the paths of the extras that it removes, for the errors of WriteTurn.
	Located bool
}

// A Left is something that was left out: a member of the request or, if the Path is not empty, of what
// stands there.
type Left struct {
	Path string
	Of   Field
}

// Leave notes that a writer has left something out: see [Request.Left].
func (q *Request) Leave(path string, of Field) {
	if l := (Left{path, of}); !slices.Contains(q.Left, l) {
		q.Left = append(q.Left, l)
	}
}

// Sampling are the numbers that shape how tokens are chosen, as they were spelled.
type Sampling struct {
	Temperature, TopP, TopK, MinP, PresencePenalty, FrequencyPenalty, Seed json.Number
	// Extra are further members of the object that the numbers stand in, if the API has one.
	Extra Extra
}

// Thinking says whether and how much the model is to think.
type Thinking struct {
	switches.Setting
	// Words are the members in which the setting is written; if empty, those that are native to
	// the API.
	Words switches.Words
	// Shown says that the client wants to see the thoughts, where an API leaves them out unless it is
	// asked for them.
	Shown bool
	// Extra has the members as they came, for a writer of the same API, which writes them in
	// place of the Setting.
	Extra Extra
}

// A Role says whose a message is.
type Role string

// The roles. A developer's message is OpenAI's newer name for a system's. A tool's message
// has only results.
const (
	System    Role = "system"
	Developer Role = "developer"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// A Message is one message of a conversation.
type Message struct {
	Role  Role
	Name  string // of who wrote it, if the API tells several apart
	Parts []Part
	// Apart says that a system's message stands beside the conversation, as "instructions"
	// or "systemInstruction" do.
	Apart bool
	// Item says that the message is an item: with the assistant's items beside it, it is one
	// message where the API has none. See [Joined].
	Item  bool
	Extra Extra
}

// A Kind says what a part of a message is.
type Kind uint8

const (
	Text Kind = iota
	Refusal
	Image
	Audio
	Video
	File
	Thought // reasoning that the provider itself had separated
	Call
	Result
	Other // a part that only its API has, whole in its Extra
)

var kinds = [...]string{"a text", "a refusal", "an image", "a sound", "a video", "a file", "a thought", "a call", "a result", "a part of an API's own"}

// String is what the kind is called in a sentence.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return "a part of an unknown kind"
}

// A Part is a part of a message. In an assistant's message the parts stand in the order in
// which the model wrote them, where its API has an order.
type Part struct {
	Kind Kind
	// Text is that of a text, a refusal or a thought.
	Text string
	// ID is the provider's of a thought. Of a call and of a result it is the call's.
	ID string
	// Name is the tool of a call or a result, or the member or the kind of block that a
	// thought came in. Space is the group that the tool of a call is in.
	Name, Space string
	// Arguments are those of a call, as the model wrote them: usually a JSON object. Of a Free
	// call they are the text that it gave to a tool without a schema.
	Arguments string
	Free      bool
	// Results are the parts of a result: texts, images, files. Failed says that the tool failed.
	Results []Part
	Failed  bool
	// Media is what an image, an audio, a video or a file has.
	Media Media
	// Signature is the provider's on this part, and Sealed is what it encrypted. Both go back
	// only as they came. Summary says that a thought's text is a summary of it.
	Signature, Sealed string
	Summary           bool
	Extra             Extra
}

// A Media is a picture, a sound or a file: its Data, a URL, or the ID of a file that the provider
// has.
type Media struct {
	Type   string // "image/png"; may be empty
	Data   string // in base64
	URL    string
	ID     string
	Name   string // of the file
	Detail string // how closely an image is looked at: "low", "high", "auto"
}

// A Tool is one that the model may call.
type Tool struct {
	Name, Description string
	Schema            string // of its arguments, as JSON; may be empty
	Strict            *bool
	// Free says that the tool takes a text instead of an object. If it has a Grammar, the text must fit
	// it; Syntax says in which language that is written.
	Free            bool
	Syntax, Grammar string
	// Within are the tools of a group, whose name is Name. Their own names are those in the group.
	Within []Tool
	// Extra is whole if only the API has such a tool, such as a search that the provider runs.
	// Then the tool has no name here.
	Extra Extra
}

// A Choice says which tools may be called: "auto", "none", "required", or only those of
// Names. It says nothing if it is empty.
type Choice struct {
	Mode  string
	Names []string
	Extra Extra
}

// The modes of a [Choice]. With Required, the model must call a tool, one of Names if there are any.
const (
	Auto     = "auto"
	None     = "none"
	Required = "required"
)

// A Format says what the text of the reply is to be: "text", "json", or "schema": JSON that
// fits a Schema. It says nothing if it is empty.
type Format struct {
	Mode              string
	Name, Description string
	Schema            string
	Strict            *bool
	Extra             Extra
}

// The modes of a [Format].
const (
	PlainText = "text"
	JSON      = "json"
	Schema    = "schema"
)

// Joined returns the messages with the items of an assistant that stand next to each other as one
// message, for an API that has no items.
func Joined(list []Message) []Message {
	var all []Message
	for _, m := range list {
		if n := len(all) - 1; n >= 0 && m.Item && m.Role == Assistant && all[n].Item && all[n].Role == Assistant {
			all[n].Parts = append(all[n].Parts, m.Parts...)
			continue
		}
		m.Parts = slices.Clip(m.Parts) // what is joined is not added to the caller's
		all = append(all, m)
	}
	return all
}
