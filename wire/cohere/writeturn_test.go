package cohere_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
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
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			t.Fatalf("round %d:\n%s\nread as %s\nwant    %s", round, body, a, b)
		}
	}
}

// A maker makes requests of everything that the API has a place for.
type maker struct{ *rand.Rand }

func (r *maker) chance() bool { return r.IntN(2) == 0 }

func (r *maker) text() string {
	list := []string{"a", "Hello \"you\"", "<think>é</think>\n", "", `{"a":1}`, `{"error":"x"}`, "\\ud83d"}
	return list[r.IntN(len(list))]
}

func (r *maker) filled() string { return r.text() + "." }

func (r *maker) number() json.Number {
	return json.Number([]string{"", "1", "0.70", "1e-1", "0"}[r.IntN(5)])
}

func (r *maker) schema() string {
	return []string{`{"type":"object"}`, `{"type":"object","properties":{"b":{},"a":{"type":["string","null"]}}}`}[r.IntN(2)]
}

func (r *maker) texts(least int) (parts []turn.Part) {
	for range least + r.IntN(3) {
		parts = append(parts, turn.Part{Text: r.filled()})
	}
	return parts
}

func (r *maker) image() turn.Part {
	p := turn.Part{Kind: turn.Image, Media: turn.Media{URL: "https://example.com/" + r.text()}}
	if r.chance() {
		p.Media = turn.Media{Type: "image/png", Data: "eA=="}
	}
	p.Media.Detail = []string{"", "low", "auto"}[r.IntN(3)]
	return p
}

// messages makes a conversation of a user, a model and its tools.
func (r *maker) messages() (list []turn.Message) {
	for i := range 1 + r.IntN(3) {
		if r.chance() {
			list = append(list, turn.Message{Role: turn.System, Parts: r.texts(1)})
		}
		asked := r.texts(1)
		if r.chance() {
			asked = append(asked, r.image(), turn.Part{Text: r.filled()})
		}
		var said, results []turn.Part
		if r.chance() {
			said = append(said, turn.Part{Kind: turn.Thought, Name: "thinking", Text: r.text()})
		}
		if said = append(said, r.texts(1)...); r.chance() {
			said = append(said, turn.Part{Kind: turn.Thought, Name: "tool_plan", Text: r.text()})
		}
		for j := range r.IntN(3) {
			c := turn.Part{Kind: turn.Call, ID: fmt.Sprintf("c%d.%d", i, j), Name: r.filled(), Arguments: []string{"{}", "{\"a\": [1.50]}", `{"a`}[r.IntN(3)]}
			said = append(said, c)
			results = append(results, turn.Part{Kind: turn.Result, ID: c.ID, Failed: r.chance(), Results: r.texts(1)})
		}
		list = append(list, turn.Message{Role: turn.User, Parts: asked}, turn.Message{Role: turn.Assistant, Parts: said})
		for _, p := range results {
			list = append(list, turn.Message{Role: turn.ToolRole, Parts: []turn.Part{p}})
		}
	}
	return list
}

func (r *maker) request() *turn.Request {
	q := &turn.Request{Model: r.filled(), Stream: r.chance(), Messages: r.messages(), MaxTokens: r.number()}
	q.Sampling = turn.Sampling{
		Temperature: r.number(), TopP: r.number(), TopK: r.number(), Seed: r.number(),
		PresencePenalty: r.number(), FrequencyPenalty: r.number(),
	}
	for range r.IntN(3) {
		q.Stop = append(q.Stop, r.text())
	}
	var strict *bool
	if r.chance() {
		is := r.chance()
		strict = &is
	}
	for range r.IntN(3) {
		q.Tools = append(q.Tools, turn.Tool{Name: r.filled(), Description: r.filled(), Schema: r.schema(), Strict: strict})
	}
	q.Choice.Mode = []string{"", turn.None, turn.Required}[r.IntN(3)]
	if q.Format.Mode = []string{"", turn.PlainText, turn.JSON, turn.Schema}[r.IntN(4)]; q.Format.Mode == turn.Schema {
		q.Format.Schema = r.schema()
	}
	q.Thinking.Setting = []switches.Setting{{}, {Mode: switches.Off}, {Mode: switches.On}, {Mode: switches.On, Budget: 1024}}[r.IntN(4)]
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
		if errors.As(err, &no) && no.API == "cohere.chat" {
			got, err = []byte(no.What), nil
		}
		if err != nil || string(got) != strings.NewReplacer("\n", "", "\t", "").Replace(test.want) {
			t.Errorf("%s: %v, %s\nwant %s", what, err, got, test.want)
		}
	}
}

