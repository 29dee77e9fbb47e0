package conversations

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// A tagReader separates thoughts between <t> and </t>, and calls a tool for <c>. Each stands in one piece.
type tagReader struct {
	wire.Reader
	failed error
	events []wire.Event
	ends   map[int]sotto.Ending // of choices
	inline bool                 // thoughts go into the text
}

func (r *tagReader) Found(e wire.Event) (parts []wire.Part) {
	e.Text, e.Raw = bytes.Clone(e.Text), strings.Clone(e.Raw)
	r.events = append(r.events, e)
	place := wire.Reasoning
	if r.inline {
		place = wire.Content
	}
	switch e.Kind {
	case wire.EventThought:
		return []wire.Part{{Place: place, Text: e.Text}}
	case wire.EventMember:
		return []wire.Part{{Place: wire.Member, Name: e.Name, Text: e.Text}}
	case wire.EventText:
	default:
		return nil
	}
	for rest := string(e.Text); rest != ""; {
		at := strings.IndexAny(rest, "<")
		switch {
		case at < 0:
			return append(parts, wire.Part{Place: wire.Content, Text: []byte(rest)})
		case at > 0:
			parts = append(parts, wire.Part{Place: wire.Content, Text: []byte(rest[:at])})
			rest = rest[at:]
		case strings.HasPrefix(rest, "<c>"):
			parts = append(parts, wire.Part{Place: wire.Call, ID: "made", Name: "g", Text: []byte(`{}`)})
			rest = rest[len("<c>"):]
		default:
			inside, after, _ := strings.Cut(rest[len("<t>"):], "</t>")
			parts = append(parts, wire.Part{Place: place, Text: []byte(inside)})
			rest = after
		}
	}
	return parts
}

func (r *tagReader) Close(choice int, end sotto.Ending) []wire.Part { r.ends[choice] = end; return nil }
func (r *tagReader) Finish(sotto.Ending) ([]wire.Part, error)       { return nil, nil }
func (r *tagReader) Fail(err error)                                 { r.failed = err }

func newReader() *tagReader { return &tagReader{ends: map[int]sotto.Ending{}} }

// through sends a stream through the codec.
func through(s wire.Settings, stream string, r *tagReader) string {
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
	return string(y.End(out, nil, r))
}

func event(kind, members string) string {
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"," + members + "}\n\n"
}

// An invented reply is one of the API, as a stream and whole.
type invented struct{ stream, whole string }

const (
	aThought   = `{"type":"thinking","thinking":[{"type":"text","text":"Hm."}],"closed":true}`
	aSignature = `{"type":"thinking","thinking":[{"type":"text","text":"Ha."}],"signature":"c2ln"}`
	aSource    = `{"type":"tool_reference","tool":"web_search","title":"A"}`
	usage      = `"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}`
)

// invent makes a reply: messages of texts, thoughts and sources, calls, and what tools did. The texts are made of tokens,
// and a stream has an event for each.
func invent(rng *rand.Rand, tokens []string) (i invented) {
	var entries []string
	b := event(startedEvent, `"conversation_id":"conv_1"`)
	for at := range 1 + rng.IntN(3) {
		switch rng.IntN(5) {
		case 0:
			entries = append(entries, fmt.Sprintf(`{"object":"entry","type":"function.call","id":"e%d","tool_call_id":"c%d","name":"f","arguments":"{}"}`, at, at))
			for _, piece := range []string{"{", "}"} {
				b += event(callEvent, fmt.Sprintf(`"output_index":%d,"id":"e%d","tool_call_id":"c%d","name":"f","arguments":"%s"`, at, at, at, piece))
			}
		case 1:
			entries = append(entries, fmt.Sprintf(`{"object":"entry","type":"tool.execution","id":"e%d","name":"web_search","arguments":"{}"}`, at))
			b += event("tool.execution.started", fmt.Sprintf(`"output_index":%d,"id":"e%d","name":"web_search","arguments":"{}"`, at, at)) + event("tool.execution.done", fmt.Sprintf(`"output_index":%d,"id":"e%d","name":"web_search"`, at, at))
		default:
			var chunks []string
			for n := range 1 + rng.IntN(3) {
				say := func(content string) {
					b += event(messageEvent, fmt.Sprintf(`"output_index":%d,"id":"e%d","content_index":%d,"model":"m","role":"assistant","content":%s`, at, at, n, content))
				}
				chunk := []string{aThought, aSignature, aSource, "", "", ""}[rng.IntN(6)]
				if chunk != "" {
					say(chunk)
				} else {
					text := ""
					if rng.IntN(4) == 0 {
						say(`""`) // as some servers begin
					}
					for range 1 + rng.IntN(3) {
						token := tokens[rng.IntN(len(tokens))]
						if text += token; rng.IntN(2) == 0 {
							say(`"` + token + `"`)
						} else {
							say(`{"type":"text","text":"` + token + `"}`)
						}
					}
					chunk = `{"type":"text","text":"` + text + `"}`
				}
				chunks = append(chunks, chunk)
			}
			content := "[" + strings.Join(chunks, ",") + "]"
			if text := gjson.Get(chunks[0], "text"); len(chunks) == 1 && text.Exists() && rng.IntN(2) == 0 {
				content = text.Raw
			}
			entries = append(entries, fmt.Sprintf(`{"object":"entry","type":"message.output","id":"e%d","content":%s,"x":1}`, at, content))
		}
	}
	return invented{b + event(doneEvent, usage), `{"object":"conversation.response","conversation_id":"conv_1","outputs":[` + strings.Join(entries, ", ") + `],` + usage + `}`}
}

