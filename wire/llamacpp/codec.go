// Package llamacpp has the codec of the own API of llama.cpp's server: completion. It
// takes a rendered prompt, and its replies are the text that follows it.
package llamacpp

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/written"
)

// Completion is /completion, and /infill, whose replies have the same form.
var Completion wire.Codec = completion{}

type completion struct{}

func (completion) Name() string          { return "llamacpp.completion" }
func (completion) Framing() wire.Framing { return wire.SSE }

func (completion) Capabilities() wire.Capabilities {
	return wire.Capabilities{Members: true, Lists: true, RawPrompts: true}
}

func (completion) Request(body []byte) (*wire.Request, error) {
	root, err := chatjson.ReadRequest(body)
	if err != nil {
		return nil, err
	}
	q := &wire.Request{
		Model:  root.Get("model").Str,
		Stream: root.Get("stream").Bool(),
		Prompt: chatjson.PromptOf(root.Get("prompt")),
		Switch: chatjson.SwitchOf(root, nil),
		JSON:   chatjson.WantsJSON(root),
	}
	q.Fallbacks, err = chatjson.FallbacksOf(root)
	return q, err
}

// Transcribe reports the prompt.
func (completion) Transcribe(body []byte, to wire.Transcript) {
	chatjson.TranscribePrompt(jsonedit.Parse(body), to)
}

// Edit changes nothing: a prompt has no messages.
func (completion) Edit(dst, body []byte, _ []wire.Change) ([]byte, error) {
	return append(dst, body...), nil
}

// Error returns an error as the server writes it: its code is the status.
func (completion) Error(status int, message string) []byte {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusUnauthorized:
		kind = "authentication_error"
	case status == http.StatusForbidden:
		kind = "permission_error"
	case status == http.StatusNotFound:
		kind = "not_found_error"
	case status == http.StatusServiceUnavailable:
		kind = "unavailable_error"
	case status >= 500:
		kind = "server_error"
	}
	type fault struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Type    string `json:"type"`
	}
	body, _ := json.Marshal(map[string]fault{"error": {status, message, kind}})
	return body
}

func (c completion) Reply(s wire.Settings) wire.Reply {
	if !s.Written {
		return &reply{set: s, speech: chatjson.Speech{Names: s.Fields, Inline: s.Inline, Quiet: s.Quiet}}
	}
	return written.Reply(&reply{set: written.Settings(s)}, c.Writer(s), s)
}

var errUnfinished = errors.New("the upstream ended the stream before the reply was finished")

// Fits reports whether the JSON of a frame or a body is of this API: it has a text and
// says whether the text goes on, or is a list of such. The JSON must be valid.
func Fits(data []byte) bool {
	root := jsonedit.Parse(data)
	if root.IsArray() {
		root = root.Get("0")
	}
	return root.Get("content").Type == gjson.String && root.Get("stop").IsBool()
}

// endOf reads why a text ended. Older servers say it with a member for each reason.
func endOf(root gjson.Result) sotto.Ending {
	kind := root.Get("stop_type").Str
	switch {
	case kind == "limit", root.Get("stopped_limit").Bool():
		return sotto.EndCut
	case kind == "eos", kind == "word", root.Get("stopped_eos").Bool(), root.Get("stopped_word").Bool():
		return sotto.EndStopped
	}
	return sotto.EndUnknown
}
