package responses

import (
	"bytes"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// A eventKind says what an event means for the reply.
type eventKind uint8

const (
	otherEvent eventKind = iota
	stateEvent           // the response, before its end
	endEvent             // the response at its end
	failEvent            // an error in place of the end

	itemAdded
	itemDone
	partAdded // of a message or of reasoning
	partDone

	textDelta // of a message
	textDone
	thinkDelta // of reasoning, or of its summary
	thinkDone
	callDelta // of a call's arguments or input
)

// eventKindOf knows the events of OpenAI's API, and vLLM's reasoning_part,
// which has the form of a content_part.
func eventKindOf(name []byte) eventKind {
	switch string(name) {
	case "response.output_text.delta":
		return textDelta
	case "response.output_text.done":
		return textDone
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta",
		"response.reasoning.delta", "response.reasoning_summary.delta":
		return thinkDelta
	case "response.reasoning_text.done", "response.reasoning_summary_text.done",
		"response.reasoning.done", "response.reasoning_summary.done":
		return thinkDone
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		return callDelta
	case "response.output_item.added":
		return itemAdded
	case "response.output_item.done":
		return itemDone
	case "response.content_part.added", "response.reasoning_part.added", "response.reasoning_summary_part.added":
		return partAdded
	case "response.content_part.done", "response.reasoning_part.done", "response.reasoning_summary_part.done":
		return partDone
	case "response.created", "response.in_progress", "response.queued":
		return stateEvent
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return endEvent
	case "error":
		return failEvent
	}
	return otherEvent
}

// A event is a frame with the places of what matters in its data.
type event struct {
	wire.Frame
	kind eventKind
	name []byte

	seq, output, content, summary int // -1 if the event does not say

	seqAt, outputAt jsonedit.Span
	text            jsonedit.Span // the inside of the delta or text
	logprobs        jsonedit.Span
	itemID          jsonedit.Span // with its quotes
	nested          bool          // it has members that are objects or lists
}

// scan reads a frame. It looks only at the members of the data's object, so a delta
// costs no parse and no memory. Nested data is checked, because others parse it. ok
// is false for data that is not an event.
func (e *event) scan(f wire.Frame) (ok bool) {
	*e = event{Frame: f, seq: -1, output: -1, content: -1, summary: -1}
	i := skipSpace(f.Data, 0)
	if i == len(f.Data) || f.Data[i] != '{' {
		return false
	}
	for i++; ; i++ {
		i = skipSpace(f.Data, i)
		key, next := valueAt(f.Data, i)
		if next < 0 || f.Data[i] != '"' {
			break
		}
		i = skipSpace(f.Data, next)
		if i == len(f.Data) || f.Data[i] != ':' {
			return false
		}
		var value jsonedit.Span
		if value, next = valueAt(f.Data, skipSpace(f.Data, i+1)); next < 0 {
			return false
		}
		e.member(f.Data[key.Start+1:key.End-1], value)
		c := f.Data[value.Start]
		e.nested = e.nested || (c == '{' || c == '[') && value.End-value.Start > 2
		i = skipSpace(f.Data, next)
		if i == len(f.Data) || f.Data[i] != ',' {
			break
		}
	}
	if e.name == nil {
		e.name = f.Type
	}
	e.kind = eventKindOf(e.name)
	return i < len(f.Data) && f.Data[i] == '}' && len(e.name) > 0 && (!e.nested || foreignjson.Valid(f.Data))
}

func (e *event) member(key []byte, v jsonedit.Span) {
	isString := e.Data[v.Start] == '"'
	switch string(key) {
	case "type":
		if isString {
			e.name = e.Data[v.Start+1 : v.End-1]
		}
	case "sequence_number":
		e.seq, e.seqAt = number(v.Of(e.Data)), v
	case "output_index":
		e.output, e.outputAt = number(v.Of(e.Data)), v
	case "content_index":
		e.content = number(v.Of(e.Data))
	case "summary_index":
		e.summary = number(v.Of(e.Data))
	case "item_id":
		if isString {
			e.itemID = v
		}
	case "delta", "text":
		if isString {
			e.text = jsonedit.Span{Start: v.Start + 1, End: v.End - 1}
		}
	case "logprobs":
		e.logprobs = v
	}
}

// copy returns the event in memory of its own.
func (e *event) copy() event {
	c := *e
	c.Raw, c.Type = bytes.Clone(e.Raw), bytes.Clone(e.Type)
	if e.At >= 0 {
		c.Data = c.Raw[e.At : e.At+len(e.Data)]
	} else {
		c.Data = bytes.Clone(e.Data)
	}
	c.name = bytes.Clone(e.name)
	return c
}

// number reads a number that counts; it is -1 for any other.
func number(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' || n > 1<<30 {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// valueAt returns the JSON value that begins at i, and the offset after it,
// which is -1 if there is no value.
func valueAt(b []byte, i int) (v jsonedit.Span, next int) {
	next = -1
	if i < len(b) {
		next = valueEnd(b, i)
	}
	return jsonedit.Span{Start: i, End: next}, next
}

func valueEnd(b []byte, from int) int {
	depth := 0
	for i := from; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = jsonedit.StringEnd(b, i+1); i < 0 {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return atomEnd(from, i)
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return atomEnd(from, i)
			}
		}
	}
	return -1
}

// atomEnd returns the end of a number or word, which has at least one byte.
func atomEnd(from, end int) int {
	if from == end {
		return -1
	}
	return end
}
