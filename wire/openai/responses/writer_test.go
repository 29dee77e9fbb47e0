package responses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

func newWriter(s wire.Settings) wire.Writer {
	return responses.Codec.Writer(s)
}

// foreignEvents are those of a reply that the codec of chat completions has read: they have
// no items, and no members of this API.
var foreignEvents = []wire.Event{
	{Kind: wire.EventModel, Name: "m", ID: "chatcmpl-1"},
	{Kind: wire.EventMembers, Name: wire.MembersOfRole},
	{Kind: wire.EventThought, Name: "reasoning_content", Member: true, Text: []byte("Two and ")},
	{Kind: wire.EventThought, Name: "reasoning_content", Member: true, Text: []byte("two.")},
	{Kind: wire.EventText},
	{Kind: wire.EventText, Text: []byte("It is ")},
	{Kind: wire.EventText, Text: []byte("4.")},
	{Kind: wire.EventCall, Index: 0, ID: "call_1", Name: "f"},
	{Kind: wire.EventCall, Index: 0, Text: []byte(`{"a"`)},
	{Kind: wire.EventCall, Index: 0, Text: []byte(`:1}`)},
	{Kind: wire.EventCall, Index: 1, ID: "call_2", Name: "g", Text: []byte("{}")},
	{Kind: wire.EventFinish, Name: "tool_calls", End: sotto.EndStopped},
	{Kind: wire.EventEnd},
}

// A reply that another API's codec has read is a response of this one, however its events
// come together.
func TestForeign(t *testing.T) {
	for _, c := range []struct {
		set  wire.Settings
		want string
	}{
		{wire.Settings{}, `reasoning:"Two and two." message:"It is 4." function_call:{"a":1} function_call:{}`},
		{wire.Settings{Summary: true}, `reasoning:"Two and two." message:"It is 4." function_call:{"a":1} function_call:{}`},
	} {
		for _, together := range []int{1, 2, 5, len(foreignEvents)} {
			w := newWriter(c.set)
			var out []byte
			for events := foreignEvents; len(events) > 0; {
				n := min(together, len(events))
				out = w.Frames(out, events[:n])
				events = events[n:]
			}
			client := readStream(t, string(out))
			client.check()
			if got := saidIn(client.final["output"]); got != c.want {
				t.Errorf("%d together: %s", together, got)
			}
			if client.final["model"] != "m" || client.final["id"] != "chatcmpl-1" || client.final["status"] != "completed" {
				t.Error(client.final)
			}
		}
		var whole map[string]any
		if err := json.Unmarshal(newWriter(c.set).Whole(nil, foreignEvents), &whole); err != nil {
			t.Fatal(err)
		}
		if got := saidIn(whole["output"]); got != c.want || whole["object"] != "response" {
			t.Error(whole)
		}
	}
	cut := append(foreignEvents[:7:7], wire.Event{Kind: wire.EventFinish, Name: "length", End: sotto.EndCut}, wire.Event{Kind: wire.EventEnd})
	client := readStream(t, string(newWriter(wire.Settings{}).Frames(nil, cut)))
	client.check()
	if got := fmt.Sprint(saidIn(client.final["output"]), client.final["incomplete_details"]); got != `reasoning:"Two and two." message:"It is 4."(incomplete)map[reason:max_output_tokens]` {
		t.Error(got)
	}
	w := newWriter(wire.Settings{})
	failed := w.Fail(w.Frames(nil, foreignEvents[:6]), errors.New("gone"))
	if client := readStream(t, string(failed)); client.err["message"] != "gone" || client.items[1].done == nil {
		t.Errorf("%s", failed)
	}
	fault := newWriter(wire.Settings{}).Frames(nil, []wire.Event{{Kind: wire.EventFault, Raw: `{"error":{"message":"busy","code":"c"}}`}})
	if client := readStream(t, string(fault)); client.err["message"] != "busy" || client.err["code"] != "c" {
		t.Errorf("%s", fault)
	}
}

