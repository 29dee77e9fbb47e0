package gateway_test

import "testing"

const (
	fullCohereUsage = `{"billed_units":{"images":1,"input_tokens":5,"image_tokens":1,"output_tokens":9,"search_units":1,"classifications":1},"tokens":{"input_tokens":5,"output_tokens":9},"cached_tokens":2}`
	fullCohereCall  = `{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}`
	fullCohereCited = `"start":0,"end":2,"text":"It","sources":[{"type":"tool","id":"t1","tool_output":{"rows":[{"title":"A","n":1}]}},{"type":"document","id":"d1","document":{"title":"A","snippet":"b"}}]`
	fullCohereProbs = `{"text":"It","token_ids":[424242],"logprobs":[-1]}`
)

func init() {
	fullReplies = append(fullReplies, fullReply{
		path: "/v2/chat",
		frames: []string{
			`{"type":"message-start","id":"m1","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}`,
			`{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"thinking","thinking":"mu"}}}}`,
			`{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"sing"}}},"logprobs":` + fullCohereProbs + `}`,
			`{"type":"content-end","index":0}`,
			`{"type":"content-start","index":1,"delta":{"message":{"content":{"type":"text","text":"It is "}}}}`,
			`{"type":"content-delta","index":1,"delta":{"message":{"content":{"text":"4."}}},"logprobs":` + fullCohereProbs + `}`,
			`{"type":"citation-start","index":0,"delta":{"message":{"citations":{` + fullCohereCited + `,"type":"TEXT_CONTENT","content_index":1}}}}`,
			`{"type":"citation-end","index":0}`,
			`{"type":"citation-start","index":1,"delta":{"message":{"citations":{` + fullCohereCited + `,"type":"THINKING_CONTENT","content_index":0}}}}`,
			`{"type":"content-end","index":1}`,
			`{"type":"content-start","index":2,"delta":{"message":{"content":{"type":"image","url":"http://a","text":7}}}}`,
			`{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"I plan."}}}`,
			`{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":` + fullCohereCall + `}}}`,
			`{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{}"}}}}}`,
			`{"type":"tool-call-end","index":0}`,
			`{"type":"debug","prompt":"p"}`,
			`{"type":"message-end","id":"m1","delta":{"finish_reason":"TOOL_CALL","error":"busy","usage":` + fullCohereUsage + `}}`,
		},
		body: `{"id":"m1","prompt":"p","finish_reason":"TOOL_CALL","message":{"role":"assistant","tool_plan":"I plan.","content":[{"type":"thinking","thinking":"musing"},{"type":"text","text":"It is 4."},{"type":"image","url":"http://a"}],` +
			`"tool_calls":[` + fullCohereCall + `],"citations":[{` + fullCohereCited + `,"type":"TEXT_CONTENT","content_index":1},{` + fullCohereCited + `,"type":"PLAN"}]},"usage":` + fullCohereUsage + `,"logprobs":[` + fullCohereProbs + `]}`,
	}, fullReply{
		path:   "/v2/chat",
		frames: []string{`{"type":"error","message":"busy","id":"e1","error":{"message":"busy","type":"t","code":"c","param":"p"}}`},
		body:   `{"id":"m1","finish_reason":"ERROR_LIMIT","error":{"message":"busy","type":"t","code":"c","param":"p"},"message":{"role":"assistant","content":[{"type":"text","text":"<think>musing</think>It is 4."}]}}`,
	})
}

// TestCohereCitedThought: a citation of a thought, or of a plan, that the client does not get
// does not come without it. One of a text that is still to come waits for it.
func TestCohereCitedThought(t *testing.T) {
	cited := func(text, more string) string {
		return event("citation-start", `"index":0,"delta":{"message":{"citations":{"text":"`+text+`","sources":[],`+more+`}}}`) + event("citation-end", `"index":0`)
	}
	stream := event("message-start", `"id":"m1"`) +
		event("content-start", `"index":0,"delta":{"message":{"content":{"type":"thinking","thinking":"canary"}}}`) +
		cited("canary", `"type":"THINKING_CONTENT","content_index":0`) + event("content-end", `"index":0`) +
		event("content-start", `"index":1,"delta":{"message":{"content":{"type":"text","text":"<think>canary</th"}}}`) + cited("It", `"content_index":1`) +
		event("content-delta", `"index":1,"delta":{"message":{"content":{"text":"ink>It is 4."}}}`) + event("content-end", `"index":1`) +
		event("tool-plan-delta", `"delta":{"message":{"tool_plan":"canary"}}`) + cited("canary", `"type":"PLAN"`) +
		event("message-end", `"delta":{"finish_reason":"COMPLETE"}`)
	got := hiddenAnswer(t, "/v2/chat", true, "text/event-stream", stream, 200)
	if parts := cohereParts(t, got); parts != "text=It is 4. cited=0" {
		t.Errorf("%q:\n%s", parts, got)
	}
}
