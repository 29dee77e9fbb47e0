package model_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/model"
)

// Where no call may be made, the tools that earlier messages called are told
// still, to the APIs that can forbid calls in another way.
func TestNoCalls(t *testing.T) {
	for provider, want := range map[string]struct{ choice, tool string }{
		"openai":    {`"none"`, "weather"},
		"anthropic": {`{"type":"none"}`, "weather"},
		"ollama":    {"", ""},
	} {
		var body []byte
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ = io.ReadAll(r.Body)
			w.WriteHeader(http.StatusBadRequest)
		}))
		defer s.Close()
		m, err := model.Open(model.Config{Provider: provider, URL: s.URL, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		q := model.Request{
			Messages: []model.Message{{Role: model.User, Text: "Oslo?"}},
			Tools:    []model.Tool{{Name: "weather"}},
			NoCalls:  true,
		}
		if _, err := m.Invoke(t.Context(), q, nil); err == nil {
			t.Fatal("no error")
		}
		root := gjson.ParseBytes(body)
		tool := root.Get("tools.0.function.name").Str + root.Get("tools.0.name").Str
		if got := root.Get("tool_choice").Raw; got != want.choice || tool != want.tool {
			t.Errorf("%s: tool_choice %s, tool %q", provider, got, tool)
		}
	}
}
