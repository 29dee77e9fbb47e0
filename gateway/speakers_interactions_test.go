package gateway_test

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
)

var interactionStatuses = map[sotto.Ending]string{
	sotto.EndStopped: `"completed"`, sotto.EndCut: `"incomplete"`, sotto.EndAborted: `"failed"`, sotto.EndUnknown: `"in_progress"`,
}

const (
	interactionHead  = `"id":"v1_1","object":"interaction","model":"m"`
	interactionUsage = `"usage":{"total_input_tokens":5,"total_output_tokens":9,"total_thought_tokens":3,"total_tokens":17}`
)

// interactionEvent is an event of Google's Interactions API.
func interactionEvent(kind, data string) string {
	return "event: " + kind + "\ndata: {\"event_type\":\"" + kind + "\"," + data + "}\n\n"
}

func stepStart(index int, step string) string {
	return interactionEvent("step.start", fmt.Sprintf(`"index":%d,"step":%s`, index, step))
}

func stepDelta(index int, delta string) string {
	return interactionEvent("step.delta", fmt.Sprintf(`"index":%d,"delta":%s`, index, delta))
}

func stepStop(index int) string {
	return interactionEvent("step.stop", fmt.Sprintf(`"index":%d`, index))
}

func interactionEnd(status string) string {
	return interactionEvent("interaction.completed", `"interaction":{`+interactionHead+`,"status":`+status+`,`+interactionUsage+`}`)
}

const interactionBegun = "event: interaction.created\ndata: {\"event_type\":\"interaction.created\",\"interaction\":{" + interactionHead + ",\"status\":\"in_progress\"}}\n\n"

// interactionsSpeaker is Google's Interactions API.
var interactionsSpeaker = speaker{
	codec: codecNamed("gemini.interactions"), path: "/v1beta/interactions", aborts: true,
	open:   interactionBegun + stepStart(0, `{"type":"model_output"}`),
	say:    func(text string) string { return stepDelta(0, `{"type":"text","text":`+quoted(text)+`}`) },
	finish: func(_ string, end sotto.Ending) string { return stepStop(0) + interactionEnd(interactionStatuses[end]) },
	whole: func(text string, end sotto.Ending) string {
		return `{` + interactionHead + `,"status":` + interactionStatuses[end] + `,"steps":[{"type":"model_output","content":[{"type":"text","text":` + quoted(text) + `}]}],` + interactionUsage + `}`
	},
	hear: func(root gjson.Result, h *heard) {
		kind := root.Get("event_type").Str
		h.done = h.done || kind == "interaction.completed" || root.Get("steps").Exists()
		if kind == "error" || root.Get("error").Exists() {
			h.failed, h.done = root.Raw, false
		}
		hearStep(root.Get("step"), h)
		switch d := root.Get("delta"); d.Get("type").Str {
		case "text":
			h.text = append(h.text, bytesOf(d.Get("text"))...)
		case "thought_summary":
			h.thought = append(h.thought, bytesOf(d.Get("content.text"))...)
		}
		for _, step := range root.Get("steps").Array() {
			hearStep(step, h)
		}
	},
}

func hearStep(step gjson.Result, h *heard) {
	for _, c := range step.Get("content").Array() {
		h.text = append(h.text, bytesOf(c.Get("text"))...)
	}
	for _, c := range step.Get("summary").Array() {
		h.thought = append(h.thought, bytesOf(c.Get("text"))...)
	}
}

func init() {
	speakers = append(speakers, interactionsSpeaker)
	const (
		thought = `{"type":"thought","summary":[{"type":"text","text":"canary thought"}]}`
		signed  = `{"type":"thought","signature":"c2ln","summary":[{"type":"text","text":"canary thought"},{"type":"image","data":"canary","mime_type":"image/png"}]}`
		call    = `{"type":"function_call","id":"c1","name":"f","arguments":{"a":1}}`
		search  = `{"type":"google_search_call","id":"s1","arguments":{"queries":["four"]},"signature":"c2ln"}`
		found   = `{"type":"google_search_result","call_id":"s1","result":[{"search_suggestions":"<b>four</b>"}],"signature":"c2ln"}`
		strange = `{"type":"inner_monologue","content":[{"type":"text","text":"canary step"}]}`
		source  = `{"type":"url_citation","start_index":0,"end_index":2,"url":"http://a","title":"A"}`
	)
	hiddenReplies = append(hiddenReplies, hiddenReply{
		path: "/v1beta/interactions",
		frames: []string{
			interactionBegun, interactionEvent("interaction.status_update", `"interaction_id":"v1_1","status":"in_progress"`),
			stepStart(0, `{"type":"thought"}`), stepDelta(0, `{"type":"thought_summary","content":{"type":"text","text":"canary thought"}}`),
			stepDelta(0, `{"type":"thought_signature","signature":"c2ln"}`), stepStop(0),
			stepStart(1, thought), stepStop(1), stepStart(2, search), stepStop(2), stepStart(3, found), stepStop(3), stepStart(4, strange), stepDelta(4, `{"type":"text","text":"canary delta"}`), stepStop(4),
			stepStart(5, `{"type":"model_output"}`), stepDelta(5, `{"type":"text","text":"<think>canary text</think>It is "}`), stepDelta(5, `{"type":"text","text":"4."}`),
			stepDelta(5, `{"type":"text_annotation_delta","annotations":[`+source+`]}`), stepDelta(5, `{"type":"musing","text":"canary piece"}`), stepStop(5),
			stepStart(6, `{"type":"function_call","id":"c1","name":"f","arguments":{}}`), stepDelta(6, `{"type":"arguments_delta","arguments":"{\"a\":1}"}`), stepStop(6),
			interactionEvent("musing", `"text":"canary event"`),
			interactionEvent("interaction.completed", `"interaction":{`+interactionHead+`,"status":"requires_action",`+interactionUsage+`,"steps":[`+thought+`]}`),
			"event: done\ndata: [DONE]\n\n",
		},
		whole: `{` + interactionHead + `,"status":"requires_action","steps":[` + thought + `,` + signed + `,` + search + `,` + found + `,` + strange +
			`,{"type":"model_output","content":[{"type":"text","text":"<think>canary text</think>It is 4.","annotations":[` + source + `]}]},` + call + `],` + interactionUsage + `,"system_instruction":"canary system"}`,
	})
}

// interactions reads an event or a body of the Interactions API, as a client that reads calls.
func (h *callHearing) interactions(root gjson.Result) {
	step := func(index int64, step gjson.Result) {
		var said heard
		hearStep(step, &said)
		h.text, h.thought = h.text+string(said.text), h.thought+string(said.thought)
		if step.Get("type").Str == "function_call" {
			arguments := step.Get("arguments")
			if len(arguments.Map()) == 0 && root.Get("step").Exists() {
				arguments = gjson.Result{}
			}
			h.call(index, step.Get("id"), step.Get("name"), arguments)
		}
	}
	for i, v := range root.Get("steps").Array() {
		step(int64(i), v)
	}
	index := root.Get("index").Int()
	switch root.Get("event_type").Str {
	case "step.start":
		h.open++
		h.block(index, root.Get("step.type").Str)
		step(index, root.Get("step"))
	case "step.stop":
		h.open--
	case "step.delta":
		d := root.Get("delta")
		h.text += d.Get("text").Str
		h.thought += d.Get("content.text").Str
		if d.Get("type").Str == "arguments_delta" {
			h.call(index, gjson.Result{}, gjson.Result{}, d.Get("arguments"))
		}
	case "interaction.completed":
		h.reason += root.Get("interaction.status").Str
	case "":
		h.reason += root.Get("status").Str
	}
}
