package interactions

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
	"github.com/sotto-llm/sotto/wire/written"
)

// The steps that a client of a stream gets.

// typeOf is the type of a step.
func typeOf(k blocks.Kind) string {
	if k == blocks.Thinking {
		return thoughtStep
	}
	return outputStep
}

// Open begins a step of the client's: with the upstream's own start if there is one.
func (y *reply) Open(k blocks.Kind, own bool) {
	y.index = y.next
	y.next++
	if own && y.start.On {
		y.openOwn(k)
		return
	}
	y.mint(startEvent, `,"step":{"type":"`+typeOf(k)+`"}}`)
}

// openOwn writes the upstream's start with the client's index. If it has texts, they stay only if they were
// read unchanged.
func (y *reply) openOwn(k blocks.Kind) {
	y.start.On = false
	root := jsonedit.Parse(y.start.Data)
	var edits []jsonedit.Edit
	switch list := root.Get("step." + listOf(k)); {
	case textsOf(list) == "":
	case y.first && y.flow.Same && len(contents(list)) == 1:
		y.told = true
	default:
		with := []byte{'['}
		for _, c := range contents(list) {
			if !isText(c) {
				with = append(jsontext.AppendComma(with, len(with)-1), c.Raw...)
			}
		}
		edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(list), With: append(with, ']')})
	}
	y.write(y.start.Frame, reindex(edits, root.Get("index"), y.index))
}

// Say writes a piece of the open step: in the current frame, if that brought a piece of this kind and is not
// written yet.
func (y *reply) Say(k blocks.Kind, parts []wire.Part, same bool) {
	if k == y.flow.In.Kind {
		y.known(y.index)
	}
	switch {
	case y.told: // by the start
		y.told = false
		return
	case !y.first && y.said.Exists() && y.flow.In.Kind == k:
		var edits []jsonedit.Edit
		if !same {
			edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(y.said), With: quoted(parts)})
		}
		y.said = gjson.Result{}
		y.write(y.frame, reindex(edits, y.root.Get("index"), y.index))
		return
	}
	y.mint(deltaEvent, pieceOf(k, quoted(parts)))
}

// pieceOf is the rest of an event with a piece of a text, which is JSON.
func pieceOf(k blocks.Kind, text []byte) string {
	if k == blocks.Thinking {
		return `,"delta":{"type":"thought_summary","content":{"type":"text","text":` + string(text) + `}}}`
	}
	return `,"delta":{"type":"text","text":` + string(text) + `}}`
}

// Shut ends the open step: with the upstream's own end, if that is held.
func (y *reply) Shut() {
	if !y.stop.On {
		y.mint(stopEvent, "}")
		return
	}
	y.stop.On = false
	y.write(y.stop.Frame, reindex(nil, jsonedit.Parse(y.stop.Data).Get("index"), y.index))
}

// Call writes a call that the model wrote into its text.
func (y *reply) Call(p wire.Part) {
	y.index = y.next
	y.next++
	y.mint(startEvent, `,"step":`+string(appendCall(nil, p.ID, p.Name, []byte("{}")))+"}")
	y.mint(deltaEvent, argumentsPiece(p.Text))
	y.mint(stopEvent, "}")
}

// appendCall appends a call whose arguments are JSON.
func appendCall(dst []byte, id, name string, arguments []byte) []byte {
	dst = jsontext.AppendVerbatim(append(dst, `{"type":"`+callStep+`","id":`...), id)
	dst = jsontext.AppendVerbatim(append(dst, `,"name":`...), name)
	return append(append(append(dst, `,"arguments":`...), arguments...), '}')
}

func argumentsPiece(text []byte) string {
	return string(append(jsontext.AppendVerbatim([]byte(`,"delta":{"type":"arguments_delta","arguments":`), text), "}}"...))
}

// quoted encodes parts as one JSON string.
func quoted(parts []wire.Part) []byte {
	b := []byte{'"'}
	for _, p := range parts {
		b = jsontext.AppendInside(b, p.Text)
	}
	return append(b, '"')
}

// mint writes an event of ours for the open step.
func (y *reply) mint(name, more string) {
	if y.set.Written {
		return
	}
	y.dst = appendEvent(y.dst, name, y.index, more)
}

// appendEvent appends an event of a step.
func appendEvent(dst []byte, name string, index int, more string) []byte {
	data := strconv.AppendInt([]byte(`{"event_type":"`+name+`","index":`), int64(index), 10)
	return sse.Append(dst, name, append(data, more...))
}

// late reads the steps of a stream that has none before its end.
func (y *reply) late(steps gjson.Result, r wire.Reader) {
	y.start.On, y.stop.On, y.said = false, false, gjson.Result{}
	for i, step := range steps.Array() {
		y.at = i
		k := kindOf(step)
		if k == blocks.Other {
			y.flow.Part(r)
			y.flow.Made++
			y.flow.Block++
			y.index = y.next
			y.next++
			y.stepOfOther(step, y.flow.Block, r)
			y.mint(startEvent, `,"step":`+step.Raw+"}")
			y.mint(stopEvent, "}")
			continue
		}
		y.flow.Begin(k)
		y.stands(r)
		if text := textsOf(step.Get(listOf(k))); text != "" {
			y.flow.Read(k, jsonedit.BytesOf(text), r)
		} else {
			y.flow.Empty(r)
		}
		if signature := step.Get("signature"); k == blocks.Thinking && y.signed(signature, r) {
			y.mint(deltaEvent, `,"delta":{"type":"thought_signature","signature":`+signature.Raw+"}}")
		}
		y.flow.End(sotto.EndStopped, r)
	}
}

// members reports what is shown of an object, if the reply is written from events.
func (y *reply) members(of string, tree shownTree, raw string, r wire.Reader) {
	if y.beside {
		written.Members(r, 0, of, tree, raw, true)
	}
}

// shown returns what is shown of an object, and has its texts read.
func (y *reply) shown(of string, tree shownTree, raw string, r wire.Reader) string {
	return written.Shown(r, y.flow.Choice, of, tree, raw, true)
}
