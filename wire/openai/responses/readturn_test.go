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

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/wire/internal/turntest"
	"github.com/sotto-llm/sotto/wire/openai/responses"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

var api = responses.Codec

// bodies are requests with every form that the API has.
var bodies = []string{
	`{"model":"m","input":"What is 2+2?"}`,
	`{"model":"m","input":"","stream":true}`,
	`{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}`,
	`{"input":[{"role":"user","content":"x","id":"msg_1"}]}`,
	`{"model":"m","instructions":"Be brief.","input":"Hi","stream":true,"max_output_tokens":100,"temperature":0.70,"top_p":1e-1,"presence_penalty":-1,"frequency_penalty":2,
		"parallel_tool_calls":false,"store":false,"include":["reasoning.encrypted_content"],"metadata":{"a":"b"},"user":"u","safety_identifier":"s","prompt_cache_key":"k",
		"service_tier":"auto","truncation":"auto","previous_response_id":"resp_1","conversation":{"id":"conv_1"},"background":true,"top_logprobs":3,"max_tool_calls":4,
		"prompt":{"id":"p","variables":{"x":"y"}},"context_management":[{"type":"compaction"}],"stream_options":{"include_obfuscation":false},"instructions2":null,"n":2,"stop":["x"],"seed":1,"top_k":5}`,
	`{"input":[{"role":"system","content":"S"},{"type":"message","role":"developer","content":[{"type":"input_text","text":"D"},{"type":"input_text","text":"E"}]},{"role":"user","content":"U"},{"role":"assistant","content":"A"}],
		"reasoning":{"effort":"high","summary":"auto"}}`,
	`{"input":[{"role":"user","content":[{"type":"input_text","text":"U","prompt_cache_breakpoint":{"type":"x"}},{"type":"input_image","image_url":"data:image/png;base64,QUJD","detail":"low"},
		{"type":"input_image","image_url":"https://x/y.png"},{"type":"input_image","file_id":"file_1","detail":"auto"},{"type":"input_image"},
		{"type":"input_file","file_data":"data:application/pdf;base64,QUJD","filename":"a.pdf"},{"type":"input_file","file_data":"QUJD"},{"type":"input_file","file_url":"https://x/y.pdf","detail":"high"},
		{"type":"input_file","file_id":"file_2"},{"type":"input_file","file_data":"data:,x"},
		{"type":"input_audio","input_audio":{"data":"QUJD","format":"mp3"}},{"type":"input_audio","input_audio":{"data":"QUJD","format":"mpeg"}},{"type":"input_video","x":1},{"type":"output_text","text":"odd"},{"type":"text","text":"odd"},{"type":"refusal","refusal":"odd"},"a text",[]]}]}`,
	`{"input":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"A","annotations":[],"logprobs":[]},{"type":"refusal","refusal":"No."},{"type":"input_text","text":"odd"},{"type":"input_image","image_url":"https://x"}]},
		{"type":"message","role":"assistant","content":[]},{"role":"user"},{"role":"user","content":null},{"role":"robot","content":"x"},{"role":"assistant","content":{"a":1}},7,"x",[],null]}`,
	`{"input":[{"role":"user","content":"go"},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"ENC","status":"completed"},
		{"type":"reasoning","id":"rs_2","summary":[],"content":[{"type":"reasoning_text","text":"a"},{"type":"reasoning_text","text":"b"}]},{"type":"reasoning","summary":[]},
		{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"a\": 1.50}","status":"completed"},{"type":"function_call","call_id":"c2","name":"f","arguments":"","namespace":"n"},
		{"type":"function_call","call_id":"","name":"f","arguments":"{}"},{"type":"function_call","call_id":"c3","name":"f","arguments":{}},
		{"type":"custom_tool_call","id":"ct_1","call_id":"c4","name":"sh","input":"ls -l"},
		{"type":"function_call_output","call_id":"c1","output":"4"},{"type":"function_call_output","id":"fo","call_id":"c2","output":[{"type":"input_text","text":"t"},{"type":"input_image","image_url":"data:image/png;base64,QUJD"},{"type":"input_file","file_id":"f"}],"status":"completed"},
		{"type":"function_call_output","call_id":"c2","output":[]},{"type":"function_call_output","call_id":"c2","output":"","status":"incomplete"},{"type":"function_call_output","call_id":"c2","output":{}},
		{"type":"custom_tool_call_output","call_id":"c4","output":"file"},{"type":"function_call_output","call_id":"c4","output":"of another kind"},
		{"type":"image_generation_call","id":"ig_1","status":"completed","result":"QUJD","output_format":"webp","size":"1x1"},{"type":"image_generation_call","id":"ig_2","status":"failed","result":null},
		{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},{"type":"item_reference","id":"msg_2"},{"type":"compaction","encrypted_content":"E"},
		{"type":"mcp_approval_response","approve":true,"approval_request_id":"x"},{"type":"local_shell_call_output","id":"x","output":"y"}]}`,
	`{"input":"x","tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object","properties":{"a":{"type":"number"}}},"strict":true,"defer_loading":true},{"type":"function","name":"g","parameters":null,"strict":null},
		{"type":"custom","name":"sh","description":"d","format":{"type":"grammar","syntax":"lark","definition":"start: x"}},{"type":"web_search"},{"type":"mcp","server_label":"l","server_url":"u"},{"type":"function"},{"type":"namespace","name":"n","tools":[]},"x",[]],"tool_choice":"required"}`,
	`{"input":"x","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"f"}}`,
	`{"input":"x","tools":[{"type":"custom","name":"f"}],"tool_choice":{"type":"custom","name":"f"}}`,
	`{"input":"x","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"},{"type":"custom","name":"g"}]}}`,
	`{"input":"x","tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"mcp","server_label":"l"}]}}`,
	`{"input":"x","tools":[],"tool_choice":{"type":"web_search_preview"},"truncation":"disabled","background":false,"reasoning":{"summary":"detailed"}}`,
	`{"input":[],"tool_choice":"none","instructions":"","text":{"format":{"type":"text"},"verbosity":"low"},"reasoning":{"effort":"none"}}`,
	`{"text":{"verbosity":"high"},"reasoning":{"effort":"low","mode":"pro"}}`,
	`{"input":"x","text":{"format":{"type":"json_object"}},"chat_template_kwargs":{"enable_thinking":true}}`,
	`{"input":"x","text":{"format":{"type":"json_schema","name":"n","description":"d","schema":{"type":"object"},"strict":true}},"chat_template_kwargs":{"enable_thinking":true,"x":1}}`,
	`{"input":"x","text":{"format":{"type":"json_schema","schema":{"a":[1.0]}}},"enable_thinking":false,"thinking":{"type":"disabled"},"options":{"think":false}}`,
	`{"input":"x","text":{"format":{"type":"grammar","x":1}},"reasoning":{"effort":"weird"}}`,
	`{"model":"","text":{},"reasoning":{}}`,
}