func said(role turn.Role, parts ...turn.Part) turn.Message {
	return turn.Message{Role: role, Parts: parts}
}

func item(p turn.Part) turn.Message {
	return turn.Message{Role: turn.Assistant, Item: true, Parts: []turn.Part{p}}
}

func result(id string, parts ...turn.Part) turn.Part {
	return turn.Part{Kind: turn.Result, ID: id, Results: parts}
}

func picture(m turn.Media) *turn.Request {
	return &turn.Request{Messages: []turn.Message{said(turn.User, turn.Part{Kind: turn.Image, Media: m})}}
}

func text(s string) turn.Part { return turn.Part{Text: s} }

func of(list ...turn.Message) *turn.Request { return &turn.Request{Messages: list} }

func call(name string) turn.Part { return turn.Part{Kind: turn.Call, Name: name} }

// TestTurnForms has requests that the API writes in other words.
func TestTurnForms(t *testing.T) {
	yes := true
	checkForms(t, map[string]form{
		"system messages": {of(turn.Message{Role: turn.System, Apart: true, Parts: []turn.Part{text("a")}}, said(turn.User, text("b")), said(turn.Developer, text("c"))), `{"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"},{"role":"system","content":"c"}]}`},
		"items": {
			of(item(turn.Part{Kind: turn.Thought, Text: "t", Signature: "s", ID: "i"}), item(call("f")), item(call("g")), said(turn.ToolRole, turn.Part{Kind: turn.Result, Name: "g"}, turn.Part{Kind: turn.Result, Name: "f", Failed: true})),
			`{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"t"}],"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"call_2","type":"function","function":{"name":"g","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"call_2","content":""},{"role":"tool","tool_call_id":"call_1","content":[{"type":"document","document":{"data":{"error":""}}}]}]}`,
		},
		"results beside a text": {
			of(said(turn.User, text("so"), result("1", text("x"), text("y"))), said(turn.Assistant), said(turn.User, turn.Part{Kind: turn.Refusal, Text: "no"})),
			`{"messages":[{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},{"role":"user","content":"so"},{"role":"assistant","content":""},{"role":"user","content":"no"}]}`,
		},
		"an empty text":      {of(said(turn.Assistant, text(""), call("f"))), `{"messages":[{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`},
		"a tool's name":      {of(turn.Message{Role: turn.ToolRole, Name: "f", Parts: []turn.Part{result("1", text("x"))}}), `{"messages":[{"role":"tool","tool_call_id":"1","content":"x"}]}`},
		"two plans":          {of(said(turn.Assistant, turn.Part{Kind: turn.Thought, Name: "tool_plan", Text: "a"}, turn.Part{Kind: turn.Thought, Name: "tool_plan", Text: "b"})), `{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"b"}],"tool_plan":"a"}]}`},
		"a user's plan":      {of(said(turn.User, turn.Part{Kind: turn.Thought, Name: "tool_plan", Text: "a"})), `{"messages":[{"role":"user","content":[{"type":"thinking","thinking":"a"}]}]}`},
		"a picture's type":   {picture(turn.Media{Data: "iVBORw0KGgo="}), `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]}`},
		"a tool of nothing":  {&turn.Request{Tools: []turn.Tool{{Name: "f", Strict: &yes}, {Name: "g"}}}, `{"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}},{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}]}`},
		"one of one":         {&turn.Request{Choices: "1", Choice: turn.Choice{Mode: turn.Auto}, Parallel: &yes}, `{}`},
		"a described schema": {&turn.Request{Format: turn.Format{Mode: turn.Schema, Name: "n", Description: "d", Schema: `{"type":"object"}`}}, `{"response_format":{"type":"json_object","json_schema":{"description":"d","type":"object"}}}`},
		"… that describes":   {&turn.Request{Format: turn.Format{Mode: turn.Schema, Description: "d", Schema: `{"description":1}`}}, `{"response_format":{"type":"json_object","json_schema":{"description":1}}}`},
		"a level":            {&turn.Request{Thinking: turn.Thinking{Setting: switches.Setting{Mode: switches.On, Level: switches.Low}}}, `{"thinking":{"type":"enabled","token_budget":1024}}`},
	})
}

