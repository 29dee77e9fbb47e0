package interactions

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

func (y *reply) Whole(dst, body []byte, r wire.Reader) []byte {
	root := jsonedit.Parse(body)
	if says(root.Get("error")) {
		r.Found(wire.Event{Kind: wire.EventFault, Raw: root.Raw})
	}
	if !root.Get("steps").IsArray() && !root.Get("status").Exists() {
		if y.set.Written && !says(root.Get("error")) {
			r.Fail(wire.ErrUnreadable)
		}
		return append(dst, body...)
	}
	named(root, r)
	l := &list{y: y}
	if y.flow.To = l; y.set.Written {
		y.flow.To = blocks.Nowhere{}
	}
	status := root.Get("status")
	end := endOf(status)
	l.read(root.Get("steps").Array(), end, r)
	counted(root.Get("usage"), r)
	y.members(wire.MembersOfReply, shownInteraction, root.Raw, r)
	r.Found(wire.Event{Kind: wire.EventFinish, Choice: y.flow.Choice, Name: status.Str, End: end})
	y.flow.Finish(end, r)
	y.flow.Last(end, r) // a failure is noted, and the reply refused
	l.flush()
	r.Found(wire.Event{Kind: wire.EventEnd})
	if y.set.Written {
		return dst
	}
	return jsonedit.Splice(dst, body, l.edits(statusEdit(nil, &y.flow, status, end), root))
}

// A list is the steps of a whole reply, as the sink of their flow.
type list struct {
	y       *reply
	out     []byte // the client's steps
	made    int    // … and how many these are
	changed bool   // they are not the upstream's

	step     gjson.Result // the upstream's step under way
	content  gjson.Result // … and its content
	contents []byte       // of the output that is being made
	from     int          // … and how many of them are the upstream's, as they came
	own      bool         // the open content is the upstream's
	said     []byte
}

// read reads steps. Only the last of them may have been cut.
func (l *list) read(steps []gjson.Result, end sotto.Ending, r wire.Reader) {
	for i, step := range steps {
		l.step, l.y.at = step, i
		last := sotto.EndStopped
		if i == len(steps)-1 {
			last = end
		}
		switch k := kindOf(step); k {
		case blocks.Text:
			l.output(contents(step.Get(listOf(k))), last, r)
		case blocks.Thinking:
			l.thought(r)
		default:
			l.y.flow.Part(r)
			l.flush()
			l.y.flow.Made++
			l.y.flow.Block++
			l.y.stepOfOther(step, l.y.flow.Block, r)
			if block, ok := l.y.others[i]; ok {
				r.Found(wire.Event{Kind: wire.EventBlockEnd, Choice: l.y.flow.Choice, Index: block})
			}
			l.add(step.Raw)
		}
	}
}

// output reads the contents of an output.
func (l *list) output(all []gjson.Result, end sotto.Ending, r wire.Reader) {
	flow := &l.y.flow
	if len(all) == 0 || !isText(all[0]) { // else a text that was made from a thought continues, as in a stream
		flow.Part(r)
		l.flush()
	}
	l.from = 0
	for i, c := range all {
		l.content = c
		if !isText(c) {
			flow.Part(r)
			flow.Block++
			l.y.piece(c, r)
			l.give(c.Raw)
			l.from++
			continue
		}
		flow.Begin(blocks.Text)
		l.y.stands(r)
		flow.Read(blocks.Text, chatjson.ValueText(c.Get("text")), r)
		if a := c.Get("annotations"); l.y.beside && a.Exists() {
			l.y.pieceOf(flow.Block, jsonedit.Parse([]byte(`{"type":"text_annotation_delta","annotations":`+a.Raw+`}`)), r)
		}
		if i < len(all)-1 {
			flow.End(sotto.EndStopped, r)
		} else {
			flow.End(end, r)
		}
	}
	if l.from == len(all) && flow.Out == blocks.Other { // as it came
		l.contents = nil
		l.add(l.step.Raw)
		return
	}
	l.flushOwn()
}

