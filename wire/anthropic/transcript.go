package anthropic

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Transcribe reports the messages of a request. The member system becomes a message
// of that role. Tool results in a message become separate messages before it.
func (messages) Transcribe(body []byte, to wire.Transcript) {
	root := jsonedit.Parse(body)
	if system := chatjson.TextsOf(root.Get("system")); len(system) > 0 {
		to.Message("system", "", system...)
	}
	root.Get("messages").ForEach(func(_, v gjson.Result) bool {
		list := v.Get("content")
		results := 0
		for _, b := range list.Array() {
			if strings.HasSuffix(b.Get("type").Str, "tool_result") {
				results++
				to.Message("tool", b.Get("tool_use_id").Str, chatjson.TextsOf(b.Get("content"))...)
			}
		}
		texts := chatjson.TextsOf(list)
		if results > 0 && len(texts) == 0 {
			return true
		}
		to.Message(v.Get("role").Str, "", texts...)
		if !list.IsArray() {
			return true
		}
		chatjson.TranscribeThinking(list, to)
		for _, b := range list.Array() {
			if strings.HasSuffix(b.Get("type").Str, "tool_use") {
				to.Call(b.Get("id").Str, b.Get("name").Str, chatjson.ValueText(b.Get("input")))
			}
		}
		return true
	})
}
