package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// TestTurnWritten: what was written from a request of no API is read as that request.
func TestTurnWritten(t *testing.T) {
	for round := range 300 * effort.Times() {
		want := (&maker{rand.New(rand.NewPCG(uint64(round), 0))}).request()
		body, err := turns.WriteTurn(nil, want)
		if err != nil {
			t.Fatalf("round %d: %v of %+v", round, err, want)
		}
		if !json.Valid(body) {
			t.Fatalf("round %d: not JSON: %s", round, body)
		}
		got, err := turns.ReadTurn(body)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if left, err := got.For("another"); left != nil || err != nil {
			t.Fatalf("round %d: left %q, %v", round, left, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d:\n%s\nread as %s\nwant    %s", round, body, show(got), show(want))
		}
	}
}

func show(q *turn.Request) string {
	b, _ := json.Marshal(q)
	return string(b)
}

// A maker makes requests of everything that the API has a place for.
type maker struct{ *rand.Rand }

func (r *maker) chance() bool { return r.IntN(2) == 0 }

func (r *maker) text() string {
	list := []string{"a", "Hello \"you\"", "<think>é</think>\n", "", `{"a":1}`, `{"output":"x"}`, `{"output":"{\"a\":1}"}`, `{"error":"x"}`, "{}", " {}", `["a"]`, `{"output":["a","b"]}`, "\\ud83d"}
	return list[r.IntN(len(list))]
}

func (r *maker) filled() string { return r.text() + "." }

func (r *maker) number() json.Number {
	return json.Number([]string{"", "1", "0.70", "1e-1", "0"}[r.IntN(5)])
}

func (r *maker) schema() string {
	return []string{`{"type":"object"}`, `{"type":"object","properties":{"a":{"type":["string","null"]}},"additionalProperties":false}`}[r.IntN(2)]
}

func (r *maker) media() turn.Part {
	p := turn.Part{Kind: turn.Kind(2 + r.IntN(4))}
	p.Media.Type = map[turn.Kind]string{turn.Image: "image/png", turn.Audio: "audio/wav", turn.Video: "video/mp4", turn.File: "application/pdf"}[p.Kind]
	if r.chance() {
		p.Media.Data = "eA=="
	} else {
		p.Media.URL = "https://example.com/" + r.text()
	}
	if r.chance() {
		p.Media.Name = r.filled()
	}
	p.Media.Detail = []string{"", "low", "high"}[r.IntN(3)]
	return p
}

func (r *maker) list(least int, of func() turn.Part) (parts []turn.Part) {
	for range least + r.IntN(3) {
		parts = append(parts, of())
	}
	return parts
}

// messages makes a conversation of a user, a model and its tools.
func (r *maker) messages() (list []turn.Message) {
	textPart := func() turn.Part { return turn.Part{Text: r.filled()} }
	if r.chance() {
		list = append(list, turn.Message{Role: turn.System, Apart: true, Parts: r.list(1, textPart)})
	}
	for i := range 1 + r.IntN(3) {
		list = append(list, turn.Message{Role: turn.User, Parts: r.list(1, func() turn.Part {
			if r.chance() {
				return r.media()
			}
			return textPart()
		})})
		var calls []turn.Part
		spoken := r.list(1, func() (p turn.Part) {
			switch r.IntN(4) {
			case 0:
				p = turn.Part{Kind: turn.Thought, Name: "thought", Text: r.text()}
			case 1:
				p = turn.Part{Kind: turn.Call, ID: fmt.Sprintf("c%d.%d", i, len(calls)), Name: r.filled(), Arguments: []string{"", "{}", `{"a":[1.50,"x"]}`}[r.IntN(3)]}
				calls = append(calls, p)
			case 2:
				p = r.media()
			default:
				p.Text = r.filled()
			}
			if r.chance() {
				p.Signature = r.filled()
			}
			return p
		})
		list = append(list, turn.Message{Role: turn.Assistant, Parts: spoken})
		if len(calls) > 0 {
			list = append(list, r.results(calls))
		}
	}
	return list
}

func (r *maker) results(calls []turn.Part) turn.Message {
	m := turn.Message{Role: turn.ToolRole}
	for _, c := range calls {
		p := turn.Part{Kind: turn.Result, ID: c.ID, Name: c.Name, Failed: r.chance()}
		for range r.IntN(3) + len(m.Parts)%2 {
			p.Results = append(p.Results, turn.Part{Text: r.text()})
		}
		if p.Failed && p.Results == nil {
			p.Failed = false // without a word about it, it cannot be told
		}
		p.Results = append(p.Results, r.list(0, func() turn.Part {
			media := r.media()
			media.Media.Detail = "" // the API has it only in other parts
			return media
		})...)
		m.Parts = append(m.Parts, p)
	}
	if r.chance() {
		m.Role = turn.User
		m.Parts = append(m.Parts, turn.Part{Text: r.filled()})
	}
	return m
}

func (r *maker) request() *turn.Request {
	q := &turn.Request{Messages: r.messages(), MaxTokens: r.number(), Choices: r.number()}
	q.Sampling = turn.Sampling{
		Temperature: r.number(), TopP: r.number(), TopK: r.number(), Seed: r.number(),
		PresencePenalty: r.number(), FrequencyPenalty: r.number(),
	}
	for range r.IntN(3) {
		q.Stop = append(q.Stop, r.text())
	}
	for range r.IntN(3) {
		tool := turn.Tool{Name: r.filled()}
		if r.chance() {
			tool.Description, tool.Schema = r.filled(), r.schema()
		}
		q.Tools = append(q.Tools, tool)
	}
	q.Choice.Mode = []string{"", turn.Auto, turn.None, turn.Required}[r.IntN(4)]
	if (q.Choice.Mode == turn.Auto || q.Choice.Mode == turn.Required) && r.chance() {
		q.Choice.Names = []string{r.text(), "g"}
	}
	if q.Format.Mode = []string{"", turn.PlainText, turn.JSON, turn.Schema}[r.IntN(4)]; q.Format.Mode == turn.Schema {
		q.Format.Schema = r.schema()
	}
	q.Thinking.Setting = []switches.Setting{{}, {Mode: switches.Off}, {Mode: switches.Auto}, {Mode: switches.On, Budget: 1024}}[r.IntN(4)]
	return q
}

// A form is a request as other APIs' readers read it, and its body here or why there is none.
type form struct {
	q    *turn.Request
	want string
}

func checkForms(t *testing.T, forms map[string]form) {
	t.Helper()
	for what, test := range forms {
		got, err := turns.WriteTurn(nil, test.q)
		var no *turn.UnsupportedError
		if errors.As(err, &no) && no.API == "gemini.generate" {
			got, err = []byte(no.What), nil
		}
		if err != nil || string(got) != strings.NewReplacer("\n", "", "\t", "").Replace(test.want) {
			t.Errorf("%s: %v, %s\nwant %s", what, err, got, test.want)
		}
	}
}

func user(parts ...turn.Part) turn.Message { return turn.Message{Role: turn.User, Parts: parts} }

func said(role turn.Role, text string) turn.Message {
	return turn.Message{Role: role, Parts: []turn.Part{{Text: text}}}
}

func calls(parts ...turn.Part) turn.Message {
	return turn.Message{Role: turn.Assistant, Item: true, Parts: parts}
}

func result(id, text string) turn.Message {
	return turn.Message{Role: turn.ToolRole, Parts: []turn.Part{{Kind: turn.Result, ID: id, Results: []turn.Part{{Text: text}}}}}
}

func picture(m turn.Media) turn.Message { return user(turn.Part{Kind: turn.Image, Media: m}) }

func of(list ...turn.Message) *turn.Request { return &turn.Request{Messages: list} }

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// TestTurnForms has requests that the API writes in other words.
func TestTurnForms(t *testing.T) {
	shown := result("1", "x")
	shown.Parts[0].Results = append(shown.Parts[0].Results, turn.Part{Kind: turn.Image, Media: turn.Media{Type: "image/png", Data: "eA==", Detail: "low"}})
	checkForms(t, map[string]form{
		"system messages": {of(said(turn.System, "a"), said(turn.Developer, "b"), said(turn.User, "c")), `{"systemInstruction":{"parts":[{"text":"a"},{"text":"b"}]},"contents":[{"role":"user","parts":[{"text":"c"}]}]}`},
		"one of nothing":  {of(turn.Message{Role: turn.System}, said(turn.User, "c")), `{"contents":[{"role":"user","parts":[{"text":"c"}]}]}`},
		"a late one":      {of(said(turn.User, "c"), said(turn.System, "a")), `{"systemInstruction":{"parts":[{"text":"a"}]},"contents":[{"role":"user","parts":[{"text":"c"}]}]}`},
		"an empty text":   {of(calls(turn.Part{}, turn.Part{Kind: turn.Call, Name: "f"}, turn.Part{}), said(turn.User, ""), user(turn.Part{}, turn.Part{}), calls(turn.Part{}, turn.Part{Signature: "s"})), `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"text":""}]},{"role":"user","parts":[{"text":""}]},{"role":"model","parts":[{"text":"","thoughtSignature":"s"}]}]}`},
		"a tool's name":   {of(calls(turn.Part{Kind: turn.Call, ID: "1", Name: "f"}), turn.Message{Role: turn.ToolRole, Name: "f", Parts: result("1", "x").Parts}), `{"contents":[{"role":"model","parts":[{"functionCall":{"id":"1","name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f","response":{"output":"x"}}}]}]}`},
		"items and results": {
			of(calls(turn.Part{Kind: turn.Call, ID: "1", Name: "f", Arguments: "{\"a\": 1 }\n"}), calls(turn.Part{Kind: turn.Call, ID: "2", Name: "g", Arguments: "{\"a"}), result("2", "x"), result("1", `{"b":2}`), said(turn.User, "so")),
			`{"contents":[{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{"a": 1 }}},{"functionCall":{"id":"2","name":"g","args":{"malformed":"{\"a"}}}]},
				{"role":"user","parts":[{"functionResponse":{"id":"2","name":"g","response":{"output":"x"}}},{"functionResponse":{"id":"1","name":"f","response":{"b":2}}}]},{"role":"user","parts":[{"text":"so"}]}]}`,
		},
		"a refusal":          {of(turn.Message{Role: turn.Assistant, Parts: []turn.Part{{Kind: turn.Refusal, Text: "no"}}}), `{"contents":[{"role":"model","parts":[{"text":"no"}]}]}`},
		"a picture's type":   {of(picture(turn.Media{Data: png})), `{"contents":[{"role":"user","parts":[{"inlineData":{"data":"` + png + `","mimeType":"image/png"}}]}]}`},
		"… of its address":   {of(picture(turn.Media{URL: "https://a/b.JPG?c=.png", Detail: "auto"})), `{"contents":[{"role":"user","parts":[{"fileData":{"fileUri":"https://a/b.JPG?c=.png","mimeType":"image/jpeg"}}]}]}`},
		"… not known":        {of(picture(turn.Media{URL: "https://a/b"})), `{"contents":[{"role":"user","parts":[{"fileData":{"fileUri":"https://a/b"}}]}]}`},
		"a tool's picture":   {of(calls(turn.Part{Kind: turn.Call, ID: "1", Name: "f"}), shown), `{"contents":[{"role":"model","parts":[{"functionCall":{"id":"1","name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f","response":{"output":"x"},"parts":[{"inlineData":{"data":"eA==","mimeType":"image/png"}}]}}]}]}`},
		"min_p of nothing":   {&turn.Request{Sampling: turn.Sampling{MinP: "0.0"}}, `{}`},
		"a described schema": {&turn.Request{Format: turn.Format{Mode: turn.Schema, Name: "n", Description: "d", Schema: `{"type":"object"}`}}, `{"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"description":"d","type":"object"}}}`},
		"thinking":           {&turn.Request{Thinking: turn.Thinking{Setting: switches.Setting{Mode: switches.On}}}, `{"generationConfig":{"thinkingConfig":{"thinkingBudget":-1,"includeThoughts":true}}}`},
		"none":               {&turn.Request{Thinking: turn.Thinking{Setting: switches.Setting{Mode: switches.Off}}}, `{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`},
		"a level":            {&turn.Request{Thinking: turn.Thinking{Words: switches.ThinkingLevel, Setting: switches.Setting{Mode: switches.On, Level: switches.Max}}}, `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"high","includeThoughts":true}}}`},
	})
}

// TestTurnUnsupported has requests that the API has no place for.
func TestTurnUnsupported(t *testing.T) {
	no := false
	checkForms(t, map[string]form{
		"a result of no call": {of(result("1", "x")), "the result of a call that is not in the conversation"},
		"sealed":              {of(calls(turn.Part{Kind: turn.Thought, Sealed: "x"})), "encrypted reasoning"},
		"a file's ID":         {of(picture(turn.Media{ID: "f"})), "a file by an ID of its provider"},
		"a name":              {of(turn.Message{Role: turn.User, Name: "n"}), "the name of who wrote a message"},
		"a tool of texts":     {&turn.Request{Tools: []turn.Tool{{Name: "f", Free: true}}}, "a tool whose input is a text"},
		"a call of it":        {of(calls(turn.Part{Kind: turn.Call, Name: "f", Free: true})), "a call whose input is a text"},
		"a tool of another":   {&turn.Request{Tools: []turn.Tool{{}}}, "a tool of another API"},
		"a part of another":   {of(user(turn.Part{Kind: turn.Other})), "a part of another API"},
		"a result's thought":  {of(calls(turn.Part{Kind: turn.Call, ID: "1", Name: "f"}), turn.Message{Role: turn.ToolRole, Parts: []turn.Part{{Kind: turn.Result, ID: "1", Results: []turn.Part{{Kind: turn.Thought}}}}}), "a tool's result that is not a text or a file"},
		"one call":            {&turn.Request{Parallel: &no, Tools: []turn.Tool{{Name: "f"}}}, "a limit of one call at a time"},
		"min_p":               {&turn.Request{Sampling: turn.Sampling{MinP: "0.1"}}, "min_p"},
	})
}

// TestTurnExtra has members that only this API has, and what another makes of them.
func TestTurnExtra(t *testing.T) {
	for member, want := range map[string]string{
		`"labels":{"a":"b"},"store":true,"model":"m","tools":[],"generationConfig":{"topK":null}`: "left [labels store]",
		`"generationConfig":{"thinkingConfig":{"includeThoughts":true}}`:                          "left [generationConfig.thinkingConfig]",
		`"generationConfig":{"thinkingConfig":{"thinkingBudget":5,"includeThoughts":true}}`:       "left []",
		`"generationConfig":{"speechConfig":{}}`:                                                  "generationConfig.speechConfig",
		`"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOUD"}}`:                          "generationConfig.thinkingConfig",
		`"generationConfig":{"thinkingConfig":{"thinkingBudget":5}},"reasoning_effort":"none"`:    "reasoning_effort",
		`"generationConfig":{"thinkingConfig":{"thinkingBudget":5,"x":1}}`:                        "generationConfig.thinkingConfig",
		`"contents":[{"parts":[{"inlineData":{"data":"eA=="},"thought":true}]}]`:                  "contents[0].parts[0]",
		`"cachedContent":"c"`:                                          "cachedContent",
		`"safetySettings":[{}]`:                                        "left [safetySettings]",
		`"toolConfig":{"retrievalConfig":{}}`:                          "toolConfig",
		`"toolConfig":{"functionCallingConfig":{"mode":"x"}}`:          "toolConfig.functionCallingConfig.mode",
		`"tools":[{"googleSearch":{}}]`:                                "tools[0]",
		`"tools":[{"functionDeclarations":[{"name":"f","x":1}]}]`:      "tools[0].functionDeclarations[0].x",
		`"contents":[{},{"parts":[{},{"executableCode":{}}]}]`:         "contents[1].parts[0]",
		`"contents":[{"parts":[{"text":"","videoMetadata":{}}]}]`:      "contents[0].parts[0].videoMetadata",
		`"contents":[{"parts":[{"functionCall":{"x":1}}]}]`:            "contents[0].parts[0].functionCall",
		`"contents":[{"role":"narrator","parts":[{"text":"x"}]}]`:      "contents[0].role",
		`"contents":[{"role":"function","parts":[{"text":"x"}]}]`:      "contents[0].role",
		`"contents":[{"role":"function","parts":[` + answered + `]}]`:  "left []",
		`"contents":[{"parts":[{"functionResponse":{"parts":[{}]}}]}]`: "contents[0].parts[0].functionResponse.parts[0]",
		`"contents":[{"parts":[{"text":"x","thought":false}]}]`:        "left []",
		`"systemInstruction":{"role":"model","parts":[{"text":"x"}]}`:  "left []",
	} {
		q, err := turns.ReadTurn([]byte("{" + member + "}"))
		if err != nil {
			t.Error(err)
			continue
		}
		left, err := q.For("another")
		got := fmt.Sprintf("left %v", left)
		var foreign *turn.ForeignError
		if errors.As(err, &foreign) {
			got = foreign.Path
		}
		if got != want {
			t.Errorf("%s: %s, want %s", member, got, want)
		}
	}
}

// TestTurnChanged: what said nothing gives way to what a program adds, and what the API alone has
// stays beside it.
func TestTurnChanged(t *testing.T) {
	q, err := turns.ReadTurn([]byte(`{"systemInstruction":{"role":"x","parts":[]},"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{},"x":1},"generation_config":{"top_k":2,"stop_sequences":[],"thinkingConfig":{}},"labels":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	q.Stop, q.Thinking = []string{"s"}, turn.Thinking{Setting: switches.Setting{Mode: switches.Off}}
	q.MaxTokens, q.Choice.Mode, q.Tools = "5", turn.None, append(q.Tools, turn.Tool{Name: "g"})
	q.Messages = append(q.Messages, turn.Message{Role: turn.User, Parts: []turn.Part{{Text: "x"}}})
	q.Messages[0].Parts = []turn.Part{{Text: "s"}}
	got, err := turns.WriteTurn(nil, q)
	const want = `{"systemInstruction":{"parts":[{"text":"s"}],"role":"x"},"contents":[{"role":"user","parts":[{"text":"x"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]},{"functionDeclarations":[{"name":"g"}]}],` +
		`"toolConfig":{"functionCallingConfig":{"mode":"NONE"},"x":1},"generationConfig":{"topK":2,"maxOutputTokens":5,"stopSequences":["s"],"thinkingConfig":{"thinkingBudget":0}},"labels":{}}`
	if err != nil || string(got) != want {
		t.Errorf("%v, %s\nwant %s", err, got, want)
	}
}

const answered = `{"functionResponse":{"name":"f","response":{"output":"x"}}}`

// TestTurnSnake: a request with the other names of members is read as the same.
func TestTurnSnake(t *testing.T) {
	const body = `{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"eA==","displayName":"n"}},{"fileData":{"fileUri":"u"}}]},
		{"role":"model","parts":[{"thoughtSignature":"s"},{"functionCall":{"name":"f"},"thoughtSignature":"s"}]},{"parts":[{"functionResponse":{"name":"f","response":{"output":"aB"}}}]}],
		"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}},
		"generationConfig":{"topP":1,"topK":2,"presencePenalty":3,"frequencyPenalty":4,"maxOutputTokens":5,"candidateCount":6,"stopSequences":["x"],
		"responseMimeType":"application/json","responseJsonSchema":{"type":"object"},"thinkingConfig":{"thinkingBudget":7,"includeThoughts":true}}}`
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	other, _ := json.Marshal(snake(v))
	var got [2]*turn.Request
	for i, b := range [][]byte{[]byte(body), other} {
		q, err := turns.ReadTurn(b)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := q.For("another"); left != nil || err != nil {
			t.Errorf("left %q, %v of %s", left, err, b)
		}
		got[i] = q
	}
	if !strings.Contains(string(other), "parameters_json_schema") || !reflect.DeepEqual(got[0], got[1]) {
		t.Errorf("%s\nread as %s\nwant    %s", other, show(got[1]), show(got[0]))
	}
}

func snake(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = snake(v[i])
		}
	case map[string]any:
		for key := range v {
			of := snake(v[key])
			delete(v, key)
			v[chatjson.Snake(key)] = of
		}
	}
	return v
}

// TestTurnSchema has schemas of the API's own kind, and the JSON Schemas that other APIs get.
func TestTurnSchema(t *testing.T) {
	for own, want := range map[string]string{
		`{"type":"OBJECT", "properties":{"type":{"type":"STRING","nullable":true},"nullable":{"type":"ARRAY","items":{"type":"INTEGER"},"minItems":"1","max_items":2}},"propertyOrdering":["type"],"required":["type"]}`: `{"type":"object", "properties":{"type":{"type":["string","null"]},"nullable":{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2}},"required":["type"]}`,
		`{"anyOf":[{"type":"NUMBER"},{"type":"BOOLEAN","nullable":false}],"type":"TYPE_UNSPECIFIED"}`:                                                                                                                    `{"anyOf":[{"type":"number"},{"type":"boolean"}]}`,
		`{ "type": "object", "properties": {"OBJECT": {"enum": ["OBJECT"], "type": "string"}}, "minLength": "x" }`:                                                                                                       `{ "type": "object", "properties": {"OBJECT": {"enum": ["OBJECT"], "type": "string"}}, "minLength": "x" }`,
		`{"type":"TYPE_UNSPECIFIED","nullable":true}`:                      `{}`,
		`{"nullable":true,"type":["a"],"\u0061ny_of":[{"type":"STRING"}]}`: `{"type":["a"],"\u0061ny_of":[{"type":"string"}]}`,
	} {
		body := `{"tools":[{"functionDeclarations":[{"name":"f","parameters":` + own + `}]}],"generationConfig":{"responseMimeType":"application/json","responseSchema":` + own + `}}`
		q, err := turns.ReadTurn([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if left, err := q.For("another"); left != nil || err != nil {
			t.Errorf("left %q, %v", left, err)
		}
		if q.Tools[0].Schema != want || q.Format.Schema != want || q.Format.Mode != turn.Schema {
			t.Errorf("%s\nread as %s\nand     %s\nwant    %s", own, q.Tools[0].Schema, q.Format.Schema, want)
		}
	}
}
