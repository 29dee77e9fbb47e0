package scripted

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// firstTurn lets a model call a tool and returns the message unchanged.
func firstTurn(t *testing.T, model string) map[string]any {
	t.Helper()
	w := post(t, "/v1/chat/completions", body{"model": model, "messages": question, "tools": weather})
	var answer struct {
		Choices []struct {
			Message map[string]any
		}
	}
	decode(t, ok(t, w), &answer)
	message := answer.Choices[0].Message
	if message["tool_calls"] == nil {
		t.Fatalf("%s calls no tool: %v", model, message)
	}
	return message
}

func secondTurn(model string, message any, more ...any) body {
	messages := append([]any{}, question...)
	messages = append(messages, message, body{"role": "tool", "tool_call_id": "x", "content": "4 °C, rain"})
	return body{"model": model, "messages": append(messages, more...), "tools": weather}
}

// TestChatContracts plays two turns of a tool loop with the providers that require
// something back.
func TestChatContracts(t *testing.T) {
	drop := func(field string) func(m map[string]any) {
		return func(m map[string]any) { delete(m, field) }
	}
	set := func(field string, v any) func(m map[string]any) {
		return func(m map[string]any) { m[field] = v }
	}
	signature := func(v any) func(m map[string]any) {
		return func(m map[string]any) {
			call := m["tool_calls"].([]any)[0].(map[string]any)
			if v == nil {
				delete(call, "extra_content")
				return
			}
			call["extra_content"] = body{"google": body{"thought_signature": v}}
		}
	}
	for _, c := range []struct {
		name, model string
		change      func(m map[string]any)
		want        string // of the refusal
	}{
		{"as it was", "deepseek-v3.2", nil, ""},
		{"dropped", "deepseek-v3.2", drop("reasoning_content"), `{"error":{"message":"The ` + "`reasoning_content`" + ` in the thinking mode must be passed back to the API.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`},
		{"changed", "deepseek-v3.2", set("reasoning_content", "hm"), "must be passed back"},
		{"as it was", "kimi-k2.6", nil, ""},
		{"empty", "kimi-k2.6", set("reasoning_content", ""), ""},
		{"dropped", "kimi-k2.6", drop("reasoning_content"), `{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 1","type":"invalid_request_error"}}`},
		{"as it was", "gemini", nil, ""},
		{"dropped", "gemini", signature(nil), "[{\"error\":{\"code\":400,\"message\":\"Function call is missing a thought_signature in functionCall parts. "},
		{"changed", "gemini", signature("AAAA"), `[{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}]`},
		{"dropped", "openrouter", drop("reasoning_details"), ""},
		{"dropped", "qwen3:8b", drop("content"), ""},
	} {
		t.Run(c.model+"/"+c.name, func(t *testing.T) {
			message := firstTurn(t, c.model)
			if c.change != nil {
				c.change(message)
			}
			for _, later := range [][]any{nil, {body{"role": "assistant", "content": "Rain."}, body{"role": "user", "content": "And?"}}} {
				w := post(t, "/v1/chat/completions", secondTurn(c.model, message, later...))
				if c.want != "" {
					if got := w.Body.String(); w.Code != 400 || !strings.Contains(got, c.want) {
						t.Errorf("status %d: %s", w.Code, got)
					}
					continue
				}
				s := readChat(t, ok(t, w), false, 1)[0]
				m, _ := Find(c.model)
				if later == nil && (s.text != m.Result.Text() || s.tool != "") {
					t.Errorf("after the result: %+v", s)
				}
				if later != nil && s.tool != "weather_now" {
					t.Errorf("later: %+v", s)
				}
			}
		})
	}
}

// TestStreamedToolLoop checks that a client can send back the whole of what it read
// from a stream.
func TestStreamedToolLoop(t *testing.T) {
	b := body{"model": "deepseek-v3.2", "messages": question, "tools": weather, "stream": true}
	s := readChat(t, ok(t, post(t, "/v1/chat/completions", b)), true, 1)[0]
	message := body{"role": "assistant", "content": s.text, "reasoning_content": s.thought, "tool_calls": []any{
		body{"id": "x", "type": "function", "function": body{"name": s.tool, "arguments": s.arguments}},
	}}
	ok(t, post(t, "/v1/chat/completions", secondTurn("deepseek-v3.2", message)))
	delete(message, "reasoning_content")
	off := secondTurn("deepseek-v3.2", message)
	off["thinking"] = body{"type": "disabled"}
	ok(t, post(t, "/v1/chat/completions", off))
}

