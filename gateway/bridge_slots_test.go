package gateway_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
)

// A bridged is an upstream that answers what it is told, and notes what it gets.
type bridged struct {
	t     *testing.T
	base  http.Handler
	seen  string
	reply string

	status int // of the reply; 200 if zero
}

func newBridged(t *testing.T, api string, c gateway.Config) *bridged {
	b := &bridged{t: t}
	c.Upstream, c.UpstreamAPI = &url.URL{Scheme: "http", Host: "upstream"}, api
	c.Transport = answering(func(r *http.Request) *http.Response {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		b.seen = string(body)
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(cmp.Or(b.status, http.StatusOK))
		_, _ = w.WriteString(b.reply)
		return w.Result()
	})
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	b.base = g
	return b
}

// ask sends a request of the Messages API. It returns the reply, and empties what was seen before.
func (b *bridged) ask(model, key, messages string) *httptest.ResponseRecorder {
	b.seen = ""
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(fmt.Sprintf(`{"model":%q,"max_tokens":99,"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[%s]}`, model, messages)))
	r.Header.Set("Content-Type", "application/json")
	r.Host = "localhost"
	r.Header.Set("X-Api-Key", key)
	w := httptest.NewRecorder()
	b.base.ServeHTTP(w, r)
	return w
}

const (
	chatCallReply   = `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"reasoning_content":"Secret plan.","tool_calls":[{"id":"c-1","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}`
	chatAnswerReply = `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Done."}}]}`
	askedOnce       = `{"role":"user","content":"go"}`
)

func toolResult(id string) string {
	return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"ok"}]}`, id)
}

// TestBridgedSlots: a copy of thoughts is opened for its own caller, upstream and model. Any other is left
// out of a turn that is complete. Where the upstream could not go on without its own reasoning, the client
// gets an error that names the message. What claims to be a copy never reaches the upstream.
func TestBridgedSlots(t *testing.T) {
	secret := []byte("a secret of the replicas, long enough")
	config := gateway.Config{Default: routing.Route{Display: routing.DisplayHide}, SharedSecret: secret}
	first := newBridged(t, "chat", config)
	first.reply = chatCallReply
	w := first.ask("deepseek-v3.2", "alice", askedOnce)
	content := gjson.GetBytes(w.Body.Bytes(), "content")
	slot, id := content.Get("0.signature").Str, content.Get("1.id").Str
	if slot == "" || id != "c-1" || strings.Contains(w.Body.String(), "Secret") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	message := func(slot string) string {
		return fmt.Sprintf(`{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":%q},{"type":"tool_use","id":"c-1","name":"f","input":{}}]}`, slot)
	}
	flip := func(s string) string {
		b := []byte(s)
		b[len(b)/2] ^= 1
		return string(b)
	}
	own := func(api string) *bridged { // another process, which remembers nothing
		b := newBridged(t, api, config)
		b.reply = chatAnswerReply
		return b
	}
	for _, c := range []struct {
		name, model, key, slot string
		opens, needs           bool
	}{
		{"its own", "deepseek-v3.2", "alice", slot, true, true},
		{"another caller's", "deepseek-v3.2", "bob", slot, false, true},
		{"another model's", "deepseek-v4", "alice", slot, false, true},
		{"of a model that needs none", "qwen3", "alice", slot, false, false},
		{"damaged", "deepseek-v3.2", "alice", flip(slot), false, true},
		{"too large", "deepseek-v3.2", "alice", slot + strings.Repeat("A", 1<<20), false, true},
		{"of a provider", "deepseek-v3.2", "alice", "ErUBCkYIBxgCKkDsigned", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := own("chat")
			w := b.ask(c.model, c.key, askedOnce+","+message(c.slot)+","+toolResult("c-1"))
			switch {
			case !c.opens && c.needs:
				if w.Code != http.StatusBadRequest || b.seen != "" || !strings.Contains(gjson.GetBytes(w.Body.Bytes(), "error.message").Str, "messages[1].content[0]") {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			case w.Code != http.StatusOK, c.opens != strings.Contains(b.seen, "Secret plan."):
				t.Errorf("%d %s\nthe upstream got %s", w.Code, w.Body, b.seen)
			}
			w = b.ask(c.model, c.key, askedOnce+","+message(c.slot)+","+toolResult("c-1")+`,{"role":"assistant","content":"Done."},{"role":"user","content":"thanks"}`)
			if w.Code != http.StatusOK || strings.Contains(b.seen, c.slot[:8]) || !strings.Contains(b.seen, "c-1") {
				t.Errorf("a turn that is complete: %d %s\nthe upstream got %s", w.Code, w.Body, b.seen)
			}
		})
	}
	t.Run("of the user", func(t *testing.T) {
		b := own("chat")
		w := b.ask("deepseek-v3.2", "alice", strings.Replace(message(slot), "assistant", "user", 1)+","+askedOnce)
		if strings.Contains(b.seen, "Secret") || strings.Contains(b.seen, slot) {
			t.Errorf("%d %s\nthe upstream got %s", w.Code, w.Body, b.seen)
		}
	})
	t.Run("of another API of the upstream", func(t *testing.T) {
		b := own("ollama")
		w := b.ask("deepseek-v3.2", "alice", askedOnce+","+message(slot)+","+toolResult("c-1"))
		if w.Code != http.StatusBadRequest || b.seen != "" {
			t.Errorf("%d %s\nthe upstream got %s", w.Code, w.Body, b.seen)
		}
	})
}

