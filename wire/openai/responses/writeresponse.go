package responses

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

// appendTo appends an item as JSON. While it is in progress, it has no content.
func (it *item) appendTo(dst []byte) []byte {
	status := it.status
	if !it.ended {
		status = "in_progress"
	}
	switch {
	case it.call != nil:
		how := callKindOf(it.call.Free)
		dst = append(append(append(dst, `{"type":"`...), how.kind...), `","id":`...)
		dst = append(append(dst, it.id...), `,"call_id":`...)
		dst = jsontext.AppendVerbatim(append(jsontext.AppendVerbatim(dst, it.call.ID), `,"name":`...), it.call.Name)
		if it.call.Space != "" {
			dst = jsontext.AppendVerbatim(append(dst, `,"namespace":`...), it.call.Space)
		}
		dst = append(append(append(dst, `,"`...), how.member...), `":`...)
		if it.ended {
			dst = jsontext.AppendVerbatim(dst, it.text)
		} else {
			dst = append(dst, `""`...)
		}
		return append(append(append(dst, `,"status":"`...), status...), `"}`...)
	case it.picture != nil:
		dst = append(append(append(dst, `{"type":"`+pictureItem+`","id":`...), it.id...), `,"status":"`...)
		if dst = append(append(dst, status...), '"'); it.ended {
			dst = append(dst, it.picture...)
		} else {
			dst = append(dst, `,"result":null`...)
		}
		return append(dst, '}')
	case it.ours && it.kind == messageItem:
		dst = append(append(append(dst, `{"type":"message","id":`...), it.id...), `,"role":"assistant"`...)
	case it.ours:
		dst = append(append(dst, `{"type":"reasoning","id":`...), it.id...)
	default:
		dst = it.appendMembers(dst)
	}
	if it.ours {
		dst = append(append(append(dst, `,"status":"`...), status...), '"')
	}
	if it.ended && it.sealed != "" {
		dst = append(append(dst, `,"encrypted_content":`...), it.sealed...)
	}
	switch it.kind {
	case messageItem:
		dst = it.appendParts(append(dst, `,"content":[`...), func(p *part) bool { return true })
	case thoughtItem:
		dst = it.appendParts(append(dst, `,"summary":[`...), func(p *part) bool { return p.kind == summaryText })
		if !it.ours || len(it.parts) == 0 || it.parts[0].kind == reasoningText {
			dst = it.appendThoughts(dst)
		}
	}
	return append(dst, '}')
}

// appendThoughts appends the content of a reasoning item, which it has only if it is open.
func (it *item) appendThoughts(dst []byte) []byte {
	has := it.ours
	for _, p := range it.parts {
		has = has || p.kind == reasoningText
	}
	if !has {
		return dst
	}
	return it.appendParts(append(dst, `,"content":[`...), func(p *part) bool { return p.kind == reasoningText })
}

// appendParts appends the parts of an item that has ended, and the end of their list.
func (it *item) appendParts(dst []byte, is func(*part) bool) []byte {
	n := 0
	for _, p := range it.parts {
		if it.ended && is(p) {
			dst = p.appendTo(jsontext.AppendComma(dst, n), p.text)
			n++
		}
	}
	return append(dst, ']')
}

// appendMembers appends the beginning of an item of the upstream's: its members.
func (it *item) appendMembers(dst []byte) []byte {
	dst = append(dst, '{')
	hasID, hasStatus := false, false
	for i, m := range jsonedit.Members(jsonedit.Parse([]byte(it.members))) {
		value := m.Value.Raw
		switch m.Key {
		case "id":
			hasID, value = true, it.id
		case "status":
			hasStatus = true
			switch {
			case it.whole:
			case it.ended && m.Value.Str == "in_progress":
				value = `"` + it.status + `"`
			case !it.ended && it.kind == messageItem:
				value = `"in_progress"`
			}
		}
		dst = append(append(append(jsontext.AppendComma(dst, i), '"'), m.Key...), `":`...)
		dst = append(dst, value...)
	}
	if !hasID {
		dst = append(append(dst, `,"id":`...), it.id...)
	}
	if !hasStatus && it.kind == messageItem {
		status := "in_progress"
		if it.ended {
			status = it.status
		}
		dst = append(append(append(dst, `,"status":"`...), status...), '"')
	}
	return dst
}

// mint begins an item of ours.
func (w *writer) mint(kind itemKind, prefix string) *item {
	return &item{kind: kind, ours: true, index: -1, id: w.mintID(prefix)}
}

// mintID returns an id that is derived from the response's, so that the ids of a conversation
// differ.
func (w *writer) mintID(prefix string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(w.id()))
	id := prefix + strconv.FormatUint(h.Sum64(), 16) + "_" + strconv.Itoa(w.mints)
	w.mints++
	return `"` + id + `"`
}

