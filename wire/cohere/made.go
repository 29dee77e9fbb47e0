package cohere

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// Calls that the model wrote into its text.

// numbers are the indices of calls that the client has: those of the upstream's own
// calls, and the next one.
type numbers struct {
	next  int
	moved map[int]int // by the upstream's
}

// of returns the client's index of a call of the upstream's. The number of calls that
// are remembered is bounded.
func (n *numbers) of(upstream int) int {
	if at, ok := n.moved[upstream]; ok {
		return at
	}
	if n.moved == nil {
		n.moved = map[int]int{}
	}
	at := max(n.next, upstream)
	if len(n.moved) < maxParts {
		n.moved[upstream] = at
		n.next = max(n.next, at+1)
	}
	return at
}

// Call writes a call whole: its start, its arguments and its end.
func (y *reply) Call(p wire.Part) {
	at := y.calls.next
	y.calls.next++
	y.callEvent("tool-call-start", at, append(appendCall([]byte(`,"delta":{"message":{"tool_calls":`), p, nil), "}}"...))
	arguments := jsontext.AppendVerbatim([]byte(`,"delta":{"message":{"tool_calls":{"function":{"arguments":`), p.Text)
	y.callEvent("tool-call-delta", at, append(arguments, "}}}}"...))
	y.callEvent("tool-call-end", at, nil)
}

func (y *reply) callEvent(name string, at int, more []byte) {
	data := strconv.AppendInt([]byte(`{"type":"`+name+`","index":`), int64(at), 10)
	y.dst = sse.Append(y.dst, name, append(append(data, more...), '}'))
}

// appendCall appends a call with arguments.
func appendCall(dst []byte, p wire.Part, arguments []byte) []byte {
	dst = jsontext.AppendVerbatim(append(dst, `{"id":`...), p.ID)
	dst = jsontext.AppendVerbatim(append(dst, `,"type":"function","function":{"name":`...), p.Name)
	return append(jsontext.AppendVerbatim(append(dst, `,"arguments":`...), arguments), "}}"...)
}

// reasonEdit appends the edit that makes a reason that for calls, if the client has some
// that the upstream does not know of.
func reasonEdit(edits []jsonedit.Edit, w *blocks.Flow, reason gjson.Result, end sotto.Ending) []jsonedit.Edit {
	const calls = "TOOL_CALL"
	if reason.Str == calls || !w.Called(end) {
		return edits
	}
	return append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(reason), With: []byte(`"` + calls + `"`)})
}

// Call adds a call to those of the message.
func (l *list) Call(p wire.Part) {
	if len(l.calls) > 0 {
		l.calls = append(l.calls, ',')
	}
	l.calls = appendCall(l.calls, p, p.Text)
}

// callEdits appends the edits that give a message the calls.
func (l *list) callEdits(edits []jsonedit.Edit, message gjson.Result) []jsonedit.Edit {
	list := message.Get("tool_calls")
	switch {
	case len(l.calls) == 0:
		return edits
	case list.Get("0").Exists():
		at := list.Index + len(list.Raw) - 1
		return append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: append([]byte{','}, l.calls...)})
	case list.Exists():
		return append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(list), With: append(append([]byte{'['}, l.calls...), ']')})
	}
	at := message.Index + 1
	with := append(append([]byte(`"tool_calls":[`), l.calls...), "],"...)
	return append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: with})
}
