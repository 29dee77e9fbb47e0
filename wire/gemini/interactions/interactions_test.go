package interactions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

const conversation = `{"model":"m","system_instruction":"Be brief.","input":[{"type":"user_input","content":[{"type":"text","text":"hi"}]},` +
	`{"type":"thought","signature":"c2ln","summary":[{"type":"text","text":"Hm."}]},{"type":"thought","summary":[{"type":"text","text":"Mine."}]},` +
	`{"type":"model_output","content":[{"type":"text","text":"a"},{"type":"image","data":"x"},{"type":"text","text":"b"}]},` +
	`{"type":"function_call","id":"c1","name":"f","arguments":{"x":1}},{"type":"function_result","call_id":"c1","name":"f","result":"4"},{"type":"text","text":"more"}],` +
	`"tools":[{"type":"function","name":"f","parameters":{"type":"object"}},{"type":"google_search"}],"generation_config":{"tool_choice":"none"},"store":false}`

// TestRequest: each step of the input is a message, and a thought that nobody has signed is ours.
func TestRequest(t *testing.T) {
	q, err := Codec.Request([]byte(conversation))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range q.Messages {
		got = append(got, fmt.Sprintf("%s %v %v %v %v %v", m.Role, m.Texts, m.Thoughts, m.Calls, m.CallIDs, m.Results))
	}
	want := `user [hi] [] false [] false
assistant [] [{thinking Hm. true false false c2ln}] false [] false
assistant [] [{thinking Mine. false true false }] false [] false
assistant [a b] [] false [] false
assistant [] [] true [c1] false
tool [] [] false [c1] true
user [more] [] false [] false`
	if strings.Join(got, "\n") != want || len(q.Declared) != 1 || !q.Tools || !q.NoCalls || q.Stores || !q.Items {
		t.Errorf("%s\n%+v", strings.Join(got, "\n"), q)
	}
	for body, n := range map[string]int{`{"model":"m","input":"hi"}`: 1, `{"model":"m","input":{"type":"text","text":"hi"}}`: 1, `{"model":"m"}`: 0, `{"agent":"deep","input":[]}`: 0} {
		if q, err := Codec.Request([]byte(body)); err != nil || len(q.Messages) != n || q.Model == "" {
			t.Errorf("%s: %+v %v", body, q, err)
		}
	}
	for _, body := range []string{`{"input":1}`, `[]`, `{"input":"a","input":"b"}`, `{"Input":"a"}`, `{"input":[{"type":"thought","signature":"a","signature":"b"}]}`} {
		if _, err := Codec.Request([]byte(body)); err == nil {
			t.Errorf("%s is accepted", body)
		}
	}
}

// TestEdit: thoughts are dropped with their steps, texts change in their places, and what is added stands before its step.
func TestEdit(t *testing.T) {
	for _, c := range []struct {
		name     string
		changes  []wire.Change
		old, new string
	}{
		{"nothing", nil, "", ""},
		{"a thought", []wire.Change{{Message: 2, Drop: []int{0}}}, `{"type":"thought","summary":[{"type":"text","text":"Mine."}]},`, ""},
		{"a text", []wire.Change{{Message: 3, Texts: map[int]string{1: `"`}}}, `"text":"b"`, `"text":"\""`},
		{"a text for a call", []wire.Change{{Message: 4, Texts: map[int]string{0: "c"}}}, `{"type":"function_call"`, `{"type":"model_output","content":[{"type":"text","text":"c"}]},{"type":"function_call"`},
		{"a thought is added", []wire.Change{{Message: 3, Field: thinking, Add: "d"}}, `{"type":"model_output"`, `{"type":"thought","summary":[{"type":"text","text":"d"}]},{"type":"model_output"`},
		{"an id", []wire.Change{{Message: 5, IDs: map[int]string{0: "e"}}}, `"call_id":"c1"`, `"call_id":"e"`},
	} {
		got, err := Codec.Edit(nil, []byte(conversation), c.changes)
		if want := strings.Replace(conversation, c.old, c.new, 1); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, want)
		}
	}
	for _, changes := range [][]wire.Change{{{Message: 9}}, {{Message: 0, Drop: []int{0}}}, {{Message: 0, Texts: map[int]string{3: "x"}}}, {{Message: 0, Field: "reasoning", Add: "x"}}} {
		if _, err := Codec.Edit(nil, []byte(conversation), changes); err == nil {
			t.Errorf("%+v is made", changes)
		}
	}
	if _, err := Codec.Edit(nil, []byte(`{"input":"hi"}`), []wire.Change{{Field: thinking, Add: "x"}}); err == nil {
		t.Error("a thought stands before a text")
	}
}

// A tagReader separates thoughts between <t> and </t>, each in one piece.
type tagReader struct {
	wire.Reader
	failed error
	open   map[int]bool
}

func (r *tagReader) Found(e wire.Event) (parts []wire.Part) {
	switch e.Kind {
	case wire.EventThought:
		return []wire.Part{{Place: wire.Reasoning, Text: e.Text}}
	case wire.EventText:
	default:
		return nil
	}
	r.open[e.Choice] = true
	for rest := string(e.Text); rest != ""; {
		before, inside, _ := strings.Cut(rest, "<t>")
		thought, after, _ := strings.Cut(inside, "</t>")
		if before != "" {
			parts = append(parts, wire.Part{Place: wire.Content, Text: []byte(before)})
		}
		if thought != "" {
			parts = append(parts, wire.Part{Place: wire.Reasoning, Text: []byte(thought)})
		}
		rest = after
	}
	return parts
}

