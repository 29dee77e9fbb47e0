package responses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// paths are settings of the two paths of a reply: its frames are edited, or it is written.
var paths = []wire.Settings{{}, {Written: true}}

func streamThrough(s wire.Settings, r wire.Reader, stream string, err error) string {
	y := responses.Codec.Reply(s)
	var out []byte
	for _, f := range framesOf(stream) {
		out = y.Frame(out, f, r)
	}
	return string(y.End(out, err, r))
}

func wholeResponse(t testing.TB, s wire.Settings, r wire.Reader, body string) map[string]any {
	t.Helper()
	out := responses.Codec.Reply(s).Whole(nil, []byte(body), r)
	var m map[string]any
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return m
}

var cases = []struct {
	name  string
	s     script
	start sotto.Beginning
	hide  bool
	tags  bool
	want  string
}{
	{name: "inline", s: script{items: []scriptItem{msg(deltas("<thi", "nk>a", "b</think>", "c", "d"))}},
		want: `reasoning:"ab" message:"cd"`},
	{name: "text before", s: script{items: []scriptItem{msg(deltas("one <think>a</think> two", " three"))}},
		want: `message:"one  two three" reasoning:"a"`},
	{name: "between texts", s: script{items: []scriptItem{msg(deltas("<think>a</think>b<think>c</think>d<think>", "e</think>", "f"))}},
		want: `reasoning:"a" message:"bdf" reasoning:"c" reasoning:"e"`},
	{name: "begun inside", start: sotto.BeginInside("think"), s: script{items: []scriptItem{msg(deltas("a", "b</think>c"))}},
		want: `reasoning:"ab" message:"c"`},
	{name: "auto", start: sotto.BeginAuto, s: script{items: []scriptItem{msg(deltas("a", "b</think>c"))}},
		want: `reasoning:"ab" message:"c"`},
	{name: "unclosed", s: script{items: []scriptItem{msg(deltas("<think>a", "b"))}},
		want: `reasoning:"ab" message:""`},
	{name: "cut", s: script{end: "incomplete", items: []scriptItem{msg(deltas("<think>a", "b"))}},
		want: `reasoning:"ab"(incomplete) message:""`},
	{name: "doubt, stopped", s: script{items: []scriptItem{msg(deltas("the <think> tag"))}},
		want: `message:"the <think> tag"`},
	{name: "doubt, cut", s: script{end: "incomplete", items: []scriptItem{msg(deltas("the <think> tag"))}},
		want: `message:"the " reasoning:" tag"(incomplete)`},
	{name: "doubt, before a call", s: script{end: "incomplete", items: []scriptItem{msg(deltas("the <think> tag")), call("{}")}},
		want: `message:"the <think> tag" function_call:{}`},
	{name: "held tail", s: script{items: []scriptItem{msg(deltas("a", "<"))}},
		want: `message:"a<"`},
	{name: "calls", s: script{items: []scriptItem{msg(deltas("<think>a</think>b")), call(`{"x"`, `:"<think>"}`), call("{}")}},
		want: `reasoning:"a" message:"b" function_call:{"x":"<think>"} function_call:{}`},
	{name: "two parts", s: script{items: []scriptItem{msg(deltas("a"), deltas("<think>b</think>c"))}},
		want: `message:"a""c" reasoning:"b"`},
	{name: "two messages", s: script{items: []scriptItem{msg(deltas("<think>a</think>")), msg(deltas("<think>b</think>c")), call("{}")}},
		want: `reasoning:"a" message:"" reasoning:"b" message:"c" function_call:{}`},
	{name: "members sorted", s: script{vllm: true, items: []scriptItem{msg(deltas("<think>a</think>b")), call("{}")}},
		want: `reasoning:"a" message:"b" function_call:{}`},
	{name: "data of several lines", s: script{lines: true, items: []scriptItem{msg(deltas("<think>a</think>b", "c"))}},
		want: `reasoning:"a" message:"bc"`},
	{name: "native", s: script{items: []scriptItem{rsn(deltas("a", "b")), msg(deltas("<think>c</think>d"))}},
		want: `reasoning:"ab" reasoning:"c" message:"d"`},
	{name: "hidden", hide: true, s: script{items: []scriptItem{rsn(deltas("a")), msg(deltas("<think>b</think>c")), call("{}")}},
		want: `message:"c" function_call:{}`},
	{name: "hidden, encrypted", hide: true, s: script{items: []scriptItem{
		{kind: "summary", parts: [][]string{{"a"}}, encrypted: "XYZ"}, rsn(deltas("b")), msg(deltas("c"))}},
		want: `reasoning: message:"c"`},
	{name: "hidden, not really encrypted", hide: true, s: script{items: []scriptItem{
		{kind: "summary", parts: [][]string{{"a ", "b"}}, encrypted: "a b"}, msg(deltas("c"))}},
		want: `message:"c"`},
	{name: "all hidden", hide: true, s: script{items: []scriptItem{rsn(deltas("a"))}},
		want: ``},
	{name: "tags", tags: true, s: script{items: []scriptItem{rsn(deltas("a", "b")), msg(deltas("c"))}},
		want: `reasoning:"" message:"<think>ab" message:"</think>c"`},
	{name: "tags, no message", tags: true, s: script{items: []scriptItem{
		{kind: "summary", parts: [][]string{{"a"}}, encrypted: "XYZ"}, call("{}")}},
		want: `reasoning:"" message:"<think>a</think>" function_call:{}`},
}

