package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/record"
)

// label begins the message in which a model gets a summary.
const label = "Summary of the earlier conversation."

// compact asks for a shorter conversation, and returns the answer.
func (c responsesClient) compact(members map[string]any) gjson.Result {
	c.t.Helper()
	body, _ := json.Marshal(members)
	status, data := c.do("POST", "/v1/responses/compact", string(body))
	if status != http.StatusOK {
		c.t.Fatalf("%d %s", status, data)
	}
	return gjson.ParseBytes(data)
}

// summaryIn returns the summary in a request that the upstream got.
func summaryIn(t *testing.T, request string) string {
	t.Helper()
	_, body, _ := strings.Cut(request, " ")
	text := stringWith(gjson.Parse(body), label)
	_, summary, ok := strings.Cut(text, ":\n\n")
	if !ok {
		t.Fatalf("no summary in %s", request)
	}
	return summary
}

// stringWith returns the first string in JSON that contains a text.
func stringWith(v gjson.Result, text string) (found string) {
	if v.Type == gjson.String {
		if !strings.Contains(v.Str, text) {
			return ""
		}
		return v.Str
	}
	v.ForEach(func(_, v gjson.Result) bool {
		if v.IsObject() || v.IsArray() || v.Type == gjson.String {
			found = stringWith(v, text)
		}
		return found == ""
	})
	return found
}

// withSummary is the input of a client that goes on from a compacted conversation.
func withSummary(compacted gjson.Result, text string) []any {
	var input []any
	for _, item := range compacted.Get("output").Array() {
		input = append(input, json.RawMessage(item.Raw))
	}
	return append(input, user(text))
}

// TestCompact: over each API, a client has turns, has them compacted by their id or as a whole, and goes on. The
// model was asked with the whole conversation. Later it gets what the user said and the summary, and no more.
func TestCompact(t *testing.T) {
	for _, api := range keptUpstreams {
		for _, display := range routing.Displays() {
			for _, model := range keptModels[api] {
				t.Run(fmt.Sprint(api, "/", display, "/", model), func(t *testing.T) { compactLoop(t, api, display, model) })
			}
		}
	}
}

