package mcptools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
)

// askingTurn is a turn whose model calls one tool of a server that may ask a person.
func askingTurn(t *testing.T, c agent.MCPServer, tool string, ask agent.Confirmer) agent.Turn {
	c.Allow, c.Elicitation = []string{tool}, true
	f := open(t, c)[0]
	f.Name, f.Foreign = "files_"+tool, true
	return agent.Turn{Model: caller(f.Name, `{}`), Tools: []agent.Tool{f}, Confirmer: ask, Subject: "ada"}
}

// resultOf returns what the model was told.
func resultOf(o agent.Outcome) string {
	for _, m := range o.Messages {
		if m.CallID != "" {
			return m.Text
		}
	}
	return ""
}

// TestElicitation: a server's question goes to the person as it is, and the server gets what
// the person agreed to. What is refused, what nobody can be asked, and what needs a form, is
// declined, and the model is told why.
func TestElicitation(t *testing.T) {
	may := consent.Principal{Name: "ada", Way: consent.A2A, Scoped: true}
	agree := func(_ context.Context, _ agent.Use, q consent.Question) (consent.Answer, error) {
		return q.Yes(may), nil
	}
	for _, tt := range []struct {
		name, tool, want string
		asked            int
		ask              agent.Confirmer
	}{
		{"agree", "erase", `accept {"days":3,"sure":true};`, 1, agree},
		{"two questions", "twice", `accept {"days":3,"sure":true};accept {"days":3,"sure":true};`, 2, agree},
		{"refuse", "erase", "decline null;\n[the server asked a person, and was declined: not today]", 1, func(_ context.Context, _ agent.Use, q consent.Question) (consent.Answer, error) {
			return q.No(may, "not today"), nil
		}},
		{"without the scope", "erase", "decline null;\n[the server asked a person, and was declined: the answer does not count", 1, func(_ context.Context, _ agent.Use, q consent.Question) (consent.Answer, error) {
			return q.Yes(consent.Principal{Name: "ada", Way: consent.A2A}), nil
		}},
		{"nobody", "erase", "decline null;\n[the server asked a person, and was declined: nobody can be asked here]", 0, nil},
		{"long", "link", "decline null;\n[the server asked a person, and was declined: its question has 5000 bytes: the limit is 4096]", 0, agree},
	} {
		for transport, c := range map[string]agent.MCPServer{"stdio": stdio(t, "official"), "http": overHTTP(t)} {
			t.Run(tt.name+" "+transport, func(t *testing.T) {
				asked := 0
				var confirmer agent.Confirmer
				if tt.ask != nil {
					confirmer = func(ctx context.Context, u agent.Use, q consent.Question) (consent.Answer, error) {
						asked++
						if q.Tool != elicitation || q.For != "ada" || !strings.Contains(q.Arguments, `"answer":{"days":3,"sure":true}`) {
							t.Errorf("the question is %+v", q)
						}
						return tt.ask(ctx, u, q)
					}
				}
				turn := askingTurn(t, c, tt.tool, confirmer)
				o, err := turn.Converse(t.Context(), ask)
				if err != nil || asked != tt.asked || !strings.HasPrefix(resultOf(o), tt.want) {
					t.Errorf("%q, %v, asked %d times; want %q, %d", resultOf(o), err, asked, tt.want, tt.asked)
				}
			})
		}
	}
}