// A stream reads as the script says, follows the rules of the API, and gives the
// same output as the whole body.
func TestResponses(t *testing.T) {
	for i := range 2 * len(cases) {
		c, set := cases[i/2], paths[i%2]
		if set.Hide = c.hide; c.hide && !set.Written {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			reader := func() *reader {
				r := newReader(c.start)
				r.hide, r.tags = c.hide, c.tags
				return r
			}
			client := readStream(t, streamThrough(set, reader(), c.s.stream(), nil))
			client.check()
			whole := wholeResponse(t, set, reader(), c.s.whole())
			if set.Written { // a thought whose text stands elsewhere has none
				c.want = strings.Replace(c.want, `reasoning:""`, "reasoning:", 1)
			}
			if got := saidIn(whole["output"]); got != c.want {
				t.Errorf("whole\n%s\nwant\n%s", got, c.want)
			}
			if got := saidIn(client.final["output"]); got != c.want {
				t.Errorf("stream\n%s\nwant\n%s", got, c.want)
			}
			if !reflect.DeepEqual(client.final, whole) {
				t.Errorf("stream\n%v\nwhole\n%v", client.final, whole)
			}
		})
	}
}

// What has nothing to split leaves as it came.
func TestIdentical(t *testing.T) {
	for _, s := range []script{
		{items: []scriptItem{msg(deltas("Hello ", "wörld \"q\"\n", "", "1 < 2 ", "x"))}},
		{items: []scriptItem{msg(nil)}},
		{items: []scriptItem{msg(deltas("", "a"), deltas("b")), call(`{"a":"<think>"}`)}, first: 7},
		{items: []scriptItem{rsn(deltas("a"), deltas("b")), msg(deltas("c")), {kind: "summary", parts: [][]string{{"d"}}, encrypted: "X"}, call("{}")}},
		{items: []scriptItem{msg(deltas("a"))}, end: "incomplete", vllm: true},
		{items: []scriptItem{msg(deltas("a"))}, end: "failed", lines: true},
	} {
		in := ": hello\n\n" + s.stream()
		if got := streamThrough(wire.Settings{}, newReader(sotto.BeginOutside), in, nil); got != in {
			t.Errorf("stream\n%s\nwant\n%s", got, in)
		}
		body := s.whole()
		got := responses.Codec.Reply(wire.Settings{}).Whole(nil, []byte(body), newReader(sotto.BeginOutside))
		if string(got) != body {
			t.Errorf("whole\n%s\nwant\n%s", got, body)
		}
	}
}

