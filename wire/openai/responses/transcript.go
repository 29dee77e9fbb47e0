package responses

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Transcribe reports the items of a request. The instructions become a message of
// the role system.
func (codec) Transcribe(body []byte, to wire.Transcript) {
	root := jsonedit.Parse(body)
	if text := chatjson.TextsOf(root.Get("instructions")); len(text) > 0 {
		to.Message("system", "", text...)
	}
	input := root.Get("input")
	if input.Type == gjson.String {
		to.Message("user", "", chatjson.ValueText(input))
		return
	}
	input.ForEach(func(_, item gjson.Result) bool {
		switch kind := item.Get("type").Str; {
		case kind == "reasoning":
			to.Message("assistant", "")
			sealed := chatjson.ValueText(item.Get("encrypted_content"))
			for _, field := range []string{"summary", "content"} {
				for _, part := range item.Get(field).Array() {
					to.Thought(field, chatjson.ValueText(part.Get("text")), len(sealed) > 0)
				}
			}
			to.Thought("encrypted_content", sealed, true)
		case strings.HasSuffix(kind, "_call"):
			arguments := item.Get("arguments")
			if !arguments.Exists() {
				arguments = item.Get("input")
			}
			to.Message("assistant", "")
			to.Call(item.Get("call_id").Str, cmp.Or(item.Get("name").Str, strings.TrimSuffix(kind, "_call")), chatjson.ValueText(arguments))
		case strings.HasSuffix(kind, "_output"):
			to.Message("tool", item.Get("call_id").Str, chatjson.TextsOf(item.Get("output"))...)
		default:
			to.Message(item.Get("role").Str, "", chatjson.TextsOf(item.Get("content"))...)
		}
		return true
	})
}