// TestClaudeContract plays a tool loop over the messages API.
func TestClaudeContract(t *testing.T) {
	tools := []any{body{"name": "weather_now", "input_schema": body{"type": "object"}}}
	for _, stream := range []bool{false, true} {
		first := body{"model": "claude", "messages": question, "tools": tools, "max_tokens": 999, "stream": stream}
		blocks, s := readMessage(t, ok(t, post(t, "/v1/messages", first)), stream)
		kinds := ""
		for _, b := range blocks {
			kinds += b.Type + " "
		}
		if kinds != "thinking redacted_thinking text tool_use " || s.tool != "weather_now" {
			t.Fatalf("the blocks are %s", kinds)
		}
		with := func(change func(b []contentBlock) []contentBlock) body {
			changed := change(append([]contentBlock{}, blocks...))
			return body{"model": "claude", "max_tokens": 999, "tools": tools, "messages": []any{
				question[0], body{"role": "assistant", "content": changed},
				body{"role": "user", "content": []any{body{"type": "tool_result", "tool_use_id": "x", "content": "4 °C"}}},
			}}
		}
		for _, c := range []struct {
			name   string
			change func(b []contentBlock) []contentBlock
			want   string
		}{
			{"as it was", func(b []contentBlock) []contentBlock { return b }, ""},
			{"redacted first", func(b []contentBlock) []contentBlock { return b[1:] }, ""},
			{"missing", func(b []contentBlock) []contentBlock { return b[2:] }, "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. "},
			{"minted", func(b []contentBlock) []contentBlock { b[0].Signature = "EkAAAA"; return b }, "messages.1.content.0: Invalid `signature` in `thinking` block"},
			{"unsigned", func(b []contentBlock) []contentBlock { b[0].Signature = ""; return b }, "messages.1.content.0.thinking.signature: Field required"},
			{"changed", func(b []contentBlock) []contentBlock { b[0].Thinking += " "; return b }, "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "},
			{"blacked out", func(b []contentBlock) []contentBlock { b[1].Data = "AAAA"; return b }, "messages.1.content.1: Invalid `data` in `redacted_thinking` block"},
		} {
			w := post(t, "/v1/messages", with(c.change))
			if c.want == "" {
				if _, s := readMessage(t, ok(t, w), false); s.text != "It is 4 °C in Oslo, with light rain." || s.tool != "" {
					t.Errorf("%s: %+v", c.name, s)
				}
				continue
			}
			var refusal struct {
				Type  string
				Error struct{ Type, Message string }
			}
			decode(t, w.Body.Bytes(), &refusal)
			if w.Code != 400 || refusal.Type != "error" || refusal.Error.Type != "invalid_request_error" || !strings.HasPrefix(refusal.Error.Message, c.want) {
				t.Errorf("%s: status %d, %s", c.name, w.Code, w.Body)
			}
		}
		off := with(func(b []contentBlock) []contentBlock { return b[2:] })
		off["thinking"] = body{"type": "disabled"}
		ok(t, post(t, "/v1/messages", off))
	}
}

// TestOtherToolLoops checks the APIs that require nothing back.
func TestOtherToolLoops(t *testing.T) {
	items := []any{body{"type": "function_call", "call_id": "x", "name": "weather_now", "arguments": "{}"},
		body{"type": "function_call_output", "call_id": "x", "output": "4 °C"}}
	tools := []any{body{"type": "function", "name": "weather_now"}}
	const want = "It is 4 °C in Oslo, with light rain."
	s := readResponse(t, ok(t, post(t, "/v1/responses", body{"model": "plain", "input": items, "tools": tools})), false)
	if s.text != want || s.tool != "" {
		t.Errorf("responses: %+v", s)
	}
	call := body{"role": "assistant", "content": "", "tool_calls": []any{body{"function": body{"name": "weather_now", "arguments": body{"city": "Oslo"}}}}}
	s = readOllama(t, ok(t, post(t, "/api/chat", secondTurn("ollama-native", call))))
	if s.text != want || s.thought == "" || s.tool != "" {
		t.Errorf("ollama: %+v", s)
	}
}