// Each frame of a plain reply leaves at once, except the beginning of the message,
// which waits for its first text, and its end, which waits for what follows.
func TestPrompt(t *testing.T) {
	s := script{items: []scriptItem{rsn(deltas("a")), msg(deltas("b", "c")), call("{}")}}
	y, r := responses.Codec.Reply(wire.Settings{}), newReader(sotto.BeginOutside)
	var waited []string
	for _, f := range framesOf(s.stream()) {
		if len(y.Frame(nil, f, r)) == 0 {
			waited = append(waited, string(f.Type))
		}
	}
	want := []string{
		"response.output_item.added", "response.content_part.added",
		"response.output_text.done", "response.content_part.done", "response.output_item.done",
	}
	if !slices.Equal(waited, want) {
		t.Errorf("waited: %q", waited)
	}
}

// Where the cuts fall, and how the reply ends, means the same for the stream as
// for the whole.
func TestRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := []string{"<think>", "</think>", "a", "b ", "\n", "`", "<", "é", "\"", "</thinking>", "\\", "<output>", "</output>"}
	random := func() (deltas []string) {
		var b strings.Builder
		for range rng.IntN(10) {
			b.WriteString(words[rng.IntN(len(words))])
		}
		runes := []rune(b.String())
		for len(runes) > 0 {
			n := 1 + rng.IntN(len(runes))
			deltas = append(deltas, string(runes[:n]))
			runes = runes[n:]
		}
		return deltas
	}
	rounds := 2000
	if effort.Brief() {
		rounds = 400
	}
	for range rounds {
		s := script{vllm: rng.IntN(2) == 0, lines: rng.IntN(8) == 0, end: []string{"", "incomplete", "failed"}[rng.IntN(3)]}
		for range rng.IntN(4) {
			it := scriptItem{kind: []string{"message", "message", "reasoning", "summary", "function_call"}[rng.IntN(5)]}
			for range 1 + rng.IntN(2)*rng.IntN(2) {
				it.parts = append(it.parts, random())
			}
			if it.kind == "function_call" {
				it.parts = it.parts[:1]
			} else if rng.IntN(2) == 0 {
				it.encrypted = "XYZ"
			}
			s.items = append(s.items, it)
		}
		start := []sotto.Beginning{sotto.BeginOutside, sotto.BeginInside("think"), sotto.BeginAuto}[rng.IntN(3)]
		set := paths[rng.IntN(2)]
		hide := set.Written && rng.IntN(2) == 0
		set.Hide = hide
		reader := func() wire.Reader {
			r := newReader(start)
			r.hide = hide
			return r
		}
		in := s.stream()
		out := streamThrough(set, reader(), in, nil)
		whole := wholeResponse(t, set, reader(), s.whole())
		client := readStream(t, out)
		if t.Failed() || client.final == nil || !reflect.DeepEqual(client.final["output"], whole["output"]) {
			t.Fatalf("in\n%s\nout\n%s\nwhole\n%v", in, out, whole)
		}
		client.check()
	}
}

// Wherever a stream breaks off, what came keeps to the rules, and an error ends it.
func TestBroken(t *testing.T) {
	for _, c := range cases {
		frames := framesOf(c.s.stream())
		for n := range len(frames) {
			r := newReader(c.start)
			r.hide, r.tags = c.hide, c.tags
			var in strings.Builder
			for _, f := range frames[:n] {
				in.Write(f.Raw)
			}
			set := paths[n%2]
			if c.hide {
				set = wire.Settings{Hide: true, Written: true}
			}
			client := readStream(t, streamThrough(set, r, in.String(), errors.New("broken")))
			if client.err == nil || len(r.open) > 0 {
				t.Errorf("%s after %d frames: %v, open %v", c.name, n, client.err, r.open)
			}
		}
	}
}

// However the upstream dies, the client gets the rest and an error.
func TestDied(t *testing.T) {
	for _, c := range []struct {
		parts []string
		start sotto.Beginning
		want  string
	}{
		{parts: deltas("a", "<thi"), want: `message:"a<thi"`},
		{parts: deltas("<think>a"), want: `reasoning:"a" message:`},
		{parts: deltas("a"), start: sotto.BeginAuto, want: `message:"a"`},
		{parts: nil, want: `message:`},
	} {
		s := script{died: true, items: []scriptItem{msg(c.parts)}}
		for i, err := range []error{nil, errors.New(`it "broke"`), nil, errors.New(`it "broke"`)} {
			client := readStream(t, streamThrough(paths[i/2], newReader(c.start), s.stream(), err))
			if client.err == nil || client.err["code"] != "upstream_error" || err != nil && client.err["message"] != err.Error() {
				t.Errorf("error %v", client.err)
			}
			var got []string
			for i := range len(client.items) {
				it := client.items[i]
				said := it.kind + ":"
				for _, p := range it.parts {
					if p.text != "" {
						said += fmt.Sprintf("%q", p.text)
					}
				}
				got = append(got, said)
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%q: %s, want %s", c.parts, s, c.want)
			}
		}
	}
}

