package chatjson

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/jsonedit"
)

// Signature is the signature of a block of thinking that Sotto made. It holds no data
// and has no secret: whoever sends it says only that no provider signed the block.
const Signature = "sotto-made-this-block"

// Unsign appends body with an empty signature in each block of its messages that
// Sotto signed. The providers of signatures refuse those of others.
func Unsign(dst, body []byte) []byte {
	var edits []jsonedit.Edit
	jsonedit.Parse(body).Get("messages").ForEach(func(_, m gjson.Result) bool {
		m.Get("content").ForEach(func(_, block gjson.Result) bool {
			for _, path := range []string{"signature", "reasoningContent.reasoningText.signature"} {
				if s := block.Get(path); s.Str == Signature {
					edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(s), With: []byte(`""`)})
				}
			}
			return true
		})
		return true
	})
	return jsonedit.Splice(dst, body, edits)
}
