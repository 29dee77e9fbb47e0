package shown

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Fault is the object of an error, in every API's form.
var Fault = TextOr(Object("type code param status", Members{"message": Text}))

// ErrorBody is the body of a response that is an error.
var ErrorBody = Object("type code param status object request_id", Members{"message": Text, "error": Fault})

// Of returns what is shown of some JSON; ok is false if nothing is.
func (s *Value) Of(data []byte) (shown []byte, ok bool) {
	shown, _, keep, err := s.reduce(data, jsonedit.Parse(data), nil)
	return shown, keep && err == nil
}

// Read returns what is shown of some JSON, with its texts as read returns them. ok is false
// if nothing is.
func (s *Value) Read(data []byte, read Read) (shown []byte, ok bool, err error) {
	shown, _, ok, err = s.reduce(data, jsonedit.Parse(data), read)
	return shown, ok && err == nil, err
}

// reduce returns what is shown of some JSON, and whether that is all of it. keep is false
// if nothing is shown.
func (s *Value) reduce(data []byte, v gjson.Result, read Read) (shown []byte, same, keep bool, err error) {
	p := pruners.Get().(*pruner)
	defer p.release()
	p.read = read
	if keep, err = p.value(s, "", v, gjson.Result{}); err != nil || !keep {
		return nil, false, false, err
	}
	if len(p.edits) == 0 {
		return data, true, true, nil
	}
	return jsonedit.Splice(nil, data, p.edits), false, true, nil
}

// Error returns what is shown of the body of a response that is an error; ok is
// false if it is not an error in any API's form.
func Error(body []byte) (shown []byte, ok bool) {
	f, ok := chatjson.Readable(wire.Frame{Data: body})
	root := jsonedit.Parse(f.Data)
	if root.IsArray() { // Google's servers put an error into a list
		root = root.Get("0")
	}
	if !ok || !root.IsObject() {
		return nil, false
	}
	shown, ok = ErrorBody.Of(jsonedit.BytesOf(root.Raw))
	return shown, ok && len(jsonedit.Members(jsonedit.Parse(shown))) > 0
}