// A got is what a client has of a reply: for each output its kind, and for each content its kind and text.
type got [][]string

// gotOf reads the outputs of a whole reply.
func gotOf(body string) (all got) {
	for _, e := range gjson.Get(body, "outputs").Array() {
		all = append(all, []string{kindOf(e)})
		all.call(len(all)-1, e)
		for at, c := range chunks(e.Get("content")) {
			all.add(len(all)-1, at, c)
		}
	}
	return all
}

// gotFrom reads a stream.
func gotFrom(t *testing.T, stream string) (all got) {
	t.Helper()
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		root := gjson.Parse(data)
		if !foreignjson.Valid([]byte(strings.TrimSpace(data))) {
			t.Fatalf("broken: %s", data)
		}
		if !root.Get("output_index").Exists() {
			continue
		}
		at := int(root.Get("output_index").Int())
		if at < 0 || at > len(all) {
			t.Fatalf("output %d after %d:\n%s", at, len(all), stream)
		}
		if at == len(all) {
			kind, _, _ := strings.Cut(strings.Replace(kindOf(root), "tool.execution", "tool-execution", 1), ".started")
			all = append(all, []string{strings.Replace(kind, "tool-execution", "tool.execution", 1)})
		}
		all.call(at, root)
		if c := root.Get("content"); c.Exists() {
			if n := int(root.Get("content_index").Int()); n < 0 || n > len(all[at])-1 {
				t.Fatalf("content %d of output %d after %d:\n%s", n, at, len(all[at])-1, stream)
			}
			all.add(at, int(root.Get("content_index").Int()), c)
		}
	}
	return all
}

