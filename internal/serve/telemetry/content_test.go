package telemetry

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/recorded/otlp"
	"github.com/sotto-llm/sotto/record"
)

// The texts of an exchange of the tests. token is that of the client.
const (
	promptText = "prompt canary"
	tokenText  = "token-canary-0123456789"
)

// apiPaths are the paths of every API, with a request that has a prompt. %s is the model.
var apiPaths = []struct{ path, body string }{
	{"/v1/chat/completions", `{"model":"%s","messages":[{"role":"user","content":"` + promptText + `"}]}`},
	{"/v1/chat/completions", `{"model":"%s","stream":true,"messages":[{"role":"user","content":"` + promptText + `"}]}`},
	{"/v1/completions", `{"model":"%s","prompt":"` + promptText + `"}`},
	{"/v1/completions", `{"model":"%s","stream":true,"prompt":"` + promptText + `"}`},
	{"/v1/responses", `{"model":"%s","input":"` + promptText + `"}`},
	{"/v1/responses", `{"model":"%s","stream":true,"input":"` + promptText + `"}`},
	{"/v1/messages", `{"model":"%s","max_tokens":9999,"messages":[{"role":"user","content":"` + promptText + `"}]}`},
	{"/v1/messages", `{"model":"%s","max_tokens":9999,"stream":true,"messages":[{"role":"user","content":"` + promptText + `"}]}`},
	{"/api/chat", `{"model":"%s","messages":[{"role":"user","content":"` + promptText + `"}]}`},
	{"/api/chat", `{"model":"%s","stream":false,"messages":[{"role":"user","content":"` + promptText + `"}]}`},
	{"/api/generate", `{"model":"%s","prompt":"` + promptText + `"}`},
	{"/v1beta/models/%s:generateContent", `{"contents":[{"role":"user","parts":[{"text":"` + promptText + `"}]}]}`},
	{"/v1beta/models/%s:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"` + promptText + `"}]}]}`},
	{"/model/%s/converse", `{"messages":[{"role":"user","content":[{"text":"` + promptText + `"}]}]}`},
	{"/model/%s/converse-stream", `{"messages":[{"role":"user","content":[{"text":"` + promptText + `"}]}]}`},
	{"/v2/chat", `{"model":"%s","messages":[{"role":"user","content":"` + promptText + `"}]}`},
	{"/v2/chat", `{"model":"%s","stream":true,"messages":[{"role":"user","content":"` + promptText + `"}]}`},
	{"/completion", `{"model":"%s","prompt":"` + promptText + `"}`},
}

// conversed runs an exchange, and returns what came of it.
func conversed(t *testing.T, content bool, route routing.Route, upstream http.Handler, path, body string) *collector {
	t.Helper()
	up := httptest.NewServer(upstream)
	defer up.Close()
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	got := collect(t)
	c := got.config()
	c.Content = content
	tele, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	config := gateway.Config{Upstream: base, Default: route, Observers: []gateway.Observer{tele.Observer()}}
	if content {
		config.Recorder = tele.Recorder(nil, record.NewSecrets("operator-secret-0123"))
	}
	g, err := gateway.New(config)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+tokenText)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	reply, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	front.Close()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := tele.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Logf("%s: %d %.200s", path, resp.StatusCode, reply)
	}
	return got
}

// root is the span of the one exchange.
func (c *collector) root(t *testing.T) *tracepb.Span {
	t.Helper()
	for _, s := range c.spans {
		if said(s)["sotto.exchange.id"] != "" {
			return s
		}
	}
	t.Fatal("no span of an exchange came")
	return nil
}

// joined are the texts of messages by the types of their parts.
func joined(t *testing.T, text string) map[string]string {
	t.Helper()
	var list []otlp.Message
	if text != "" {
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Errorf("%v: %s", err, text)
		}
	}
	all := map[string]string{}
	for _, m := range list {
		if m.Role == "" {
			t.Errorf("a message without a role: %s", text)
		}
		for _, p := range m.Parts {
			all[p.Type] += p.Content + string(p.Arguments) + p.Response
		}
	}
	return all
}

