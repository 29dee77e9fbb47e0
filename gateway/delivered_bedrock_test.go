package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
)

const (
	fullBedrockCited = `{"title":"A","source":"s","sourceContent":[{"text":"b"}],"location":{"web":{"url":"http://a","domain":"a"},"documentChar":{"documentIndex":0,"start":0,"end":2},` +
		`"documentPage":{"documentIndex":0,"start":0,"end":2},"documentChunk":{"documentIndex":0,"start":0,"end":2},"searchResultLocation":{"searchResultIndex":0,"start":0,"end":1}}}`
	fullBedrockFile  = `{"format":"png","name":"n","source":{"bytes":"iVBO","s3Location":{"uri":"s3://b/k","bucketOwner":"1"}}}`
	fullBedrockReply = `"usage":{"inputTokens":5,"outputTokens":9,"totalTokens":14,"cacheReadInputTokens":1,"cacheWriteInputTokens":1,"cacheDetails":[{"ttl":"5m","inputTokens":1}]},"metrics":{"latencyMs":12},` +
		`"performanceConfig":{"latency":"standard"},"serviceTier":{"type":"default"},"trace":{"guardrail":{"modelOutput":["musing"]},"promptRouter":{"invokedModelId":"m"}}`
	fullBedrockResult = `{"text":"r"},{"json":{"rows":[{"title":"A"}]}}`
)

// bedrockFrames are the data of events, each in an object whose member is the event's name.
var bedrockFrames = []string{
	`{"messageStart":{"role":"assistant","p":"ab"}}`,
	`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"musing"}},"p":"ab"}}`,
	`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}}`,
	`{"contentBlockStop":{"contentBlockIndex":0,"p":"ab"}}`,
	`{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"ZW5j"}}}}`,
	`{"contentBlockStop":{"contentBlockIndex":1}}`,
	`{"contentBlockDelta":{"contentBlockIndex":2,"delta":{"text":"It is 4."}}}`,
	`{"contentBlockDelta":{"contentBlockIndex":2,"delta":{"citation":` + fullBedrockCited + `}}}`,
	`{"contentBlockStop":{"contentBlockIndex":2}}`,
	`{"contentBlockStart":{"contentBlockIndex":3,"start":{"toolUse":{"toolUseId":"c1","name":"f","type":"server_tool_use"}}}}`,
	`{"contentBlockDelta":{"contentBlockIndex":3,"delta":{"toolUse":{"input":"{}"}}}}`,
	`{"contentBlockStop":{"contentBlockIndex":3}}`,
	`{"contentBlockStart":{"contentBlockIndex":4,"start":{"toolResult":{"toolUseId":"c1","type":"x","status":"success"}}}}`,
	`{"contentBlockDelta":{"contentBlockIndex":4,"delta":{"toolResult":[` + fullBedrockResult + `]}}}`,
	`{"contentBlockStop":{"contentBlockIndex":4}}`,
	`{"contentBlockStart":{"contentBlockIndex":5,"start":{"image":{"format":"png"}}}}`,
	`{"contentBlockDelta":{"contentBlockIndex":5,"delta":{"image":{"source":{"bytes":"iVBO"},"error":{"message":"no"}}}}}`,
	`{"contentBlockStop":{"contentBlockIndex":5}}`,
	`{"messageStop":{"stopReason":"tool_use","additionalModelResponseFields":{"a":"b"}}}`,
	`{"metadata":{` + fullBedrockReply + `}}`,
}

