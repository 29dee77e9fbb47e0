// Package model calls language models. It has one small interface, clients for
// the APIs of Ollama, of OpenAI (which many servers speak) and of Anthropic, and
// a model that plays scripted replies.
//
// A client returns what a model sent, without interpreting it: [Reply.Raw] is the
// content byte for byte, including markers. Reasoning that the provider itself
// separated is in Reply.Thoughts. Package sotto reads Raw.
//
//	m, err := model.Open(model.Config{Provider: "ollama", Model: "qwen3:8b"})
//	…
//	reply, err := m.Invoke(ctx, model.Request{
//		Messages: []model.Message{{Role: model.User, Text: "Is 9 prime?"}},
//	}, nil)
//	answer := sotto.Parse(reply.Raw, reply.End).Visible()
//
// # Guarantees
//
//  1. The deltas of text, joined, are Reply.Raw; those of thoughts are the texts
//     of Reply.Thoughts. How the server cuts its bytes changes neither.
//  2. A reply that did not end as its API says is an error, with all that came
//     until then. No incomplete call is given as a delta.
//  3. A request is sent again only while nothing of its reply has been given:
//     at 429 and 5xx, and if the connection fails.
//  4. A request has the reasoning of earlier messages that its provider requires,
//     by the table of package history, as far as the messages hold it or this
//     client has seen it. Signed parts go back byte for byte.
//  5. A key is sent only to the server of Config.URL; redirects are not followed.
//     No error and no log holds it.
//  6. What a server sends has bounds: a frame, a reply, the number of calls, the
//     text of an error. Silence is bounded too; the duration of a reply is not.
//
// An error of a server or a connection is an [*Error].
package model

import (
	"context"
	"encoding/json"

	"github.com/sotto-llm/sotto"
)

// A Model answers conversations. It is safe for concurrent use.
type Model interface {
	// Name is the model's name as its server spells it.
	Name() string
	// Invoke asks for one reply. If on is not nil, each delta is given to it as it
	// comes; an error of on ends the reply. With an error, the Reply is what had
	// come until then, and its End is sotto.EndAborted.
	Invoke(ctx context.Context, q Request, on func(Delta) error) (Reply, error)
}

// An Extender is a model that adds members to the body of each request: see Config.Extra.
type Extender interface {
	// Extended returns them as a JSON object; nil if there are none.
	Extended() json.RawMessage
}

// An Embedder is a model that can turn texts into vectors.
type Embedder interface {
	// Embed returns a vector for each text, all of one length.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// A Role says who wrote a message.
type Role string

const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // the result of a call
)

// A Request is a conversation that asks for a reply. Zero values leave the choice
// to the server.
type Request struct {
	Messages []Message
	Tools    []Tool
	// NoCalls says that none of Tools may be called now. The model still gets their
	// descriptions if the provider wants to know the tools that were called before.
	NoCalls     bool
	MaxTokens   int
	Temperature *float64
	Seed        *int64
	Stop        []string
	// Think turns thinking on or off, or says how much: "", "true", "false",
	// "low", "medium", "high". A client maps it to what its API has.
	Think string
}

// A Message is a message of a conversation.
type Message struct {
	Role Role
	Text string
	// Thoughts and Calls belong to an assistant's message. They go back as they
	// came.
	Thoughts []Thought
	Calls    []Call
	// CallID and Name belong to a tool's message: the call that it answers, and the
	// tool.
	CallID, Name string
}

// A Thought is reasoning that the provider itself separated from the text.
type Thought struct {
	// Field is the member or the kind of block that held it.
	Field string
	Text  string
	// Sealed says that the provider signed or encrypted it: it can only go back
	// as it came.
	Sealed bool
	// Raw is the JSON that it came in, if the API has more than a text for it.
	Raw json.RawMessage `json:",omitempty"`
	// At is where it was: how many bytes of the content came before it.
	At int
}

// A Call is a model's request to use a tool.
type Call struct {
	ID, Name string
	// Arguments are as the model wrote them: JSON, if it wrote what it was asked
	// for.
	Arguments string
	// Extra are further members that must go back with the call, such as a
	// signature; a JSON object, or nil.
	Extra json.RawMessage `json:",omitempty"`
}

// A Tool is what a model is told about a tool.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON Schema of its arguments, which are an object.
	Schema json.RawMessage
}

// A Delta is a piece of a reply as it comes: of the content, of native reasoning,
// or a call, which is given when it is complete.
type Delta struct {
	Text    string
	Thought string
	Call    *Call
}

// A Reply is what a model answered.
type Reply struct {
	// Model is the model's name as the reply says it.
	Model string
	// Raw is the content, byte for byte.
	Raw      string
	Thoughts []Thought
	Calls    []Call
	End      sotto.Ending
	// Finish is the finish reason in the server's own word.
	Finish string
	Usage  Usage
	// Earlier says what happened to the reasoning of earlier messages in the
	// request that was sent.
	Earlier Earlier
}

// Earlier says what a client did with the reasoning of earlier messages, so that
// their provider gets what it requires. For a scripted model it is zero.
type Earlier struct {
	Rule     string // the row of history's table, or the policy, that decided
	Removed  int    // bytes that were left out
	Restored int    // bytes that were put back
}

// Message returns the reply as a message of the conversation, with all that came.
func (r Reply) Message() Message {
	return Message{Role: Assistant, Text: r.Raw, Thoughts: r.Thoughts, Calls: r.Calls}
}

// A Usage counts tokens as the server does. Numbers that it does not report are
// zero.
type Usage struct {
	Input, Output int64
	// Reasoning is the part of Output that was reasoning.
	Reasoning int64
	// CacheRead and CacheWrite are the parts of Input that the server read from its
	// cache, and that it wrote to it.
	CacheRead, CacheWrite int64
}