// TestContent: over every API, spans have no text of a prompt, a thought or an answer unless
// that is asked for. Then they have each as the part that it is, wherever the display puts
// reasoning. No token is ever in them.
func TestContent(t *testing.T) {
	const model = "minimax-m2"
	m, ok := scripted.Find(model)
	if !ok {
		t.Fatal("there is no such model")
	}
	thought, answer := strings.TrimSpace(strings.Join(m.Reply.Reasoning, "")), strings.TrimSpace(m.Reply.Visible)
	for i, a := range apiPaths {
		path, body := strings.ReplaceAll(a.path, "%s", model), strings.ReplaceAll(a.body, "%s", model)
		display := routing.Displays()[i%len(routing.Displays())]
		for _, content := range []bool{false, true} {
			t.Run(fmt.Sprint(path, " ", strings.Contains(body, `"stream":true`), " ", content), func(t *testing.T) {
				got := conversed(t, content, routing.Route{Display: display}, scripted.New(scripted.Options{}), path, body)
				s := said(got.root(t))
				if s["sotto.outcome"] != "answered" {
					t.Fatalf("%v", s)
				}
				if strings.Contains(string(got.bytes), tokenText) {
					t.Errorf("the token was sent: %q", got.bytes)
				}
				for _, text := range []string{promptText, thought, answer} {
					if !content && strings.Contains(string(got.bytes), text) {
						t.Errorf("%q was sent", text)
					}
				}
				if !content {
					return
				}
				in, out := joined(t, s[otlp.GenAIInputMessages]), joined(t, s[otlp.GenAIOutputMessages])
				if !strings.Contains(in["text"], promptText) || strings.TrimSpace(out["reasoning"]) != thought || strings.TrimSpace(out["text"]) != answer {
					t.Errorf("%v\n%v", in, out)
				}
			})
		}
	}
}

// TestContentOfCalls: the arguments of a call and the result of a tool are parts of their
// own, and nothing of them is sent unless that is asked for.
func TestContentOfCalls(t *testing.T) {
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"` + promptText + `"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"look","arguments":"{\"q\":\"earlier\"}"}}]},` +
		`{"role":"tool","tool_call_id":"call_0","content":"a result with operator-secret-0123 and ` + tokenText + `"}],"tools":[{"type":"function","function":{"name":"look"}}]}`
	for _, content := range []bool{false, true} {
		upstream := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { traced{stream: true, status: 200}.reply(w, nil) })
		got := conversed(t, content, routing.Route{}, upstream, "/v1/chat/completions", body)
		s := said(got.root(t))
		for _, secret := range []string{"operator-secret-0123", tokenText} {
			if strings.Contains(string(got.bytes), secret) {
				t.Errorf("%s was sent", secret)
			}
		}
		if !content {
			if strings.Contains(string(got.bytes), canary) || strings.Contains(string(got.bytes), "earlier") || strings.Contains(string(got.bytes), "a result") {
				t.Errorf("%q", got.bytes)
			}
			continue
		}
		in, out := joined(t, s[otlp.GenAIInputMessages]), joined(t, s[otlp.GenAIOutputMessages])
		if in["tool_call"] != `{"q":"earlier"}` || in["tool_call_response"] != "a result with [secret] and [secret]" || out["tool_call"] != `{"q":"`+canary+`"}` || out["reasoning"] != canary || out["text"] != canary+"!" {
			t.Errorf("%v\n%v", in, out)
		}
	}
}

// TestContentOfGuarded: what a guard kept from the client is not sent either.
func TestContentOfGuarded(t *testing.T) {
	for action, want := range map[guard.Action]string{guard.Pass: "", guard.Cut: "guard", guard.End: "guard"} {
		for _, stream := range []bool{true, false} {
			upstream := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { traced{stream: stream, status: 200}.reply(w, nil) })
			body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":%q}]}`, stream, promptText)
			got := conversed(t, true, routing.Route{Guard: guard.Rule{Guard: judges{canary: action}}}, upstream, "/v1/chat/completions", body)
			s := said(got.root(t))
			if s["sotto.content.withheld"] != want || strings.Contains(string(got.bytes), canary) != (want == "") || !strings.Contains(s[otlp.GenAIInputMessages], promptText) {
				t.Errorf("%s, streamed %v: %v", action, stream, s)
			}
		}
	}
}

