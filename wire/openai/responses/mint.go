package responses

import (
	"bytes"
	"hash/fnv"
	"strconv"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// The prefixes of our items' ids.
const (
	thoughtID = "rs_sotto_"
	messageID = "msg_sotto_"
	callID    = "fc_sotto_"
	pictureID = "ig_sotto_"
)

// A mint is an item of ours: a thought with one text, in the form that the API
// documents for open reasoning; a message with one text; or a call, whose arguments are
// the text.
type mint struct {
	message bool
	call    *wire.Part // nil if it is not a call
	summary bool       // the thought is summary text
	index   int
	id      string
	text    []byte
	status  string
}

// mint begins an item of ours: a message or a thought.
func (y *reply) mint(message bool, index int) *mint {
	m := &mint{message: message, summary: y.summary && !message, index: index, id: thoughtID}
	if message {
		m.id = messageID
	}
	y.beginMint(m)
	if !y.mute {
		y.mintPart(m, "added")
	}
	return m
}

// beginMint begins an item of ours, whose id is a prefix until then. The id is derived
// from the response's, or else from an item's, so that the ids of a conversation differ.
func (y *reply) beginMint(m *mint) {
	h := fnv.New64a()
	if y.id == "" && len(y.items) > 0 {
		y.id = string(y.items[len(y.items)-1].id)
	}
	_, _ = h.Write([]byte(y.id))
	m.id += strconv.FormatUint(h.Sum64(), 16) + "_" + strconv.Itoa(len(y.mints))
	m.status = "in_progress"
	y.keepItem(0)
	y.mints = append(y.mints, m)
	y.shift++
	y.top = max(y.top, m.index+1)
	if !y.mute {
		y.mintItem(m, "response.output_item.added")
	}
}

// call sends a call that the model wrote into its text, as an item of ours.
func (y *reply) call(p wire.Part, index int) {
	m := &mint{call: &wire.Part{ID: p.ID, Name: p.Name}, index: index, id: callID}
	y.beginMint(m)
	y.keep(len(p.Text))
	m.text, m.status = bytes.Clone(p.Text), "completed"
	if y.mute {
		return
	}
	y.mintArguments(m, ".delta", `,"delta":`, "")
	y.mintArguments(m, ".done", `,"arguments":`, m.call.Name)
	y.mintItem(m, "response.output_item.done")
}

// mintArguments sends an event about all arguments of a call of ours. The last one has
// its name.
func (y *reply) mintArguments(m *mint, event, member, name string) {
	kind := "response.function_call_arguments" + event
	y.open(kind)
	y.data = append(append(y.data, `,"item_id":`...), m.quotedID()...)
	y.at(m.index)
	y.data = jsontext.AppendVerbatim(append(y.data, member...), m.text)
	if name != "" {
		y.data = jsontext.AppendVerbatim(append(y.data, `,"name":`...), name)
	}
	y.close(kind)
}

// append gives an item of ours more text.
func (y *reply) append(m *mint, text []byte) {
	y.keep(len(text))
	m.text = append(m.text, text...)
	if !y.mute {
		y.mintText(m, ".delta", `,"delta":`, text)
	}
}

// finishMint ends an item of ours.
func (y *reply) finishMint(m *mint, status string) {
	m.status = status
	if y.mute {
		return
	}
	y.mintText(m, ".done", `,"text":`, m.text)
	y.mintPart(m, "done")
	y.mintItem(m, "response.output_item.done")
}

// statusOf returns the status of an item that continued until the reply
// ended.
func statusOf(end sotto.Ending) string {
	if end == sotto.EndCut || end == sotto.EndAborted {
		return "incomplete"
	}
	return "completed"
}

func (y *reply) mintItem(m *mint, name string) {
	y.open(name)
	y.at(m.index)
	y.data = append(y.data, `,"item":`...)
	y.data = m.appendTo(y.data)
	y.close(name)
}

func (y *reply) mintPart(m *mint, event string) {
	name := "response.content_part." + event
	if m.summary {
		name = "response.reasoning_summary_part." + event
	}
	y.open(name)
	y.place(m.index, m.quotedID(), m.summary, 0)
	y.data = append(y.data, `,"part":`...)
	y.data = m.appendPart(y.data)
	y.close(name)
}

func (y *reply) mintText(m *mint, event, member string, text []byte) {
	name := "response.reasoning_text" + event
	switch {
	case m.message:
		name = "response.output_text" + event
	case m.summary:
		name = "response.reasoning_summary_text" + event
	}
	y.open(name)
	y.place(m.index, m.quotedID(), m.summary, 0)
	y.data = jsontext.AppendVerbatim(append(y.data, member...), text)
	if m.message {
		y.data = append(y.data, `,"logprobs":[]`...)
	}
	y.close(name)
}

// place appends where an event of a part belongs.
func (y *reply) place(output int, id []byte, summary bool, part int) {
	y.data = append(append(y.data, `,"item_id":`...), id...)
	y.at(output)
	if summary {
		y.data = append(y.data, `,"summary_index":`...)
	} else {
		y.data = append(y.data, `,"content_index":`...)
	}
	y.data = strconv.AppendInt(y.data, int64(part), 10)
}

func (m *mint) quotedID() []byte { return []byte(`"` + m.id + `"`) }

// appendTo appends the item as JSON. While it is in progress, it has no content.
func (m *mint) appendTo(dst []byte) []byte {
	switch {
	case m.call != nil:
		dst = append(append(append(dst, `{"type":"function_call","id":"`...), m.id...), `","call_id":`...)
		dst = jsontext.AppendVerbatim(append(jsontext.AppendVerbatim(dst, m.call.ID), `,"name":`...), m.call.Name)
		dst = jsontext.AppendVerbatim(append(dst, `,"arguments":`...), m.text)
		return append(append(append(dst, `,"status":"`...), m.status...), `"}`...)
	case m.message:
		dst = append(dst, `{"type":"message","id":"`...)
		dst = append(append(dst, m.id...), `","role":"assistant","content":[`...)
	case m.summary:
		dst = append(dst, `{"type":"reasoning","id":"`...)
		dst = append(append(dst, m.id...), `","summary":[`...)
	default:
		dst = append(dst, `{"type":"reasoning","id":"`...)
		dst = append(append(dst, m.id...), `","summary":[],"content":[`...)
	}
	if m.status != "in_progress" {
		dst = m.appendPart(dst)
	}
	dst = append(append(dst, `],"status":"`...), m.status...)
	return append(dst, `"}`...)
}

func (m *mint) appendPart(dst []byte) []byte {
	text := m.text
	if m.status == "in_progress" {
		text = nil
	}
	if m.summary {
		return appendSummary(dst, text)
	}
	if !m.message {
		dst = jsontext.AppendVerbatim(append(dst, `{"type":"reasoning_text","text":`...), text)
		return append(dst, '}')
	}
	dst = jsontext.AppendVerbatim(append(dst, `{"type":"output_text","text":`...), text)
	return append(dst, `,"annotations":[],"logprobs":[]}`...)
}

// appendSummary appends a text as a part of a summary.
func appendSummary(dst, text []byte) []byte {
	dst = jsontext.AppendVerbatim(append(dst, `{"type":"summary_text","text":`...), text)
	return append(dst, '}')
}
