package chatjson

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// Some providers sign the calls of a chat completion, in a member of the call:
//
//	{"id":…,"function":…,"extra_content":{"google":{"thought_signature":"…"}}}
//
// They answer 400 if a call of the current turn comes back without it. Of calls made
// in parallel only the first is signed.
var signaturePath = []string{"extra_content", "google", "thought_signature"}

// SignatureOf returns the signature on a call, or "".
func SignatureOf(call gjson.Result) string {
	v := call
	for _, key := range signaturePath {
		if v = v.Get(key); !v.Exists() {
			return ""
		}
	}
	return v.Str
}

// SignatureMember is the member of a call that has a signature.
func SignatureMember(signature string) (key, value string) {
	json := jsontext.AppendVerbatim(nil, jsonedit.BytesOf(signature))
	for i := len(signaturePath) - 1; i > 0; i-- {
		json = append(append([]byte(`{"`+signaturePath[i]+`":`), json...), '}')
	}
	return signaturePath[0], string(json)
}

// signed notes whether a call is signed. It comes before the call is noted.
func (m *message) signed(call gjson.Result) {
	i := len(m.CallIDs)
	if SignatureOf(call) != "" {
		m.Signed = append(m.Signed, make([]bool, i+1-len(m.Signed))...)
		m.Signed[i] = true
	}
	if call.Get("id").Str != "" || call.Get("function.name").Str != "" { // it is in CallIDs
		if m.signs == nil {
			m.signs = map[int]gjson.Result{}
		}
		m.signs[i] = call
	}
}

// sign returns the edit that puts a signature on a call: into the object on its path
// that exists, or instead of a value there that is not an object.
func sign(call gjson.Result, signature string) jsonedit.Edit {
	at, depth := call, 0
	for ; depth < len(signaturePath); depth++ {
		next := at.Get(signaturePath[depth])
		if !next.Exists() {
			break
		}
		if at = next; !at.IsObject() {
			depth++
			break
		}
	}
	value := jsontext.AppendVerbatim(nil, jsonedit.BytesOf(signature))
	for i := len(signaturePath) - 1; i > depth; i-- {
		value = append(append([]byte(`{"`+signaturePath[i]+`":`), value...), '}')
	}
	if depth == len(signaturePath) || !at.IsObject() {
		if depth < len(signaturePath) {
			value = append(append([]byte(`{"`+signaturePath[depth]+`":`), value...), '}')
		}
		return jsonedit.Edit{Span: jsonedit.SpanOf(at), With: value}
	}
	with := append([]byte(`"`+signaturePath[depth]+`":`), value...)
	if len(jsonedit.Members(at)) > 0 {
		with = append(with, ',')
	}
	return jsonedit.Edit{Span: jsonedit.Span{Start: at.Index + 1, End: at.Index + 1}, With: with}
}
