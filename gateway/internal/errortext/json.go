package errortext

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// Body returns what is left of the body of a response that is an error: JSON, in whose
// every text thoughts are looked for, or a text.
func (r *Reader) Body(body []byte) []byte {
	if data := jsonedit.Mend(body); foreignjson.Valid(data) {
		if left := r.Values(data, jsonedit.Parse(data)); r.Found {
			return left
		}
		return body
	}
	return r.Text(body)
}

// Values returns JSON with what is left of the texts of some of its values, at any depth.
// Each call is an error of its own: one may continue a thought of the one before.
func (r *Reader) Values(data []byte, values ...gjson.Result) []byte {
	r.open = false
	data = r.values(data, 0, values...)
	r.inside = r.open
	return data
}

func (r *Reader) values(data []byte, nested int, values ...gjson.Result) []byte {
	var edits []jsonedit.Edit
	for _, v := range values {
		edits = r.value(edits, "", v, nested)
	}
	if len(edits) == 0 {
		return data
	}
	return jsonedit.Splice(nil, data, edits)
}

// words are the members of an error that hold a word for programs. They do not continue a
// thought.
var words = map[string]bool{
	"type": true, "code": true, "param": true, "status": true, "object": true, "id": true, "request_id": true,
	"event_id": true, "model": true, "custom_id": true, "provider_name": true,
}

// value appends the edits of the texts in a value.
func (r *Reader) value(edits []jsonedit.Edit, key string, v gjson.Result, nested int) []jsonedit.Edit {
	switch {
	case v.IsObject() || v.IsArray():
		for _, m := range jsonedit.Members(v) {
			edits = r.value(edits, m.Key, m.Value, nested)
		}
	case v.Type == gjson.String:
		start := sotto.BeginAuto
		if r.inside && nested == 0 && !words[key] {
			start = sotto.BeginInsideFirst
		}
		text := jsontext.AppendText(nil, jsonedit.BytesOf(v.Raw[1:len(v.Raw)-1]))
		if left := r.text(text, start, nested); !bytes.Equal(left, text) {
			edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(v), With: jsontext.AppendVerbatim(nil, left)})
		}
	}
	return edits
}

// Reply returns the JSON of a frame or of a body of a reply, with what is left of the
// errors in it. What belongs to the reply itself stays. kind is the name of the event.
func (r *Reader) Reply(kind string, data []byte) []byte {
	root := jsonedit.Parse(data)
	faults := Faults(kind, root)
	if len(faults) == 0 {
		return data
	}
	return r.Values(data, faults...)
}

// MayBeError reports whether a frame may hold an error. It is quick: most frames hold
// none. A key may be written with escapes.
func MayBeError(kind, data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	switch {
	case len(data) == 0 || string(data) == "[DONE]":
		return false
	case data[0] != '{', isError(jsonedit.StringOf(kind)):
		return true
	}
	for _, sign := range [...]string{`"error`, `"detail"`, `\u006`, `\u007`} {
		if bytes.Contains(data, jsonedit.BytesOf(sign)) {
			return true
		}
	}
	const message = `"message"`
	for i := bytes.Index(data, []byte(message)); i >= 0; {
		data = bytes.TrimLeft(data[i+len(message):], " \t\r\n:")
		if len(data) > 0 && data[0] == '"' {
			return true
		}
		i = bytes.Index(data, []byte(message))
	}
	return false
}

// isError reports whether an event of a name is an error. Bedrock's exceptions are named
// by package bedrock.
func isError(kind string) bool {
	return kind == "error" || strings.HasPrefix(kind, "exception/") || strings.HasPrefix(kind, "error/")
}

// ofReply are members that an object has if it is a part of a reply.
var ofReply = map[string]bool{
	"choices": true, "candidates": true, "content": true, "output": true, "delta": true, "done": true, "item": true,
	"part": true, "text": true, "generations": true, "stop": true,
}

// Faults returns the values that are errors in a frame or in a body of a reply, which may
// be a list of replies. Where there is an error, it is all that does not belong to the
// reply.
func Faults(kind string, root gjson.Result) (faults []gjson.Result) {
	if root.IsArray() {
		for _, m := range jsonedit.Members(root) {
			faults = append(faults, Faults(kind, m.Value)...)
		}
		return faults
	}
	if !root.IsObject() {
		return []gjson.Result{root}
	}
	if name := root.Get("type").Str; name != "" {
		kind = name
	}
	all, reply := isError(kind), false
	for _, m := range jsonedit.Members(root) {
		if m.Value.Type == gjson.Null {
			continue // some servers send an error that is null with each frame
		}
		reply = reply || ofReply[m.Key]
		switch m.Key {
		case "error", "errors", "detail":
			faults = append(faults, m.Value)
		case "object":
			all = all || m.Value.Str == "error"
		case "message":
			if m.Value.Type == gjson.String {
				faults = append(faults, m.Value)
			}
			reply = reply || m.Value.IsObject()
		case "response", "delta", "result": // of the responses API, of Cohere, of batches
			reply = reply || m.Value.Type == gjson.String
			faults = append(faults, errorsIn(m.Value)...)
		case "choices": // OpenRouter's
			for _, c := range jsonedit.Members(m.Value) {
				faults = append(faults, errorsIn(c.Value)...)
			}
		}
	}
	switch {
	case all, len(faults) > 0 && !reply && !root.Get("response").Exists():
		return []gjson.Result{root}
	case len(faults) == 0:
		return nil
	}
	for _, m := range jsonedit.Members(root) {
		if !ofReply[m.Key] && !holders[m.Key] && !chatjson.IsNativeField(m.Key) {
			faults = append(faults, m.Value) // such as failed_generation
		}
	}
	return faults
}

// holders are the members that [Faults] looks at by themselves.
var holders = map[string]bool{
	"error": true, "errors": true, "detail": true, "message": true, "response": true, "result": true,
	"reasoning_details": true, "tool_calls": true,
}

// errorsIn returns the members of an object that are errors.
func errorsIn(v gjson.Result) (faults []gjson.Result) {
	if !v.IsObject() {
		return nil
	}
	for _, m := range jsonedit.Members(v) {
		if m.Key == "error" {
			faults = append(faults, m.Value)
		}
	}
	return faults
}
