package bedrock

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// Calls that the model wrote into its text.

// Call writes a call as a block of its own.
func (y *reply) Call(p wire.Part) {
	y.index = y.next
	y.next++
	y.mint("contentBlockStart", `,"start":`+string(appendCall(nil, p, nil)))
	y.mint("contentBlockDelta", `,"delta":{"`+callMember+`":{"input":`+string(jsontext.AppendVerbatim(nil, p.Text))+"}}")
	y.mint("contentBlockStop", "")
}

// Call writes a call as a block of its own.
func (l *list) Call(p wire.Part) {
	l.next()
	l.out = appendCall(l.out, p, p.Text)
}

// appendCall appends a block that calls a tool. The start of one has no input.
func appendCall(dst []byte, p wire.Part, input []byte) []byte {
	dst = jsontext.AppendVerbatim(append(dst, `{"`+callMember+`":{"toolUseId":`...), p.ID)
	dst = jsontext.AppendVerbatim(append(dst, `,"name":`...), p.Name)
	if input != nil {
		dst = append(append(dst, `,"input":`...), input...)
	}
	return append(dst, "}}"...)
}

// reasonEdit appends the edit that makes a reason that for calls, if the client has some
// that the upstream does not know of.
func reasonEdit(edits []jsonedit.Edit, w *blocks.Flow, reason gjson.Result, end sotto.Ending) []jsonedit.Edit {
	const calls = "tool_use"
	if reason.Str == calls || !w.Called(end) {
		return edits
	}
	return append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(reason), With: []byte(`"` + calls + `"`)})
}