func TestTurnIsLossless(t *testing.T) {
	for _, body := range bodies {
		turntest.Same(t, api, body, normal)
	}
}

// normal makes equal forms one: a text that may be a list, an input that may be a text, a type
// that a message need not say, and a stream that is not asked for.
func normal(v any) any {
	root, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if root["stream"] == false {
		delete(root, "stream")
	}
	if text, is := root["input"].(string); is {
		root["input"] = []any{map[string]any{"role": "user", "content": text}}
	}
	items, _ := root["input"].([]any)
	for i := range items {
		item, is := items[i].(map[string]any)
		if !is {
			continue
		}
		role, _ := item["role"].(string)
		if slices.Contains([]string{"user", "system", "developer", "assistant"}, role) && item["type"] == "message" {
			delete(item, "type")
		}
		kind := "input_text"
		if role == "assistant" {
			kind = "output_text"
		}
		for _, member := range []string{"content", "output"} {
			if text, is := item[member].(string); is {
				item[member] = []any{map[string]any{"type": kind, "text": text}}
			}
		}
	}
	return root
}

// TestForeignTurn holds which members stop a request that goes to another API, and which ones are left out.
func TestForeignTurn(t *testing.T) {
	for _, test := range []struct{ body, left, fault string }{
		{`{"input":"x","store":true,"metadata":{},"truncation":"disabled","background":false,"tools":[],"reasoning":{"summary":"auto"},"instructions":""}`,
			"store metadata truncation background tools reasoning instructions", ""},
		{`{"input":[{"id":"a","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"t","annotations":[]}]},{"type":"reasoning","id":"r","summary":[]},{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":"{}"}]}`,
			"input[0].id input[0].status input[0].content[0].annotations input[2].id", ""},
		{`{"input":"x","reasoning":{"effort":"low","summary":"auto"},"tool_choice":{"type":"custom","name":"f"}}`, "", ""},
		{`{"input":[{"role":"user","content":[{"type":"output_text","text":"t"}]}]}`, "", ""},
		{`{"input":[{"role":"user","content":[{"type":"output_text","text":"t","x":1}]}]}`, "", "input[0].content[0].x"},
		{`{"input":"x","truncation":"auto"}`, "", "truncation"},
		{`{"input":"x","background":true}`, "", "background"},
		{`{"input":"x","previous_response_id":"r"}`, "", "previous_response_id"},
		{`{"input":"x","reasoning":{"effort":"low","mode":"pro"}}`, "", "reasoning"},
		{`{"input":"x","text":{"format":{"type":"text"},"verbosity":"low"}}`, "", "text"},
		{`{"input":"x","tool_choice":{"type":"web_search"}}`, "", "tool_choice"},
		{`{"input":"x","tools":[{"type":"function","name":"f"},{"type":"web_search"}]}`, "", "tools[1] web_search"},
		{`{"input":"x","tools":[{"type":"a <b>"}]}`, "", "tools[0]"},
		{`{"input":"x","tools":[{"type":"custom","name":"f","format":{"type":"grammar"}}]}`, "", "tools[0].format"},
		{`{"input":[{"role":"user","content":"x"},{"type":"item_reference","id":"i"}]}`, "", "input[1] item_reference"},
		{`{"input":[{"role":"user","content":[{"type":"input_video"}]}]}`, "", "input[0].content[0] input_video"},
		{`{"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_audio"}]}]}`, "", "input[0].output[0] input_audio"},
	} {
		q, err := api.ReadTurn([]byte(test.body))
		if err != nil {
			t.Fatal(err)
		}
		left, err := q.For("other")
		fault := ""
		if f, is := errors.AsType[*turn.ForeignError](err); is {
			fault = strings.TrimSpace(f.Path + " " + f.Type)
		}
		if fault != test.fault || fault == "" && strings.Join(left, " ") != test.left {
			t.Errorf("%s\nleft %q, fault %q", test.body, left, fault)
		}
	}
}

