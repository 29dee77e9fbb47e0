package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/record"
)

// TestRecordRevisions: what the history policy takes out of a request is in the
// record, where it stood, over every API; the client's messages can be made again
// from it. The level of reasoning applies to it, whatever it is.
func TestRecordRevisions(t *testing.T) {
	const first, second = "They want the capital, which is Ottawa and not Toronto.", "Now the towers: the one in Toronto."
	tagged := "<think>" + first + "</think>\n\nOttawa. It is on the river. <think>" + second + "</think>It has a tower."
	const visible = "Ottawa. It is on the river. It has a tower."
	chat := func(content string) string {
		return `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":` + quote(content) + `},{"role":"user","content":"r"}]`
	}
	for _, c := range []struct {
		name, path, body string
		text             string // what is taken out of texts
		fields           string
	}{
		{"chat", "/v1/chat/completions", chat(tagged), first + second, ""},
		{"a member", "/v1/chat/completions", `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":"` + first + `"},{"role":"user","content":"r"}]`, first, "reasoning_content "},
		{"ollama", "/api/chat", chat(tagged), first + second, ""},
		{"anthropic", "/v1/messages", `"max_tokens":9,` + chat(tagged), first + second, ""},
		{"responses", "/v1/responses", `"input":[{"role":"user","content":"q"},{"type":"reasoning","id":"rs_sotto_1","summary":[],"content":[{"type":"reasoning_text","text":"` + first + `"}]},{"role":"assistant","content":` + quote(tagged) + `},{"role":"user","content":"r"}]`, first + first + second, "content "},
	} {
		for _, level := range []record.Level{record.Full, record.Digests, record.Off} {
			w, dir := openRecord(t, record.Options{Reasoning: level})
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if sent, _ := io.ReadAll(r.Body); strings.Contains(string(sent), first) {
					t.Errorf("%s: the upstream got the thought: %s", c.name, sent)
				}
				w.WriteHeader(http.StatusTeapot)
			}))
			g := inFront(t, up.URL, gateway.Config{Recorder: w, Default: routing.Route{History: history.Strip}})
			ask(g, c.path, `{"model":"m","stream":false,`+c.body+`}`)
			x := only(t, w, dir)
			up.Close()
			removed, fields, size := "", "", 0
			for _, v := range x.Revisions {
				removed += string(v.Removed.Text)
				size += v.Removed.Len()
				if v.Field != "" {
					fields += v.Field + " "
				}
			}
			if size < len(c.text) || size > len(c.text)+60 || fields != c.fields {
				t.Errorf("%s, %v: %d bytes were taken out, of %q: %+v", c.name, level, size, fields, x.Revisions)
			}
			if level != record.Full {
				if removed != "" || strings.Contains(fmt.Sprint(x), "capital") {
					t.Errorf("%s, %v: the record holds %+v", c.name, level, x)
				}
				continue
			}
			if got := strings.NewReplacer("<think>", "", "</think>", "", "\n", "").Replace(removed); got != c.text {
				t.Errorf("%s: %q was taken out, want %q", c.name, got, c.text)
			}
			for k, m := range x.Messages {
				var back strings.Builder
				at, sent := 0, string(m.Text.Text)
				for _, v := range x.Revisions {
					if v.Message == k && v.Field == "" {
						back.WriteString(sent[at:v.At] + string(v.Removed.Text))
						at = v.At + v.Added
					}
				}
				if got := back.String() + sent[at:]; m.Role == "assistant" && sent == visible && got != tagged {
					t.Errorf("%s: the client's message was %q, want %q", c.name, got, tagged)
				}
			}
		}
	}
}

func quote(s string) string { return strings.ReplaceAll(fmt.Sprintf("%q", s), `\x`, `\u00`) }