// TestElicitationWaits: the turn ends with the question, and the answer counts in another
// turn, to which nothing is left but what was kept. A text is not an answer.
func TestElicitationWaits(t *testing.T) {
	turn := askingTurn(t, stdio(t, "official"), "erase", agent.PauseToConfirm)
	o, err := turn.Converse(t.Context(), ask)
	if err != nil || o.Waiting == nil || o.Waiting.Asked == nil {
		t.Fatalf("%+v, %v", o, err)
	}
	kept, err := json.Marshal(o.Waiting)
	if err != nil {
		t.Fatal(err)
	}
	var w agent.Waiting
	if err := json.Unmarshal(kept, &w); err != nil {
		t.Fatal(err)
	}
	later := askingTurn(t, stdio(t, "official"), "erase", agent.PauseToConfirm)
	old := w
	old.State = json.RawMessage(`{"answered":{"x":true},"waiting":"y"}`)
	if o, err := later.Consent(t.Context(), old, w.Asked.Yes(consent.Principal{Name: "ada", Way: consent.A2A, Scoped: true})); err != nil || o.Waiting == nil {
		t.Fatalf("what an earlier version kept: %+v, %v", o, err)
	}
	if o, err := later.Continue(t.Context(), w, "yes"); err != nil || o.Waiting == nil {
		t.Fatalf("a text: %+v, %v", o, err)
	}
	o, err = later.Consent(t.Context(), w, w.Asked.Yes(consent.Principal{Name: "ada", Way: consent.A2A, Scoped: true}))
	if want := `accept {"days":3,"sure":true};`; err != nil || resultOf(o) != want {
		t.Errorf("%q, %v, want %q", resultOf(o), err, want)
	}
}

// TestElicitationIsOff: a server whose entry does not allow it is told that nobody is asked.
func TestElicitationIsOff(t *testing.T) {
	got, err := call(t, open(t, stdio(t, "official", "erase"))[0], `{}`)
	if err == nil || !strings.Contains(err.Error(), "elicitation") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestElicitationForm: what a server asks for in a form is what the person gives, and a dismissal
// has another effect than a refusal. Values that do not fit count as little as an answer of somebody else.
func TestElicitationForm(t *testing.T) {
	may := consent.Principal{Name: "ada", Way: consent.A2A, Scoped: true}
	for _, tt := range []struct {
		name, want string
		answer     func(consent.Question) consent.Answer
	}{
		{"values", `accept {"age":7,"colours":["red"],"name":"Ada"};`, func(q consent.Question) consent.Answer {
			return q.With(may, json.RawMessage(`{"name":"Ada","colours":["red"]}`))
		}},
		{"changed default", `accept {"age":8,"name":"Ada"};`, func(q consent.Question) consent.Answer {
			return q.With(may, json.RawMessage(`{"name":"Ada","age":8}`))
		}},
		{"a bare yes", `decline null;`, func(q consent.Question) consent.Answer { return q.Yes(may) }},
		{"a value that does not fit", `decline null;`, func(q consent.Question) consent.Answer {
			return q.With(may, json.RawMessage(`{"name":"Ada","age":"many"}`))
		}},
		{"another field", `decline null;`, func(q consent.Question) consent.Answer {
			return q.With(may, json.RawMessage(`{"name":"Ada","admin":true}`))
		}},
		{"dismissed", "cancel null;\n[the server asked a person, and was declined: the person dismissed the question]", func(q consent.Question) consent.Answer { return q.Dismiss(may) }},
		{"refused", "decline null;\n[the server asked a person, and was declined: no", func(q consent.Question) consent.Answer { return q.No(may, "no") }},
	} {
		for transport, c := range map[string]agent.MCPServer{"stdio": stdio(t, "official"), "http": overHTTP(t)} {
			t.Run(tt.name+" "+transport, func(t *testing.T) {
				turn := askingTurn(t, c, "name", func(_ context.Context, _ agent.Use, q consent.Question) (consent.Answer, error) {
					if q.Needs() == nil || strings.Contains(q.Arguments, "answer") {
						t.Errorf("the question asks for nothing: %+v", q)
					}
					return tt.answer(q), nil
				})
				o, err := turn.Converse(t.Context(), ask)
				if err != nil || !strings.HasPrefix(resultOf(o), tt.want) {
					t.Errorf("%q, %v, want %q", resultOf(o), err, tt.want)
				}
			})
		}
	}
}
