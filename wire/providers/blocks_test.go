package providers_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/providers"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A collecting reader collects a reply, and gives the client everything.
type collecting struct {
	hearer
	turn *turn.Collector
}

func (c *collecting) Found(e wire.Event) []wire.Part {
	c.turn.Found(&e)
	return c.hearer.Found(e)
}

// spoken are replies whose message goes back as the list of blocks that they have, whole and as a
// stream. In the stream, § stands between two events.
var spoken = []struct{ api, path, whole, stream string }{
	{
		"anthropic.messages", "content",
		`{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"Hm.\n","signature":"c2ln"},{"type":"text","text":"First."},{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"tool_use","id":"toolu_1","name":"f","input":{"a": 1}},{"type":"thinking","thinking":"x","signature":"eA=="},{"type":"tool_use","id":"toolu_2","name":"g","input":{}}],"stop_reason":"tool_use"}`,
		`{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"model":"m"}}§` +
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}§{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}§` +
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":".\n"}}§{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}§{"type":"content_block_stop","index":0}§` +
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}§{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"First."}}§{"type":"content_block_stop","index":1}§` +
			`{"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"ZGF0YQ=="}}§{"type":"content_block_stop","index":2}§` +
			`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}§{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a\": "}}§` +
			`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"1}"}}§{"type":"content_block_stop","index":3}§` +
			`{"type":"content_block_start","index":4,"content_block":{"type":"thinking","thinking":"x","signature":""}}§{"type":"content_block_delta","index":4,"delta":{"type":"signature_delta","signature":"eA=="}}§{"type":"content_block_stop","index":4}§` +
			`{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"toolu_2","name":"g","input":{}}}§{"type":"content_block_stop","index":5}§` +
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}§{"type":"message_stop"}`,
	},
	{
		"bedrock.converse", "output.message.content",
		`{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"c2ln"}}},{"text":"First."},{"reasoningContent":{"redactedContent":"ZGF0YQ=="}},{"toolUse":{"toolUseId":"t1","name":"f","input":{"a":1}}}]}},"stopReason":"tool_use"}`,
		"",
	},
	{
		"openai.responses", "output",
		`{"id":"resp_1","object":"response","status":"completed","output":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"RU5D"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"First."}]},{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"},{"type":"reasoning","id":"rs_2","summary":[],"content":[{"type":"reasoning_text","text":"x"}]}]}`,
		"",
	},
}

// TestBlocksGoBack: the blocks that are collected of a reply are those that its provider sent, however
// it comes, on both paths.
func TestBlocksGoBack(t *testing.T) {
	for _, s := range spoken {
		var codec wire.BlockCodec
		for _, c := range providers.Codecs() {
			if c.Name() == s.api {
				codec = c.(wire.BlockCodec)
			}
		}
		want := normalBlocks(gjson.Get(s.whole, s.path).Raw)
		for _, written := range []bool{false, true} {
			set := wire.Settings{Request: &wire.Request{}, Written: written}
			whole := &collecting{turn: turn.NewCollector(codec, 1<<20)}
			whole.args = map[int]int{}
			codec.Reply(set).Whole(nil, []byte(s.whole), whole)
			if got := collectedBlocks(codec, whole); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, whole, written %v:\n%v\nwant\n%v", s.api, written, got, want)
			}
			if s.stream == "" {
				continue
			}
			set.Request = &wire.Request{Stream: true}
			streamed := &collecting{turn: turn.NewCollector(codec, 1<<20)}
			streamed.args = map[int]int{}
			y := codec.Reply(set)
			for _, data := range strings.Split(s.stream, "§") {
				if !foreignjson.Valid([]byte(data)) {
					t.Fatal(data)
				}
				kind := gjson.Get(data, "type").Str
				raw := fmt.Sprintf("event: %s\ndata: %s\n\n", kind, data)
				y.Frame(nil, wire.Frame{Raw: []byte(raw), Type: []byte(kind), Data: []byte(data), At: strings.Index(raw, data)}, streamed)
			}
			if got := collectedBlocks(codec, streamed); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, streamed, written %v:\n%v\nwant\n%v", s.api, written, got, want)
			}
		}
	}
}

func collectedBlocks(c wire.BlockCodec, from *collecting) (list []any) {
	m, _ := from.turn.Message()
	for _, b := range turn.Blocks(c, m) {
		var v any
		_ = json.Unmarshal([]byte(b.Raw), &v)
		list = append(list, v)
	}
	return list
}

func normalBlocks(raw string) (list []any) {
	_ = json.Unmarshal([]byte(raw), &list)
	return list
}

// TestCollectorIsBounded: of a reply that is too large there is no message, and nothing is held.
func TestCollectorIsBounded(t *testing.T) {
	c := turn.NewCollector(anthropic.Messages.(wire.BlockCodec), 1000)
	for i := range 100 {
		c.Found(&wire.Event{Kind: wire.EventCall, Index: i, Name: "f"})
		if c.Size() > 1000 {
			t.Fatalf("%d bytes", c.Size())
		}
	}
	if m, ok := c.Message(); ok || c.Size() != 0 {
		t.Errorf("%d bytes, %+v", c.Size(), m)
	}
}