func init() {
	fullReplies = append(fullReplies, fullReply{
		path:   bedrockPath,
		frames: bedrockFrames,
		body: `{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"musing","signature":"c2ln"}}},{"reasoningContent":{"redactedContent":"ZW5j"}},` +
			`{"text":"It is 4."},{"citationsContent":{"content":[{"text":"It is "},{"text":"so."}],"citations":[` + fullBedrockCited + `]}},{"toolUse":{"toolUseId":"c1","name":"f","type":"server_tool_use","input":{"a":"b"}}},` +
			`{"toolResult":{"toolUseId":"c1","type":"x","status":"success","content":[` + fullBedrockResult + `,{"image":` + fullBedrockFile + `},{"document":` + fullBedrockFile + `},{"video":` + fullBedrockFile + `},{"searchResult":{"source":"s","title":"t","content":[{"text":"x"}],"citations":{"enabled":true}}}]}},` +
			`{"image":` + fullBedrockFile + `},{"video":` + fullBedrockFile + `},{"audio":` + fullBedrockFile + `},{"document":` + fullBedrockFile + `},{"guardContent":{"text":{"text":"musing"}}},{"cachePoint":{"type":"default","ttl":"5m"}},{"searchResult":{"source":"s","title":"t"}}]}},` +
			`"stopReason":"tool_use","additionalModelResponseFields":{"a":"b"},` + fullBedrockReply + `}`,
	}, fullReply{
		path: bedrockPath,
		frames: []string{
			`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"It is 4."}}}`,
			`{"exception/modelStreamErrorException":{"message":"busy","originalMessage":"o","originalStatusCode":500,"error":{"message":"busy"}}}`,
		},
		body: `{"output":{"message":{"role":"assistant","content":[{"text":"<think>musing</think>It is 4."}]}},"stopReason":"end_turn","error":{"message":"busy","type":"t","code":"c","param":"p"}}`,
	})
}

// bedrockEvents are the server-sent events of such frames.
func bedrockEvents(frames []string) string {
	var b strings.Builder
	for _, f := range frames {
		var all map[string]json.RawMessage
		if err := json.Unmarshal([]byte(f), &all); err != nil {
			panic(err)
		}
		for name, data := range all {
			if data[0] == '{' {
				b.WriteString(named(name, string(data)))
			}
		}
	}
	return b.String()
}

// TestBedrockWritten: a reply that is written from events says the same, block for block, as
// one that is edited, streamed in either form and whole.
func TestBedrockWritten(t *testing.T) {
	stream := bedrockEvents(bedrockFrames)
	for _, display := range routing.Displays() {
		if display == routing.DisplayHide {
			continue
		}
		ask := func(kind, upstream string, rule guard.Rule) string {
			g := handler(t, gateway.Config{Default: routing.Route{Display: display, Guard: rule}}, answering(upstreamSends(kind, upstream)))
			return ask(g, bedrockPath, bedrockStreams).Body.String()
		}
		edited := ask("text/event-stream", stream, guard.Rule{})
		written := ask("text/event-stream", stream, guard.Rule{Guard: &judgeFunc{}})
		if got, want := bedrockBlocks(t, written), bedrockBlocks(t, edited); got != want || !strings.Contains(got, "redactedContent=ZW5j") {
			t.Errorf("%s:\n%s, want\n%s\n%s", display, got, want, written)
		}
		binary := ask(eventStreamType, eventStream(stream), guard.Rule{Guard: &judgeFunc{}})
		if got := string(namedEvents(t, []byte(binary))); got != strings.ReplaceAll(written, ": keep-alive\n\n", "") {
			t.Errorf("%s, binary:\n%s, want\n%s", display, got, written)
		}
	}
}

// TestBedrockResultInPieces: a thought in the pieces of a tool's result is hidden, and what
// was held of the result comes before the end of its block.
func TestBedrockResultInPieces(t *testing.T) {
	piece := func(text string) string { return bedrockDelta("0", `{"toolResult":[{"text":`+quoted(text)+`}]}`) }
	stream := bedrockOpen + named("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolResult":{"toolUseId":"c1"}}}`) +
		piece("a<thi") + piece("nk>can") + piece("ary</think>b") + piece(" <") + named("contentBlockStop", `{"contentBlockIndex":0}`) +
		bedrockDelta("1", `{"text":"It is 4."}`) + bedrockFinish("", sotto.EndStopped)
	got := hiddenAnswer(t, bedrockPath, true, "text/event-stream", stream, 200)
	text := ""
	for f := range framesOf(bedrockSpeaker.codec, []byte(got)) {
		var d struct {
			Delta struct{ ToolResult []struct{ Text string } }
		}
		if json.Unmarshal(f.Data, &d) == nil && len(d.Delta.ToolResult) > 0 {
			text += d.Delta.ToolResult[0].Text
		}
	}
	if text != "ab <" && text != "a\n\nb <" || bedrockBlocks(t, got) != " | text=It is 4." {
		t.Errorf("%q:\n%s", text, got)
	}
}
