// Package ollama has the codecs of Ollama's own API: chat and generate.
package ollama

import (
	"encoding/json"
	"errors"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/turn"
	"github.com/sotto-llm/sotto/wire/written"
)

// Chat is /api/chat, Generate is /api/generate.
var (
	Chat     turn.API   = chat{api{name: "ollama.chat", member: "message", text: "content"}}
	Generate wire.Codec = api{name: "ollama.generate", text: "response"}
)

// thinking is the member that Ollama's clients read reasoning from.
const thinking = "thinking"

type api struct {
	name   string
	member string // of a frame, that holds the text; if empty, the frame does
	text   string
}

func (a api) Name() string          { return a.name }
func (a api) Framing() wire.Framing { return wire.NDJSON }

func (a api) Capabilities() wire.Capabilities {
	return wire.Capabilities{Members: true, Field: thinking, RawPrompts: true, Resumes: true, Calls: a.member != "", WholeCalls: true, Pictures: a.member != ""}
}

func (a api) Request(body []byte) (*wire.Request, error) {
	root, err := chatjson.ReadRequest(body)
	if err != nil {
		return nil, err
	}
	stream := root.Get("stream")
	q := &wire.Request{
		Model:  root.Get("model").Str,
		Stream: !stream.Exists() || stream.Bool(),
		OwnIDs: true, // older servers send none
	}
	if root.Get("raw").Bool() { // otherwise the server puts the prompt into the model's template
		q.Prompt = root.Get("prompt").Str
	}
	chatjson.ReadConversation(q, root)
	return q, nil
}

// Transcribe reports the messages, or the prompt.
func (a api) Transcribe(body []byte, to wire.Transcript) {
	if a.member == "" {
		chatjson.TranscribePrompt(jsonedit.Parse(body), to)
	} else {
		chatjson.TranscribeMessages(jsonedit.Parse(body).Get("messages"), to)
	}
}

func (a api) Edit(dst, body []byte, changes []wire.Change) ([]byte, error) {
	return chatjson.EditMessages(dst, body, jsonedit.Parse(body).Get("messages"), changes)
}

func (a api) Error(_ int, message string) []byte {
	body, _ := json.Marshal(map[string]string{"error": message})
	return body
}

var errUnfinished = errors.New("the upstream ended the stream before the reply was finished")

func (a api) Reply(s wire.Settings) wire.Reply {
	y := &reply{api: a, set: s}
	if s.Written {
		y.set = written.Settings(s)
		return written.Reply(y, a.Writer(s), s)
	}
	if len(s.Fields) > 0 {
		y.speech.Names = []string{thinking}
	}
	y.speech.Inline, y.speech.Quiet, y.speech.Form = s.Inline, s.Quiet, chatjson.CallOllama
	return y
}