// TestReadTurn holds the neutral form of what other APIs write.
func TestReadTurn(t *testing.T) {
	q, err := api.ReadTurn([]byte(`{"model":"m","instructions":"S","reasoning":{"effort":"high"},"input":[
		{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"a"},{"type":"reasoning_text","text":"b"}]},
		{"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"E"},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"}]},
		{"type":"custom_tool_call","call_id":"c","name":"f","input":"x"},
		{"type":"custom_tool_call_output","call_id":"c","output":"y","status":"incomplete"},
		{"role":"user","content":[{"type":"input_file","file_data":"data:a/b;base64,QQ==","filename":"n"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.For("other"); err != nil {
		t.Fatal(err)
	}
	want := []turn.Message{
		{Role: turn.System, Apart: true, Parts: []turn.Part{{Text: "S"}}},
		{Role: turn.Assistant, Item: true, Parts: []turn.Part{
			{Kind: turn.Thought, Name: "reasoning", ID: "rs_1", Text: "a\n\nb"},
			{Kind: turn.Thought, Name: "reasoning", ID: "rs_2", Text: "s", Summary: true, Sealed: "E"},
			{Text: "t"}, {Kind: turn.Call, ID: "c", Name: "f", Arguments: "x", Free: true}}},
		{Role: turn.ToolRole, Item: true, Parts: []turn.Part{{Kind: turn.Result, ID: "c", Free: true, Failed: true, Results: []turn.Part{{Text: "y"}}}}},
		{Role: turn.User, Item: true, Parts: []turn.Part{{Kind: turn.File, Media: turn.Media{Type: "a/b", Data: "QQ==", Name: "n"}}}},
	}
	got := turn.Joined(q.Messages)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	if q.Thinking.Setting != (switches.Setting{Mode: switches.On, Level: switches.High}) {
		t.Errorf("%+v", q.Thinking.Setting)
	}
	if _, err := api.ReadTurn([]byte(`{"input":7}`)); err == nil {
		t.Error("a number is an input")
	}
}

// TestWriteTurn holds what is written of a request that another API's codec has read.
func TestWriteTurn(t *testing.T) {
	text := func(s string) []turn.Part { return []turn.Part{{Text: s}} }
	no := false
	for _, test := range []struct {
		q    turn.Request
		want string
	}{
		{turn.Request{Model: "m", Messages: []turn.Message{{Role: turn.User, Parts: text("Hi")}}}, `{"model":"m","input":"Hi"}`},
		{turn.Request{Messages: []turn.Message{{Role: turn.System, Apart: true, Parts: text("S")}, {Role: turn.User, Parts: text("Hi")}}}, `{"instructions":"S","input":"Hi"}`},
		{turn.Request{Messages: []turn.Message{{Role: turn.System, Apart: true, Parts: []turn.Part{{Text: "S"}, {Text: "T"}}}, {Role: turn.User, Parts: text("Hi")}}},
			`{"input":[{"type":"message","role":"system","content":[{"type":"input_text","text":"S"},{"type":"input_text","text":"T"}]},{"type":"message","role":"user","content":"Hi"}]}`},
		{turn.Request{Messages: []turn.Message{{Role: turn.Assistant, Parts: []turn.Part{
			{Kind: turn.Thought, Text: "a"}, {Text: "b"}, {Text: "c"}, {Kind: turn.Call, Name: "f", Arguments: "{}"}, {Kind: turn.Thought, Text: "d", Summary: true, Sealed: "E"},
			{Kind: turn.Call, ID: "call_1", Name: "g", Arguments: "x", Free: true}, {Kind: turn.Call, Name: "h", Arguments: "{}"}, {Text: "e"}}},
			{Role: turn.User, Parts: []turn.Part{{Kind: turn.Result, Name: "h", Results: text("H"), Failed: true}, {Kind: turn.Result, Results: text("F")}, {Kind: turn.Result, ID: "call_1"}, {Text: "u"}}}}},
			`{"input":[{"type":"reasoning","id":"rs_1","content":[{"type":"reasoning_text","text":"a"}],"summary":[]},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"},{"type":"output_text","text":"c"}]},
			{"type":"function_call","call_id":"call_2","name":"f","arguments":"{}"},
			{"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"d"}],"encrypted_content":"E"},
			{"type":"custom_tool_call","call_id":"call_1","name":"g","input":"x"},
			{"type":"function_call","call_id":"call_3","name":"h","arguments":"{}"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"e"}]},
			{"type":"function_call_output","call_id":"call_3","output":"H","status":"incomplete"},
			{"type":"function_call_output","call_id":"call_2","output":"F"},
			{"type":"custom_tool_call_output","call_id":"call_1","output":""},
			{"type":"message","role":"user","content":"u"}]}`},
		{turn.Request{Tools: []turn.Tool{{Name: "f", Schema: `{"type":"object"}`}, {Name: "g", Strict: &no}, {Name: "h", Free: true}}, Choice: turn.Choice{Mode: turn.Required, Names: []string{"h"}},
			Thinking: turn.Thinking{Setting: switches.Setting{Mode: switches.On, Budget: 9000}, Words: switches.Native}, Format: turn.Format{Mode: turn.Schema, Schema: "{}"}},
			`{"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":false},{"type":"function","name":"g","strict":false},{"type":"custom","name":"h"}],
			"tool_choice":{"type":"custom","name":"h"},"reasoning":{"effort":"high"},"text":{"format":{"type":"json_schema","name":"reply","schema":{}}}}`},
		{turn.Request{Choice: turn.Choice{Mode: turn.Auto, Names: []string{"f"}}, Choices: "1"}, `{"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}}`},
	} {
		got, err := api.WriteTurn([]byte("before"), &test.q)
		if err != nil {
			t.Errorf("%v: %+v", err, test.q)
			continue
		}
		if got = got[len("before"):]; !reflect.DeepEqual(turntest.Normal(got, nil), turntest.Normal([]byte(test.want), nil)) {
			t.Errorf("%s\nwant\n%s", got, test.want)
		}
	}
}

