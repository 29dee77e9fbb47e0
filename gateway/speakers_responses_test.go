package gateway_test

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
)

// responsesSpeaker says one message. Its events have no numbers, for those would
// need a memory; the codec's own tests count them.
var responsesSpeaker = speaker{
	codec: codecNamed("openai.responses"), path: "/v1/responses", aborts: true,
	open: event("response.created", `"response":`+responsesBody(responsesBegun, "", "")) +
		event("response.output_item.added", `"output_index":0,"item":`+responsesItem("in_progress", "")) +
		event("response.content_part.added", responsesPlace+`,"part":`+responsesPart("")),
	say: func(text string) string {
		return event("response.output_text.delta", responsesPlace+`,"delta":`+quoted(text)+`,"logprobs":[]`)
	},
	finish: func(text string, end sotto.Ending) string {
		return responsesFinish(text, responsesStatus(end), responsesEnds[end])
	},
	whole: func(text string, end sotto.Ending) string {
		how := responsesEnds[end]
		if end == sotto.EndUnknown { // one that is under way is read as one that broke off
			how = strings.Replace(how, `"in_progress"`, "null", 1)
		}
		return responsesBody(how, responsesItem(responsesStatus(end), responsesPart(text)), text)
	},
	hear: hearResponses,
}

// responsesEnds are the members that say how a response ended.
var responsesEnds = map[sotto.Ending]string{
	sotto.EndStopped: `"status":"completed","error":null,"incomplete_details":null`,
	sotto.EndCut:     `"status":"incomplete","error":null,"incomplete_details":{"reason":"max_output_tokens"}`,
	sotto.EndAborted: `"status":"incomplete","error":null,"incomplete_details":{"reason":"content_filter"}`,
	sotto.EndUnknown: responsesBegun,
}

const (
	responsesPlace = `"item_id":"msg_1","output_index":0,"content_index":0`
	responsesBegun = `"status":"in_progress","error":null,"incomplete_details":null`
	responsesBroke = `"status":"failed","error":{"code":"server_error","message":"busy"},"incomplete_details":null`
)

func responsesStatus(end sotto.Ending) string {
	if end == sotto.EndCut || end == sotto.EndAborted {
		return "incomplete"
	}
	return "completed"
}

func responsesPart(text string) string {
	return `{"type":"output_text","annotations":[],"text":` + quoted(text) + `,"logprobs":[]}`
}

func responsesItem(status, parts string) string {
	return `{"id":"msg_1","type":"message","status":"` + status + `","role":"assistant","content":[` + parts + `]}`
}

// responsesBody is a response, with the member that some servers add: its text in
// one piece.
func responsesBody(end, output, text string) string {
	return `{"id":"resp_1","object":"response","created_at":1760000000,"model":"m",` + end + `,"output":[` + output +
		`],"output_text":` + quoted(text) + `,"usage":{"input_tokens":5,"output_tokens":9,"total_tokens":14}}`
}

// responsesFinish are the events after the text, each of which repeats it.
func responsesFinish(text, status, end string) string {
	item := responsesItem(status, responsesPart(text))
	return event("response.output_text.done", responsesPlace+`,"text":`+quoted(text)+`,"logprobs":[]`) +
		event("response.content_part.done", responsesPlace+`,"part":`+responsesPart(text)) +
		event("response.output_item.done", `"output_index":0,"item":`+item) +
		event("response."+status, `"response":`+responsesBody(end, item, text))
}

// hearResponses hears the deltas of a stream, and apart from them each kind of
// frame that repeats their text.
func hearResponses(root gjson.Result, h *heard) {
	switch kind := root.Get("type").Str; kind {
	case "error":
		h.failed = root.Raw
	case "response.output_text.delta":
		h.text = append(h.text, bytesOf(root.Get("delta"))...)
	case "response.reasoning_text.delta":
		h.thought = append(h.thought, bytesOf(root.Get("delta"))...)
	case "response.output_text.done":
		a := h.repeats("text.done")
		a.text = append(a.text, bytesOf(root.Get("text"))...)
	case "response.reasoning_text.done":
		a := h.repeats("text.done")
		a.thought = append(a.thought, bytesOf(root.Get("text"))...)
	case "response.content_part.done":
		h.repeats(kind).part(root.Get("part"))
	case "response.output_item.done":
		h.repeats(kind).item(root.Get("item"))
	case "response.completed", "response.incomplete", "response.failed":
		response := root.Get("response")
		h.done = true
		if kind == "response.failed" {
			h.failed = response.Get("error").Raw
		}
		h.repeats(kind).output(response)
		if text := response.Get("output_text"); text.Exists() || response.Get("usage").Exists() { // a response that Sotto ends has neither
			*h.repeats("output_text") = heard{text: bytesOf(text), thought: h.again[kind].thought}
		}
	case "": // a whole body
		h.done = root.Get("status").Str != "in_progress"
		h.output(root)
		*h.repeats("output_text") = heard{text: bytesOf(root.Get("output_text")), thought: h.thought}
	}
}

// repeats is what frames of a kind repeat.
func (h *heard) repeats(kind string) *heard {
	if h.again == nil {
		h.again = map[string]*heard{}
	}
	if h.again[kind] == nil {
		h.again[kind] = &heard{}
	}
	return h.again[kind]
}

func (h *heard) part(part gjson.Result) {
	switch part.Get("type").Str {
	case "output_text":
		h.text = append(h.text, bytesOf(part.Get("text"))...)
	case "reasoning_text":
		h.thought = append(h.thought, bytesOf(part.Get("text"))...)
	}
}

// item hears what an item of its type may hold: text in another would be a leak.
func (h *heard) item(item gjson.Result) {
	of := map[string]string{"message": "output_text", "reasoning": "reasoning_text"}[item.Get("type").Str]
	for _, part := range item.Get("content").Array() {
		if part.Get("type").Str == of {
			h.part(part)
		}
	}
}

func (h *heard) output(response gjson.Result) {
	for _, item := range response.Get("output").Array() {
		h.item(item)
	}
}