// TestBridgedWithoutReasoning: an upstream that refuses a request because its own reasoning is missing speaks of a message that
// the client has not written. The client's error names the call that lacks it, in the client's request. No other error does.
func TestBridgedWithoutReasoning(t *testing.T) {
	const (
		said    = "The `reasoning_content` in the thinking mode must be passed back to the API."
		lacks   = `{"error":{"message":"` + said + `","type":"invalid_request_error"}}`
		call    = `{"role":"assistant","content":[{"type":"text","text":"So."},{"type":"tool_use","id":"c-1","name":"f","input":{}}]}`
		thought = `{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":""},{"type":"tool_use","id":"c-2","name":"f","input":{}}]}`
		answer  = `{"role":"assistant","content":"Done."},{"role":"user","content":"Again."}`
	)
	loop := askedOnce + "," + call + "," + toolResult("c-1")
	for _, c := range []struct {
		name, model, messages, reply string
		status, want                 int
		at                           string
	}{
		{"the turn under way", "deepseek-v3.2", loop, lacks, 400, 400, "messages[1].content[1]: "},
		{"an earlier turn", "deepseek-v3.2", loop + "," + answer, lacks, 400, 400, "messages[1].content[1]: "},
		{"the second step", "deepseek-v3.2", askedOnce + "," + thought + "," + toolResult("c-2") + "," + call + "," + toolResult("c-1"), lacks, 400, 400, "messages[3].content[1]: "},
		{"not found", "deepseek-v3.2", loop, lacks, 404, 400, "messages[1].content[1]: "},
		{"a family that needs none", "qwen3", loop, lacks, 400, 400, ""},
		{"no call", "deepseek-v3.2", askedOnce + "," + answer, lacks, 400, 400, ""},
		{"with its thought", "deepseek-v3.2", askedOnce + "," + thought + "," + toolResult("c-2"), lacks, 400, 400, ""},
		{"another reason", "deepseek-v3.2", loop, `{"error":{"message":"It is too hot.","type":"invalid_request_error"}}`, 400, 400, ""},
		{"another status", "deepseek-v3.2", loop, lacks, 429, 429, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBridged(t, "chat", gateway.Config{})
			b.status, b.reply = c.status, c.reply
			w := b.ask(c.model, "k", c.messages)
			message := gjson.GetBytes(w.Body.Bytes(), "error.message").Str
			if w.Code != c.want || !strings.HasPrefix(message, c.at) || (c.at == "") != (message == gjson.Get(c.reply, "error.message").Str) || c.at != "" && !strings.HasSuffix(message, said) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

// TestBridgedWithoutID: where reasoning is an item, a thought that its provider must have sealed is left out if the client has no
// seal of it, and so is one without words. Neither gets an id that nobody knows.
func TestBridgedWithoutID(t *testing.T) {
	for _, c := range []struct {
		policy                     history.Policy
		model, thought, left, done string
		items                      string
	}{
		{history.Auto, "gpt-5", "Hm.", "", "removed=3 bytes", `["message","function_call","function_call_output"]`},
		{history.Preserve, "gpt-5", "Hm.", "messages[1].content[0]", "", `["message","function_call","function_call_output"]`},
		{history.Auto, "gpt-5", "", "", "", `["message","function_call","function_call_output"]`},
		{history.Auto, "gpt-oss", "", "", "", `["message","function_call","function_call_output"]`},
		{history.Auto, "gpt-oss", "Hm.", "", "", `["message","reasoning","function_call","function_call_output"]`},
	} {
		b := newBridged(t, "responses", gateway.Config{Default: routing.Route{History: c.policy}})
		b.reply = `{"id":"resp_1","object":"response","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Done.","annotations":[]}]}]}`
		w := b.ask(c.model, "k", fmt.Sprintf(askedOnce+`,{"role":"assistant","content":[{"type":"thinking","thinking":%q,"signature":""},{"type":"tool_use","id":"c-1","name":"f","input":{}}]},`+toolResult("c-1"), c.thought))
		if items := gjson.Get(b.seen, "input.#.type").Raw; w.Code != http.StatusOK || items != c.items || w.Header().Get("Sotto-Left-Out") != c.left || !strings.Contains(w.Header().Get("Sotto-History"), c.done) {
			t.Errorf("%s, %s %q: %d, left out %q, history %q, the upstream got %s", c.policy, c.model, c.thought, w.Code, w.Header().Get("Sotto-Left-Out"), w.Header().Get("Sotto-History"), b.seen)
		}
	}
}

// TestBridgedUnsigned: calls of another model get the placeholder that the provider documents, in the turn under way
// and on the first call of each step; a signature of another provider never arrives.
func TestBridgedUnsigned(t *testing.T) {
	b := newBridged(t, "gemini", gateway.Config{})
	b.reply = `{"candidates":[{"content":{"role":"model","parts":[{"text":"Done."}]},"finishReason":"STOP"}]}`
	step := func(n int) string {
		return fmt.Sprintf(`{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"ErUBsigned"},{"type":"tool_use","id":"a%d","name":"f","input":{}},{"type":"tool_use","id":"b%d","name":"f","input":{}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a%d","content":"ok"},{"type":"tool_result","tool_use_id":"b%d","content":"ok"}]}`, n, n, n, n)
	}
	talk := askedOnce + "," + step(0) + `,{"role":"assistant","content":"Done."},{"role":"user","content":"again"},` + step(1) + "," + step(2)
	if w := b.ask("gemini-3-pro", "alice", talk); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var signed []string
	for _, c := range gjson.Get(b.seen, "contents").Array() {
		for _, p := range c.Get("parts").Array() {
			if p.Get("functionCall").Exists() {
				signed = append(signed, p.Get("thoughtSignature").Str)
			}
		}
	}
	const none = "skip_thought_signature_validator"
	if got, want := fmt.Sprint(signed), fmt.Sprint([]string{"", "", none, "", none, ""}); got != want || strings.Contains(b.seen, "ErUB") {
		t.Errorf("signatures %s, want %s\n%s", got, want, b.seen)
	}
}

// TestBridgedCallIDs: an upstream never sees an id that it did not make. A client gets ids that its API accepts,
// and results belong to their calls in whichever order they come.
func TestBridgedCallIDs(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		b := newBridged(t, "ollama", gateway.Config{})
		b.reply = `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"n":1}}},{"function":{"name":"f","arguments":{"n":2}}}]},"done":true,"done_reason":"stop"}`
		content := gjson.GetBytes(b.ask("m", "k", askedOnce).Body.Bytes(), "content")
		one, two := content.Get("0.id").Str, content.Get("1.id").Str
		if one == "" || two == "" || one == two || len(one) > 64 {
			t.Fatalf("ids %q and %q: %s", one, two, content.Raw)
		}
		for _, server := range []*bridged{b, newBridged(t, "ollama", gateway.Config{})} { // which remembers, and which does not
			server.reply = b.reply
			w := server.ask("m", "k", askedOnce+`,{"role":"assistant","content":`+content.Raw+`},{"role":"user","content":[`+
				fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":"two"},{"type":"tool_result","tool_use_id":%q,"content":"one"}`, two, one)+`]}`)
			if w.Code != http.StatusOK || strings.Contains(server.seen, one) || strings.Contains(server.seen, two) {
				t.Fatalf("%d %s\nthe upstream got %s", w.Code, w.Body, server.seen)
			}
			results := gjson.Get(server.seen, `messages.#(role=="tool")#.content`).Raw
			names := gjson.Get(server.seen, `messages.#(role=="tool")#.tool_name`).Raw
			if results != `["one","two"]` || names != `["f","f"]` {
				t.Errorf("results %s of %s\n%s", results, names, server.seen)
			}
		}
	})
	for _, id := range []string{"functions.f:0", "call sotto", "call_sotto0_X", "call_sotto1_X", "é", strings.Repeat("x", 90)} {
		t.Run(id[:min(len(id), 12)], func(t *testing.T) {
			b := newBridged(t, "chat", gateway.Config{})
			quoted, _ := json.Marshal(id)
			b.reply = strings.Replace(strings.Replace(chatCallReply, `"c-1"`, string(quoted), 1), `"reasoning_content":"Secret plan.",`, "", 1)
			content := gjson.GetBytes(b.ask("m", "k", askedOnce).Body.Bytes(), "content")
			got := content.Get("0.id").Str
			if strings.ContainsFunc(got, func(c rune) bool {
				return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", c)
			}) || got == "" {
				t.Fatalf("%q becomes %q", id, got)
			}
			again := newBridged(t, "chat", gateway.Config{})
			again.reply = chatAnswerReply
			w := again.ask("m", "k", askedOnce+`,{"role":"assistant","content":`+content.Raw+`},`+toolResult(got))
			call := gjson.Get(again.seen, "messages.1.tool_calls.0.id").Str
			if result := gjson.Get(again.seen, "messages.2.tool_call_id").Str; w.Code != http.StatusOK || call != id || result != id {
				t.Errorf("%d %s\nthe call has %q and its result %q, want %q", w.Code, w.Body, call, result, id)
			}
		})
	}
}
