package gemini

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
)

// A plain reader gives texts and thoughts back as they are.
type plain struct{ err error }

func (p *plain) Found(f wire.Event) []wire.Part {
	switch f.Kind {
	case wire.EventText, wire.EventMember:
		return []wire.Part{{Text: f.Text}}
	case wire.EventThought:
		return []wire.Part{{Place: wire.Reasoning, Text: f.Text}}
	}
	return nil
}
func (p *plain) Close(int, sotto.Ending) []wire.Part      { return nil }
func (p *plain) Open() []int                              { return nil }
func (p *plain) Fail(err error)                           { p.err = err }
func (p *plain) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (p *plain) Findings() string                         { return "" }
func (p *plain) Share() (reasoning, all int)              { return 0, 0 }
func frameOf(data string) wire.Frame {
	return wire.Frame{Raw: []byte("data: " + data + "\n\n"), Data: []byte(data), At: len("data: ")}
}

// TestWriterOfEvents: what another API's codec has read is written as a valid reply.
func TestWriterOfEvents(t *testing.T) {
	batches := [][]wire.Event{
		{
			{Kind: wire.EventModel, Name: "m", ID: "r1"}, {Kind: wire.EventThought, Name: "thinking", Text: []byte("r")},
			{Kind: wire.EventText, Text: []byte("a")}, {Kind: wire.EventText, Text: []byte("b")}, {Kind: wire.EventText, Choice: 1},
		},
		{{Kind: wire.EventCall, Index: 4, ID: "c1", Name: "f", Text: []byte(`{"x":1.50}`)}},
		{{Kind: wire.EventCall, Choice: 1, Index: -1, Name: "h", Text: []byte(`{}`), Whole: true}},
		{{Kind: wire.EventCall, Index: 5, Name: "g"}, {Kind: wire.EventFinish, Name: "tool_calls", End: sotto.EndStopped}},
	}
	const named = `],"modelVersion":"m","responseId":"r1"}`
	want := []string{
		`{"candidates":[{"content":{"parts":[{"text":"r","thought":true},{"text":"ab"}],"role":"model"},"index":0}` + named,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"id":"c1","name":"f","args":{"x":1.50}}}],"role":"model"},"index":0}` + named,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"h","args":{}}}],"role":"model"},"index":1}` + named,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"g"}}],"role":"model"},"finishReason":"STOP","index":0}` + named,
	}
	w := codec{}.Writer(wire.Settings{})
	var all []wire.Event
	for i, events := range batches {
		all = append(all, events...)
		frame := want[i]
		if frame != "" {
			frame = "data: " + frame + "\n\n"
		}
		if got := string(w.Frames(nil, events)); got != frame {
			t.Errorf("%d: %s\nwant %s", i, got, frame)
		}
	}
	whole := string(codec{}.Writer(wire.Settings{}).Whole(nil, all))
	for _, part := range []string{`{"functionCall":{"id":"c1","name":"f","args":{"x":1.50}}}`, `{"functionCall":{"name":"g"}}`, `"finishReason":"STOP"`, `{"text":"ab"}`} {
		if strings.Count(whole, part) != 1 {
			t.Errorf("%s is not there once in %s", part, whole)
		}
	}
}

// TestPartsWritten: the parts of a reply keep their order, their kinds and their signatures,
// and where reasoning is hidden only the signatures of thoughts are left.
func TestPartsWritten(t *testing.T) {
	const (
		thought = `{"text":"r","thought":true,"thoughtSignature":"c2ln"}`
		more    = `{"text":"s","thought":true}`
		picture = `{"thought":true,"inlineData":{"mimeType":"image/png","data":"iVBO"},"thoughtSignature":"cGlj"}`
		code    = `{"executableCode":{"language":"PYTHON","code":"2+2"}}`
		call    = `{"functionCall":{"id":"c1","name":"f","args":{"x":1}},"thoughtSignature":"Y2FsbA=="}`
		answer  = `{"text":"It is 4.","thoughtSignature":"dGV4dA=="}`
		sealed  = `{"text":"","thought":true,"thoughtSignature":"c2ln"},{"text":"","thought":true,"thoughtSignature":"cGlj"}`
	)
	in := strings.Join([]string{thought, more, picture, code, call, answer}, ",")
	body := func(parts string) string {
		return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"m"}`
	}
	for hide, want := range map[bool]string{false: in, true: strings.Join([]string{sealed, code, call, answer}, ",")} {
		r := &plain{}
		y := GenerateContent.Reply(wire.Settings{Written: true, Hide: hide})
		if got := string(y.Whole(nil, []byte(body(in)), hiding{r, hide})); got != body(want) || r.err != nil {
			t.Errorf("hide=%v: %v\n%s\nwant\n%s", hide, r.err, got, body(want))
		}
		y = GenerateContent.Reply(wire.Settings{Written: true, Hide: hide})
		if got := string(y.Frame(nil, frameOf(body(in)), hiding{r, hide})); got != "data: "+body(want)+"\n\n" {
			t.Errorf("hide=%v: %s", hide, got)
		}
	}
	y, r := GenerateContent.Reply(wire.Settings{Written: true}), &plain{}
	if out := y.Frame(nil, frameOf(body(in)), r); !strings.Contains(string(out), picture) {
		t.Errorf("%s", out)
	}
	wire.Hide(y) // as after a guard has cut a part
	if out := string(y.Frame(nil, frameOf(body(picture)), hiding{r, true})); strings.Contains(out, "iVBO") || !strings.Contains(out, "cGlj") {
		t.Errorf("a picture of a thought after the cut: %s", out)
	}
}

