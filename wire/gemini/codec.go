package gemini

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/gemini/internal/googleerror"
	"github.com/sotto-llm/sotto/wire/turn"
	"github.com/sotto-llm/sotto/wire/written"
)

// GenerateContent is generateContent and streamGenerateContent.
var GenerateContent turn.API = codec{}

type codec struct{}

const apiName = "gemini.generate"

func (codec) Name() string          { return apiName }
func (codec) Framing() wire.Framing { return wire.SSE }

func (codec) Capabilities() wire.Capabilities {
	return wire.Capabilities{Kind: thoughtMember, Unsigned: true, NoBlanks: true, NoComments: true, Calls: true, WholeCalls: true, Pictures: true, Placeholder: unsigned}
}

// Request reads the body. The model is in the path, and so is whether the reply is
// streamed.
func (codec) Request(body []byte) (*wire.Request, error) {
	root := jsonedit.Parse(body)
	if !root.IsObject() {
		return nil, wire.ErrNoObject
	}
	if err := requestMembers.check(root, ""); err != nil {
		return nil, err
	}
	q := &wire.Request{OwnIDs: true, Stores: root.Get("store").Bool()} // ids of calls are optional
	for _, m := range readMessages(contents(root.Get("contents"))) {
		q.Messages = append(q.Messages, m.join().Message)
	}
	config := chatjson.Either(root, "generationConfig")
	q.Prefill = chatjson.PrefillOf(q.Messages)
	q.Switch = chatjson.SwitchOf(root, q.Messages)
	q.JSON = chatjson.Either(config, "responseMimeType").Str == "application/json"
	readTools(q, root)
	return q, nil
}

// readTools reads the functions that a request declares.
func readTools(q *wire.Request, root gjson.Result) {
	tools := contents(root.Get("tools"))
	q.Tools = len(tools) > 0
	q.NoCalls = chatjson.Either(chatjson.Either(chatjson.Either(root, "toolConfig"), "functionCallingConfig"), "mode").Str == "NONE"
	for _, tool := range tools {
		for _, f := range contents(chatjson.Either(tool, "functionDeclarations")) {
			schema := chatjson.Either(f, "parametersJsonSchema")
			if !schema.IsObject() {
				schema = f.Get("parameters")
			}
			if name := f.Get("name").Str; name != "" {
				q.Declared = append(q.Declared, wire.Tool{Name: name, Schema: schema.Raw})
			}
		}
	}
}

// contents are the elements of a list; a single one may stand without.
func contents(list gjson.Result) []gjson.Result {
	if list.IsObject() {
		return []gjson.Result{list}
	}
	return list.Array()
}

func (c codec) Reply(s wire.Settings) wire.Reply {
	if !s.Written {
		return &reply{set: s}
	}
	return written.Reply(&reply{set: written.Settings(s), parts: parts{written: true}}, c.Writer(s), s)
}

// Error returns Google's error object, with the name of the status in place of
// words for what is wrong.
func (codec) Error(status int, message string) []byte {
	return googleerror.Append(nil, status, message)
}

// FaultKind implements [wire.FaultCodec].
func (codec) FaultKind(_, raw string) (status int, tooLong bool) { return googleerror.Kind(raw) }

// endOf reads a finish reason. Without one, the candidate continues.
//
// Where Google stops a text for what it says or cannot make a call of it, the text
// breaks off where it is. An unknown reason says nothing about the text's end.
func endOf(reason gjson.Result) (end sotto.Ending, ok bool) {
	if reason.Type != gjson.String || reason.Str == "" {
		return sotto.EndUnknown, false
	}
	switch reason.Str {
	case "STOP":
		return sotto.EndStopped, true
	case "MAX_TOKENS":
		return sotto.EndCut, true
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "OTHER", "MALFORMED_FUNCTION_CALL",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER", "NO_IMAGE", "UNEXPECTED_TOOL_CALL",
		"TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE":
		return sotto.EndAborted, true
	}
	return sotto.EndUnknown, true
}

// unsigned stands in place of a signature on calls of other models: the provider does not verify it.
// https://ai.google.dev/gemini-api/docs/thought-signatures
const unsigned = "skip_thought_signature_validator"
