// Package openai has the codecs of two of OpenAI's APIs, as many servers implement
// them: chat completions with its variants (reasoning fields of several names,
// OpenRouter's details, typed content parts), and completions. Package responses
// has the third.
package openai

import (
	"github.com/tidwall/gjson"
	"net/http"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/internal/schema"
	"github.com/sotto-llm/sotto/wire/turn"
)

// Chat is the chat completions API, Completions the older one that takes a
// rendered prompt.
var (
	Chat        turn.API   = chat{choices{name: "openai.chat", delta: "delta", message: "message", text: "content"}}
	Completions wire.Codec = choices{name: "openai.completions", text: "text"}
)

// choices is an API whose replies are lists of choices.
type choices struct {
	name string
	// delta and message are the members of a choice that hold its text in a
	// frame and in a whole reply; if empty, the choice itself does.
	delta, message string
	text           string // the member with the text
}

func (c choices) Name() string          { return c.name }
func (c choices) Framing() wire.Framing { return wire.SSE }

func (c choices) Capabilities() wire.Capabilities {
	return wire.Capabilities{Members: true, Pictures: c.delta != "", Calls: c.delta != "", Lists: c.delta == ""} // a list is llama.cpp's form
}

func (c choices) Request(body []byte) (*wire.Request, error) {
	root, err := chatjson.ReadRequest(body)
	if err != nil {
		return nil, err
	}
	said := chatjson.Members(root, "model", "stream", "store", "prompt")
	q := &wire.Request{
		Model:  said[0].Str,
		Stream: said[1].Bool(),
		Stores: said[2].Bool(),
		Prompt: chatjson.PromptOf(said[3]),
	}
	if q.Fallbacks, err = chatjson.FallbacksOf(root); err != nil {
		return nil, err
	}
	chatjson.ReadConversation(q, root)
	return q, nil
}

// Transcribe reports the messages, or the prompt.
func (c choices) Transcribe(body []byte, to wire.Transcript) {
	if c.delta == "" {
		chatjson.TranscribePrompt(jsonedit.Parse(body), to)
	} else {
		chatjson.TranscribeMessages(jsonedit.Parse(body).Get("messages"), to)
	}
}

func (c choices) Edit(dst, body []byte, changes []wire.Change) ([]byte, error) {
	return chatjson.EditMessages(dst, body, jsonedit.Parse(body).Get("messages"), changes)
}

// SetLimits implements [wire.LimitHeaders].
func (c choices) SetLimits(h http.Header, left []wire.LimitLeft) { schema.SetLimits(h, left) }

var _ wire.LimitHeaders = choices{}

func (c choices) Error(status int, message string) []byte { return schema.Error(status, message) }

// TooLong implements [wire.LengthCodec].
func (choices) TooLong(message string) []byte { return schema.TooLong(message) }

// FaultKind implements [wire.FaultCodec].
func (choices) FaultKind(_, raw string) (status int, tooLong bool) { return schema.FaultKind(raw) }

// endOf reads a finish reason; ok is false if the choice continues.
func endOf(reason gjson.Result) (end sotto.Ending, ok bool) {
	if reason.Type != gjson.String || reason.Str == "" {
		return sotto.EndUnknown, false
	}
	switch reason.Str {
	case "length", "max_tokens", "model_length", "repetition": // vLLM ends a reply that repeats itself
		return sotto.EndCut, true
	case "content_filter", "error", "abort":
		return sotto.EndAborted, true
	}
	return sotto.EndStopped, true
}

// object returns the place where a choice of a frame or body speaks, and so which
// member of the choice holds it.
func (c choices) object(choice gjson.Result, member string) (o chatjson.Object, ok bool) {
	at := choice
	if member != "" {
		at = choice.Get(member)
		if !at.IsObject() {
			return o, false
		}
	}
	return chatjson.Object{
		Choice:  int(choice.Get("index").Num),
		Text:    c.text,
		Members: jsonedit.Members(at),
		At:      at.Index + 1,
	}, true
}
