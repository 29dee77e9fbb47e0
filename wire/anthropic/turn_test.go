package anthropic_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/internal/turntest"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

var messagesTurn = anthropic.Messages

// TestTurnSame: a request that is read and written is the same one, whatever is in it.
func TestTurnSame(t *testing.T) {
	corpus, err := os.ReadFile("testdata/requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(corpus) {
		turntest.Same(t, messagesTurn, string(line), normalTurn)
	}
}

// normalTurn brings into one form what the API reads the same: a text and a list of it, a member
// with its default value, and a thought without a signature.
func normalTurn(v any) any {
	root, ok := v.(map[string]any)
	if !ok {
		return v
	}
	unless(root, "stream", false)
	plain(root, "system")
	for _, m := range objects(root["messages"]) {
		for _, b := range objects(m["content"]) {
			switch b["type"] {
			case "thinking":
				unless(b, "signature", "")
			case "tool_result":
				unless(b, "is_error", false)
				plain(b, "content")
			}
		}
		plain(m, "content")
	}
	for _, t := range objects(root["tools"]) {
		if _, ok := t["input_schema"].(map[string]any); ok {
			unless(t, "type", "custom")
		}
	}
	return root
}

// unless removes a member that has its default value.
func unless(o map[string]any, key string, value any) {
	if o[key] == value {
		delete(o, key)
	}
}

// plain replaces a list of one text by the text.
func plain(o map[string]any, key string) {
	if list, ok := o[key].([]any); ok && len(list) == 1 {
		b, _ := list[0].(map[string]any)
		if text, ok := b["text"].(string); ok && len(b) == 2 && b["type"] == "text" {
			o[key] = text
		}
	}
}

func objects(v any) (all []map[string]any) {
	list, _ := v.([]any)
	for _, e := range list {
		if o, ok := e.(map[string]any); ok {
			all = append(all, o)
		}
	}
	return all
}