// A hiding reader gives no thoughts back if it hides.
type hiding struct {
	*plain
	hide bool
}

func (h hiding) Found(f wire.Event) []wire.Part {
	if h.hide && f.Kind == wire.EventThought {
		return nil
	}
	return h.plain.Found(f)
}

// TestWrittenFrames: what is no event of a reply says nothing to the client, and a body that
// is no reply fails.
func TestWrittenFrames(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`[DONE]`, "data: [DONE]\n\n"}, {`{"x":1}`, ""}, {`{"candidates":[]}`, ""}, {`"text"`, ""}, {`{"candidates":[{"content":{"parts":[{"musing":{"text":"x"}}]}}]}`, ""},
		{`{"candidates":[{"content":{"role":"model"},"finishReason":"NEW_REASON"}]}`, `data: {"candidates":[{"content":{"role":"model"},"finishReason":"NEW_REASON"}]}` + "\n\n"},
		{`{"candidates":[{"finishReason":"<think>","index":3}]}`, `data: {"candidates":[{"finishReason":"FINISH_REASON_UNSPECIFIED","index":3}]}` + "\n\n"},
		{`{"usageMetadata":{"promptTokenCount":1,"x":"y"}}`, `data: {"usageMetadata":{"promptTokenCount":1}}` + "\n\n"},
		{`{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"No."}}`, `data: {"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"No."}}` + "\n\n"},
		{`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"error":{"code":503,"message":"busy"}}`, `data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}` + "\n\n" + `data: {"error":{"code":503,"message":"busy"}}` + "\n\n"},
	} {
		if got := string(GenerateContent.Reply(wire.Settings{Written: true}).Frame(nil, frameOf(test.in), &plain{})); got != test.want {
			t.Errorf("%s: %q, want %q", test.in, got, test.want)
		}
	}
	if got := GenerateContent.Reply(wire.Settings{Written: true}).Frame(nil, wire.Frame{Raw: []byte(": x\n\n")}, &plain{}); len(got) > 0 {
		t.Errorf("a comment: %q", got)
	}
	for body, fails := range map[string]bool{`{"x":1}`: true, `{"candidates":{}}`: true, `{"candidates":[]}`: false, `{"promptFeedback":{}}`: false, `{"error":{"message":"busy"}}`: false} {
		r := &plain{}
		if GenerateContent.Reply(wire.Settings{Written: true}).Whole(nil, []byte(body), r); (r.err != nil) != fails {
			t.Errorf("%s: %v", body, r.err)
		}
	}
}