// id returns the id of the response.
func (w *writer) id() string {
	for _, said := range []string{w.state, w.last} {
		if id := jsonedit.Parse([]byte(said)).Get("id").Str; id != "" {
			return id
		}
	}
	if id := word(w.model.ID); id != "" {
		return id
	}
	if w.made == "" {
		w.made = "resp_sotto_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	}
	return w.made
}

// appendResponse appends the response as it is now. What its end does not say is as its
// beginning said; a usage that is null there gives way to counts.
func (w *writer) appendResponse(dst []byte, status string, output bool) []byte {
	dst = append(dst, '{')
	had := map[string]bool{"status": true, "output": true, "error": true}
	details, text := gjson.Result{}, false
	for i, said := range []string{w.last, w.state} {
		for _, m := range jsonedit.Members(jsonedit.Parse([]byte(said))) {
			switch {
			case had[m.Key], m.Key == "usage" && (i > 0 && w.last != "" || w.usage != nil && m.Value.Type == gjson.Null):
				continue
			case m.Key == "incomplete_details":
				details = m.Value
			case m.Key == "output_text":
				text = m.Value.Type == gjson.String
			default:
				dst = append(append(append(dst, '"'), m.Key...), `":`...)
				dst = append(append(dst, m.Value.Raw...), ',')
			}
			had[m.Key] = true
		}
	}
	dst = w.appendOwn(dst, had)
	dst = append(append(append(dst, `"status":"`...), status...), `","error":`...)
	dst = append(dst, w.failure(status)...)
	dst = append(append(dst, `,"incomplete_details":`...), w.details(details, status)...)
	dst = append(dst, `,"output":[`...)
	for i, it := range w.items {
		if output {
			dst = it.appendTo(jsontext.AppendComma(dst, i))
		}
	}
	dst = append(dst, ']')
	if text {
		dst = jsontext.AppendVerbatim(append(dst, `,"output_text":`...), w.text())
	}
	return append(dst, '}')
}

// appendOwn appends the members that a response must have.
func (w *writer) appendOwn(dst []byte, had map[string]bool) []byte {
	if !had["id"] {
		dst = append(jsontext.AppendVerbatim(append(dst, `"id":`...), w.id()), ',')
	}
	if !had["object"] {
		dst = append(dst, `"object":"response",`...)
	}
	if !had["usage"] {
		dst = w.appendUsage(dst)
	}
	if w.state+w.last != "" { // the upstream's own says the rest
		return dst
	}
	dst = append(appendInt(append(dst, `"created_at":`...), int(time.Now().Unix())), ',')
	dst = append(jsontext.AppendVerbatim(append(dst, `"model":`...), w.model.Name), ',')
	return append(dst, `"parallel_tool_calls":true,"tool_choice":"auto","tools":[],`...)
}

// appendUsage appends token counts that another API's server gave.
func (w *writer) appendUsage(dst []byte) []byte {
	u := w.usage
	if u == nil {
		return dst
	}
	in, out := max(u.All(), 0), max(u.Output, 0)
	dst = fmt.Appendf(dst, `"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d`, in, max(u.CacheRead, 0), out)
	dst = fmt.Appendf(dst, `,"output_tokens_details":{"reasoning_tokens":%d`, max(u.Reasoning, 0))
	if u.Estimated {
		dst = append(dst, `,"reasoning_tokens_estimated":true`...)
	}
	return fmt.Appendf(dst, `},"total_tokens":%d},`, in+out)
}

// failure returns the error of a response.
func (w *writer) failure(status string) string {
	if v := jsonedit.Parse([]byte(w.fault)).Get("error"); v.IsObject() {
		return v.Raw
	}
	if status == "failed" {
		return `{"code":"server_error","message":"the upstream reported an error"}`
	}
	return "null"
}

// details returns why a response is incomplete.
func (w *writer) details(said gjson.Result, status string) string {
	switch {
	case said.IsObject():
		return said.Raw
	case status != "incomplete":
		return "null"
	case w.finish.End == sotto.EndAborted:
		return `{"reason":"content_filter"}`
	}
	return `{"reason":"max_output_tokens"}`
}

// text returns the texts of the messages, as SDKs join them.
func (w *writer) text() []byte {
	var b []byte
	for _, it := range w.items {
		for _, p := range it.parts {
			if it.kind == messageItem && p.kind == outputText {
				b = append(b, p.text...)
			}
		}
	}
	return b
}

// appendError appends the members of an event that is an error.
func appendError(dst []byte, code, message string) []byte {
	dst = jsontext.AppendVerbatim(append(dst, `,"code":`...), code)
	return append(jsontext.AppendVerbatim(append(dst, `,"message":`...), message), `,"param":null`...)
}

// appendFault appends the members of an error of the upstream's. One in another API's form
// gets those of this one.
func appendFault(dst []byte, fault string) []byte {
	root := jsonedit.Parse([]byte(fault))
	for _, m := range jsonedit.Members(root) {
		if m.Key != "type" && m.Key != "sequence_number" {
			dst = append(append(append(dst, `,"`...), m.Key...), `":`...)
			dst = append(dst, m.Value.Raw...)
		}
	}
	if root.Get("message").Exists() {
		return dst
	}
	e := root.Get("error")
	message := e.Get("message").Str
	if e.Type == gjson.String {
		message = e.Str
	}
	code := e.Get("code").Str
	if code == "" {
		code = "upstream_error"
	}
	return appendError(dst, strings.Clone(code), strings.Clone(message))
}
