package chatjson

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire"
)

// TextsOf returns the texts of a string, or of a list of typed parts except those
// that are reasoning.
func TextsOf(v gjson.Result) (texts [][]byte) {
	if v.Type == gjson.String {
		return [][]byte{ValueText(v)}
	}
	v.ForEach(func(_, part gjson.Result) bool {
		switch t := part.Get("text"); {
		case isThinking(part):
		case t.Type == gjson.String:
			texts = append(texts, ValueText(t))
		case part.Type == gjson.String:
			texts = append(texts, ValueText(part))
		}
		return true
	})
	return texts
}

// TranscribeMessages reports messages in the form of chat APIs.
func TranscribeMessages(list gjson.Result, to wire.Transcript) {
	list.ForEach(func(_, v gjson.Result) bool {
		to.Message(v.Get("role").Str, v.Get("tool_call_id").Str, TextsOf(v.Get("content"))...)
		v.ForEach(func(name, f gjson.Result) bool {
			switch {
			case f.Type == gjson.String && IsNativeField(name.Str):
				to.Thought(name.Str, ValueText(f), false)
			case name.Str == "reasoning_details" && f.IsArray():
				transcribeDetails(f, to)
			case name.Str == "content" && f.IsArray():
				TranscribeThinking(f, to)
			case name.Str == "tool_calls":
				for _, c := range f.Array() {
					to.Call(c.Get("id").Str, c.Get("function.name").Str, ValueText(c.Get("function.arguments")))
				}
			case name.Str == "function_call" && f.IsObject():
				to.Call("", f.Get("name").Str, ValueText(f.Get("arguments")))
			}
			return true
		})
		return true
	})
}

func isThinking(part gjson.Result) bool {
	switch part.Get("type").Str {
	case "thinking", "redacted_thinking", "reasoning", "reasoning_text":
		return true
	}
	return false
}

// TranscribeThinking reports the reasoning in a list of typed parts.
func TranscribeThinking(list gjson.Result, to wire.Transcript) {
	for _, part := range list.Array() {
		if !isThinking(part) {
			continue
		}
		kind, signature := part.Get("type").Str, ValueText(part.Get("signature"))
		if kind == "redacted_thinking" {
			to.Thought(kind, ValueText(part.Get("data")), true)
			continue
		}
		to.Thought(kind, []byte(ThoughtText(part)), len(signature) > 0)
		to.Thought("signature", signature, true)
	}
}

func transcribeDetails(list gjson.Result, to wire.Transcript) {
	for _, d := range list.Array() {
		signature, data := ValueText(d.Get("signature")), ValueText(d.Get("data"))
		to.Thought("reasoning_details", slices.Concat(ValueText(d.Get("text")), ValueText(d.Get("summary"))), len(signature) > 0)
		to.Thought("reasoning_details.signature", signature, true)
		to.Thought("reasoning_details.data", data, true)
	}
}

// TranscribePrompt reports a rendered prompt; a request may hold several.
func TranscribePrompt(root gjson.Result, to wire.Transcript) {
	if system := ValueText(root.Get("system")); len(system) > 0 {
		to.Message("system", "", system)
	}
	for _, text := range TextsOf(root.Get("prompt")) {
		to.Message("prompt", "", text)
	}
}
