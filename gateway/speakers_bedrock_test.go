package gateway_test

import (
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/bedrock"
)

const (
	bedrockVerb = "/converse"
	bedrockPath = "/model/m" + bedrockVerb
)

var bedrockReasons = map[sotto.Ending]string{
	sotto.EndStopped: "end_turn", sotto.EndCut: "max_tokens", sotto.EndAborted: "content_filtered", sotto.EndUnknown: "other",
}

// named is an event whose data does not say its name.
func named(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

func bedrockDelta(index, delta string) string {
	return named("contentBlockDelta", `{"contentBlockIndex":`+index+`,"delta":`+delta+`,"p":"abcd"}`)
}

const (
	bedrockOpen  = "event: messageStart\ndata: {\"p\":\"ab\",\"role\":\"assistant\"}\n\n"
	bedrockUsage = `"usage":{"inputTokens":5,"outputTokens":9,"totalTokens":14},"metrics":{"latencyMs":12}`
)

func bedrockFinish(_ string, end sotto.Ending) string {
	return named("contentBlockStop", `{"contentBlockIndex":0,"p":"abc"}`) + bedrockEnd(bedrockReasons[end])
}

// bedrockEnd is how a message ends.
func bedrockEnd(reason string) string {
	return named("messageStop", `{"p":"a","stopReason":"`+reason+`"}`) + named("metadata", `{`+bedrockUsage+`,"p":"abc"}`)
}

// bedrockBody is a whole reply.
func bedrockBody(blocks, reason string) string {
	return `{` + bedrockUsage + `,"output":{"message":{"content":[` + blocks + `],"role":"assistant"}},"stopReason":"` + reason + `"}`
}

// bedrockSpeaker is Amazon Bedrock's Converse API. Its streams are written as the events
// that their messages stand for.
var bedrockSpeaker = speaker{
	codec: codecNamed("bedrock.converse"), path: bedrockPath, aborts: true,
	open:   bedrockOpen,
	say:    func(text string) string { return bedrockDelta("0", `{"text":`+quoted(text)+`}`) },
	finish: bedrockFinish,
	whole: func(text string, end sotto.Ending) string {
		return bedrockBody(`{"text":`+quoted(text)+`}`, bedrockReasons[end])
	},
	hear: func(root gjson.Result, h *heard) {
		h.done = h.done || root.Get("stopReason").Exists()
		if fault := root.Get("message"); fault.Exists() {
			h.failed = root.Raw
		}
		h.text = append(h.text, bytesOf(root.Get("delta.text"))...)
		h.thought = append(h.thought, bytesOf(root.Get("delta.reasoningContent.text"))...)
		for _, v := range root.Get("output.message.content").Array() {
			h.text = append(h.text, bytesOf(v.Get("text"))...)
			h.thought = append(h.thought, bytesOf(v.Get("reasoningContent.reasoningText.text"))...)
		}
	},
}

func init() { speakers = append(speakers, bedrockSpeaker) }

// eventStream is the binary form of events.
func eventStream(events string) string {
	return string(bedrock.Provider.Carriers[0].Begin(wire.Settings{}).Append(nil, []byte(events)))
}

// namedEvents are the events of a binary stream, which must be whole.
func namedEvents(t testing.TB, stream []byte) []byte {
	t.Helper()
	c := bedrock.Provider.Carriers[0].Begin(wire.Settings{})
	var events []byte
	for len(stream) > 0 {
		n, f, err := c.Next(stream)
		if err != nil || n == 0 {
			t.Fatalf("%v, after %q: %q", err, events, stream)
		}
		events, stream = append(events, f.Raw...), stream[n:]
	}
	return events
}

const eventStreamType = "application/vnd.amazon.eventstream"