func compactLoop(t *testing.T, api string, display routing.Display, model string) {
	up := newHeardUpstream()
	c := responsesClient{t: t, base: start(t, up, gateway.Config{UpstreamAPI: api, Default: routing.Route{Display: display, Conversations: routing.ConversationsGateway}})}
	ask := func(more ...any) map[string]any {
		m := map[string]any{"model": model, "instructions": "Be brief."}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	first := c.reply(ask("input", "Question one"))
	second := c.reply(ask("input", "Question two", "previous_response_id", first.Get("id").Str))
	whole := whole(whole([]any{user("Question one")}, first, user("Question two")), second, user("Question three"))
	for name, input := range map[string]map[string]any{
		"whole": ask("input", whole[:len(whole)-1], "stream", true, "store", true, "text", map[string]any{"format": map[string]any{"type": "json_object"}}),
		"by id": ask("previous_response_id", second.Get("id").Str),
	} {
		up.asked = nil
		compacted := c.compact(input)
		asked := up.asked[0]
		for _, text := range []string{"Question one", "Question two", "Be brief.", "Summarize this conversation"} {
			if !strings.Contains(asked, text) {
				t.Errorf("%s: the model was asked without %q: %s", name, text, asked)
			}
		}
		users := compacted.Get("output.#.content.0.text").Array()
		item := compacted.Get("output").Array()[len(users)]
		if len(up.asked) != 1 || compacted.Get("object").Str != "response.compaction" || compacted.Get("id").Str == "" || compacted.Get("created_at").Int() == 0 ||
			compacted.Get("usage.output_tokens").Int() == 0 || len(users) != 2 || users[0].Str != "Question one" || users[1].Str != "Question two" ||
			item.Get("type").Str != "compaction" || !strings.HasPrefix(item.Get("id").Str, "cmp_") || compacted.Get("output.#").Int() != 3 {
			t.Fatalf("%s: %s", name, compacted.Raw)
		}
		up.asked = nil
		last := c.reply(ask("input", withSummary(compacted, "Question four")))
		c.reply(ask("input", "Question five", "previous_response_id", last.Get("id").Str))
		script, _ := scripted.Find(model)
		for i, asked := range up.asked {
			summary := summaryIn(t, asked)
			if want := strings.TrimSpace(script.Reply.Visible); summary != want {
				t.Errorf("%s: the summary is %q, want %q", name, summary, want)
			}
			if strings.Contains(asked, "sottoSealed1") || strings.Contains(asked, "Summarize") || i == 0 && strings.Count(asked, summary) != 1 ||
				!(strings.Index(asked, "Question two") < strings.Index(asked, label) && strings.Index(asked, label) < strings.Index(asked, "Question four")) {
				t.Errorf("%s: the model gets %s", name, asked)
			}
		}
	}
}

// TestCompactLaw: nothing of a thought is in a summary, whatever the display, and wherever the model has its thoughts.
func TestCompactLaw(t *testing.T) {
	for _, display := range routing.Displays() {
		for _, action := range []routing.NoAnswerAction{routing.NoAnswerEmpty, routing.NoAnswerPromote} {
			if display == routing.DisplayHide && action == routing.NoAnswerPromote {
				continue
			}
			for _, api := range []string{"chat", "ollama", "responses"} {
				up := newHeardUpstream()
				route := routing.Route{Display: display, OnNoAnswer: action, Conversations: routing.ConversationsGateway}
				c := responsesClient{t: t, base: start(t, up, gateway.Config{UpstreamAPI: api, Default: route})}
				for _, m := range scripted.Models() {
					compactLaw(t, c, up, m, fmt.Sprint(display, " ", action, " ", api, " ", m.Name))
				}
			}
		}
	}
}

func compactLaw(t *testing.T, c responsesClient, up *heardUpstream, m scripted.Model, of string) {
	up.asked = nil
	body := fmt.Sprintf(`{"model":%q,"input":"What is the weather?"}`, m.Name)
	status, data := c.do("POST", "/v1/responses/compact", body)
	if status != http.StatusOK {
		if gjson.GetBytes(data, "error.message").Str == "" || m.Fault == "" && m.Reply.Visible != "" && m.Reply.End == sotto.EndStopped && !strings.HasPrefix(of, "hide") {
			t.Errorf("%s: %d %s", of, status, data)
		}
		return
	}
	if got := gjson.GetBytes(data, "output.#.type").Raw; got != `["message","compaction"]` {
		t.Errorf("%s: %s", of, data)
	}
	more, _ := json.Marshal(map[string]any{"model": m.Name, "input": withSummary(gjson.ParseBytes(data), "Go on.")})
	c.do("POST", "/v1/responses", string(more))
	got, want := summaryIn(t, up.asked[len(up.asked)-1]), strings.TrimSpace(m.Reply.Visible)
	for _, thought := range m.Reply.Reasoning {
		if thought = strings.TrimSpace(thought); thought != "" && strings.Contains(got, thought) {
			t.Errorf("%s: the thought %q is in the summary %q", of, thought, got)
		}
	}
	hidden := strings.HasPrefix(of, "hide") && strings.HasSuffix(want, got) // what may be a thought, as in any reply
	called := m.Name == "qwen3-tool-text" && strings.HasPrefix(got, want)   // its text has a call that no tool was declared for
	if got != want && !hidden && !called {
		t.Errorf("%s: the summary is %q, want %q", of, got, want)
	}
}

// A summarizer is an upstream with the Responses API whose model writes one text.
func summarizer(reply string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, reply)
	})
}

func summaryReply(status, text string) string {
	return fmt.Sprintf(`{"id":"resp_1","object":"response","created_at":1,"status":%q,"model":"m","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":%q}]}],"incomplete_details":{"reason":"max_output_tokens"}}`, status, text)
}

