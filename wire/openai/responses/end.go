package responses

import (
	"cmp"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/internal/schema"
)

// finish ends the reply except for its last event.
func (y *reply) finish(end sotto.Ending) {
	y.settle(end, true)
	for _, choice := range y.r.Open() {
		y.withoutMessage(y.r.Close(choice, end), end)
	}
	y.closeInline(end)
}

// answer sends the answer, if the reader makes one for a reply that had none. It
// returns false if the reply must not end well.
func (y *reply) answer(end sotto.Ending) bool {
	parts, err := y.r.Finish(end)
	if err != nil {
		return false
	}
	y.answered = y.answered || len(parts) > 0
	y.sort(parts)
	y.closeInline(end)
	return true
}

// end reads the event that ends the response.
func (y *reply) end(e *event) {
	response := jsonedit.Parse(e.Data).Get("response")
	end := endOf(response, string(e.name))
	if string(e.name) == "response.failed" || response.Get("status").Str == "failed" {
		y.r.Fail(wire.ErrUpstream)
	}
	y.finish(end)
	if !y.unseen(response) && !y.answer(end) || !y.body(response, end) {
		y.edits = y.edits[:0]
		return
	}
	y.foundResponse(response, end)
	y.ended = true
	y.send(e, nil)
}

// endOf returns how a response ended, by its status or else by the event.
func endOf(response gjson.Result, event string) sotto.Ending {
	switch cmp.Or(response.Get("status").Str, event) {
	case "completed", "response.completed":
		return sotto.EndStopped
	case "incomplete", "response.incomplete":
		if response.Get("incomplete_details.reason").Str == "content_filter" {
			return sotto.EndAborted
		}
		return sotto.EndCut
	case "failed", "cancelled", "response.failed", "response.cancelled":
		return sotto.EndAborted
	}
	return sotto.EndUnknown
}

func (y *reply) End(dst []byte, err error, r wire.Reader) []byte {
	if y.ended {
		return dst
	}
	y.out, y.r = dst, r
	y.finish(sotto.EndAborted)
	y.ended = true
	if err == nil {
		err = schema.ErrUnfinished
		r.Fail(err)
	}
	y.open("error")
	y.data = append(y.data, `,"code":"upstream_error","message":`...)
	y.data = jsontext.AppendVerbatim(y.data, []byte(err.Error()))
	y.data = append(y.data, `,"param":null`...)
	y.close("error")
	return y.release()
}

// stateOf returns the members of a response that do not change until its end, each
// with a comma after it.
func stateOf(response gjson.Result) []byte {
	state := []byte{}
	for _, m := range jsonedit.Members(response) {
		switch m.Key {
		case "status", "incomplete_details", "output", "output_text", "usage", "error":
		default:
			state = append(jsontext.AppendString(state, m.Key), ':')
			state = append(append(state, m.Value.Raw...), ',')
		}
	}
	return state
}

// Cut ends the response. Its output are the texts and thoughts so far.
func (y *reply) Cut(dst []byte, r wire.Reader) []byte {
	if y.state == nil || y.ended {
		return dst
	}
	data := append(y.data[:0], `{"type":"response.incomplete","sequence_number":`...)
	data = strconv.AppendInt(data, int64(y.last+1), 10)
	data = append(append(data, `,"response":{`...), y.state...)
	data = append(data, `"status":"incomplete","incomplete_details":{"reason":"`...)
	data = append(append(data, wire.CutWord(r, "max_output_tokens", "content_filter")...), `"},"output":[`...)
	some := false
	for _, it := range y.items {
		if it.kind != messageItem && it.kind != thoughtItem {
			continue
		}
		if some {
			data = append(data, ',')
		}
		data, some = it.appendCut(data), true
	}
	data = append(data, "]}}"...)
	y.data, y.cut = data, true
	return sse.Append(dst, "response.incomplete", data)
}

// appendCut appends an item that has not ended.
func (it *outputItem) appendCut(dst []byte) []byte {
	id := it.id
	if id == nil {
		id = []byte(`""`)
	}
	list := func(dst []byte, summary bool, kind, more string) []byte {
		first := true
		for _, p := range it.parts {
			if p.summary != summary {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(append(append(dst, `{"type":"`...), kind...), `","text":`...)
			dst = append(append(jsontext.AppendVerbatim(dst, p.text), more...), '}')
		}
		return append(dst, ']')
	}
	if it.kind == thoughtItem {
		dst = append(append(append(dst, `{"type":"reasoning","id":`...), id...), `,"summary":[`...)
		dst = append(list(dst, true, "summary_text", ""), `,"content":[`...)
		return append(list(dst, false, "reasoning_text", ""), '}')
	}
	dst = append(append(append(dst, `{"type":"message","id":`...), id...), `,"status":"incomplete","role":"assistant","content":[`...)
	return append(list(dst, false, "output_text", `,"annotations":[]`), '}')
}
