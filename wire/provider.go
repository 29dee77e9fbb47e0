package wire

import (
	"net/http"
	"slices"
	"time"
)

// A Provider is one folder beside this package: the codecs of a provider's APIs, and
// the endpoints at which servers have them. Package providers lists all of them.
type Provider struct {
	// Name is what configuration calls it: "openai".
	Name      string
	Codecs    []Codec
	Endpoints []Endpoint
	// Carriers are the forms in which its servers send streams besides the codecs'
	// framing.
	Carriers []Carrier
	// KeyHeader is the header that carries the API key. If empty, the key is in
	// Authorization. KeyPath is a part of the paths that are only this provider's.
	KeyHeader, KeyPath string
	// Headers are those that every request of its APIs must have.
	Headers map[string]string
	// KeyInURL says that clients may send the key as the parameter key of the URL.
	KeyInURL bool
	// AddsVersion says that clients add /v1 to any base URL, which then has none.
	// Other clients take the version as a part of the base URL.
	AddsVersion bool
	// Template says how its servers show the chat template of a model; nil if they do
	// not.
	Template *Template
	// Models says how its servers list models; nil if they have no such route.
	Models *Models
	// Counts say how the tokens of a request are counted, by the API of the request.
	Counts []Count
	// Batch says how the results of its batches are written; nil if they are not read.
	Batch *Batch
	// ReadPath adds to a request what the path says that it was sent to: a model, or
	// that the reply is streamed. If nil, paths say nothing.
	ReadPath func(path string, q *Request)
	// KeepsPath says that clients encode paths in a way of their own, so that a path goes
	// to the server as it came.
	KeepsPath bool
	// Refuses returns why a request to one of the endpoints cannot go on to a server, or
	// nil. If nil, none is refused.
	Refuses func(r *http.Request) error
}

// Has reports whether a codec is one of the provider's.
func (p *Provider) Has(c Codec) bool { return slices.Contains(p.Codecs, c) }

// An Endpoint is a route of a provider's API.
type Endpoint struct {
	Methods string // separated by spaces; if empty, any. GET includes HEAD
	// Path is the whole path, without a prefix. {} stands for one segment, {...} for
	// one or more, {}:verb for a segment that ends in a verb.
	Path string
	Kind EndpointKind
	// Codec reads the replies, and writes the errors. If nil, errors are written as
	// OpenAI's.
	Codec Codec
	// Of says of what kind the things are that the endpoint makes, lists or shows, such as
	// files. Each belongs to the caller who made it. Its id is what stands for the variable
	// part of the path after the segment Of; without one, the path is that of all of them.
	Of string
	// For says who may use the endpoint, where its kind does not say it.
	For EndpointUsers
	// Counts says that it counts the tokens of a request: see [Count].
	Counts bool
	// Stands returns what it answers in front of a server of another API, to a request with a
	// body; of that server it is told the models. If nil, such a server has no counterpart.
	Stands func(body []byte, models []Model) (reply []byte, mediaType string, ok bool)
	// Else is the endpoint of another API at the same path; nil if there is none.
	Else *Else
	// Kept says what it asks of what servers keep; a gateway may keep it for them. The Codec is a
	// [KeptCodec] then.
	Kept KeptRoute
}

// An Else is what an endpoint is to requests of another API that has the same path: only their bodies tell which API they
// are of. A codec reads the replies.
type Else struct {
	Codec Codec
	// Asks reports whether a body, which is valid JSON, is of a request of that API.
	Asks func(body []byte) bool
}

// EndpointUsers says which callers of a gateway may use an endpoint, if it tells them apart.
type EndpointUsers uint8

const (
	ForKind     EndpointUsers = iota // by its kind: the operator, if it is local or unknown, and else everybody
	ForAll                           // everybody, although it is local: it changes nothing, and shows no settings
	ForOperator                      // the operator, whatever its kind
)

// An EndpointKind says what the requests of an endpoint do.
type EndpointKind uint8

const (
	EndpointUnknown  EndpointKind = iota // the endpoint is in no table
	EndpointReplies                      // a codec reads its replies
	EndpointHarmless                     // lists models or counts tokens: returns no reply, and changes nothing
	EndpointLocal                        // changes the server or shows its settings: only for the machine itself
	EndpointUnread                       // returns a model's text, which no codec reads
	EndpointStored                       // returns a reply made earlier, which a codec reads: only for the machine itself
	EndpointResults                      // returns a file, which may have the results of a batch: only for the machine itself
	EndpointAudio                        // returns what was said in the request's sound, as text that no codec reads
)

// A Batch says how the results of a batch of requests are written: as a file of JSON
// Lines, with an object for each request. Each has the custom_id of its request, or its key.
type Batch struct {
	// Reply is the path of the reply in a line.
	Reply string
	// Codecs may read the reply. The first that it fits does.
	Codecs []BatchCodec
}

// A BatchCodec reads the replies in a batch that have a member, at the path Has.
type BatchCodec struct {
	Has   string
	Codec Codec
}

// A Template is a request that shows the chat template of a model.
type Template struct {
	Method, Path string
	// Body makes the body for a model; if nil, there is none.
	Body func(model string) []byte
	// Member is the member of the response that holds the template.
	Member string
}

// A Model is what a list of models says of one. Zero values say nothing.
type Model struct {
	Name, Title, Owner string
	Created            time.Time
	Context            int64 // tokens
	// What it can do besides texts: call tools, see pictures, think.
	Tools, Pictures, Thinking Ability
}

// An Ability is what a list says of one of a model's abilities.
type Ability uint8

// The values of Ability.
const (
	AbilityUnsaid Ability = iota
	AbilityHas
	AbilityLacks
)

// Able returns AbilityHas or AbilityLacks.
func Able(has bool) Ability {
	if has {
		return AbilityHas
	}
	return AbilityLacks
}

// Models says how a provider's servers list models.
type Models struct {
	// Path is where they have the list, with the query that asks for all of it.
	Path string
	// Lists are the endpoints of the list, and One those of one model.
	Lists, One []string
	// Asked reports whether a request is of a client of this provider, where others have the same
	// path. If nil, the path alone says it.
	Asked func(h http.Header) bool
	// Read reads a list, which is checked JSON. Write writes one, and WriteOne one model.
	Read     func(list []byte) []Model
	Write    func(list []Model) []byte
	WriteOne func(m Model) []byte
}

// A Count says how the tokens of a request are counted in one API.
type Count struct {
	Codec Codec
	// Request returns the request whose tokens a client wants to know, and Reply what it is
	// answered; nil if the API has no route for that.
	Request func(body []byte) ([]byte, error)
	Reply   func(tokens int64) []byte
	// Ask asks a server; ok is false if that does not say it.
	Ask func(send Send, model string, body []byte) (tokens int64, ok bool)
}

// Send sends a request with a JSON body to a server, and returns the reply, which is checked JSON. It
// is nil unless the status was 200.
type Send func(path string, body []byte) (reply []byte)