// String joins contents of one kind that follow each other: where one text ends and the next begins says nothing.
func (g got) String() string {
	var b strings.Builder
	for _, output := range g {
		last := ""
		for _, c := range output {
			kind, text, of := strings.Cut(c, " ")
			if !of || kind != last || len(kind) > 1 {
				text = "|" + kind + " " + text
			}
			last = kind
			b.WriteString(text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (g got) call(at int, v gjson.Result) {
	if kindOf(v) == functionCall {
		if len(g[at]) == 1 {
			g[at] = append(g[at], v.Get("tool_call_id").Str+" "+v.Get("name").Str+" ")
		}
		g[at][1] += v.Get("arguments").Str
	}
}

func (g got) add(at, n int, c gjson.Result) {
	k, text := chunkOf(c)
	if n+1 == len(g[at]) {
		g[at] = append(g[at], fmt.Sprint(k)+" ")
	}
	g[at][n+1] += string(saidBy(k, c, text)) + c.Get("signature").Str + c.Get("title").Str
}

// TestExact: a reply in which nothing changes is the same bytes, streamed and whole.
func TestExact(t *testing.T) {
	for seed := range uint64(300) {
		i := invent(rand.New(rand.NewPCG(seed, 1)), []string{"a", "b "})
		if out, r := through(wire.Settings{}, i.stream, newReader()), newReader(); out != i.stream || r.failed != nil {
			t.Fatalf("seed %d: got\n%s\nof\n%s", seed, out, i.stream)
		}
		if out := Codec.Reply(wire.Settings{}).Whole(nil, []byte(i.whole), newReader()); string(out) != i.whole {
			t.Fatalf("seed %d: got\n%s\nof\n%s", seed, out, i.whole)
		}
	}
}

// TestSame: a client gets the same of a stream and of the whole reply, whatever thoughts and calls stand in the texts, from
// frames that are edited and from ones that are written. Its indices have no gaps.
func TestSame(t *testing.T) {
	for seed := range uint64(3000) {
		i := invent(rand.New(rand.NewPCG(seed, 2)), []string{"a", "b ", "<t>T</t>", "<t>T</t>c", "<c>", "d<c>"})
		for _, inline := range []bool{false, true} {
			var all []string
			for _, written := range []bool{false, true} {
				set := wire.Settings{Written: written, Request: &wire.Request{}}
				r := newReader()
				r.inline = inline
				stream, whole := through(set, i.stream, r), Codec.Reply(set).Whole(nil, []byte(i.whole), r)
				if r.failed != nil || !foreignjson.Valid(whole) {
					t.Fatalf("seed %d: %v %s", seed, r.failed, whole)
				}
				all = append(all, gotFrom(t, stream).String(), gotOf(string(whole)).String())
				if strings.Contains(all[0], "<") {
					t.Fatalf("seed %d: %s", seed, all[0])
				}
			}
			for n, one := range all {
				if one != all[0] {
					t.Fatalf("seed %d, inline %v: stream, whole, and both written: %d is\n%s\nand 0\n%s\nof\n%s\n%s", seed, inline, n, one, all[0], i.stream, i.whole)
				}
			}
		}
	}
}

// TestAcross: the texts of a message are one text: what begins a thought in one of them ends it in another, whatever stands
// between. Those of two messages are two.
func TestAcross(t *testing.T) {
	piece := func(output, content int, chunk string) string {
		return event(messageEvent, fmt.Sprintf(`"output_index":%d,"id":"e","content_index":%d,"content":%s`, output, content, chunk))
	}
	r := newReader()
	through(wire.Settings{}, piece(0, 0, `"a"`)+piece(0, 1, aSource)+piece(0, 2, aThought)+piece(0, 3, `"b"`)+piece(1, 0, `"c"`)+event(doneEvent, usage), r)
	choices := map[string]int{}
	for _, e := range r.events {
		if e.Kind == wire.EventText {
			choices[string(e.Text)] = e.Choice
		}
	}
	if choices["a"] != choices["b"] || choices["a"] == choices["c"] {
		t.Error(choices)
	}
}

// TestEnds: the end of a reply is known by its tokens.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		limit int64
		usage string
		want  sotto.Ending
	}{
		{0, `{"completion_tokens":9}`, sotto.EndStopped}, {10, `{"completion_tokens":9}`, sotto.EndStopped}, {9, `{"completion_tokens":9}`, sotto.EndCut}, {9, `null`, sotto.EndUnknown}, {0, `null`, sotto.EndStopped},
	} {
		set, r := wire.Settings{Request: &wire.Request{Limit: c.limit}}, newReader()
		through(set, event(messageEvent, `"content":"a"`)+event(doneEvent, `"usage":`+c.usage), r)
		Codec.Reply(set).Whole(nil, []byte(`{"object":"conversation.response","outputs":[{"type":"message.output","content":"a"}],"usage":`+c.usage+`}`), r)
		n := 0
		for _, e := range r.events {
			if e.Kind == wire.EventFinish && e.End == c.want {
				n++
			}
		}
		if n != 2 || r.ends[0] != c.want {
			t.Errorf("%+v: %d times, %v", c, n, r.ends)
		}
	}
}

// TestBroken: a stream without its end says so in the API's own event, and an error of the upstream's ends it.
func TestBroken(t *testing.T) {
	begun := event(startedEvent, `"conversation_id":"c"`)
	r := newReader()
	if got := through(wire.Settings{}, begun, r); !strings.Contains(got, `"type":"conversation.response.error","message":"the upstream ended`) || !strings.Contains(got, `"code":502`) || r.failed == nil {
		t.Errorf("%v\n%s", r.failed, got)
	}
	fault := begun + event(errorEvent, `"message":"busy","code":503`)
	for _, written := range []bool{false, true} {
		r = newReader()
		if got := through(wire.Settings{Written: written, Request: &wire.Request{}}, fault, r); got != fault || r.failed == nil {
			t.Errorf("%v\n%s", r.failed, got)
		}
	}
}

// TestHostile: whatever an upstream says its indices are, and in whatever form, nothing fails, and what it says twice is
// there once.
func TestHostile(t *testing.T) {
	for _, chunk := range []string{
		`null`, `5`, `[]`, `{}`, `[null,5,"a",["b"]]`, `{"type":"thinking","thinking":"Hm."}`, `{"type":"thinking","thinking":[]}`, `{"type":"text"}`, `{"type":"text","text":5}`,
		`{"thinking":[{"text":"Hm."}]}`, `["<t>T</t>a",{"type":"thinking","thinking":[{"type":"text","text":"b"}],"signature":"c2ln"}]`,
	} {
		for _, index := range []string{"0", "-1", "9223372036854775807", "1e300", `"x"`, "null", "{}"} {
			for _, set := range []wire.Settings{{}, {Written: true, Request: &wire.Request{}}} {
				piece := event(messageEvent, `"output_index":`+index+`,"content_index":`+index+`,"content":`+chunk)
				out := through(set, piece+event(callEvent, `"output_index":`+index)+piece+event("tool.execution.delta", `"output_index":`+index)+event(doneEvent, usage), newReader())
				for line := range strings.Lines(out) {
					if data, ok := strings.CutPrefix(line, "data: "); ok && !json.Valid([]byte(data)) {
						t.Errorf("%s at %s: broken: %s", chunk, index, line)
					}
				}
				whole := Codec.Reply(set).Whole(nil, []byte(`{"object":"conversation.response","outputs":[{"type":"message.output","content":`+chunk+`},`+chunk+`]}`), newReader())
				if !json.Valid(whole) {
					t.Errorf("%s: broken: %s", chunk, whole)
				}
			}
		}
	}
}

const asked = `{"model":"m","instructions":"Be brief.","inputs":[{"type":"message.input","role":"user","content":"hi"},` +
	`{"type":"message.output","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]},` +
	`{"type":"function.call","tool_call_id":"c1","name":"f","arguments":"{}"},{"type":"function.result","tool_call_id":"c1","result":"4"},{"type":"tool.execution","name":"web_search"},` +
	`{"type":"message.input","role":"assistant","content":"So","prefix":true}],` +
	`"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},{"type":"web_search"}],"completion_args":{"max_tokens":7,"tool_choice":"none","response_format":{"type":"json_object"}}}`

// TestRequest: each entry of the inputs is a message.
func TestRequest(t *testing.T) {
	q, err := Codec.Request([]byte(asked))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range q.Messages {
		got = append(got, fmt.Sprintf("%s %v %v %v %v %v", m.Role, m.Texts, m.Thoughts, m.Calls, m.CallIDs, m.Results))
	}
	want := `user [hi] [] false [] false
assistant [a b] [{thinking Hm. false false false }] false [] false
assistant [] [] true [c1] false
tool [] [] false [c1] true
assistant [] [] false [] false
assistant [So] [] false [] false`
	if strings.Join(got, "\n") != want || q.Limit != 7 || !q.JSON || !q.NoCalls || !q.Tools || len(q.Declared) != 1 || q.Prefill != "So" || q.Unnamed || !q.Stores {
		t.Errorf("%s\n%+v", strings.Join(got, "\n"), q)
	}
	for body, unnamed := range map[string]bool{`{"model":"m","inputs":"hi"}`: false, `{"agent_id":"a","inputs":"hi"}`: true, `{"model":"m","agent_id":"a","inputs":"hi"}`: true, `{"tool_confirmations":[],"store":false}`: true} {
		if q, err := Codec.Request([]byte(body)); err != nil || q.Unnamed != unnamed || q.Stores == strings.Contains(body, "store") {
			t.Errorf("%s: %+v %v", body, q, err)
		}
	}
	for _, body := range []string{`{"inputs":1}`, `[]`, `{"inputs":"a","inputs":"b"}`, `{"Inputs":"a"}`, `{"agent_id":"a","agent_id":null}`, `{"inputs":[{"type":"a","Type":"b"}]}`} {
		if _, err := Codec.Request([]byte(body)); err == nil {
			t.Errorf("%s is accepted", body)
		}
	}
}

// TestEdit: thoughts are dropped with their chunks, texts change in their places, and what is added stands in an entry before.
func TestEdit(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   wire.Change
		old, new string
	}{
		{"nothing", wire.Change{}, "", ""},
		{"a thought", wire.Change{Message: 1, Drop: []int{0}}, `{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},`, ""},
		{"a text", wire.Change{Message: 1, Texts: map[int]string{1: `"`}}, `"text":"b"`, `"text":"\""`},
		{"a text for a call", wire.Change{Message: 2, Texts: map[int]string{0: "c"}}, `{"type":"function.call"`, `{"type":"message.output","role":"assistant","content":[{"type":"text","text":"c"}]},{"type":"function.call"`},
		{"a thought is added", wire.Change{Message: 1, Field: thinking, Add: "d"}, `{"type":"message.output"`, `{"type":"message.output","role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"d"}]}]},{"type":"message.output"`},
		{"an id", wire.Change{Message: 3, IDs: map[int]string{0: "e"}}, `{"type":"function.result","tool_call_id":"c1"`, `{"type":"function.result","tool_call_id":"e"`},
	} {
		got, err := Codec.Edit(nil, []byte(asked), []wire.Change{c.change})
		if want := strings.Replace(asked, c.old, c.new, 1); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, want)
		}
	}
	for _, change := range []wire.Change{{Message: 9}, {Drop: []int{0}}, {Texts: map[int]string{3: "x"}}, {Field: "reasoning", Add: "x"}} {
		if _, err := Codec.Edit(nil, []byte(asked), []wire.Change{change}); err == nil {
			t.Errorf("%+v is made", change)
		}
	}
	if _, err := Codec.Edit(nil, []byte(`{"inputs":"hi"}`), []wire.Change{{Field: thinking, Add: "x"}}); err == nil {
		t.Error("a thought stands before a text")
	}
}

