package geminicli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// callOf returns the part with the signed call of a streamed reply, in the order in which the
// gateway writes its members.
func callOf(t *testing.T, reply []byte) string {
	t.Helper()
	for line := range strings.Lines(string(reply)) {
		data, ok := strings.CutPrefix(line, "data: ")
		for _, p := range gjson.Get(data, "candidates.0.content.parts").Array() {
			if c := p.Get("functionCall"); ok && c.Exists() && p.Get("thoughtSignature").Str != "" {
				return `{"functionCall":{"id":` + c.Get("id").Raw + `,"name":` + c.Get("name").Raw + `,"args":` + c.Get("args").Raw + `},"thoughtSignature":` + p.Get("thoughtSignature").Raw + "}"
			}
		}
	}
	t.Fatalf("no signed call in %s", reply)
	return ""
}

// due returns the body that the upstream should get for one of gemini-cli's, which
// leaves all thoughts out, and in a resumed session the signatures of calls too. Both
// come back from the gateway, for models that want them: a call is then the part that the
// model sent.
func due(m *scripted.Model, body []byte, call string) string {
	var b strings.Builder
	at, replies := 0, 0
	put := func(to int, text string) {
		b.Write(body[at:to])
		b.WriteString(text)
		at = to
	}
	for _, c := range gjson.GetBytes(body, "contents").Array() {
		if c.Get("role").Str != "model" {
			continue
		}
		r := []*scripted.Reply{m.Call, m.Result}[replies%2]
		replies++
		for i, p := range c.Get("parts").Array() {
			start := p.Index
			if i == 0 && r.Thought != nil {
				text, _ := json.Marshal(strings.Join(r.Thought, ""))
				put(start, `{"text":`+string(text)+`,"thought":true},`)
			}
			if call != "" && p.Get("functionCall").Exists() && !p.Get("thoughtSignature").Exists() {
				put(start, call)
				at = start + len(p.Raw)
			}
		}
	}
	put(len(body), "")
	return b.String()
}
