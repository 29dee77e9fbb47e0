package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai"
)

// TestManyCalls holds that the ids of a reply's calls are bounded in number and in
// bytes, whatever an upstream sends, and that each is kept once. Every id is compared
// with those that are kept, so that a bound on them bounds the work.
func TestManyCalls(t *testing.T) {
	for _, id := range []string{"c%d", strings.Repeat("x", 1000) + "%d"} {
		var frames []wire.Frame
		for n := range 3 {
			var calls []string
			for i := range 3000 {
				call := fmt.Sprintf(`{"id":"`+id+`","function":{"name":"f","arguments":"{}"}}`, n*2000+i)
				calls = append(calls, call, call, `{"index":0,"function":{"arguments":"{}"}}`)
			}
			data := []byte(`{"choices":[{"index":0,"delta":{"tool_calls":[` + strings.Join(calls, ",") + `]},"finish_reason":null}]}`)
			raw := append(append([]byte("data: "), data...), "\n\n"...)
			frames = append(frames, wire.Frame{Raw: raw, Data: raw[6 : len(raw)-2], At: 6})
		}
		r := gateway.NewReading(gateway.Manner{Grammar: sotto.Default(), MaxHold: 1 << 10, Calls: true})
		y := openai.Chat.Reply(wire.Settings{})
		for _, f := range frames {
			y.Frame(nil, f, r)
		}
		ids := r.CallIDs()
		seen, bytes := map[string]bool{}, 0
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("%.20s stands twice", id)
			}
			seen[id] = true
			bytes += len(id)
		}
		if len(ids) < 60 || len(ids) > 1024 || bytes > 64<<10 {
			t.Errorf("%d ids of %d bytes", len(ids), bytes)
		}
	}
}