// TestTurnUnsupported has requests that the API has no place for.
func TestTurnUnsupported(t *testing.T) {
	no := false
	checkForms(t, map[string]form{
		"a result of no call": {of(said(turn.ToolRole, result(""))), "the result of a call that is not in the conversation"},
		"an image of a tool":  {of(said(turn.ToolRole, result("1", turn.Part{Kind: turn.Image}))), "an image in a tool's result"},
		"a file of a tool":    {of(said(turn.ToolRole, result("1", turn.Part{Kind: turn.File}))), "a tool's result that is not a text"},
		"sealed":              {of(item(turn.Part{Kind: turn.Thought, Sealed: "x"})), "encrypted reasoning"},
		"… not known":         {picture(turn.Media{Data: "AAEC"}), "an image of an unknown type"},
		"a file's ID":         {picture(turn.Media{ID: "f"}), "an image by an ID of its provider"},
		"the model's picture": {of(said(turn.Assistant, turn.Part{Kind: turn.Image, Media: turn.Media{URL: "u"}})), "an image that is not the user's"},
		"audio":               {of(said(turn.User, turn.Part{Kind: turn.Audio})), "audio"},
		"a video":             {of(said(turn.User, turn.Part{Kind: turn.Video})), "a video"},
		"a file":              {of(said(turn.User, turn.Part{Kind: turn.File})), "a file"},
		"a part of another":   {of(said(turn.User, turn.Part{Kind: turn.Other})), "a part of another API"},
		"a name":              {of(turn.Message{Role: turn.User, Name: "n"}), "the name of who wrote a message"},
		"a call of a text":    {of(item(turn.Part{Kind: turn.Call, Free: true})), "a call whose input is a text"},
		"a tool of texts":     {&turn.Request{Tools: []turn.Tool{{Name: "f", Free: true}}}, "a tool whose input is a text"},
		"a tool of another":   {&turn.Request{Tools: []turn.Tool{{}}}, "a tool of another API"},
		"one call":            {&turn.Request{Parallel: &no, Tools: []turn.Tool{{Name: "f"}}}, "a limit of one call at a time"},
		"min_p":               {&turn.Request{Sampling: turn.Sampling{MinP: "0.1"}}, "min_p"},
		"several":             {&turn.Request{Choices: "2"}, "several replies"},
		"some of the tools":   {&turn.Request{Choice: turn.Choice{Mode: turn.Required, Names: []string{"f"}}}, "a choice among the tools"},
	})
}

// TestTurnExtra has members that only this API has, and what another makes of them.
func TestTurnExtra(t *testing.T) {
	message := func(s string) string { return `"messages":[{"role":"user","content":"x"},{` + s + `}]` }
	for member, want := range map[string]string{
		`"priority":1,"stream":false,"documents":[],"thinking":{}`: "left [priority]",
		`"documents":["x"]`:                                                   "documents",
		`"safety_mode":"OFF"`:                                                 "safety_mode",
		`"tool_choice":"AUTO"`:                                                "tool_choice",
		`"strict_tools":true`:                                                 "strict_tools",
		`"response_format":{"type":"json_object","x":1}`:                      "response_format.x",
		`"thinking":{"type":"enabled","x":1}`:                                 "thinking",
		`"thinking":{"type":"enabled"}`:                                       "left []",
		`"thinking":{"type":"enabled"},"think":false`:                         "thinking",
		`"tools":[{"type":"search"}]`:                                         "tools[0]",
		`"tools":[{"type":"function","function":{"name":"f","x":1}}]`:         "tools[0].function",
		message(`"role":"narrator","content":"x"`):                            "messages[1].role",
		message(`"role":"user","content":["x"]`):                              "messages[1].content[0]",
		message(`"role":"user","content":5`):                                  "messages[1].content",
		message(`"role":"user","content":[{"type":"text","text":"x","y":1}]`): "messages[1].content[0].y",
		message(`"role":"user","tool_plan":"x"`):                              "messages[1].tool_plan",
		message(`"role":"assistant","citations":[{}],"tool_calls":[]`):        "left [messages[1].citations]",
		message(`"role":"assistant","tool_calls":[{"id":"","type":"function","function":{"name":"f","arguments":""}}]`): "left []",
		message(`"role":"assistant","tool_calls":[{"type":"other"}]`):                                                   "messages[1].tool_calls[0].type",
		message(`"role":"assistant","tool_calls":[{"function":{"arguments":{}}}]`):                                      "messages[1].tool_calls[0].function",
		message(`"role":"tool","tool_call_id":"","content":[{"type":"document","document":{"data":"x"}}]`):              "left []",
		message(`"role":"tool","tool_call_id":"1","content":[{"type":"document","document":{"data":"x","id":"1"}}]`):    "left [messages[1].content[0].document]",
		message(`"role":"tool","tool_call_id":"1","content":[{"type":"document","document":{"data":"x","title":"1"}}]`): "messages[1].content[0].document",
		message(`"role":"tool","tool_call_id":"1","content":[{"type":"image_url","image_url":{"url":"u"}}]`):            "messages[1].content[0]",
		message(`"role":"user","content":[{"type":"document","document":{"data":"x"}}]`):                                "messages[1].content[0]",
		message(`"role":"user","content":[{"type":"image_url","image_url":{"url":"u","x":1}}]`):                         "messages[1].content[0].image_url",
		message(`"content":"x"`): "messages[1] has no role: it must be user, assistant, system or tool",
	} {
		q, err := turns.ReadTurn([]byte("{" + member + "}"))
		var left []string
		if err == nil {
			left, err = q.For("another")
		}
		got := fmt.Sprintf("left %v", left)
		var foreign *turn.ForeignError
		if errors.As(err, &foreign) {
			got = foreign.Path
		} else if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", member, got, want)
		}
	}
}