func TestPlacelessTurn(t *testing.T) {
	user := func(parts ...turn.Part) turn.Request {
		return turn.Request{Messages: []turn.Message{{Role: turn.User, Parts: parts}}}
	}
	assistant := func(parts ...turn.Part) turn.Request {
		return turn.Request{Messages: []turn.Message{{Role: turn.Assistant, Parts: parts}}}
	}
	data := turn.Media{Type: "a/b", Data: "QQ=="}
	for what, q := range map[string]turn.Request{
		"stop sequences":                   {Stop: []string{"x"}},
		"several replies to one request":   {Choices: "2"},
		"top_k":                            {Sampling: turn.Sampling{TopK: "1"}},
		"min_p":                            {Sampling: turn.Sampling{MinP: "1"}},
		"a seed":                           {Sampling: turn.Sampling{Seed: "1"}},
		"a tool that only another API has": {Tools: []turn.Tool{{}}},
		"the format x":                     {Format: turn.Format{Mode: "x"}},
		"the name of a message's author":   {Messages: []turn.Message{{Role: turn.User, Name: "n"}}},
		`a message of the role "x"`:        {Messages: []turn.Message{{Role: "x"}}},
		"a text in a tool's message, beside results":        {Messages: []turn.Message{{Role: turn.ToolRole, Parts: []turn.Part{{Text: "x"}}}}},
		"a video in a message of the user's":                user(turn.Part{Kind: turn.Video, Media: data}),
		"a refusal in a message of the user's":              user(turn.Part{Kind: turn.Refusal}),
		"a signature in a message of the user's":            user(turn.Part{Signature: "s"}),
		"an image in a message of the assistant's":          assistant(turn.Part{Kind: turn.Image, Media: turn.Media{URL: "u"}}),
		"a sound in a tool's result":                        user(turn.Part{Kind: turn.Result, ID: "c", Results: []turn.Part{{Kind: turn.Audio, Media: data}}}),
		"a sound without data":                              user(turn.Part{Kind: turn.Audio, Media: turn.Media{URL: "u"}}),
		"an image without data":                             user(turn.Part{Kind: turn.Image}),
		"a file without data":                               user(turn.Part{Kind: turn.File}),
		"the name of an image":                              user(turn.Part{Kind: turn.Image, Media: turn.Media{URL: "u", Name: "n"}}),
		"the signature of a thought":                        assistant(turn.Part{Kind: turn.Thought, Signature: "s"}),
		"the signature of a call":                           assistant(turn.Part{Kind: turn.Call, Signature: "s"}),
		"a part that only x has in a message of the user's": user(turn.Part{Kind: turn.Other, Extra: turn.Extra{API: "x", Whole: "{}"}}),
	} {
		got, err := api.WriteTurn([]byte("x"), &q)
		if e, is := errors.AsType[*turn.UnsupportedError](err); !is || e.What != what || string(got) != "x" {
			t.Errorf("%s: %v, %q", what, err, got)
		}
	}
}

