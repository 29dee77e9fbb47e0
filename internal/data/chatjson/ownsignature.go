package chatjson

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// Signature is the signature of a block of thinking that Sotto made. It holds no data
// and has no secret: whoever sends it says only that no provider signed the block.
const Signature = "sotto-made-this-block"

// These are the signatures of blocks that the upstream itself sent with an empty signature, and
// without any: some clients drop such blocks.
const (
	SignatureOfEmpty = "sotto-signed-this-block"
	SignatureOfNone  = "sotto-signed-this-bare-block"
)

// SignatureFor returns the signature of an upstream's block whose own is v. It is empty if the
// upstream has signed the block.
func SignatureFor(v gjson.Result) string {
	switch {
	case !v.Exists():
		return SignatureOfNone
	case v.Str == "":
		return SignatureOfEmpty
	}
	return ""
}

// IsSignature reports whether a signature is Sotto's. passed says that the upstream itself sent
// the block.
func IsSignature(text string) (ours, passed bool) {
	passed = text == SignatureOfEmpty || text == SignatureOfNone
	return passed || text == Signature, passed
}

// Unsign appends body with the signature that the upstream knows in each block of its messages
// that Sotto signed: an empty one or none. The providers of signatures refuse those of others.
func Unsign(dst, body []byte) []byte {
	var edits []jsonedit.Edit
	jsonedit.Parse(body).Get("messages").ForEach(func(_, m gjson.Result) bool {
		m.Get("content").ForEach(func(_, block gjson.Result) bool {
			for _, path := range []string{"signature", "reasoningContent.reasoningText.signature"} {
				s := block.Get(path)
				ours, _ := IsSignature(s.Str)
				switch {
				case !ours:
				case s.Str == SignatureOfNone && path == "signature":
					members := jsonedit.Members(block)
					edits = jsonedit.Cut(edits, members, func(i int) bool { return members[i].Key == path })
				default:
					edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(s), With: []byte(`""`)})
				}
			}
			return true
		})
		return true
	})
	return jsonedit.Splice(dst, body, edits)
}