// An end that the upstream did not reach is an error; one that it did reach is not,
// nor is its own error doubled.
func TestEnd(t *testing.T) {
	for _, set := range paths {
		testEnd(t, set)
	}
}

func testEnd(t *testing.T, set wire.Settings) {
	s := script{items: []scriptItem{msg(deltas("a <"))}}
	full := s.stream()
	if got := streamThrough(set, newReader(""), full, errors.New("late")); strings.Contains(got, "event: error") {
		t.Errorf("an error behind the end: %s", got)
	}
	client := readStream(t, streamThrough(set, newReader(""), "", nil))
	if client.err == nil || client.seq != 0 {
		t.Errorf("no error for nothing")
	}
	s.died = true
	died := s.stream() + `event: error` + "\n" + `data: {"type":"error","sequence_number":5,"message":"m"}` + "\n\n"
	client = readStream(t, streamThrough(set, newReader(""), died, nil))
	if client.err["message"] != "m" || client.items[0].parts["content 0"].text != "a <" {
		t.Errorf("%v, %v", client.err, client.items[0])
	}
}

// Servers that leave events out leak nothing.
func TestSparse(t *testing.T) {
	for _, set := range paths {
		testSparse(t, set)
	}
}

func testSparse(t *testing.T, set wire.Settings) {
	full := script{items: []scriptItem{msg(deltas("<think>a</think>", "b")), call("{}")}}
	for _, gone := range [][]string{
		{"response.content_part.added"},
		{"response.output_text.delta"},
		{"response.output_text.delta", "response.output_text.done"},
		{"response.output_text.delta", "response.output_text.done", "response.content_part.done", "response.content_part.added"},
		{"response.output_text.done", "response.content_part.done"},
		{"response.output_text.done", "response.content_part.done", "response.output_item.done"},
		{"response.output_item.added"},
	} {
		var b strings.Builder
		for _, f := range framesOf(full.stream()) {
			if !slices.Contains(gone, string(f.Type)) {
				b.Write(f.Raw)
			}
		}
		out := streamThrough(set, newReader(""), b.String(), nil)
		frames := framesOf(out)
		var end struct{ Response map[string]any }
		if err := json.Unmarshal(frames[len(frames)-1].Data, &end); err != nil {
			t.Fatal(err)
		}
		if got := saidIn(end.Response["output"]); got != `reasoning:"a" message:"b" function_call:{}` || strings.Contains(out, "think>") {
			t.Errorf("without %q: %s\n%s", gone, got, out)
		}
	}
	s := script{items: []scriptItem{msg(deltas("x"))}}
	out := streamThrough(set, newReader(""), strings.Replace(s.stream(), `"output":[{`, `"output":[{"id":"other","type":"message","content":[]},{`, 1), nil)
	if !strings.Contains(out, `"id":"other"`) {
		t.Errorf("an item of the end is gone: %s", out)
	}
}