// TestErrors checks each provider's JSON for errors.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/chat/completions", `{"model":"nobody","messages":[{}]}`, 404, `{"error":{"message":"The model ` + "`nobody`" + ` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`},
		{"/v1/responses", `{"model":"nobody"}`, 404, `"code":"model_not_found"`},
		{"/v1/completions", `{"model":"nobody"}`, 404, `"code":"model_not_found"`},
		{"/api/chat", `{"model":"nobody"}`, 404, `{"error":"model 'nobody' not found"}`},
		{"/api/generate", `{"model":"nobody"}`, 404, `{"error":"model 'nobody' not found"}`},
		{"/v1/messages", `{"model":"nobody"}`, 404, `{"type":"error","error":{"type":"not_found_error","message":"model: nobody"},"request_id":"req_`},
		{"/v1/chat/completions", `{"model":`, 400, `"type":"invalid_request_error"`},
		{"/v1/completions", `nonsense`, 400, `"type":"invalid_request_error"`},
		{"/v1/responses", `[]`, 400, `"type":"invalid_request_error"`},
		{"/api/chat", `{"model":`, 400, `{"error":"unexpected end of JSON input"}`},
		{"/api/chat", ``, 400, `{"error":"missing request body"}`},
		{"/v1/messages", `{"model":`, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"unexpected end`},
		{"/v1/chat/completions", `{"model":"plain","messages":[]}`, 400, "empty array"},
		{"/v1/chat/completions", `{"model":"plain","messages":[{"role":"user"}],"n":1000}`, 400, "'n'"},
		{"/v1/responses", `{"model":"plain"}`, 400, "'input'"},
		{"/v1/nonsense", `{}`, 404, "Invalid URL (POST /v1/nonsense)"},
		{"/v1/chat/completions", `{"model":"busy","messages":[{"role":"user"}]}`, 429, `"code":"rate_limit_exceeded"`},
		{"/api/chat", `{"model":"busy","messages":[{"role":"user"}]}`, 503, "server busy"},
		{"/v1/messages", `{"model":"busy","messages":[{"role":"user","content":"x"}]}`, 529, `"overloaded_error"`},
		{"/v1/chat/completions", `{"model":"fails","messages":[{"role":"user"}]}`, 500, `"server_error"`},
		{"/v1/messages", `{"model":"` + strings.Repeat("x", MaxBody) + `"}`, 413, `"request_too_large"`},
	} {
		w := post(t, c.path, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s with %.60s: status %d, %s", c.path, c.body, w.Code, w.Body)
		}
		if got := w.Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("%s: content type %s", c.path, got)
		}
	}
}

// TestCatalogues checks that every API lists or shows the models.
func TestCatalogues(t *testing.T) {
	get := func(path string, header ...string) string {
		r := httptest.NewRequest("GET", path, nil)
		for _, h := range header {
			r.Header.Set(h, "2023-06-01")
		}
		w := httptest.NewRecorder()
		upstream.ServeHTTP(w, r)
		if got := string(ok(t, w)); json.Valid([]byte(got)) || path == "/" {
			return got
		}
		t.Errorf("%s: no JSON: %s", path, w.Body)
		return ""
	}
	lists := map[string]string{
		get("/v1/models"): `"id":"`, get("/v1/models", "Anthropic-Version"): `"id":"`, get("/api/tags"): `"model":"`,
	}
	for list, member := range lists {
		for _, m := range Models() {
			if !strings.Contains(list, member+m.Name+`"`) {
				t.Errorf("%s is not in %.80s", m.Name, list)
			}
		}
	}
	if got := get("/v1/models/qwen3:8b"); got != `{"id":"qwen3:8b","object":"model","created":1735689600,"owned_by":"scripted"}` {
		t.Error(got)
	}
	if got := get("/api/version"); got != `{"version":"`+ollamaVersion+`"}` {
		t.Error(got)
	}
	if got := get("/"); got != "Ollama is running" {
		t.Error(got)
	}
	show := ok(t, post(t, "/api/show", body{"model": "ollama-native"}))
	if !strings.Contains(string(show), `"capabilities":["completion","tools","thinking"]`) || !json.Valid(show) {
		t.Errorf("show: %s", show)
	}
	if got := string(ok(t, post(t, "/v1/messages/count_tokens", body{"model": "claude", "messages": question}))); !strings.HasPrefix(got, `{"input_tokens":`) {
		t.Error(got)
	}
	load := string(ok(t, post(t, "/api/generate", body{"model": "plain"})))
	if !strings.HasSuffix(load, `"response":"","done":true,"done_reason":"load"}`) {
		t.Errorf("load: %s", load)
	}
}

