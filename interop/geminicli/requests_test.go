package geminicli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/scripted"
)

// signatureOf returns the signature of the call that a request sends back. The scripted
// upstream refuses any but its own, so this is the one that it sent.
func signatureOf(t *testing.T, body []byte) string {
	t.Helper()
	for _, c := range gjson.GetBytes(body, "contents").Array() {
		for _, p := range c.Get("parts").Array() {
			if s := p.Get("thoughtSignature"); p.Get("functionCall").Exists() && s.Str != "" {
				return s.Raw
			}
		}
	}
	t.Fatalf("no signed call in %s", body)
	return ""
}

// due returns the body that the upstream should get for one of gemini-cli's, which
// leaves all thoughts out, and in a resumed session the signatures of calls too. Both
// come back from the gateway, for models that want them.
func due(m *scripted.Model, body []byte, signature string) string {
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
			if signature != "" && p.Get("functionCall").Exists() && !p.Get("thoughtSignature").Exists() {
				put(start+1, `"thoughtSignature":`+signature+",")
			}
		}
	}
	put(len(body), "")
	return b.String()
}