// TestWhose: only the body tells a request from one of OpenAI's API, and the path tells whether it continues.
func TestWhose(t *testing.T) {
	for body, want := range map[string]bool{
		`{}`: false, `{"metadata":{"inputs":1}}`: false, `{"items":[],"metadata":{}}`: false, `[]`: false,
		`{"inputs":"hi"}`: true, `{"tool_confirmations":[]}`: true, `{"metadata":{},"stream":true}`: true,
	} {
		if IsRequest([]byte(body)) != want {
			t.Errorf("%s: %v", body, !want)
		}
	}
	for path, want := range map[string]bool{
		"/v1/conversations": false, "/v1/conversations/": false, "/v1/conversations/c": true, "/x/v1/conversations/c/": true, "/v1/conversations/c/restart": true, "/conversations/v1/chat/completions": false, "/v1/chat/completions": false, "": false,
	} {
		if Continues(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

// TestModelIn: the model is that of the first output that names one; an event before any output cannot name it.
func TestModelIn(t *testing.T) {
	for data, want := range map[string]string{
		`{"type":"conversation.response.started"}`: " true", `{"type":"agent.handoff.started"}`: " true", `{"type":"message.output.delta","content":"a"}`: " false", `{"type":"function.call.delta","model":"m"}`: "m false",
		`{"type":"tool.execution.started","model":"m"}`: "m false", `{"type":"conversation.response.done"}`: " false",
		`{"object":"conversation.response","outputs":[{"type":"agent.handoff"},{"model":"m"},{"model":"n"}]}`: "m false", `{"object":"conversation.history","entries":[{"model":"m"}]}`: "m false", `{"object":"conversation.messages","messages":[]}`: " false",
	} {
		if model, later := Codec.ModelIn([]byte(data)); fmt.Sprint(model, " ", later) != want {
			t.Errorf("%s: %q %v", data, model, later)
		}
	}
}