// TestUnfinished checks the models that do not finish their replies, on every
// API that streams.
func TestUnfinished(t *testing.T) {
	server := httptest.NewServer(New(Options{}))
	defer server.Close()
	ends := map[string]string{"/v1/chat/completions": "[DONE]", "/v1/completions": "[DONE]", "/v1/responses": "response.completed", "/api/chat": `"done":true`, "/api/generate": `"done":true`, "/v1/messages": "message_stop"}
	failures := map[string]string{"/v1/chat/completions": `data: {"error":{`, "/v1/completions": `data: {"error":{`, "/v1/responses": "event: response.failed", "/api/chat": `{"error":"`, "/api/generate": `{"error":"`, "/v1/messages": "event: error\n"}
	for path, end := range ends {
		for _, model := range []string{"breaks-off", "hangs-up", "fails"} {
			for _, stream := range []bool{true, false} {
				b, _ := json.Marshal(body{"model": model, "messages": question, "prompt": "?", "input": "?", "stream": stream})
				resp, err := http.Post(server.URL+path, "application/json", strings.NewReader(string(b)))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if broken := errors.Is(err, io.ErrUnexpectedEOF); broken != (model == "breaks-off") {
					t.Errorf("%s %s stream=%t: ends with %v", path, model, stream, err)
				}
				if stream && (strings.Contains(string(got), end) || !strings.Contains(string(got), "rawberr")) {
					t.Errorf("%s %s: %s", path, model, got)
				}
				if stream && strings.Contains(string(got), failures[path]) != (model == "fails") {
					t.Errorf("%s %s: %s", path, model, got)
				}
				if !stream && json.Valid(got) != (model == "fails") {
					t.Errorf("%s %s: %s", path, model, got)
				}
			}
		}
	}
}

// TestPauseAndLeave checks the pace, and that the reply ends at once when the
// client disconnects.
func TestPauseAndLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"model":"long","stream":true,"messages":[{"role":"user"}]}`))
		w := httptest.NewRecorder()
		start := time.Now()
		done := make(chan time.Duration)
		go func() {
			New(Options{Pause: time.Second}).ServeHTTP(w, r.WithContext(ctx))
			done <- time.Since(start)
		}()
		time.Sleep(3500 * time.Millisecond)
		leave()
		if took := <-done; took != 3500*time.Millisecond {
			t.Errorf("the reply ended after %v", took)
		}
		if got := strings.Count(w.Body.String(), "data: "); got != 3 || !w.Flushed {
			t.Errorf("%d frames, flushed: %t", got, w.Flushed)
		}
	})
}

// TestLeaveServer checks the same over a connection, and that frames are not held
// back.
func TestLeaveServer(t *testing.T) {
	ended := make(chan struct{})
	upstream := New(Options{Pause: 2 * time.Millisecond})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		upstream.ServeHTTP(w, r)
	}))
	defer server.Close()
	resp, err := http.Post(server.URL+"/api/chat", "application/json", strings.NewReader(`{"model":"long","messages":[{"role":"user"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.HasSuffix(line, "\"done\":false}\n") {
		t.Errorf("%q, %v", line, err)
	}
	resp.Body.Close()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the reply goes on")
	}
}

// BenchmarkLong streams the long reply without a connection.
func BenchmarkLong(b *testing.B) {
	h := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"model":"long","stream":true,"messages":[{"role":"user"}]}`))
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
}
