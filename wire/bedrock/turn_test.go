package bedrock_test

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
	"github.com/sotto-llm/sotto/wire/bedrock"
	"github.com/sotto-llm/sotto/wire/internal/turntest"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

var converseTurn = bedrock.Converse

// TestTurnSame: a request that is read and written is the same one, whatever is in it.
func TestTurnSame(t *testing.T) {
	corpus, err := os.ReadFile("testdata/requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(corpus) {
		turntest.Same(t, converseTurn, string(line), normalTurn)
	}
}

// normalTurn removes the status of results that did not fail: it is the default.
func normalTurn(v any) any {
	root, _ := v.(map[string]any)
	messages, _ := root["messages"].([]any)
	for _, m := range messages {
		m, _ := m.(map[string]any)
		list, _ := m["content"].([]any)
		for _, b := range list {
			b, _ := b.(map[string]any)
			result, _ := b["toolResult"].(map[string]any)
			_, has := result["toolUseId"].(string)
			if _, list := result["content"].([]any); has && list && len(b) == 1 && result["status"] == "success" {
				delete(result, "status")
			}
		}
	}
	return v
}

// TestTurnBytes: texts, arguments and schemas keep their bytes, also half a surrogate pair.
func TestTurnBytes(t *testing.T) {
	const body = `{"messages":[{"role":"user","content":[{"text":"\ud83d <b>&\u0001"},{"document":{"name":"n","source":{"text":"\ud83d"}}}]},` +
		`{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"f","input":{"b": "\u00e9",  "a":1.0}}}]}],"inferenceConfig":{"temperature":1.0e0},` +
		`"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"b": {},"a":{}}}}}]}}`
	q, err := converseTurn.ReadTurn([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := converseTurn.WriteTurn(nil, q); err != nil || string(got) != body {
		t.Errorf("%v\n%s\nwant\n%s", err, got, body)
	}
}

// TestTurnForeign: what only this API has stops a request for another one, and what the answer
// does not depend on is named.
func TestTurnForeign(t *testing.T) {
	for _, c := range []struct{ body, left, err string }{
		{`{"messages":[],"requestMetadata":{"a":"b"},"additionalModelResponseFieldPaths":["/x"],"toolConfig":{"tools":[],"toolChoice":{"auto":{}}}}`,
			"requestMetadata,additionalModelResponseFieldPaths,toolConfig", ""},
		{`{"messages":[],"toolConfig":{"tools":[],"new":1,"zz":[],"toolChoice":{"auto":{}}},"performanceConfig":{"latency":"optimized"},"serviceTier":{"type":"flex"}}`, "", "toolConfig"},
		{`{"messages":[],"performanceConfig":{"latency":"optimized"},"serviceTier":{"type":"flex"}}`, "performanceConfig,serviceTier", ""},
		{`{"messages":[{"role":"user","content":[{"document":{"name":"n","context":"c","source":{"text":"a"}}}]}]}`, "", "messages[0].content[0].document.context"},
		{`{"system":[{"text":"a"},{"cachePoint":{"type":"default"}}],"messages":[{"role":"user","content":[{"text":"a"},{"cachePoint":{"type":"default"}}]}],"toolConfig":{"tools":[{"cachePoint":{"type":"default"}}]}}`,
			"toolConfig.tools[0],system[1],messages[0].content[1]", ""},
		{`{"messages":[{"role":"assistant","content":[{"citationsContent":{"content":[{"text":"a"}],"citations":[{"title":"t"}]}}]}]}`, "messages[0].content[0].citationsContent.citations", ""},
		{`{"messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[{"json":{}}],"status":"success"}},{"document":{"name":"n","source":{"text":"a"}}}]}]}`, "", ""},
		{`{"messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[{"searchResult":{}}]}}]}]}`, "", "messages[0].content[0].toolResult.content[0]"},
		{`{"messages":[{"role":"user","content":[{"guardContent":{}}]}]}`, "", "messages[0].content[0]"},
		{`{"messages":[{"role":"user","content":[{"document":{"format":"pdf","name":"n","source":{"bytes":"AAAA"},"context":"c"}}]}]}`, "", "messages[0].content[0].document.context"},
		{`{"messages":[],"toolConfig":{"tools":[{"systemTool":{"name":"s"}}]}}`, "", "toolConfig.tools[0]"},
		{`{"messages":[],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}},"new":1}}]}}`, "", "toolConfig.tools[0].toolSpec.new"},
		{`{"messages":[],"guardrailConfig":{"guardrailIdentifier":"g"}}`, "", "guardrailConfig"},
		{`{"messages":[],"additionalModelRequestFields":{"top_k":5}}`, "", ""},
		{`{"messages":[],"additionalModelRequestFields":{"top_a":5}}`, "", "additionalModelRequestFields"},
		{`{"messages":[],"inferenceConfig":{"maxTokens":5,"topK":5}}`, "", "inferenceConfig"},
		{`{"messages":[],"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{not JSON"}}}}}`, "", "outputConfig"},
	} {
		q, err := converseTurn.ReadTurn([]byte(c.body))
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

// TestTurnTexts: other APIs get as texts what only this one tells apart.
func TestTurnTexts(t *testing.T) {
	q, err := converseTurn.ReadTurn([]byte(`{"messages":[{"role":"user","content":[{"citationsContent":{"content":[{"text":"a "},{"text":"b"}]}},` +
		`{"document":{"name":"n","source":{"text":"\u00e9"}}},{"toolResult":{"toolUseId":"1","content":[{"json":{"x": 1}}]}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.For("another.api"); err != nil {
		t.Fatal(err)
	}
	want := []turn.Part{
		{Text: "a b"},
		{Kind: turn.File, Media: turn.Media{Type: "text/plain", Data: "w6k=", Name: "n"}},
		{Kind: turn.Result, ID: "1", Results: []turn.Part{{Text: `{"x": 1}`}}},
	}
	if got := q.Messages[0].Parts; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
}

// TestTurnRefused: an error says where a request is not one of this API.
func TestTurnRefused(t *testing.T) {
	for body, want := range map[string]string{
		`[]`:                "object",
		`{}`:                "messages",
		`{"messages":[1]}`:  "messages[0] is not an object",
		`{"messages":[{}]}`: "messages[0].role",
		`{"messages":[{"role":"tool","content":[]}]}`:  "messages[0].role",
		`{"messages":[{"role":"user","content":"x"}]}`: "messages[0].content",
	} {
		if _, err := converseTurn.ReadTurn([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestTurnWritten: requests of other APIs are written as this one takes them.
func TestTurnWritten(t *testing.T) {
	text := func(role turn.Role, s string) turn.Message {
		return turn.Message{Role: role, Parts: []turn.Part{{Text: s}}}
	}
	long := strings.Repeat("x", 70)
	yes := true
	one := []turn.Message{text(turn.User, "a")}
	const oneBody = `{"messages":[{"role":"user","content":[{"text":"a"}]}]`
	for _, c := range []struct {
		name string
		q    turn.Request
		want string
	}{
		{"systems anywhere, and roles that alternate", turn.Request{Model: "m", Stream: true, Messages: []turn.Message{
			text(turn.System, "s"), text(turn.User, "a"), text(turn.Developer, "d"), text(turn.User, "b"), text(turn.Assistant, "c"), text(turn.Assistant, "d"), text(turn.Assistant, " "),
		}}, `{"system":[{"text":"s"},{"text":"d"}],"messages":[{"role":"user","content":[{"text":"a"},{"text":"b"}]},{"role":"assistant","content":[{"text":"c"},{"text":"d"}]}]}`},
		{"results of several messages", turn.Request{Messages: []turn.Message{
			{Role: turn.Assistant, Item: true, Parts: []turn.Part{{Kind: turn.Thought, Text: "t", Sealed: "z"}}},
			{Role: turn.Assistant, Item: true, Parts: []turn.Part{{Kind: turn.Thought}, {Kind: turn.Call, ID: long + "1", Name: "f"}, {Kind: turn.Call, ID: long + "2", Name: "g", Arguments: "x"}}},
			text(turn.User, "a"),
			{Role: turn.ToolRole, Parts: []turn.Part{{Kind: turn.Result, ID: long + "2", Failed: true}}},
			{Role: turn.ToolRole, Parts: []turn.Part{{Kind: turn.Result, ID: long + "1", Results: []turn.Part{{Text: "1"}}}}},
		}}, `{"messages":[{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"t"}}},{"reasoningContent":{"redactedContent":"z"}},` +
			`{"toolUse":{"toolUseId":"` + long[:64] + `","name":"f","input":{}}},{"toolUse":{"toolUseId":"` + long[:62] + `_1","name":"g","input":{"malformed":"x"}}}]},` +
			`{"role":"user","content":[{"toolResult":{"toolUseId":"` + long[:62] + `_1","content":[],"status":"error"}},{"toolResult":{"toolUseId":"` + long[:64] + `","content":[{"text":"1"}]}},{"text":"a"}]}]}`},
		{"media", turn.Request{Messages: []turn.Message{{Role: turn.User, Parts: []turn.Part{
			{Kind: turn.Image, Media: turn.Media{Data: "/9j/4AAQ"}}, {Kind: turn.Image, Media: turn.Media{Type: "image/jpg", URL: "s3://b/a"}},
			{Kind: turn.File, Media: turn.Media{Data: "JVBERi0x", Name: "a  b.pdf"}}, {Kind: turn.File, Media: turn.Media{Data: "YQ==", Type: "text/markdown", Name: "a b-pdf"}},
			{Kind: turn.File, Media: turn.Media{Data: "YQ==", Type: "text/csv"}}, {Kind: turn.File, Media: turn.Media{Data: "YQ==", Type: "text/html", Name: strings.Repeat("x", 300)}}, {Kind: turn.Audio, Media: turn.Media{Data: "YQ==", Type: "audio/x-wav"}}}}}},
			`{"messages":[{"role":"user","content":[{"image":{"format":"jpeg","source":{"bytes":"/9j/4AAQ"}}},{"image":{"format":"jpeg","source":{"s3Location":{"uri":"s3://b/a"}}}},` +
				`{"document":{"format":"pdf","name":"a b-pdf","source":{"bytes":"JVBERi0x"}}},{"document":{"format":"md","name":"a b-pdf-2","source":{"bytes":"YQ=="}}},` +
				`{"document":{"format":"csv","name":"document","source":{"bytes":"YQ=="}}},{"document":{"format":"html","name":"` + strings.Repeat("x", 180) + `","source":{"bytes":"YQ=="}}},{"audio":{"format":"wav","source":{"bytes":"YQ=="}}}]}]}`},
		{"defaults", turn.Request{Messages: one, Parallel: &yes, Choice: turn.Choice{Mode: turn.None}, Choices: "1", Usage: &yes, Format: turn.Format{Mode: turn.PlainText}}, oneBody + `}`},
		{"a choice without tools", turn.Request{Messages: one, Choice: turn.Choice{Mode: turn.Auto}}, oneBody + `}`},
		{"a schema and a tool", turn.Request{Messages: one, MaxTokens: "5", Format: turn.Format{Mode: turn.Schema, Name: "n", Description: "d", Strict: &yes, Schema: `{"type": "object"}`}, Tools: []turn.Tool{{Name: "f"}}},
			oneBody + `,"inferenceConfig":{"maxTokens":5},"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{}}}}}]},` +
				`"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{\"type\": \"object\"}","name":"n","description":"d"}}}}}`},
	} {
		got, err := converseTurn.WriteTurn([]byte("x"), &c.q)
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
	one, no := part(turn.Part{Text: "a"}).Messages, false
	called := append(one[:1:1], turn.Message{Role: turn.Assistant, Parts: []turn.Part{{Kind: turn.Call, ID: "1", Name: "f"}}})
	tools := []turn.Tool{{Name: "f"}}
	for want, q := range map[string]turn.Request{
		"top_k":                          {Messages: one, Sampling: turn.Sampling{TopK: "5"}},
		"a seed":                         {Messages: one, Sampling: turn.Sampling{Seed: "1"}},
		"a switch of thinking":           {Messages: one, Thinking: turn.Thinking{Setting: switches.Setting{Mode: switches.Off}}},
		"tools that must not be called":  {Messages: called, Tools: tools, Choice: turn.Choice{Mode: turn.None}},
		"a limit of one call at a time":  {Messages: one, Tools: tools, Parallel: &no},
		"a reply in JSON without":        {Messages: one, Format: turn.Format{Mode: turn.JSON}},
		"a conversation that has no":     {},
		"a call whose argument":          part(turn.Part{Kind: turn.Call, Free: true}),
		"a sound in a tool's result":     part(turn.Part{Kind: turn.Result, Results: []turn.Part{{Kind: turn.Audio, Media: turn.Media{Type: "audio/wav", Data: "AAAA"}}}}),
		"a tool of another API":          {Messages: one, Tools: []turn.Tool{{}}},
		"a part of another API":          part(turn.Part{Kind: turn.Other}),
		"without data":                   part(turn.Part{Kind: turn.Image}),
		"whose type is not known":        part(turn.Part{Kind: turn.Image, Media: turn.Media{Data: "AAAA"}}),
		"a document of the type x/y":     part(turn.Part{Kind: turn.File, Media: turn.Media{Data: "AAAA", Type: "x/y"}}),
		"a URL that is not of S3":        part(turn.Part{Kind: turn.Image, Media: turn.Media{URL: "https://example.com/a.png", Type: "image/png"}}),
		"a file that another provider":   part(turn.Part{Kind: turn.File, Media: turn.Media{ID: "file_1"}}),
		"the name of a message's author": {Messages: []turn.Message{{Role: turn.User, Name: "bob"}}},
	} {
		_, err := converseTurn.WriteTurn(nil, &q)
		var un *turn.UnsupportedError
		if !errors.As(err, &un) || !strings.Contains(un.What, want) || un.API != "bedrock.converse" {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestTurnBack: a request in no API's words is written and read back as it was.
func TestTurnBack(t *testing.T) {
	for seed := range uint64(300 * effort.Times()) {
		q := randomTurn(rand.New(rand.NewPCG(seed, 0)))
		body, err := converseTurn.WriteTurn(nil, q)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := converseTurn.ReadTurn(body)
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
type maker struct {
	*rand.Rand
	documents, calls int
}

func (r *maker) coin() bool { return r.IntN(2) == 0 }

func (r *maker) text() string {
	words := []string{"<think>", "a", "\u00e9\n", "\"\\", "\U0001F600", "</tool>", "\x00", "line\u2028"}
	s := ""
	for range 1 + r.IntN(4) {
		s += words[r.IntN(len(words))]
	}
	return s + "."
}

func (r *maker) object() string {
	return fmt.Sprintf(`{"k%d": [%d.50, "<x>"]}`, r.IntN(9), r.IntN(9))
}

func (r *maker) media(outer bool) turn.Part {
	p := turn.Part{Kind: []turn.Kind{turn.Image, turn.Video, turn.File, turn.Audio}[r.IntN(4)]}
	if p.Kind == turn.Audio && !outer {
		p.Kind = turn.Image
	}
	p.Media.Type = map[turn.Kind][]string{
		turn.Image: {"image/png", "image/jpeg"}, turn.Video: {"video/mp4", "video/quicktime"}, turn.Audio: {"audio/mp3", "audio/wav"},
		turn.File: {"application/pdf", "text/plain"},
	}[p.Kind][r.IntN(2)]
	if p.Kind == turn.File {
		r.documents++
		p.Media.Name = fmt.Sprintf("Report (%d)", r.documents)
	}
	if r.coin() {
		p.Media.Data = "w6k="
	} else {
		p.Media.URL = "s3://b/" + r.text()
	}
	return p
}

func (r *maker) said(outer bool) []turn.Part {
	list := []turn.Part{{Text: r.text()}}
	for range r.IntN(3) {
		if r.coin() {
			list = append(list, r.media(outer))
		} else {
			list = append(list, turn.Part{Text: r.text()})
		}
	}
	return list
}

func (r *maker) assistant() (m turn.Message, results []turn.Part) {
	m.Role = turn.Assistant
	for len(m.Parts) == 0 || r.coin() {
		switch r.IntN(4) {
		case 0:
			m.Parts = append(m.Parts, turn.Part{Text: r.text()})
		case 1:
			m.Parts = append(m.Parts, turn.Part{Kind: turn.Thought, Name: "reasoningContent", Text: r.text(), Signature: []string{"", "sig=="}[r.IntN(2)]})
		case 2:
			m.Parts = append(m.Parts, turn.Part{Kind: turn.Thought, Name: "reasoningContent", Sealed: "AbC"})
		case 3:
			r.calls++
			call := turn.Part{Kind: turn.Call, ID: fmt.Sprintf("tooluse_%d", r.calls), Name: "f", Arguments: r.object()}
			m.Parts = append(m.Parts, call)
			result := turn.Part{Kind: turn.Result, ID: call.ID, Failed: r.coin()}
			if r.coin() {
				result.Results = r.said(false)
			}
			results = append(results, result)
		}
	}
	return m, results
}

func randomTurn(rnd *rand.Rand) *turn.Request {
	r := &maker{Rand: rnd}
	q := &turn.Request{}
	if r.coin() {
		q.Messages = append(q.Messages, turn.Message{Role: turn.System, Apart: true, Parts: []turn.Part{{Text: r.text()}, {Text: r.text()}}})
	}
	first := turn.Message{Role: turn.User, Parts: r.said(true)}
	for range 1 + r.IntN(3) {
		m, results := r.assistant()
		q.Messages = append(q.Messages, first, m)
		first = turn.Message{Role: turn.User, Parts: append(results, r.said(true)...)}
	}
	if r.coin() {
		q.MaxTokens, q.Sampling = "32000", turn.Sampling{Temperature: "0.50", TopP: "1e-1"}
		q.Stop = []string{r.text(), "\n"}
		q.Format = turn.Format{Mode: turn.Schema, Name: "n", Description: r.text(), Schema: r.object()}
	}
	if r.coin() {
		is := r.coin()
		q.Tools = []turn.Tool{{Name: "f", Description: r.text(), Schema: r.object(), Strict: &is}, {Name: "g", Schema: "{}"}}
		q.Choice = []turn.Choice{{}, {Mode: turn.Auto}, {Mode: turn.Required}, {Mode: turn.Required, Names: []string{"g"}}}[r.IntN(4)]
	}
	return q
}
