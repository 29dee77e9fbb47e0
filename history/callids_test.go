package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/bedrock"
	"github.com/sotto-llm/sotto/wire/cohere"
	"github.com/sotto-llm/sotto/wire/gemini"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// An idAPI writes conversations of an API whose calls have ids.
type idAPI struct {
	codec  wire.Codec
	body   string // of a request, around its messages
	user   string
	calls  string // a message around its calls
	call   string // name, id, arguments
	result string // id, name
	quoted bool   // the arguments are a string
}

const (
	chatCalls  = `{"role":"assistant","content":"","tool_calls":[%s]}`
	chatResult = `{"role":"tool","tool_call_id":%[1]q,"tool_name":%[2]q,"content":"ok"}`
	chatCall   = `{"type":"function","id":%[2]q,"function":{"name":%[1]q,"arguments":%[3]s}}`
	chatAsk    = `{"role":"user","content":%q}`
	chatBody   = `{"model":"m","messages":[%s]}`
)

var idAPIs = []idAPI{
	{openai.Chat, chatBody, chatAsk, chatCalls, chatCall, chatResult, true},
	{ollama.Chat, chatBody, chatAsk, chatCalls, chatCall, chatResult, false},
	{cohere.Chat, chatBody, chatAsk, chatCalls, chatCall, chatResult, true},
	{anthropic.Messages, chatBody, chatAsk, `{"role":"assistant","content":[%s]}`,
		`{"type":"tool_use","name":%q,"id":%q,"input":%s}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, false},
	{bedrock.Converse, `{"messages":[%s]}`, `{"role":"user","content":[{"text":%q}]}`, `{"role":"assistant","content":[%s]}`,
		`{"toolUse":{"name":%q,"toolUseId":%q,"input":%s}}`, `{"role":"user","content":[{"toolResult":{"toolUseId":%q,"content":[{"text":%q}]}}]}`, false},
	{responses.Codec, `{"model":"m","input":[%s]}`, chatAsk, `%s`,
		`{"type":"function_call","name":%q,"call_id":%q,"arguments":%s}`, `{"type":"function_call_output","call_id":%q,"output":%q}`, true},
	{gemini.GenerateContent, `{"contents":[%s]}`, `{"role":"user","parts":[{"text":%q}]}`, `{"role":"model","parts":[%s]}`,
		`{"functionCall":{"name":%q,"id":%q,"args":%s}}`, `{"role":"user","parts":[{"functionResponse":{"id":%q,"name":%q,"response":{}}}]}`, false},
}

// A turnOfCalls is a question, the calls of the reply, and their results in another order than that of the calls.
type turnOfCalls struct {
	ask       string
	names     []string
	arguments []string
	ids       []string
	results   []int
}

// write is the conversation with ids.
func (a *idAPI) write(turns []turnOfCalls) string {
	var list []string
	for _, turn := range turns {
		list = append(list, fmt.Sprintf(a.user, turn.ask))
		var calls []string
		for i, name := range turn.names {
			arguments := turn.arguments[i]
			if a.quoted {
				arguments = fmt.Sprintf("%q", arguments)
			}
			calls = append(calls, fmt.Sprintf(a.call, name, turn.ids[i], arguments))
		}
		list = append(list, fmt.Sprintf(a.calls, strings.Join(calls, ",")))
		for _, i := range turn.results {
			list = append(list, fmt.Sprintf(a.result, turn.ids[i], turn.names[i]))
		}
	}
	return fmt.Sprintf(a.body, strings.Join(list, ","))
}

// whys are what is remembered of the replies: the second one has no thought.
var whys = []Remembered{{Thought: "why 0"}, {}, {Thought: "why 2"}}

// remember has the conversation: the store remembers each reply with the provider's ids, after what the client
// sent before it.
func (a *idAPI) remember(t *testing.T, s *Store, client, provider []turnOfCalls) {
	t.Helper()
	for i, turn := range provider {
		before := append(client[:i:i], turnOfCalls{ask: turn.ask})
		body := strings.Replace(a.write(before), ","+fmt.Sprintf(a.calls, ""), "", 1)
		if a.calls == "%s" {
			body = strings.TrimSuffix(a.write(before), ",]}") + "]}"
		}
		q, err := a.codec.Request([]byte(body))
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		s.Remember("caller", q, Said{ToolCalls: turn.ids, Called: turn.names, Arguments: turn.arguments, Remembered: whys[i%len(whys)]})
	}
}

// restored is what the upstream gets of a conversation.
func (a *idAPI) restored(t *testing.T, s *Store, caller, body string) string {
	t.Helper()
	q, err := a.codec.Request([]byte(body))
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	changes := CallIDs([]byte(body), q, s.For(caller, q), a.codec)
	got, err := a.codec.Edit(nil, []byte(body), changes)
	if err != nil || !gjson.ValidBytes(got) {
		t.Fatalf("%v: %s", err, got)
	}
	return string(got)
}

func withIDs(turns []turnOfCalls, ids ...[]string) (list []turnOfCalls) {
	for i, turn := range turns {
		turn.ids = ids[i]
		list = append(list, turn)
	}
	return list
}

// TestCallIDs: whatever ids a client makes for the calls of a reply and for their results, the provider gets
// the ids that it made; a call that is not the reply's keeps the client's, and so do another caller's.
func TestCallIDs(t *testing.T) {
	turns := []turnOfCalls{
		{ask: "one", names: []string{"look", "find"}, arguments: []string{`{"a":1,"b":[2,"x"]}`, `{}`}, results: []int{1, 0}},
		{ask: "two", names: []string{"look"}, arguments: []string{`{"a":3}`}, results: []int{0}},
		{ask: "three", names: []string{"look", "look"}, arguments: []string{`{"a":4}`, `{"a":5}`}, results: []int{0, 1}},
	}
	provider := withIDs(turns, []string{"call_8f3Kd92mXq", "call_1a2B3c4D5e"}, []string{"call_Zz9Yy8Xx7W"}, []string{"look:0", "look:1"})
	for i := range idAPIs {
		a := &idAPIs[i]
		t.Run(a.codec.Name(), func(t *testing.T) {
			for name, ids := range map[string][][]string{
				"the provider's":       {provider[0].ids, provider[1].ids, provider[2].ids},
				"numbers of each turn": {{"call_0", "call_1"}, {"call_0"}, {"call_0", "call_1"}},
				"random":               {{"5f0c9a7e-1", "5f0c9a7e-2"}, {"5f0c9a7e-3"}, {"5f0c9a7e-4", "5f0c9a7e-5"}},
				"one for a turn":       {{"call_0", "call_1"}, {"call_0"}, {"same", "same"}},
				"exchanged":            {{"call_1a2B3c4D5e", "call_8f3Kd92mXq"}, {"call_8f3Kd92mXq"}, {"look:1", "look:0"}},
			} {
				client := withIDs(turns, ids...)
				s := NewStore(100, 1<<20, time.Hour)
				a.remember(t, s, client, provider)
				sent := a.write(client)
				if got, want := a.restored(t, s, "caller", sent), a.write(provider); got != want {
					t.Errorf("%s: the upstream gets\n%s\nwant\n%s", name, got, want)
				}
				if got := a.restored(t, s, "another", sent); got != sent {
					t.Errorf("%s: another caller's got\n%s", name, got)
				}
				spaced := strings.NewReplacer(`{"a":1,"b":[2,"x"]}`, `{ "b": [2, "x"], "a": 1.0 }`, `{\"a\":1,\"b\":[2,\"x\"]}`, `{ \"b\": [2, \"x\"], \"a\": 1.0 }`)
				if got, want := a.restored(t, s, "caller", spaced.Replace(sent)), spaced.Replace(a.write(provider)); got != want {
					t.Errorf("%s: with white space, the upstream gets\n%s\nwant\n%s", name, got, want)
				}
				edited := strings.NewReplacer(`"a":3`, `"a":33`, `\"a\":3`, `\"a\":33`)
				mixed := []turnOfCalls{provider[0], client[1], provider[2]}
				if got, want := a.restored(t, s, "caller", edited.Replace(sent)), edited.Replace(a.write(mixed)); got != want {
					t.Errorf("%s: with other arguments, the upstream gets\n%s\nwant\n%s", name, got, want)
				}
			}
		})
	}
}

