package gateway_test

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
)

var cohereReasons = map[sotto.Ending]string{
	sotto.EndStopped: `"COMPLETE"`, sotto.EndCut: `"MAX_TOKENS"`, sotto.EndAborted: `"ERROR"`, sotto.EndUnknown: "null",
}

// cohereDelta is an event about a part of a message.
func cohereDelta(kind, content string) string {
	return event(kind, `"index":0,"delta":{"message":{"content":`+content+`}}`)
}

func cohereFinish(_ string, end sotto.Ending) string {
	return event("content-end", `"index":0`) +
		event("message-end", `"delta":{"finish_reason":`+cohereReasons[end]+`,"usage":{"tokens":{"input_tokens":5,"output_tokens":9}}}`)
}

// cohereSpeaker is Cohere's chat API.
var cohereSpeaker = speaker{
	codec: codecNamed("cohere.chat"), path: "/v2/chat", aborts: true,
	open:   event("message-start", `"id":"m1","delta":{"message":{"role":"assistant","content":[],"tool_plan":""}}`) + cohereDelta("content-start", `{"type":"text","text":""}`),
	say:    func(text string) string { return cohereDelta("content-delta", `{"text":`+quoted(text)+`}`) },
	finish: cohereFinish,
	whole: func(text string, end sotto.Ending) string {
		return `{"id":"m1","finish_reason":` + cohereReasons[end] + `,"message":{"role":"assistant","content":[{"type":"text","text":` + quoted(text) +
			`}]},"usage":{"billed_units":{"input_tokens":5},"tokens":{"input_tokens":5,"output_tokens":9}}}`
	},
	hear: func(root gjson.Result, h *heard) {
		h.done = h.done || root.Get("type").Str == "message-end" || root.Get("message").IsObject()
		if fault := root.Get("delta.error"); fault.Exists() {
			h.failed, h.done = root.Raw, false
		}
		if fault := root.Get("message"); fault.Type == gjson.String {
			h.failed = root.Raw
		}
		part := func(v gjson.Result) {
			h.text = append(h.text, bytesOf(v.Get("text"))...)
			h.thought = append(h.thought, bytesOf(v.Get("thinking"))...)
		}
		part(root.Get("delta.message.content"))
		for _, v := range root.Get("message.content").Array() {
			part(v)
		}
	},
}
