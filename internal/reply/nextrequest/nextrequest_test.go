package nextrequest

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/providers"
)

func TestBody(t *testing.T) {
	seen := map[string]bool{}
	for line := range bytes.Lines(cases(t)) {
		var c struct{ Name, API, Body, Want string }
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		seen[c.API] = true
		t.Run(c.Name, func(t *testing.T) {
			got, err := Body(c.API, []byte(c.Body))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.Want {
				t.Errorf("got %s, want %s", got, c.Want)
			}
			again, err := Body(c.API, got)
			if err != nil || string(again) != c.Want {
				t.Errorf("again: %s, %v", again, err)
			}
		})
	}
	for _, a := range providers.APIs() {
		if !seen[a.Name] && a.Name != "completions" {
			t.Errorf("no case is of %s", a.Name)
		}
	}
}

// cases are those that the packages for Python and JavaScript read too.
func cases(t *testing.T) []byte {
	t.Helper()
	list, err := os.ReadFile("../../../testdata/nextrequest.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestBodyRefused(t *testing.T) {
	for _, c := range []struct{ api, body, want string }{
		{"nobody", `{}`, `unknown API "nobody": want bedrock, chat`},
		{"", `{`, "request: "},
		{"", `[]`, "request: "},
		{"", strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "request: "},
		{"", `{"messages":[],"messages":[]}`, "twice"},
	} {
		if got, err := Body(c.api, []byte(c.body)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Body(%q, %.40s) = %s, %v; want %s", c.api, c.body, got, err, c.want)
		}
	}
	for _, a := range providers.APIs() {
		if _, err := Body(a.Name, []byte(`{"model":"x","messages":[],"contents":[],"input":[]}`)); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
	}
}