// TestTurnResults: what a tool gave as a document is a text in other APIs.
func TestTurnResults(t *testing.T) {
	const body = `{"messages":[{"role":"tool","tool_call_id":"1","content":[{"type":"document","document":{"data":{"a": 1.0}}},{"type":"document","document":{"data":{"error":"x"}}},{"type":"text","text":"y"}]},
		{"role":"tool","tool_call_id":"2","content":[{"type":"document","document":{"data":{"error":"no"}}}]},
		{"role":"tool","tool_call_id":"3","content":[{"type":"document","document":{"data":{"error":"no","code":5}}}]}]}`
	q, err := turns.ReadTurn([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if left, err := q.For("another"); left != nil || err != nil {
		t.Errorf("left %q, %v", left, err)
	}
	text := func(s string) turn.Part { return turn.Part{Text: s} }
	for i, want := range []turn.Part{
		{Kind: turn.Result, ID: "1", Results: []turn.Part{text(`{"a": 1.0}`), text("x"), text("y")}},
		{Kind: turn.Result, ID: "2", Results: []turn.Part{text("no")}, Failed: true},
		{Kind: turn.Result, ID: "3", Results: []turn.Part{text(`{"error":"no","code":5}`)}},
	} {
		if got := q.Messages[i]; got.Role != turn.ToolRole || !reflect.DeepEqual(got.Parts, []turn.Part{want}) {
			t.Errorf("%+v\nwant %+v", got, want)
		}
	}
}

// TestTurnChanged: what said nothing gives way to what a program adds.
func TestTurnChanged(t *testing.T) {
	q, err := turns.ReadTurn([]byte(`{"model":"m","stream":false,"stop_sequences":[],"thinking":{},"response_format":{},"tools":[],"messages":[{"role":"user","content":[]},{"role":"user","content":[]},{"role":"assistant","tool_calls":[{"id":"","function":{"arguments":"","name":"f"}}]},{"role":"tool","tool_call_id":"","content":[]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	q.Stream, q.Stop, q.Format.Mode, q.Thinking = true, []string{"s"}, turn.JSON, turn.Thinking{Setting: switches.Setting{Mode: switches.Off}}
	q.Tools = []turn.Tool{{Name: "f", Schema: "{}"}}
	q.Messages[0].Parts = []turn.Part{{Kind: turn.Refusal, Text: "x"}, {Text: "y"}}
	q.Messages[1].Parts = q.Messages[0].Parts[:1]
	q.Messages[2].Parts[0].ID, q.Messages[2].Parts[0].Arguments = "1", "{}"
	q.Messages[3].Parts[0].ID, q.Messages[3].Parts[0].Results = "1", []turn.Part{{Text: "z"}}
	got, err := turns.WriteTurn(nil, q)
	const want = `{"model":"m","stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},{"role":"user","content":"x"},` +
		`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"z"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],` +
		`"stop_sequences":["s"],"response_format":{"type":"json_object"},"thinking":{"type":"disabled"}}`
	if err != nil || string(got) != want {
		t.Errorf("%v, %s\nwant %s", err, got, want)
	}
}
