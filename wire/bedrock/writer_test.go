package bedrock

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// TestWriterOfOtherEvents: a reply that another API's codec has read becomes a whole message
// of this one: its blocks and calls are numbered without a gap, and each ends before the next
// begins.
func TestWriterOfOtherEvents(t *testing.T) {
	text := func(s string) []byte { return []byte(s) }
	model := wire.Event{Kind: wire.EventModel, Name: "m", ID: "chatcmpl-1"}
	thought := wire.Event{Kind: wire.EventThought, Name: "reasoning_content", Member: true, Text: text("I add.")}
	said := wire.Event{Kind: wire.EventText, Text: text("It is 4.")}
	finish, end := wire.Event{Kind: wire.EventFinish, Name: "stop", End: sotto.EndStopped}, wire.Event{Kind: wire.EventEnd}
	call := func(index int, id, name, arguments string) wire.Event {
		return wire.Event{Kind: wire.EventCall, Index: index, ID: id, Name: name, Text: text(arguments)}
	}
	w := converse{}.Writer(wire.Settings{})
	var out []byte
	for _, events := range [][]wire.Event{
		{model, thought}, {said}, {call(7, "c1", "f", "{")}, {call(7, "", "", "}")}, {call(9, "<c2>", "g", "{}")}, {finish}, {end}, {said},
	} {
		out = w.Frames(out, events)
	}
	var names []string
	reason := ""
	var scan sse.Scanner
	for in := out; len(in) > 0; {
		f, ok := scan.Next(in)
		if !ok {
			break
		}
		in = in[len(f.Raw):]
		names = append(names, string(f.Type)+gjson.GetBytes(f.Data, "contentBlockIndex").Raw)
		reason += gjson.GetBytes(f.Data, "stopReason").Str
	}
	want := "messageStart contentBlockDelta0 contentBlockStop0 contentBlockDelta1 contentBlockStop1 contentBlockStart2 contentBlockDelta2 contentBlockDelta2 contentBlockStop2 contentBlockStart3 contentBlockDelta3 contentBlockStop3 messageStop"
	if got := strings.Join(names, " "); got != want || reason != "end_turn" || strings.Contains(string(out), "<c2>") {
		t.Errorf("%s, %s\n%s\n%s", got, reason, want, out)
	}
	signed := converse{}.Writer(wire.Settings{Sign: true}).Frames(nil, []wire.Event{model, thought, said})
	if n := strings.Count(string(signed), `"signature"`); n != 1 {
		t.Errorf("%d signatures: %s", n, signed)
	}
	body := string(converse{}.Writer(wire.Settings{}).Whole(nil, []wire.Event{model, thought, said, call(7, "c1", "f", "{}"), finish, end}))
	for _, want := range []string{`{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"I add."}}},{"text":"It is 4."},{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]}},"stopReason":"end_turn"}`} {
		if !strings.Contains(body, want) || !gjson.Valid(body) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}