// TestCompactFails: where there is no whole summary, the client gets an error in the API's form, and no answer.
func TestCompactFails(t *testing.T) {
	for reply, want := range map[string]string{
		summaryReply("incomplete", "Half of"): "not complete (max_output_tokens)",
		summaryReply("completed", " "):        "no summary",
		`{"id":"resp_1","object":"response","status":"completed","output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`: "called a tool",
		`{"id":"resp_1","object":"response","status":"failed","error":{"code":"server_error","message":"out of memory"},"output":[]}`:            "out of memory",
		summaryReply("completed", strings.Repeat("x", 256<<10+1)):                                                                                "larger than 256 KiB",
		`{`: "", `[]`: "",
	} {
		base := start(t, summarizer(reply), gateway.Config{Default: routing.Route{Conversations: routing.ConversationsGateway}})
		status, body := responsesClient{t: t, base: base}.do("POST", "/v1/responses/compact", `{"model":"m","input":"x"}`)
		if message := gjson.GetBytes(body, "error.message").Str; status != http.StatusBadGateway || message == "" || !strings.Contains(message, want) {
			t.Errorf("%.200s: %d %s", reply, status, body)
		}
	}
	p := newKeptPlace(t, gateway.Config{})
	for body, want := range map[string]int{
		`{"model":"deepseek-r1"}`: 400, `{"model":"deepseek-r1","input":[]}`: 400, `{"model":"deepseek-r1","input":5}`: 400, `{`: 400, `[]`: 400,
		`{"model":"deepseek-r1","input":"a","input":"b"}`: 400, `{"model":"deepseek-r1","previous_response_id":"resp_1"}`: 400,
		`{"model":"nobody-has-this","input":"x"}`: 404,
	} {
		status, answer := p.client("").do("POST", "/v1/responses/compact", body)
		if status != want || gjson.GetBytes(answer, "error.message").Str == "" {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	released(t, p.gateway)
}

// TestCompactForeign: a summary of another caller, model or gateway, a changed one and a sealed thought are refused
// where they stand. What another server has made passes to an upstream with the same API.
func TestCompactForeign(t *testing.T) {
	p := newKeptPlace(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}})
	made := p.client("sk-a").compact(map[string]any{"model": "deepseek-r1", "input": "One"})
	sealed := made.Get("output.1.encrypted_content").Str
	thought := p.client("sk-a").turn("One", "", "include", []any{"reasoning.encrypted_content"}).Get(`output.#(type=="reasoning").encrypted_content`).Str
	if !strings.HasPrefix(thought, "sottoSealed1") {
		t.Fatalf("the thought is %q", thought)
	}
	ask := func(key, model, sealed string) (int, string) {
		status, body := p.client(key).do("POST", "/v1/responses", fmt.Sprintf(`{"model":%q,"input":[{"role":"user","content":"One"},{"type":"compaction","encrypted_content":%q},{"role":"user","content":"Two"}]}`, model, sealed))
		return status, gjson.GetBytes(body, "error.message").Str
	}
	if status, message := ask("sk-a", "deepseek-r1", sealed); status != 200 {
		t.Fatalf("%d %s", status, message)
	}
	middle := len(sealed) / 2
	flipped := sealed[:middle] + string(sealed[middle]^1) + sealed[middle+1:]
	for name, c := range map[string][3]string{
		"another caller": {"sk-b", "deepseek-r1", sealed}, "another model": {"sk-a", "qwen3:8b", sealed}, "changed": {"sk-a", "deepseek-r1", flipped}, "cut": {"sk-a", "deepseek-r1", sealed[:40]},
		"only the prefix": {"sk-a", "deepseek-r1", "sottoSealed1"}, "too large": {"sk-a", "deepseek-r1", "sottoSealed1" + strings.Repeat("A", 600<<10)}, "a thought": {"sk-a", "deepseek-r1", thought},
	} {
		before := len(p.upstream.asked)
		if status, message := ask(c[0], c[1], c[2]); status != 400 || !strings.HasPrefix(message, "input[1]: this compaction item cannot be opened") || len(p.upstream.asked) != before {
			t.Errorf("%s: %d %s", name, status, message)
		}
	}
	if status, message := ask("sk-a", "deepseek-r1", "gAAAAAB"); status != 400 || !strings.Contains(message, "input[1]") {
		t.Errorf("of another server, over a bridge: %d %s", status, message)
	}
	p.restart() // without a data folder, with another key
	if status, message := ask("sk-a", "deepseek-r1", sealed); status != 400 {
		t.Errorf("of another gateway: %d %s", status, message)
	}
	up := newHeardUpstream()
	c := responsesClient{t: t, base: start(t, up, gateway.Config{Default: routing.Route{Conversations: routing.ConversationsGateway}})}
	c.do("POST", "/v1/responses", `{"model":"deepseek-r1","input":[{"type":"compaction","encrypted_content":"gAAAAAB"},{"role":"user","content":"Two"}]}`)
	if len(up.asked) != 1 || !strings.Contains(up.asked[0], `{"type":"compaction","encrypted_content":"gAAAAAB"}`) {
		t.Errorf("the upstream was asked %q", up.asked)
	}
}

