package gateway_test

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
)

// turnLimit is the most tokens that a request of a conversation allows: its reply says nothing else of its end.
const turnLimit = 99

var conversationUsages = map[sotto.Ending]string{
	sotto.EndStopped: `"usage":{"prompt_tokens":5,"completion_tokens":9,"total_tokens":14}`, sotto.EndCut: `"usage":{"prompt_tokens":5,"completion_tokens":99,"total_tokens":104}`, sotto.EndUnknown: `"usage":null`,
}

// messagePiece is an event with a piece of a message of Mistral's conversations.
func messagePiece(output, content int, chunk string) string {
	return event("message.output.delta", fmt.Sprintf(`"output_index":%d,"id":"msg_1","content_index":%d,"model":"m","role":"assistant","content":%s`, output, content, chunk))
}

// callPiece is an event with a piece of a call.
func callPiece(output int, arguments string) string {
	return event("function.call.delta", fmt.Sprintf(`"output_index":%d,"id":"fc_1","name":"f","tool_call_id":"c1","arguments":%s`, output, quoted(arguments)))
}

const (
	conversationBegun = "event: conversation.response.started\ndata: {\"type\":\"conversation.response.started\",\"created_at\":\"2026-11-29T00:00:00Z\",\"conversation_id\":\"conv_0001\"}\n\n"
	messageHead       = `"object":"entry","type":"message.output","id":"msg_1","model":"m","role":"assistant",`
)

// wholeConversation is the body of a whole reply.
func wholeConversation(outputs string, end sotto.Ending) string {
	return `{"object":"conversation.response","conversation_id":"conv_0001","outputs":[` + outputs + `],` + conversationUsages[end] + `}`
}

// conversationsSpeaker are Mistral's conversations.
var conversationsSpeaker = speaker{
	codec: codecNamed("mistral.conversations"), path: "/v1/conversations",
	open: conversationBegun,
	say:  func(text string) string { return messagePiece(0, 0, quoted(text)) },
	finish: func(_ string, end sotto.Ending) string {
		return event("conversation.response.done", conversationUsages[end])
	},
	whole: func(text string, end sotto.Ending) string {
		return wholeConversation(`{`+messageHead+`"content":`+quoted(text)+`}`, end)
	},
	hear: func(root gjson.Result, h *heard) {
		kind := root.Get("type").Str
		h.done = h.done || kind == "conversation.response.done" || root.Get("outputs").Exists()
		if kind == "conversation.response.error" {
			h.failed, h.done = root.Raw, false
		}
		hearMessage(root, h)
		for _, e := range root.Get("outputs").Array() {
			hearMessage(e, h)
		}
	},
}

// hearMessage hears the content of an entry, or of an event of one.
func hearMessage(v gjson.Result, h *heard) {
	content := v.Get("content")
	h.text = append(h.text, bytesOf(content)...)
	chunks := content.Array()
	if content.Type == gjson.String {
		chunks = nil
	}
	for _, c := range chunks {
		h.text = append(h.text, bytesOf(c.Get("text"))...)
		for _, t := range c.Get("thinking").Array() {
			h.thought = append(h.thought, bytesOf(t.Get("text"))...)
		}
	}
}

func init() {
	speakers = append(speakers, conversationsSpeaker)
	const (
		thought = `{"type":"thinking","thinking":[{"type":"text","text":"canary thought"},{"type":"tool_reference","title":"canary title","tool":"canary_tool"}],"closed":true}`
		signed  = `{"type":"thinking","thinking":[{"type":"text","text":"canary thought"}],"signature":"c2ln"}`
		source  = `{"type":"tool_reference","tool":"web_search","title":"A","url":"http://a"}`
		strange = `{"type":"musing","text":"canary chunk"}`
		call    = `{"object":"entry","type":"function.call","id":"fc_1","tool_call_id":"c1","name":"f","arguments":{"a":1}}`
		search  = `"id":"t_1","name":"web_search","arguments":"{\"q\":\"four\"}"`
	)
	hiddenReplies = append(hiddenReplies, hiddenReply{
		path: "/v1/conversations/m/restart",
		frames: []string{
			conversationBegun, event("tool.execution.started", `"output_index":0,`+search), event("tool.execution.done", `"output_index":0,"id":"t_1","name":"web_search","info":{}`),
			event("agent.handoff.started", `"output_index":1,"id":"h_1","previous_agent_id":"a","previous_agent_name":"A"`),
			messagePiece(2, 0, thought), messagePiece(2, 0, signed), messagePiece(2, 1, strange),
			messagePiece(2, 2, `"<think>canary text</think>It is "`), messagePiece(2, 2, `{"type":"text","text":"4."}`), messagePiece(2, 3, source),
			callPiece(3, `{"a":`), callPiece(3, "1}"),
			event("musing", `"text":"canary event"`), event("musing", `"output_index":4,"text":"canary output","content":"canary content"`),
			event("conversation.response.done", conversationUsages[sotto.EndStopped]),
		},
		whole: wholeConversation(`{"object":"entry","type":"tool.execution",`+search+`},{`+messageHead+`"content":[`+thought+`,`+signed+`,`+strange+
			`,{"type":"text","text":"<think>canary text</think>It is 4."},`+source+`]},`+call+`,{"type":"inner.monologue","content":"canary entry"}`, sotto.EndStopped),
	})
}

// conversation reads an event or a body of Mistral's conversations, as a client that reads calls.
func (h *callHearing) conversation(root gjson.Result) {
	entry := func(index int64, v gjson.Result) {
		if index != h.blocks-1 {
			kind, _, _ := strings.Cut(strings.TrimPrefix(v.Get("type").Str, "message."), ".")
			h.block(index, map[string]string{"output": "text"}[kind])
		}
		var said heard
		hearMessage(v, &said)
		h.text, h.thought = h.text+string(said.text), h.thought+string(said.thought)
		switch v.Get("type").Str {
		case "function.call.delta", "function.call":
			id, name := v.Get("tool_call_id"), v.Get("name")
			if _, known := h.calls[index]; known {
				id, name = gjson.Result{}, gjson.Result{}
			}
			h.call(index, id, name, v.Get("arguments"))
		}
	}
	for i, v := range root.Get("outputs").Array() {
		entry(int64(i), v)
	}
	switch kind := root.Get("type").Str; {
	case kind == "conversation.response.done", root.Get("outputs").Exists():
		h.reason += "done"
	case strings.HasSuffix(kind, ".delta"):
		entry(root.Get("output_index").Int(), root)
	}
}