// flushOwn ends the output that is being made: it is the upstream's step, with the contents that are left.
func (l *list) flushOwn() {
	v := l.step.Get("content")
	if len(l.contents) == 0 || !v.Exists() {
		l.changed = true
		l.flush()
		return
	}
	l.changed = true
	with := append(append([]byte{'['}, l.contents...), ']')
	at := v.Index - l.step.Index
	edit := jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at + len(v.Raw)}, With: with}
	l.add(string(jsonedit.Splice(nil, jsonedit.BytesOf(l.step.Raw), []jsonedit.Edit{edit})))
	l.contents = nil
}

// thought reads a thought.
func (l *list) thought(r wire.Reader) {
	flow := &l.y.flow
	flow.Begin(blocks.Thinking)
	signature := l.step.Get("signature")
	text := textsOf(l.step.Get("summary"))
	made := l.made
	switch {
	case text != "":
		flow.Read(blocks.Thinking, jsonedit.BytesOf(text), r)
	case signature.Str == "":
		flow.Empty(r)
	}
	l.y.signed(signature, r)
	flow.End(sotto.EndStopped, r)
	l.changed = l.changed || made == l.made
}

func (l *list) Open(_ blocks.Kind, own bool) { l.own, l.said = own, l.said[:0] }

func (l *list) Say(_ blocks.Kind, parts []wire.Part, _ bool) {
	for _, p := range parts {
		l.said = append(l.said, p.Text...)
	}
}

// Shut writes the content or the thought: the upstream's own with its text edited, or one of ours.
func (l *list) Shut() {
	thought := l.y.flow.Out == blocks.Thinking
	switch {
	case thought && l.own && textsOf(l.step.Get("summary")) == string(l.said):
		l.flush()
		l.add(l.step.Raw)
	case thought:
		l.changed = true
		l.flush()
		text := jsontext.AppendVerbatim([]byte(`{"type":"thought","summary":[{"type":"text","text":`), l.said)
		l.add(string(append(text, "}]}"...)))
	case l.own:
		v := l.content.Get("text")
		if string(chatjson.ValueText(v)) == string(l.said) {
			l.from++
			l.give(l.content.Raw)
			break
		}
		with := jsontext.AppendVerbatim(nil, l.said)
		edit := jsonedit.Edit{Span: jsonedit.Span{Start: v.Index - l.content.Index, End: v.Index - l.content.Index + len(v.Raw)}, With: with}
		l.give(string(jsonedit.Splice(nil, jsonedit.BytesOf(l.content.Raw), []jsonedit.Edit{edit})))
	default:
		l.give(string(append(jsontext.AppendVerbatim([]byte(`{"type":"text","text":`), l.said), '}')))
	}
}

// Call adds a call that the model wrote into its text.
func (l *list) Call(p wire.Part) {
	l.changed = true
	l.flush()
	l.add(string(appendCall(nil, p.ID, p.Name, p.Text)))
}

// give adds a content to the output that is being made.
func (l *list) give(raw string) {
	l.contents = append(jsontext.AppendComma(l.contents, len(l.contents)), raw...)
}

// flush ends the output that is being made.
func (l *list) flush() {
	if len(l.contents) == 0 {
		return
	}
	l.changed = true
	l.add(`{"type":"model_output","content":[` + string(l.contents) + `]}`)
	l.contents = nil
}

func (l *list) add(raw string) {
	l.out = append(jsontext.AppendComma(l.out, l.made), raw...)
	l.made++
}

// edits appends the edit that gives a reply the client's steps.
func (l *list) edits(edits []jsonedit.Edit, root gjson.Result) []jsonedit.Edit {
	with := append(append([]byte{'['}, l.out...), ']')
	switch steps := root.Get("steps"); {
	case !l.changed:
		return edits
	case steps.Exists():
		return append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(steps), With: with})
	}
	at := root.Index + 1
	with = append(append([]byte(`"steps":`), with...), ',')
	return append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: with})
}