// TestTurnsOfOthers writes random requests that another API's codec could have read, and reads
// them back.
func TestTurnsOfOthers(t *testing.T) {
	for seed := range uint64(300 * effort.Times()) {
		g := generator{rand.New(rand.NewPCG(seed, 0)), 0}
		want := g.request()
		body, err := api.WriteTurn(nil, want)
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		if !json.Valid(body) {
			t.Fatalf("%d: %s", seed, body)
		}
		got, err := api.ReadTurn(body)
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		if _, err := got.For("other"); err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		if want.Thinking.Words = ""; !reflect.DeepEqual(got, want) {
			t.Fatalf("%d: %s\n%+v\nwant\n%+v", seed, body, got, want)
		}
	}
}

// A generator makes requests.
type generator struct {
	*rand.Rand
	made int
}

func (g *generator) text() string {
	return []string{"a", "", "<think>é\"\\\n", "\U0001F600 x", "{}"}[g.IntN(5)]
}

func (g *generator) some() string { g.made++; return fmt.Sprintf("s%d", g.made) }

func (g *generator) bool() *bool {
	is := g.IntN(2) == 0
	if g.IntN(3) == 0 {
		return nil
	}
	return &is
}

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) request() *turn.Request {
	yes := g.IntN(2) == 0
	q := &turn.Request{Model: pick(g, "", "m"), Stream: yes, Parallel: g.bool(), MaxTokens: pick[json.Number](g, "", "100")}
	q.Sampling = turn.Sampling{Temperature: pick[json.Number](g, "", "0.50"), TopP: pick[json.Number](g, "", "1"), PresencePenalty: pick[json.Number](g, "", "-1")}
	q.Thinking = turn.Thinking{Words: switches.Native, Setting: pick(g, switches.Setting{}, switches.Setting{Mode: switches.Off}, switches.Setting{Mode: switches.On, Level: switches.High})}
	q.Format = pick(g, turn.Format{}, turn.Format{Mode: turn.PlainText}, turn.Format{Mode: turn.JSON}, turn.Format{Mode: turn.Schema, Name: "n", Description: "d", Schema: `{"a":1.0}`, Strict: g.bool()})
	if g.IntN(2) == 0 {
		q.Messages = append(q.Messages, turn.Message{Role: turn.System, Apart: true, Parts: []turn.Part{{Text: g.some()}}})
	}
	for range g.IntN(6) {
		q.Messages = append(q.Messages, g.message())
	}
	for range g.IntN(3) {
		q.Tools = append(q.Tools, turn.Tool{Name: g.some(), Description: pick(g, "", "d"), Schema: pick(g, "", `{"type":"object"}`), Strict: new(yes)}, turn.Tool{Name: g.some(), Free: true})
	}
	if len(q.Tools) > 1 {
		q.Choice = pick(g, turn.Choice{}, turn.Choice{Mode: turn.None}, turn.Choice{Mode: turn.Required, Names: []string{q.Tools[g.IntN(2)].Name}},
			turn.Choice{Mode: turn.Auto, Names: []string{q.Tools[0].Name, q.Tools[1].Name}})
	}
	return q
}