// TestCompactReplicas: a replica with the same secret opens a summary, and one with another does not.
func TestCompactReplicas(t *testing.T) {
	up := newHeardUpstream()
	at := httptest.NewServer(up)
	defer at.Close()
	replica := func(secret string) responsesClient {
		return responsesClient{t: t, base: before(t, at.URL, gateway.Config{UpstreamAPI: "messages", SharedSecret: []byte(secret)})}
	}
	made := replica("a secret of the replicas").compact(map[string]any{"model": "claude-loop", "input": "One"})
	body, _ := json.Marshal(map[string]any{"model": "claude-loop", "input": withSummary(made, "Two")})
	for secret, want := range map[string]int{"a secret of the replicas": 200, "another secret of others": 400} {
		if status, answer := replica(secret).do("POST", "/v1/responses", string(body)); status != want {
			t.Errorf("%s: %d %s", secret, status, answer)
		}
	}
}

// TestCompactCounts: the exchange for a summary counts in the limits, and stands in the record as any other.
func TestCompactCounts(t *testing.T) {
	w, dir := openRecord(t, record.Options{})
	config := gateway.Config{UpstreamAPI: "chat", Recorder: w, Public: true, Tokens: []gateway.Token{{Name: "one", Secret: "sk-one-caller", Limits: gateway.CallerLimits{Requests: 1}, Scopes: []gateway.Scope{gateway.ScopeModels}}}}
	c := responsesClient{t: t, base: start(t, newHeardUpstream(), config), key: "sk-one-caller"}
	c.compact(map[string]any{"model": "deepseek-r1", "input": "One"})
	if status, body := c.do("POST", "/v1/responses/compact", `{"model":"deepseek-r1","input":"One"}`); status != http.StatusTooManyRequests {
		t.Errorf("beyond the limit: %d %s", status, body)
	}
	all := exchanges(t, w, dir)
	asked, _ := json.Marshal(all)
	if len(all) != 1 || all[0].Outcome != "answered" || len(all[0].Replies) != 1 || all[0].Caller != "one" || !strings.Contains(string(asked), "Summarize this conversation") {
		t.Errorf("the record has %s", asked)
	}
}

// TestCompactElsewhere: of a route whose conversations the upstream keeps, the request is the upstream's.
func TestCompactElsewhere(t *testing.T) {
	up := newHeardUpstream()
	routes := []routing.Route{{Models: []string{"theirs"}, Conversations: routing.ConversationsUpstream}}
	c := responsesClient{t: t, base: start(t, up, gateway.Config{Default: routing.Route{Conversations: routing.ConversationsGateway}, Routes: routes})}
	const body = `{"model":"theirs", "input":"x","stream":true}`
	c.do("POST", "/v1/responses/compact", body)
	if !slices.Equal(up.asked, []string{"/v1/responses/compact " + body}) {
		t.Errorf("the upstream was asked %q", up.asked)
	}
}