func (r *tagReader) Close(choice int, _ sotto.Ending) []wire.Part { delete(r.open, choice); return nil }
func (r *tagReader) Finish(sotto.Ending) ([]wire.Part, error)     { return nil, nil }
func (r *tagReader) Fail(err error)                               { r.failed = err }

// through sends a stream through the codec.
func through(t *testing.T, s wire.Settings, stream string) (string, *tagReader) {
	t.Helper()
	r := &tagReader{open: map[int]bool{}}
	y := Codec.Reply(s)
	var out []byte
	var scan sse.Scanner
	for rest := []byte(stream); ; {
		f, ok := scan.Next(rest)
		if !ok {
			break
		}
		out = y.Frame(out, wire.Frame{Raw: f.Raw, Type: f.Type, Data: f.Data, At: f.At}, r)
		rest = rest[len(f.Raw):]
	}
	return string(y.End(out, nil, r)), r
}

func events(list ...string) string {
	var b strings.Builder
	for _, data := range list {
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", gjson.Get(data, "event_type").Str, data)
	}
	return b.String()
}

const (
	created   = `{"event_type":"interaction.created","interaction":{"id":"v1","status":"in_progress","x":1}}`
	completed = `{"event_type":"interaction.completed","interaction":{"id":"v1","status":"completed","x":1}}`
)

// TestStream: a stream without thoughts in its texts passes byte for byte. One with them gets steps for them, and the indices of
// later steps shift.
func TestStream(t *testing.T) {
	plain := events(created, `{"event_type":"step.start","index":0,"step":{"type":"thought"}}`, `{"event_type":"step.delta","index":0,"delta":{"type":"thought_summary","content":{"type":"text","text":"Hm."}}}`,
		`{"event_type":"step.delta","index":0,"delta":{"type":"thought_signature","signature":"c2ln"}}`, `{"event_type":"step.stop","index":0}`,
		`{"event_type":"step.start","index":1,"step":{"type":"model_output","content":[{"type":"text","text":"It "}]}}`, `{"event_type":"step.delta","index":1,"delta":{"type":"text","text":"is."}}`,
		`{"event_type":"step.delta","index":1,"delta":{"type":"image","data":"eA==","mime_type":"image/png"}}`, `{"event_type":"step.stop","index":1}`,
		`{"event_type":"step.start","index":2,"step":{"type":"function_call","id":"c","name":"f","arguments":{}}}`, `{"event_type":"step.delta","index":2,"delta":{"type":"arguments_delta","arguments":"{}"}}`, `{"event_type":"step.stop","index":2}`,
		completed) + "data: [DONE]\n\n"
	if got, r := through(t, wire.Settings{}, plain); got != plain || r.failed != nil {
		t.Errorf("%v\n%s", r.failed, got)
	}
	got, _ := through(t, wire.Settings{}, strings.Replace(plain, `"text":"is."`, `"text":"<t>A.</t>is."`, 1))
	for _, want := range []string{
		`{"event_type":"step.stop","index":1}`, `{"event_type":"step.start","index":2,"step":{"type":"thought"}}`,
		`{"event_type":"step.delta","index":2,"delta":{"type":"thought_summary","content":{"type":"text","text":"A."}}}`,
		`{"event_type":"step.start","index":3,"step":{"type":"model_output"}}`, `"index":3,"delta":{"type":"image"`, `"index":4,"step":{"type":"function_call"`, `{"event_type":"step.stop","index":4}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if data, ok := strings.CutPrefix(line, "data: {"); ok && !foreignjson.Valid([]byte("{"+data)) {
			t.Errorf("broken: %s", line)
		}
	}
}

// TestSteps: steps that an event of the end repeats do not pass unread, and steps that only that has are read.
func TestSteps(t *testing.T) {
	const steps = `"steps":[{"type":"model_output","content":[{"type":"text","text":"<t>A.</t>is."}]}]`
	end := strings.Replace(completed, `"x":1`, steps, 1)
	said := events(created, `{"event_type":"step.start","index":0,"step":{"type":"model_output"}}`, `{"event_type":"step.delta","index":0,"delta":{"type":"text","text":"is."}}`, `{"event_type":"step.stop","index":0}`)
	if got, _ := through(t, wire.Settings{}, said+events(end)); strings.Contains(got, "<t>") || strings.Count(got, "is.") != 1 {
		t.Errorf("repeated:\n%s", got)
	}
	if got, _ := through(t, wire.Settings{}, events(created, end)); strings.Contains(got, "<t>") || strings.Count(got, `"text":"is."`) != 1 || strings.Count(got, `"text":"A."`) != 1 {
		t.Errorf("late:\n%s", got)
	}
	for _, set := range []wire.Settings{{Request: &wire.Request{}}, {Request: &wire.Request{}, Written: true}} {
		out := Codec.Reply(set).Whole(nil, []byte(`{"id":"v1","status":"completed",`+steps+`}`), &tagReader{open: map[int]bool{}})
		if got := gjson.GetBytes(out, "steps.#.type").Raw; got != `["thought","model_output"]` || strings.Contains(string(out), "<t>") {
			t.Errorf("whole, %+v: %s", set.Written, out)
		}
	}
}

// TestBroken: a stream without its end says so in the API's own event, and an error of the upstream's ends it.
func TestBroken(t *testing.T) {
	if got, r := through(t, wire.Settings{}, events(created)); !strings.Contains(got, `{"event_type":"error","error":{"code":"502"`) || r.failed == nil {
		t.Errorf("%v\n%s", r.failed, got)
	}
	fault := events(created, `{"event_type":"error","error":{"code":"500","message":"busy"}}`)
	if got, r := through(t, wire.Settings{}, fault); got != fault || r.failed == nil {
		t.Errorf("%v\n%s", r.failed, got)
	}
}