// message is one item, because that is what comes back.
func (g *generator) message() turn.Message {
	m := turn.Message{Role: turn.Assistant, Item: true}
	switch g.IntN(6) {
	case 0:
		m.Parts = []turn.Part{{Kind: turn.Thought, Name: "reasoning", ID: g.some(), Text: g.some(), Summary: g.IntN(2) == 0, Sealed: pick(g, "", "E")}}
	case 1:
		m.Parts = []turn.Part{{Kind: turn.Call, ID: g.some(), Name: g.some(), Arguments: g.text(), Free: g.IntN(2) == 0}}
	case 2:
		m.Role = turn.ToolRole
		m.Parts = []turn.Part{{Kind: turn.Result, ID: g.some(), Results: g.parts(turn.ToolRole), Free: g.IntN(2) == 0, Failed: g.IntN(2) == 0}}
	case 3:
		m.Parts = g.parts(turn.Assistant)
	default:
		m.Role = pick(g, turn.User, turn.System, turn.Developer)
		m.Parts = g.parts(m.Role)
	}
	return m
}

func (g *generator) parts(role turn.Role) (parts []turn.Part) {
	for range 1 + g.IntN(3) {
		p := turn.Part{Text: g.text()}
		switch kind := g.IntN(5); {
		case kind == 0 && role == turn.Assistant:
			p.Kind = turn.Refusal
		case role == turn.Assistant:
		case kind == 1:
			p = turn.Part{Kind: turn.Image, Media: pick(g, turn.Media{Type: "image/png", Data: "QUJD", Detail: "low"}, turn.Media{URL: "https://x"}, turn.Media{ID: "f"})}
		case kind == 2:
			p = turn.Part{Kind: turn.File, Media: pick(g, turn.Media{Type: "application/pdf", Data: "QUJD", Name: "n"}, turn.Media{Data: "QUJD"}, turn.Media{URL: "https://x"}, turn.Media{ID: "f"})}
		case kind == 3 && role != turn.ToolRole:
			p = turn.Part{Kind: turn.Audio, Media: turn.Media{Type: pick(g, "audio/wav", "audio/mpeg"), Data: "QUJD"}}
		}
		parts = append(parts, p)
	}
	return parts
}
