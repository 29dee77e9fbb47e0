package responses

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/wire"
)

// FuzzTurn: whatever a client sends, a message that is read gives a body that is valid
// JSON, asks for a stream, and has the client's other members and items, each once.
func FuzzTurn(f *testing.F) {
	for _, message := range []string{
		`{"type":"response.create","model":"m","input":"Hi"}`, ` { "type" : "response.create" } `,
		`{"type":"response.create","stream_id":"a","previous_response_id":"resp_1","generate":false,"store":false,"stream":true,"input":[ ]}`,
		`{"\u0074ype":"response.create","input":[{"type":"function_call_output","call_id":"c","output":"{}"}],"tools":[]}`,
		`{"input":null,"type":"response.create","x":{"type":1,"input":2}}`, `{"type":"response.create","input":"a","input":"b"}`, `[]`, `{}`,
	} {
		f.Add(message, `{"role":"user","content":"Hi"}`, "resp_0")
	}
	f.Fuzz(func(t *testing.T, message, earlier, previous string) {
		if !foreignjson.Valid([]byte(message)) || earlier != "" && !foreignjson.Valid([]byte(earlier)) {
			return
		}
		c := codec{}
		turn, err := c.Turn([]byte(message))
		if err != nil {
			bad := err.(*wire.TurnError)
			if status, body := c.TurnError(bad); status < 400 || !foreignjson.Valid(body) || bad.Lane != "" && !isLane(bad.Lane) {
				t.Fatalf("%d %s", status, body)
			}
			return
		}
		body := c.TurnBody(nil, turn, []byte(strings.TrimSpace(earlier)), previous)
		if !foreignjson.Valid(body) {
			t.Fatalf("%s becomes %s", message, body)
		}
		root, sent := gjson.ParseBytes(body), gjson.Parse(message)
		if !root.Get("stream").Bool() || root.Get("type").Exists() || root.Get("stream_id").Exists() || root.Get("generate").Exists() {
			t.Fatalf("%s", body)
		}
		count := func(of gjson.Result, only bool) (n int) {
			of.ForEach(func(key, _ gjson.Result) bool {
				if !only || !turnMembers[key.Str] || key.Str == "store" {
					n++
				}
				return true
			})
			return n
		}
		want := count(sent, true) + 1
		for _, more := range []bool{previous != "", earlier != "" || sent.Get("input").Exists()} {
			if more {
				want++
			}
		}
		if got := count(root, false); got != want {
			t.Fatalf("%s becomes %s: %d members, want %d", message, body, got, want)
		}
		if items := root.Get("input").Array(); earlier != "" && len(items) != 1+len(gjson.Parse("["+string(turn.Items)+"]").Array()) {
			t.Fatalf("%s becomes %s", message, body)
		}
		for _, e := range c.PreparedEvents(turn, "resp_sotto_x") {
			if !foreignjson.Valid(c.Message(nil, e, turn.Lane)) {
				t.Fatalf("%s", e)
			}
		}
	})
}

// FuzzSocketEvent: an event stays JSON with its lane, which comes last; what it leaves can
// stand in the input of a request.
func FuzzSocketEvent(f *testing.F) {
	for _, event := range []string{
		`{}`, ` { "type" : "response.created" } `, `{"type":"response.output_item.done","item":{"type":"reasoning","id":"rs_1"}}`, `{"stream_id":"x"}`,
		`{"type":"response.completed","response":{"id":"resp_1","store":true,"output":[{"type":"reasoning"},{"id":"msg_1","type":"message"},4]}}`,
	} {
		f.Add(event, "lane")
	}
	f.Fuzz(func(t *testing.T, event, lane string) {
		if !foreignjson.Valid([]byte(event)) || !strings.HasPrefix(strings.TrimSpace(event), "{") || !isLane(lane) {
			return
		}
		c := codec{}
		message := c.Message(nil, []byte(event), lane)
		var read map[string]any
		if err := json.Unmarshal(message, &read); err != nil || read["stream_id"] != lane {
			t.Fatalf("%s: %v", message, err)
		}
		var left wire.TurnLeft
		c.HearEvent(&left, []byte(event))
		if !foreignjson.Valid([]byte("[" + string(left.Items) + "]")) {
			t.Fatalf("%s leaves %s", event, left.Items)
		}
		if refusal := c.RefusalEvent(nil, 400, []byte(event)); !foreignjson.Valid(refusal) {
			t.Fatalf("%s", refusal)
		}
		if whole, ok := c.WholeEvent(nil, []byte(event)); ok && !foreignjson.Valid(whole) {
			t.Fatalf("%s", whole)
		}
	})
}