// Frames that do not come as they mostly do.
func TestOdd(t *testing.T) {
	const at = `"item_id":"m","output_index":0,"content_index":0`
	const added = `{"type":"response.output_item.added","output_index":0,"item":{"id":"m","type":"message","content":[]}}`
	for _, c := range []struct {
		name     string
		in, want []string
	}{
		{"a call takes the message's index", []string{
			added,
			`{"type":"response.output_text.delta",` + at + `,"delta":"<think>a</think>b <"}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"f","type":"function_call"}}`,
			`{"type":"response.completed","response":{"output":[{"id":"f","type":"function_call"}]}}`,
		}, []string{
			`{"type":"response.output_item.added","sequence_number":0,"output_index":0,"item":{"type":"reasoning","id":"rs_sotto_d434bc17d7d30b8e_0","summary":[],"content":[],"status":"in_progress"}}`,
			`{"type":"response.content_part.added","sequence_number":1,"item_id":"rs_sotto_d434bc17d7d30b8e_0","output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":""}}`,
			`{"type":"response.reasoning_text.delta","sequence_number":2,"item_id":"rs_sotto_d434bc17d7d30b8e_0","output_index":0,"content_index":0,"delta":"a"}`,
			`{"type":"response.reasoning_text.done","sequence_number":3,"item_id":"rs_sotto_d434bc17d7d30b8e_0","output_index":0,"content_index":0,"text":"a"}`,
			`{"type":"response.content_part.done","sequence_number":4,"item_id":"rs_sotto_d434bc17d7d30b8e_0","output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":"a"}}`,
			`{"type":"response.output_item.done","sequence_number":5,"output_index":0,"item":{"type":"reasoning","id":"rs_sotto_d434bc17d7d30b8e_0","summary":[],"content":[{"type":"reasoning_text","text":"a"}],"status":"completed"}}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"id":"m","type":"message","content":[]}}`,
			`{"type":"response.output_text.delta",` + strings.Replace(at, `x":0`, `x":1`, 1) + `,"delta":"b "}`,
			`{"type":"response.output_text.delta","sequence_number":6,` + strings.Replace(at, `x":0`, `x":1`, 1) + `,"delta":"<","logprobs":[]}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"id":"f","type":"function_call"}}`,
			`{"type":"response.completed","response":{"output":[{"type":"reasoning","id":"rs_sotto_d434bc17d7d30b8e_0","summary":[],"content":[{"type":"reasoning_text","text":"a"}],"status":"completed"},{"id":"f","type":"function_call"}]}}`,
		}},
		{"a refusal, annotations and text that comes with a part", []string{
			added,
			`{"type":"response.content_part.added",` + at + `,"part":{"type":"output_text","text":"a <"}}`,
			`{"type":"response.output_text.annotation.added",` + at + `}`,
			`{"type":"response.content_part.added","item_id":"m","output_index":0,"content_index":1,"part":{"type":"refusal"}}`,
			`{"type":"response.refusal.delta","item_id":"m","output_index":0,"content_index":1,"delta":"no"}`,
			`{"type":"response.failed","response":{"output":[]}}`,
		}, []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"m","type":"message","content":[]}}`,
			`{"type":"response.content_part.added",` + at + `,"part":{"type":"output_text","text":""}}`,
			`{"type":"response.output_text.delta","sequence_number":0,` + at + `,"delta":"a ","logprobs":[]}`,
			`{"type":"response.output_text.annotation.added",` + at + `}`,
			`{"type":"response.output_text.delta","sequence_number":1,` + at + `,"delta":"<","logprobs":[]}`,
			`{"type":"response.content_part.added","item_id":"m","output_index":0,"content_index":1,"part":{"type":"refusal"}}`,
			`{"type":"response.refusal.delta","item_id":"m","output_index":0,"content_index":1,"delta":"no"}`,
			`{"type":"response.failed","response":{"output":[]}}`,
		}},
		{"no JSON", []string{`[DONE]`, `{"type":`, `{"type":"x"`, `{`, ``, `{"a" 1}`, `{"output_index":-1,"type":"x"}`},
			[]string{`[DONE]`, ``, `{"output_index":-1,"type":"x"}`, `{"type":"error","sequence_number":0,"code":"upstream_error","message":"e","param":null}`}},
	} {
		in := "data: " + strings.Join(c.in, "\n\ndata: ") + "\n\n"
		out := streamThrough(wire.Settings{}, newReader(""), in, errors.New("e"))
		var got []string
		for _, f := range framesOf(out) {
			got = append(got, string(f.Data))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s", c.name, strings.Join(got, "\n"))
		}
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct{ usage, want string }{
		{`{"output_tokens":100}`, `{"output_tokens_details":{"reasoning_tokens":31,"reasoning_tokens_estimated":true},"output_tokens":100}`},
		{`{"output_tokens":100,"output_tokens_details":{"x":1}}`, `{"output_tokens":100,"output_tokens_details":{"reasoning_tokens":31,"reasoning_tokens_estimated":true,"x":1}}`},
		{`{"output_tokens":100,"output_tokens_details":null}`, `{"output_tokens":100,"output_tokens_details":{"reasoning_tokens":31,"reasoning_tokens_estimated":true}}`},
		{`{"output_tokens":100,"output_tokens_details":{"reasoning_tokens":0}}`, `{"output_tokens":100,"output_tokens_details":{"reasoning_tokens":0}}`},
		{`null`, `null`},
	} {
		body := `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"<think>12345678</think>123"}]}],"output_text":"<think>12345678</think>123","usage":` + c.usage + `}`
		got := string(responses.Codec.Reply(wire.Settings{}).Whole(nil, []byte(body), newReader("")))
		if !strings.HasSuffix(got, `,"output_text":"123","usage":`+c.want+`}`) {
			t.Errorf("%s: %s", c.usage, got)
		}
	}
}

// Where reasoning is hidden, the probabilities of its tokens are too: those that stay spell
// the text beside them.
func TestHideLogprobs(t *testing.T) {
	at := `"item_id":"m","output_index":0,"content_index":0`
	hidden, shown := `[{"token":"<think>a</think>b"},{"token":"c"}]`, `[{"token":"c"}]`
	in := `data: {"type":"response.output_text.delta",` + at + `,"delta":"<think>a</think>b","logprobs":[{"token":"<think>a</think>b"}]}` + "\n\n" +
		`data: {"type":"response.output_text.delta",` + at + `,"delta":"c","logprobs":` + shown + `}` + "\n\n" +
		`data: {"type":"response.output_text.done",` + at + `,"text":"<think>a</think>bc","logprobs":` + hidden + `}` + "\n\n" +
		`data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"<think>a</think>bc","logprobs":` + hidden + `}]}]}}` + "\n\n"
	r := newReader("")
	r.hide = true
	got := streamThrough(wire.Settings{Hide: true, Written: true}, r, in, nil)
	client := readStream(t, got)
	client.check()
	if said := saidIn(client.final["output"]); said != `message:"bc"` {
		t.Error(said)
	}
	if strings.Contains(got, "think>") || !strings.Contains(got, `"delta":"b","logprobs":[]`) || !strings.Contains(got, `"delta":"c","logprobs":`+shown) {
		t.Error(got)
	}
	body := `{"output":[{"type":"message","content":[{"type":"output_text","text":"bc","logprobs":[{"token":"b"},{"token":"c"}]}]}]}`
	if got := fmt.Sprint(wholeResponse(t, wire.Settings{Hide: true, Written: true}, r, body)); !strings.Contains(got, "logprobs:[map[token:b] map[token:c]]") {
		t.Error(got)
	}
}

// A delta that leaves as it came, or with its numbers shifted, costs no memory.
func TestAllocs(t *testing.T) {
	for _, first := range []string{"a", "<think>r</think>a"} {
		s := script{items: []scriptItem{msg(deltas(first, "b", "c \\n \"", "d"))}}
		frames := framesOf(s.stream())
		y, r := responses.Codec.Reply(wire.Settings{}), newReader("")
		var out []byte
		for _, f := range frames[:5] {
			out = y.Frame(out[:0], f, r)
		}
		out = slices.Grow(out, 4096)
		for i := range 3 {
			f := frames[5+i]
			if n := testing.AllocsPerRun(1000, func() { out = y.Frame(out[:0], f, r) }); n != 0 {
				t.Errorf("%q, %s: %v allocations", first, f.Data, n)
			}
		}
	}
}

func TestRequest(t *testing.T) {
	body := `{"model":"m","stream":true,"reasoning":{"effort":"high"},"chat_template_kwargs":{"enable_thinking":false},"input":[
		{"role":"developer","content":"d"},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"u1"},{"type":"input_image"},{"type":"input_text","text":"u2"}]},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"X"},
		{"type":"reasoning","id":"rs_sotto_ab_0","summary":[],"content":[{"type":"reasoning_text","text":"t"}]},
		{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"t"}]},
		{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
		{"type":"function_call_output","call_id":"c","output":"o"},
		{"type":"message","role":"assistant","status":"incomplete","content":[{"type":"output_text","text":"pre"}]}]}`
	got, err := responses.Codec.Request([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := &wire.Request{
		Model: "m", Stream: true, Prefill: "pre", Switch: got.Switch,
		Messages: []wire.Message{
			{Role: "system", Texts: []string{"d"}},
			{Role: "user", Texts: []string{"u1", "u2"}},
			{Role: "assistant", Thoughts: []wire.Thought{{Name: "item", Text: "s", Sealed: true, Proof: "X"}}},
			{Role: "assistant", Thoughts: []wire.Thought{{Name: "item", Text: "t", Minted: true}}},
			{Role: "assistant", Thoughts: []wire.Thought{{Name: "item", Text: "t"}}},
			{Role: "assistant", Calls: true, CallIDs: []string{"c"}, Called: []string{"f"}},
			{Role: "tool", Results: true, CallIDs: []string{"c"}},
			{Role: "assistant", Texts: []string{"pre"}},
		},
		Items: true, Stores: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for _, word := range []string{"effort=high", "enable_thinking=false"} {
		if !strings.Contains(got.Switch, word) {
			t.Errorf("switch %q", got.Switch)
		}
	}
	for _, bad := range []string{`[]`, `{"input":1}`} {
		if _, err := responses.Codec.Request([]byte(bad)); err == nil {
			t.Errorf("%s is no request", bad)
		}
	}
	one, err := responses.Codec.Request([]byte(`{"model":"m","input":"hi"}`))
	if err != nil || !reflect.DeepEqual(one.Messages, []wire.Message{{Role: "user", Texts: []string{"hi"}}}) {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestEdit(t *testing.T) {
	const item = `{"type":"reasoning","id":"rs_sotto_1"}`
	for _, c := range []struct {
		body, want string
		changes    []wire.Change
	}{
		{`{"input": "hi" }`, `{"input": "bye" }`, []wire.Change{{Texts: map[int]string{0: "bye"}}}},
		{`{"input":[` + item + `, {"role":"user","content":"a"}],"x":1.0}`, `{"input":[{"role":"user","content":"b\""}],"x":1.0}`,
			[]wire.Change{{Message: 1, Texts: map[int]string{0: `b"`}}, {Message: 0, Drop: []int{0}}}},
		{`{"input":[{"role":"user","content":"a"},` + item + `,` + item + `]}`, `{"input":[{"role":"user","content":"a"}]}`,
			[]wire.Change{{Message: 1, Drop: []int{0}}, {Message: 2, Drop: []int{0}}}},
		{`{"input":[` + item + `]}`, `{"input":[]}`, []wire.Change{{Drop: []int{0}}}},
		{`{"input":[` + item + `]}`, "", []wire.Change{{Field: "other", Add: "x"}}},
		{`{"input":[` + item + `]}`, "", []wire.Change{{Message: 1}}},
		{`{"input":"a"}`, "", []wire.Change{{Drop: []int{0}}}},
		{`{"input":"a"}`, "", []wire.Change{{Texts: map[int]string{1: ""}}}},
	} {
		got, err := responses.Codec.Edit(nil, []byte(c.body), c.changes)
		if (err != nil) != (c.want == "") || err == nil && string(got) != c.want {
			t.Errorf("%s: %s, %v", c.body, got, err)
		}
	}
}

func TestCodec(t *testing.T) {
	c := responses.Codec
	if got := c.Reply(wire.Settings{}).KeepAlive(nil); string(got) != ": keep-alive\n\n" {
		t.Errorf("keep-alive %q", got)
	}
	if c.Name() != "openai.responses" || c.Framing() != wire.SSE || !json.Valid(c.Error(429, `"`)) {
		t.Error("name, framing or error")
	}
}

// No data breaks the codec.
func FuzzResponses(f *testing.F) {
	s := script{items: []scriptItem{rsn(deltas("a")), msg(deltas("<think>a</think>b")), call("{}")}}
	f.Add(s.stream(), true)
	f.Add(s.stream(), false)
	f.Add("data: {\"type\":\"response.output_text.delta\",\"delta\":\"<think>\n\n", false)
	f.Fuzz(func(t *testing.T, stream string, hide bool) {
		streamThrough(wire.Settings{Hide: hide}, newReader(""), stream, nil)
	})
}
