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
		{"a form", "name", "decline null;\n[the server asked a person, and was declined: it asks for \"name\", and a person can only agree or refuse here]", 0, agree},
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

// TestContent: what a person agrees to is made of the fields, and of nothing that a model says.
func TestContent(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{}}`: `{}`,
		`null`:                              `{}`,
		`{"properties":{"a":{"type":"boolean"},"b":{"enum":["x"]},"c":{"const":"y"},"d":{"type":"string"}},"required":["a","b","c"]}`: `{"a":true,"b":"x","c":"y"}`,
		`{"properties":{"a":{"enum":["x","y"]}},"required":["a"]}`:                                                                    `it asks for "a", and a person can only agree or refuse here`,
		`[]`: "its question has no schema that can be read",
	} {
		content, err := contentFor([]byte(schema))
		got, fault := encode(content)
		if fault != nil {
			t.Fatal(fault)
		}
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
	if _, err := contentFor([]byte(`{"properties":{` + strings.TrimSuffix(strings.Repeat(`"a":{},`, 1), ",") + `},"required":["a"]}`)); err == nil {
		t.Error("a field without a type has a value")
	}
}