// A response whose only text is output_text has the items that are in it.
func TestAlone(t *testing.T) {
	body := `{"id":"resp_1","status":"completed","output":[],"output_text":"<think>a</think>b"}`
	const want = `reasoning:"a" message:"b"`
	set := wire.Settings{Written: true}
	whole := wholeResponse(t, set, newReader(""), body)
	if got := saidIn(whole["output"]); got != want || whole["output_text"] != "b" {
		t.Error(whole)
	}
	client := readStream(t, streamThrough(set, newReader(""), `data: {"type":"response.completed","response":`+body+"}\n\n", nil))
	client.check()
	if got := saidIn(client.final["output"]); got != want || client.final["output_text"] != "b" {
		t.Error(client.final)
	}
}

// A server that numbers nothing says one message, not one for each event.
func TestUnnumbered(t *testing.T) {
	in := ""
	for _, data := range []string{
		`{"type":"response.output_text.delta","delta":"<think>a</think>b"}`,
		`{"type":"response.output_text.delta","delta":"c"}`,
		`{"type":"response.output_text.done","text":"<think>a</think>bc"}`,
		`{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"<think>a</think>bc"}]}}`,
		`{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"<think>a</think>bc"}]}]}}`,
	} {
		in += "data: " + data + "\n\n"
	}
	client := readStream(t, streamThrough(wire.Settings{Written: true}, newReader(""), in, nil))
	client.check()
	if got := saidIn(client.final["output"]); got != `reasoning:"a" message:"bc"` {
		t.Error(got)
	}
}

// Snapshots repeat what was written, whatever the upstream repeats.
func TestSnapshots(t *testing.T) {
	s := script{items: []scriptItem{rsn(deltas("a")), msg(deltas("b ", "c"))}}
	for _, from := range []string{`"text":"b c"`, `"text":"a"`} {
		stream := strings.ReplaceAll(s.stream(), from, `"text":"unread"`)
		out := streamThrough(wire.Settings{Written: true}, newReader(""), stream, nil)
		client := readStream(t, out)
		client.check()
		if got := saidIn(client.final["output"]); got != `reasoning:"a" message:"b c"` || strings.Contains(out, "unread") {
			t.Errorf("%s: %s", from, got)
		}
	}
}

// Where a stream is cut, the upstream's frames have no output: what the client gets at the
// end is what it got before.
func TestCut(t *testing.T) {
	s := script{items: []scriptItem{rsn(deltas("a")), msg(deltas("<think>b</think>c", "d")), call("{}")}}
	frames := framesOf(s.stream())
	for n := 1; n < len(frames); n++ {
		set := wire.Settings{Written: true, Cuts: true}
		y, r := responses.Codec.Reply(set), newReader("")
		var out []byte
		for _, f := range frames[:n] {
			out = y.Frame(out, f, r)
		}
		last, ok := wire.Cut(y, r)
		if !ok || strings.Contains(string(last), "msg_") || !strings.Contains(string(last), `"output":[]`) {
			t.Fatalf("after %d frames: %s", n, last)
		}
		for _, f := range framesOf(string(last)) {
			out = y.Frame(out, f, r)
		}
		client := readStream(t, string(y.End(out, nil, r)))
		client.check()
		if client.final["status"] != "incomplete" || client.final["id"] != "resp_1" {
			t.Errorf("after %d frames: %v", n, client.final)
		}
	}
}

// A delta of a reply that is written costs little memory.
func TestWrittenAllocs(t *testing.T) {
	s := script{items: []scriptItem{msg(deltas("a", "b", "c \\n \"", "d"))}}
	frames := framesOf(s.stream())
	y, r := responses.Codec.Reply(wire.Settings{Written: true}), newReader("")
	out := make([]byte, 0, 4096)
	for _, f := range frames[:5] {
		out = y.Frame(out[:0], f, r)
	}
	for i := range 3 {
		f := frames[5+i]
		if n := testing.AllocsPerRun(1000, func() { out = y.Frame(out[:0], f, r) }); n != 0 {
			t.Errorf("%s: %v allocations", f.Data, n)
		}
	}
}