// TestContentIsBounded: the attributes of an exchange of any size are JSON of at most
// mostContent bytes, and say that something was left out. The newest messages stay.
func TestContentIsBounded(t *testing.T) {
	same := func(s string) string { return s }
	for name, text := range map[string]string{
		"ASCII": strings.Repeat("a", 1<<20), "characters": strings.Repeat("é漢", 1<<18), "escapes": strings.Repeat("\x01\"", 1<<18), "broken": strings.Repeat("\xffa", 1<<19), "short": "short",
	} {
		x := record.Exchange{ID: "1"}
		for range 50 {
			x.Messages = append(x.Messages, record.Message{Role: "user", Text: record.Say(text)})
		}
		x.Messages = append(x.Messages, record.Message{Role: "user", Text: record.Say("the newest")})
		x.Replies = []record.Reply{{Raw: record.Say(text), Reasoning: []record.Thought{{Text: record.Say(text)}}, ToolCalls: []record.Call{{Name: "look", Arguments: record.Say(`"` + strings.Repeat("b", len(text)) + `"`)}}}}
		all := map[string]attribute.Value{}
		for _, a := range textsOf(x, same) {
			all[string(a.Key)] = a.Value
		}
		in, out := all[otlp.GenAIInputMessages].AsString(), all[otlp.GenAIOutputMessages].AsString()
		for key, v := range map[string]string{otlp.GenAIInputMessages: in, otlp.GenAIOutputMessages: out} {
			if len(v) > mostContent || !json.Valid([]byte(v)) || !utf8.ValidString(v) || all[key+".cut"].AsBool() != (name != "short") {
				t.Errorf("%s of %s: %d bytes, cut: %v", key, name, len(v), all[key+".cut"].AsBool())
			}
		}
		if !strings.Contains(in, "the newest") || name != "short" && len(in) < mostContent/4 {
			t.Errorf("%s: %d bytes, %.200s", name, len(in), in)
		}
		if !strings.HasPrefix(out, `[{"role":"assistant","parts":[{"type":"reasoning"`) {
			t.Errorf("%s: %.200s", name, out)
		}
	}
}

// TestContentIsLost: a span whose texts do not come is sent without them, and says so. Those
// that wait are bounded.
func TestContentIsLost(t *testing.T) {
	c := &contents{waiting: map[string]waiting{}}
	ended := 0
	for i := range 10 * mostWaiting {
		c.wait(fmt.Sprint(i), func(texts ...attribute.KeyValue) {
			if ended++; len(texts) != 1 || texts[0] != lost {
				t.Errorf("%v", texts)
			}
		})
		if len(c.waiting) > mostWaiting {
			t.Fatalf("%d wait", len(c.waiting))
		}
	}
	c.waiting["old"] = waiting{time.Now().Add(-2 * contentWait), func(...attribute.KeyValue) { ended++ }}
	c.wait("new", func(...attribute.KeyValue) { ended++ })
	if c.waiting["old"].end != nil {
		t.Error("one waits for too long")
	}
	c.attributes(record.Exchange{ID: "unknown"}, nil)
	c.close()
	if want := 10*mostWaiting + 2; ended != want {
		t.Errorf("%d spans ended, want %d", ended, want)
	}
}