// TestNoCallIDs: where ids are optional, a provider that made none gets none.
func TestNoCallIDs(t *testing.T) {
	for i := range idAPIs {
		a := &idAPIs[i]
		q, err := a.codec.Request([]byte(a.write(nil)))
		if err != nil {
			t.Fatal(err)
		}
		client := []turnOfCalls{{ask: "one", names: []string{"look"}, arguments: []string{"{}"}, ids: []string{"call_0"}, results: []int{0}}}
		ask := []turnOfCalls{{ask: "one"}}
		s := NewStore(100, 1<<20, time.Hour)
		before, err := a.codec.Request([]byte(strings.Replace(strings.Replace(a.write(ask), ","+fmt.Sprintf(a.calls, ""), "", 1), ",]}", "]}", 1)))
		if err != nil {
			t.Fatal(err)
		}
		s.Remember("caller", before, Said{ToolCalls: []string{"look"}, Names: true, Called: []string{"look"}, Arguments: []string{""}, Remembered: Remembered{Thought: "why"}})
		sent := a.write(client)
		got := a.restored(t, s, "caller", sent)
		if want := !q.OwnIDs; strings.Contains(got, "call_0") != want || !want && strings.Contains(got, `"id"`) || want && got != sent {
			t.Errorf("%s: %s", a.codec.Name(), got)
		}
	}
}

// TestCallSaid: the order of members, white space and how a number is written do not count. Everything else does.
func TestCallSaid(t *testing.T) {
	large := `"` + strings.Repeat("x", maxArguments) + `"`
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":{"c":2,"d":3}}`, "{\n\t\"b\": {\"d\": 3, \"c\": 2.0},\"a\":1 }", true},
		{`{"a":"\u00e9"}`, `{"a":"é"}`, true},
		{"", "{}", true},
		{`[1,2]`, `[2,1]`, false},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":`, `{"a":`, true},
		{`{"a":`, `{"a": `, false},
		{large, large, true},
		{large, " " + large, false},
	} {
		if same := callSaid("f", []byte(c.a)) == callSaid("f", []byte(c.b)); same != c.same {
			t.Errorf("%.40q and %.40q: %v", c.a, c.b, same)
		}
	}
	if callSaid("f", []byte("{}")) == callSaid("g", []byte("{}")) {
		t.Error("the name does not count")
	}
}

// TestPlanRenamed: a plan counts the ids, and begins with the first message that has one.
func TestPlanRenamed(t *testing.T) {
	changes := []wire.Change{{Message: 3, IDs: map[int]string{0: "a", 1: "b"}}, {Message: 4, IDs: map[int]string{0: "a"}}}
	for first, want := range map[int]string{-1: "rule=x; ids=3; prefix changes at message 3", 1: "rule=x; ids=3; prefix changes at message 1", 5: "rule=x; ids=3; prefix changes at message 3"} {
		p := Plan{Rule: "x", First: first}
		if p.Changed() {
			t.Fatal(p)
		}
		if p = p.Renamed(changes); p.String() != want || !p.Changed() {
			t.Errorf("%s, want %s", p, want)
		}
	}
}
