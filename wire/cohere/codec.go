package cohere

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
	"github.com/sotto-llm/sotto/wire/turn"
	"github.com/sotto-llm/sotto/wire/written"
)

// Chat is /v2/chat.
var Chat turn.API = chat{}

type chat struct{}

const apiName = "cohere.chat"

var errUnfinished = errors.New("the upstream ended the stream before the message was finished")

// plan is the member in which a model plans its calls.
const plan = "tool_plan"

func (chat) Name() string          { return apiName }
func (chat) Framing() wire.Framing { return wire.SSE }

func (chat) Capabilities() wire.Capabilities {
	return wire.Capabilities{Kind: "thinking", Texts: true, Adjacent: true, NoBlanks: true, Unsigned: true, Calls: true}
}

func (chat) Request(body []byte) (*wire.Request, error) {
	root, err := chatjson.ReadRequest(body)
	if err != nil {
		return nil, err
	}
	if !root.Get("messages").IsArray() {
		return nil, chatjson.ErrNoMessages
	}
	q := &wire.Request{Model: root.Get("model").Str, Stream: root.Get("stream").Bool()}
	if q.Fallbacks, err = chatjson.FallbacksOf(root); err != nil {
		return nil, err
	}
	chatjson.ReadConversation(q, root)
	return q, nil
}

// Transcribe reports the messages.
func (chat) Transcribe(body []byte, to wire.Transcript) {
	chatjson.TranscribeMessages(jsonedit.Parse(body).Get("messages"), to)
}

func (chat) Edit(dst, body []byte, changes []wire.Change) ([]byte, error) {
	return chatjson.EditParts(dst, body, jsonedit.Parse(body).Get("messages"), changes)
}

// Error returns an error as the API writes it. It has no code but the status.
func (chat) Error(_ int, message string) []byte {
	body, _ := json.Marshal(map[string]string{"message": message})
	return body
}

func (chat) Reply(s wire.Settings) wire.Reply {
	y := &reply{set: s, opaque: -1}
	if !s.Written {
		y.flow.To = y
		return y
	}
	y.set, y.beside.on = written.Settings(s), true
	y.flow.To = blocks.Nowhere{}
	return written.Reply(y, chat{}.Writer(s), s)
}

// ends are the API's words for why a message ended.
var ends = map[string]sotto.Ending{
	"COMPLETE": sotto.EndStopped, "STOP_SEQUENCE": sotto.EndStopped, "TOOL_CALL": sotto.EndStopped,
	"MAX_TOKENS": sotto.EndCut,
	"ERROR":      sotto.EndAborted, "TIMEOUT": sotto.EndAborted, "ERROR_TOXIC": sotto.EndAborted, "ERROR_LIMIT": sotto.EndAborted,
	"USER_CANCEL": sotto.EndAborted,
}

// faults are the statuses of the reasons that are errors.
var faults = map[string]int{"ERROR": http.StatusBadGateway, timeout: http.StatusGatewayTimeout, "ERROR_LIMIT": http.StatusBadRequest}

const timeout = "TIMEOUT"

// FaultKind implements [wire.FaultCodec]. An error itself has only a text; the reason for the end of the message says
// more.
func (chat) FaultKind(name, _ string) (status int, tooLong bool) {
	return faults[name], name == "ERROR_LIMIT"
}

// endOf reads why a message ended.
func endOf(reason gjson.Result) sotto.Ending { return ends[reason.Str] }

// counted reports token counts. Without them, the tokens that are charged for stand in.
func counted(u gjson.Result, r wire.Reader) {
	if !u.IsObject() {
		return
	}
	tokens := u.Get("tokens")
	if !tokens.IsObject() {
		tokens = u.Get("billed_units")
	}
	r.Found(wire.Event{Kind: wire.EventUsage, Usage: wire.Usage{
		Input: chatjson.Count(tokens.Get("input_tokens")), Output: chatjson.Count(tokens.Get("output_tokens")),
		Reasoning: -1, CacheRead: chatjson.Count(u.Get("cached_tokens")), CacheWrite: -1,
	}})
}

// kindOf returns what a part of a message holds.
func kindOf(part gjson.Result) blocks.Kind {
	switch kind := part.Get("type").Str; {
	case kind == "text", kind == "" && part.Get("text").Exists():
		return blocks.Text
	case kind == "thinking", kind == "" && part.Get("thinking").Exists():
		return blocks.Thinking
	}
	return blocks.Other
}

// keyOf returns the member with the text of a part, and its kind in the API.
func keyOf(k blocks.Kind) string {
	if k == blocks.Thinking {
		return "thinking"
	}
	return "text"
}

// readPlan reads the plan of a model's calls, or a piece of it. stays reports whether it
// goes to the client where it is.
func readPlan(w *blocks.Flow, text []byte, r wire.Reader) (stays bool) {
	if len(text) == 0 {
		return true
	}
	parts := w.Thought(plan, text, r)
	for _, p := range parts {
		if p.Place == wire.Reasoning {
			return true
		}
	}
	w.Write(parts)
	return false
}

// call reports a call of the message, or a piece of one.
func call(v gjson.Result, choice, index int, r wire.Reader) {
	function := v.Get("function")
	r.Found(wire.Event{
		Kind: wire.EventCall, Choice: choice, Index: index, ID: v.Get("id").Str, Name: function.Get("name").Str,
		Text: chatjson.ValueText(function.Get("arguments")), Raw: v.Raw,
	})
}

func says(v gjson.Result) bool { return v.Exists() && v.Type != gjson.Null }