// TestTurnBytes: texts, arguments and schemas keep their bytes, also half a surrogate pair.
func TestTurnBytes(t *testing.T) {
	const body = `{"max_tokens":1,"messages":[{"role":"user","content":"\ud83d <b>&\u0001"},{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"\ud83d"}}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"b": "\u00e9",  "a":1.0}}]}],"tools":[{"name":"f","input_schema":{"b": {},"a":{}}}],"temperature":1.0e0}`
	q, err := messagesTurn.ReadTurn([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := messagesTurn.WriteTurn(nil, q); err != nil || string(got) != body {
		t.Errorf("%v\n%s\nwant\n%s", err, got, body)
	}
}

// TestTurnForeign: what only this API has stops a request for another one, and what the answer
// does not depend on is named.
func TestTurnForeign(t *testing.T) {
	for _, c := range []struct{ body, left, err string }{
		{`{"messages":[],"metadata":{"user_id":"u"},"service_tier":"auto","stop_sequences":[],"stream":false}`, "metadata,service_tier,stop_sequences", ""},
		{`{"messages":[],"user_profile_id":"u","speed":"fast","cache_control":{"type":"ephemeral"},"anthropic_version":"v","diagnostics":{"a":1},"fallback_credit_token":"t"}`,
			"user_profile_id,speed,cache_control,anthropic_version,diagnostics,fallback_credit_token", ""},
		{`{"messages":[],"tools":[{"name":"f","input_schema":{},"cache_control":{"type":"ephemeral"},"eager_input_streaming":true}],"thinking":{"type":"enabled","token_budget":2000}}`,
			"tools[0].cache_control,tools[0].eager_input_streaming", ""},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"},"citations":null}]}]}`, "messages[0].content[0].cache_control", ""},
		{`{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":""},{"type":"tool_use","id":"1","name":"f","input":{},"caller":{"type":"direct"}}]}]}`, "messages[0].content[1].caller", ""},
		{`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"tool_reference","tool_name":"x"}]}]}]}`, "", "messages[0].content[0].content[0]"},
		{`{"messages":[{"role":"user","content":[{"type":"search_result","content":[]}]}]}`, "", "messages[0].content[0]"},
		{`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"f"},"context":"c"}]}]}`, "", "messages[0].content[0].context"},
		{`{"messages":[],"system":[{"type":"x"}]}`, "", "system[0]"},
		{`{"messages":[],"tools":[{"type":"bash_20250124","name":"bash"}]}`, "", "tools[0]"},
		{`{"messages":[],"tools":[{"type":"custom","name":"f","description":"","input_schema":{},"defer_loading":true}]}`, "tools[0].description,tools[0].defer_loading", ""},
		{`{"messages":[],"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}}`, "context_management", ""},
		{`{"messages":[],"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}}`, "", "context_management"},
		{`{"messages":[],"inference_geo":"eu"}`, "", "inference_geo"},
		{`{"messages":[],"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"high"},"chat_template_kwargs":{"thinking":true}}`, "", ""},
		{`{"messages":[],"thinking":{"type":"adaptive","new":1}}`, "", "thinking"},
		{`{"messages":[],"chat_template_kwargs":{"thinking":true,"style":"x"}}`, "", "chat_template_kwargs"},
		{`{"messages":[],"output_config":{"effort":"high"}}`, "output_config", ""},
		{`{"messages":[],"output_config":{"effort":"low"}}`, "", "output_config"},
		{`{"messages":[],"reasoning_effort":"high","thinking":{"type":"disabled"}}`, "", "reasoning_effort"},
	} {
		q, err := messagesTurn.ReadTurn([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		left, err := q.For("another.api")
		var foreign *turn.ForeignError
		path := ""
		if errors.As(err, &foreign) {
			path = foreign.Path
		}
		if path != c.err || err == nil && strings.Join(left, ",") != c.left {
			t.Errorf("%s: left %q, error %v", c.body, left, err)
		}
	}
}

// TestTurnRefused: an error says where a request is not one of this API.
func TestTurnRefused(t *testing.T) {
	for body, want := range map[string]string{
		`[]`:                "object",
		`{}`:                "messages",
		`{"messages":[1]}`:  "messages[0] is not an object",
		`{"messages":[{}]}`: "messages[0].role",
		`{"messages":[{"role":"tool","content":"x"}]}`: "messages[0].role",
		`{"messages":[{"role":"user","content":1}]}`:   "messages[0].content",
	} {
		if _, err := messagesTurn.ReadTurn([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestTurnWritten: requests of other APIs are written as this one takes them.
func TestTurnWritten(t *testing.T) {
	text := func(role turn.Role, s string) turn.Message {
		return turn.Message{Role: role, Parts: []turn.Part{{Text: s}}}
	}
	call := func(id, name, arguments string) turn.Part {
		return turn.Part{Kind: turn.Call, ID: id, Name: name, Arguments: arguments}
	}
	result := func(id, name, s string) turn.Message {
		return turn.Message{Role: turn.ToolRole, Name: "function", Parts: []turn.Part{{Kind: turn.Result, ID: id, Name: name, Results: []turn.Part{{Text: s}}}}}
	}
	yes, no := true, false
	one := []turn.Message{text(turn.User, "a")}
	const head, oneBody = `{"max_tokens":8192,`, `"messages":[{"role":"user","content":"a"}]`
	for _, c := range []struct {
		name string
		q    turn.Request
		want string
	}{
		{"systems anywhere", turn.Request{Messages: []turn.Message{text(turn.System, "s"), text(turn.User, "a"), text(turn.Developer, "d")}},
			head + `"system":[{"type":"text","text":"s"},{"type":"text","text":"d"}],` + oneBody + `}`},
		{"results of several messages and the user's text", turn.Request{Messages: []turn.Message{
			{Role: turn.Assistant, Parts: []turn.Part{{Text: " "}, call("a.b:0", "f", ""), call("a_b_0", "g", "[1]"), call("", "h", `{"x": 1}`), call("", "h", "x")}},
			result("a_b_0", "", "1"), result("a.b:0", "", " "), result("", "", "2"), result("", "h", "3"), text(turn.User, "a"), text(turn.User, "b"),
		}}, head + `"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a_b_0_1","name":"f","input":{}},{"type":"tool_use","id":"a_b_0","name":"g","input":{"malformed":"[1]"}},` +
			`{"type":"tool_use","id":"call_1","name":"h","input":{"x": 1}},{"type":"tool_use","id":"call_2","name":"h","input":{"malformed":"x"}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a_b_0","content":"1"},{"type":"tool_result","tool_use_id":"a_b_0_1"},{"type":"tool_result","tool_use_id":"call_1","content":"2"},` +
			`{"type":"tool_result","tool_use_id":"call_2","content":"3"},{"type":"text","text":"a"}]},{"role":"user","content":"b"}]}`},
		{"results first", turn.Request{Messages: []turn.Message{{Role: turn.User, Parts: []turn.Part{{Text: "a"}, {Kind: turn.Result, ID: "1", Failed: true}}}}},
			head + `"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true},{"type":"text","text":"a"}]}]}`},
		{"items, thoughts and a refusal", turn.Request{Messages: append(one,
			turn.Message{Role: turn.Assistant, Item: true, Parts: []turn.Part{{Kind: turn.Thought, Text: "t", Sealed: "z", ID: "rs_1"}}},
			turn.Message{Role: turn.Assistant, Item: true, Parts: []turn.Part{{Kind: turn.Thought}, {Kind: turn.Refusal, Text: "No."}}},
			text(turn.Assistant, ""))},
			head + `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":""},{"type":"redacted_thinking","data":"z"},{"type":"text","text":"No."}]}]}`},
		{"media whose type its data says", turn.Request{Messages: []turn.Message{{Role: turn.User, Parts: []turn.Part{
			{Kind: turn.Image, Media: turn.Media{Data: "/9j/4AAQ", Detail: "low"}}, {Kind: turn.File, Media: turn.Media{Data: "JVBERi0x", Name: "a.pdf"}}, {Kind: turn.File, Media: turn.Media{Data: "YQ==", Type: "text/plain"}}}}}},
			head + `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"/9j/4AAQ"}},` +
				`{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0x"}},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a"}}]}]}`},
		{"no parallel calls", turn.Request{Messages: one, Tools: []turn.Tool{{Name: "f"}}, Parallel: &no},
			head + oneBody + `,"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`},
		{"no calls at all", turn.Request{Messages: one, Tools: []turn.Tool{{Name: "f", Schema: "{}"}}, Parallel: &no, Choice: turn.Choice{Mode: turn.None}},
			head + oneBody + `,"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"none"}}`},
		{"defaults", turn.Request{Messages: one, Parallel: &yes, Choice: turn.Choice{Mode: turn.None}, Choices: "1", Usage: &yes, Format: turn.Format{Mode: turn.PlainText}, Sampling: turn.Sampling{PresencePenalty: "0.0", FrequencyPenalty: "-0", MinP: "0"}},
			head + oneBody + `}`},
		{"thinking within the limit", turn.Request{Messages: one, MaxTokens: "3000", Thinking: turn.Thinking{Setting: switches.Setting{Mode: switches.On, Level: switches.High}}},
			`{"max_tokens":3000,` + oneBody + `,"thinking":{"type":"enabled","budget_tokens":1500}}`},
		{"effort and a schema", turn.Request{Messages: one, Format: turn.Format{Mode: turn.Schema, Name: "n", Strict: &yes, Schema: `{"type": "object"}`},
			Thinking: turn.Thinking{Setting: switches.Setting{Mode: switches.On, Level: switches.High}, Words: switches.Adaptive}},
			head + oneBody + `,"thinking":{"type":"adaptive"},"output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type": "object"}}}}`},
	} {
		got, err := messagesTurn.WriteTurn([]byte("x"), &c.q)
		if err != nil || string(got) != "x"+c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, "x"+c.want)
		}
	}
}

// TestTurnUnsupported: what the API has no place for is an error that names it.
func TestTurnUnsupported(t *testing.T) {
	part := func(p turn.Part) turn.Request {
		return turn.Request{Messages: []turn.Message{{Role: turn.User, Parts: []turn.Part{p}}}}
	}
	one := part(turn.Part{Text: "a"}).Messages
	for want, q := range map[string]turn.Request{
		"min_p":                          {Messages: one, Sampling: turn.Sampling{MinP: "0.1"}},
		"a presence penalty":             {Messages: one, Sampling: turn.Sampling{PresencePenalty: "1e-1"}},
		"a frequency penalty":            {Messages: one, Sampling: turn.Sampling{FrequencyPenalty: "-0.5"}},
		"a seed":                         {Messages: one, Sampling: turn.Sampling{Seed: "0"}},
		"several replies":                {Messages: one, Choices: "2"},
		"a reply in JSON without":        {Messages: one, Format: turn.Format{Mode: turn.JSON}},
		"a choice between several tools": {Messages: one, Choice: turn.Choice{Mode: turn.Auto, Names: []string{"f"}}},
		"a tool that takes a text":       {Messages: one, Tools: []turn.Tool{{Name: "f", Free: true}}},
		"the name of a message's author": {Messages: []turn.Message{{Role: turn.User, Name: "bob"}}},
		"a conversation that has no":     {Messages: []turn.Message{{Role: turn.System, Parts: []turn.Part{{Text: "s"}}}}},
		"a call whose argument":          part(turn.Part{Kind: turn.Call, Free: true}),
		"a sound":                        part(turn.Part{Kind: turn.Audio}),
		"a video":                        part(turn.Part{Kind: turn.Result, Results: []turn.Part{{Kind: turn.Video}}}),
		"a tool of another API":          {Messages: one, Tools: []turn.Tool{{}}},
		"a part of another API":          part(turn.Part{Kind: turn.Other}),
		"without data":                   part(turn.Part{Kind: turn.Image}),
		"whose type is not known":        part(turn.Part{Kind: turn.Image, Media: turn.Media{Data: "AAAA"}}),
		"a file of the type text/csv":    part(turn.Part{Kind: turn.File, Media: turn.Media{Data: "AAAA", Type: "text/csv"}}),
		"the URL of a file":              part(turn.Part{Kind: turn.File, Media: turn.Media{URL: "u", Type: "text/csv"}}),
		"not base64 of UTF-8":            part(turn.Part{Kind: turn.File, Media: turn.Media{Data: "/w==", Type: "text/plain"}}),
	} {
		_, err := messagesTurn.WriteTurn(nil, &q)
		var no *turn.UnsupportedError
		if !errors.As(err, &no) || !strings.Contains(no.What, want) || no.API != "anthropic.messages" {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestTurnBack: a request in no API's words is written and read back as it was.
func TestTurnBack(t *testing.T) {
	for seed := range uint64(300 * effort.Times()) {
		q := randomTurn(rand.New(rand.NewPCG(seed, 0)))
		body, err := messagesTurn.WriteTurn(nil, q)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := messagesTurn.ReadTurn(body)
		if err != nil {
			t.Fatalf("seed %d: %v in %s", seed, err, body)
		}
		if left, err := got.For("another.api"); left != nil || err != nil {
			t.Fatalf("seed %d: %q, %v in %s", seed, left, err, body)
		}
		if !reflect.DeepEqual(got, q) {
			t.Fatalf("seed %d:\n%s\nread as\n%+v\nwant\n%+v", seed, body, got, q)
		}
	}
}

// A maker makes random parts of requests.
type maker struct{ *rand.Rand }

func (r maker) coin() bool { return r.IntN(2) == 0 }

func (r maker) text() string {
	words := []string{"<think>", "a", "\u00e9\n", "\"\\", "\U0001F600", "</tool>", "\x00", "line\u2028"}
	s := ""
	for range 1 + r.IntN(4) {
		s += words[r.IntN(len(words))]
	}
	return s + "."
}

func (r maker) object() string { return fmt.Sprintf(`{"k%d": [%d.50, "<x>"]}`, r.IntN(9), r.IntN(9)) }

func (r maker) media() turn.Part {
	switch r.IntN(6) {
	case 0:
		return turn.Part{Kind: turn.Image, Media: turn.Media{Type: "image/webp", Data: "UklGRg=="}}
	case 1:
		return turn.Part{Kind: turn.Image, Media: turn.Media{URL: "https://example.com/" + r.text()}}
	case 2:
		return turn.Part{Kind: turn.Image, Media: turn.Media{ID: "file_1"}}
	case 3:
		return turn.Part{Kind: turn.File, Media: turn.Media{Type: "text/plain", Data: "w6k=", Name: r.text()}}
	case 4:
		return turn.Part{Kind: turn.File, Media: turn.Media{Type: "application/pdf", URL: "https://example.com/a.pdf"}}
	}
	return turn.Part{Kind: turn.File, Media: turn.Media{Type: "application/pdf", Data: "AAAA", Name: "n"}}
}

func (r maker) said() []turn.Part {
	list := []turn.Part{{Text: r.text()}}
	for range r.IntN(3) {
		if r.coin() {
			list = append(list, r.media())
		} else {
			list = append(list, turn.Part{Text: r.text()})
		}
	}
	return list
}

func (r maker) assistant(id *int) (m turn.Message, results []turn.Part) {
	m.Role = turn.Assistant
	for len(m.Parts) == 0 || r.coin() {
		switch r.IntN(4) {
		case 0:
			m.Parts = append(m.Parts, turn.Part{Text: r.text()})
		case 1:
			m.Parts = append(m.Parts, turn.Part{Kind: turn.Thought, Name: "thinking", Text: r.text(), Signature: []string{"", "sig=="}[r.IntN(2)]})
		case 2:
			m.Parts = append(m.Parts, turn.Part{Kind: turn.Thought, Name: "redacted_thinking", Sealed: "AbC"})
		case 3:
			*id++
			call := turn.Part{Kind: turn.Call, ID: fmt.Sprintf("toolu_%d", *id), Name: "f", Arguments: r.object()}
			m.Parts = append(m.Parts, call)
			result := turn.Part{Kind: turn.Result, ID: call.ID, Failed: r.coin()}
			if r.coin() {
				result.Results = r.said()
			}
			results = append(results, result)
		}
	}
	return m, results
}

func randomTurn(rnd *rand.Rand) *turn.Request {
	r, id := maker{rnd}, 0
	q := &turn.Request{Model: "m", Stream: r.coin(), MaxTokens: "32000"}
	if r.coin() {
		q.Messages = append(q.Messages, turn.Message{Role: turn.System, Apart: true, Parts: []turn.Part{{Text: r.text()}}})
	}
	for range 1 + r.IntN(3) {
		m, results := r.assistant(&id)
		q.Messages = append(q.Messages, turn.Message{Role: turn.User, Parts: r.said()}, m)
		if results != nil {
			q.Messages = append(q.Messages, turn.Message{Role: turn.User, Parts: append(results, r.said()...)})
		}
	}
	if r.coin() {
		q.Sampling = turn.Sampling{Temperature: "0.50", TopP: "1e-1", TopK: "7"}
		q.Stop = []string{r.text(), "\n"}
		q.Format = turn.Format{Mode: turn.Schema, Schema: r.object()}
	}
	if r.coin() {
		is := r.coin()
		q.Tools = []turn.Tool{{Name: "f", Description: r.text(), Schema: r.object(), Strict: &is}, {Name: "g", Schema: "{}"}}
		q.Choice = []turn.Choice{{}, {Mode: turn.Auto}, {Mode: turn.None}, {Mode: turn.Required}, {Mode: turn.Required, Names: []string{"g"}}}[r.IntN(5)]
		if q.Choice.Mode == turn.Auto || q.Choice.Mode == turn.Required {
			q.Parallel = []*bool{nil, &is}[r.IntN(2)]
		}
	}
	q.Thinking.Setting = []switches.Setting{{}, {Mode: switches.Off}, {Mode: switches.On, Budget: 2000 + r.IntN(9)}}[r.IntN(3)]
	return q
}
