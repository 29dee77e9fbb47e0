package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
)

// An interactionServer answers as Google's Interactions API does, byte by byte if it streams. A thought has a step, and another one
// stands in the text.
type interactionServer struct {
	t   *testing.T
	n   int
	got string // the last request
}

func (s *interactionServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	s.n++
	s.got = string(body)
	const signed = `{"type":"thought","signature":"c2ln","summary":[{"type":"text","text":"secret one"}]}`
	const text, call = "<think>secret two</think>It is 4.", `{"type":"function_call","id":"c1","name":"f","arguments":{"a":1}}`
	head := fmt.Sprintf(`"id":"v1_%08d","object":"interaction","model":"gemini-3-pro"`, s.n)
	if !gjson.GetBytes(body, "stream").Bool() {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{%s,"status":"requires_action","steps":[%s,{"type":"model_output","content":[{"type":"text","text":%s}]},%s],%s}`, head, signed, quoted(text), call, interactionUsage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	stream := interactionEvent("interaction.created", `"interaction":{`+head+`,"status":"in_progress"}`) + stepStart(0, `{"type":"thought"}`) +
		stepDelta(0, `{"type":"thought_summary","content":{"type":"text","text":"secret one"}}`) + stepDelta(0, `{"type":"thought_signature","signature":"c2ln"}`) + stepStop(0) + stepStart(1, `{"type":"model_output"}`)
	for _, c := range text {
		stream += stepDelta(1, `{"type":"text","text":`+quoted(string(c))+`}`)
	}
	stream += stepStop(1) + stepStart(2, `{"type":"function_call","id":"c1","name":"f","arguments":{}}`) + stepDelta(2, `{"type":"arguments_delta","arguments":"{\"a\":1}"}`) + stepStop(2) +
		interactionEvent("interaction.completed", `"interaction":{`+head+`,"status":"requires_action",`+interactionUsage+`}`)
	for i := range len(stream) {
		io.WriteString(w, stream[i:i+1])
		w.(http.Flusher).Flush()
	}
}

// stepsOf are the steps of a reply, as a client keeps them.
func stepsOf(body []byte, stream bool) []any {
	if !stream {
		steps, _ := gjson.GetBytes(body, "steps").Value().([]any)
		return steps
	}
	var steps []any
	data(body, func(v gjson.Result) {
		if v.Get("event_type").Str == "step.start" {
			steps = append(steps, v.Get("step").Value())
		}
		step := obj(append(steps, nil)[min(int(v.Get("index").Int()), len(steps))])
		switch d := v.Get("delta"); d.Get("type").Str {
		case "text":
			text := ""
			if was, _ := step["content"].([]any); len(was) > 0 {
				text = str(obj(was[0])["text"])
			}
			step["content"] = []any{map[string]any{"type": "text", "text": text + d.Get("text").Str}}
		case "thought_summary":
			was, _ := step["summary"].([]any)
			step["summary"] = append(was, d.Get("content").Value())
		case "thought_signature":
			step["signature"] = str(step["signature"]) + d.Get("signature").Str
		case "arguments_delta":
			step["arguments"] = decodedJSON(d.Get("arguments").Str)
		}
	})
	return steps
}

// TestInteractions: over real connections, whole and byte by byte, a client gets what its display says, and what it sends back
// reaches the provider as that made it: the signed thought with its signature, and no thought of ours.
func TestInteractions(t *testing.T) {
	for _, display := range ledgerDisplays {
		for _, policy := range history.Policies() {
			for _, stream := range []bool{false, true} {
				what := fmt.Sprintf("%s, %s, stream %v", display, policy, stream)
				up := &interactionServer{t: t}
				base := start(t, up, gateway.Config{Default: routing.Route{Display: display, History: policy}})
				ask := func(input ...any) []any {
					request := map[string]any{"model": "gemini-3-pro", "stream": stream, "store": false, "input": input, "tools": []any{map[string]any{"type": "function", "name": "f"}}}
					resp, body := post(t, base+"/v1/interactions", encoded(request), nil)
					if resp.StatusCode != http.StatusOK || display == routing.DisplayHide && strings.Contains(string(body), "secret") || strings.Count(strings.ReplaceAll(strings.Join(textsIn(stepsOf(body, stream)), ""), "\n", ""), "It is 4.") != 1 {
						t.Errorf("%s: %d %s", what, resp.StatusCode, body)
					}
					return stepsOf(body, stream)
				}
				user := map[string]any{"type": "user_input", "content": []any{map[string]any{"type": "text", "text": "2+2?"}}}
				steps := ask(user)
				kinds := gjson.Parse(encoded(steps)).Get("#.type").Raw
				want := map[routing.Display]string{
					routing.DisplayField: `["thought","thought","model_output","function_call"]`, routing.DisplayHide: `["thought","model_output","function_call"]`,
					routing.DisplayKeep: `["thought","model_output","function_call"]`, routing.DisplayTags: `["model_output","function_call"]`,
				}[display]
				if kinds != want {
					t.Errorf("%s: the client got %s", what, encoded(steps))
				}
				ask(append(append([]any{user}, steps...), map[string]any{"type": "function_result", "call_id": "c1", "name": "f", "result": "4"})...)
				input := gjson.Get(up.got, "input")
				if n := len(input.Get(`#(type=="thought")#`).Array()); display != routing.DisplayTags && (n != 1 || input.Get(`#(type=="thought").signature`).Str != "c2ln") {
					t.Errorf("%s: the provider got %s", what, input.Raw)
				}
				if input.Get(`#(type=="function_call").arguments.a`).Int() != 1 || display == routing.DisplayHide && policy != history.Restore && strings.Contains(input.Raw, "secret") {
					t.Errorf("%s: the provider got %s", what, input.Raw)
				}
			}
		}
	}
}

// textsIn are the texts of outputs.
func textsIn(steps []any) (texts []string) {
	for _, v := range gjson.Parse(encoded(steps)).Get("#.content.#.text").Array() {
		for _, text := range v.Array() {
			texts = append(texts, text.Str)
		}
	}
	return texts
}

// TestInteractionsOwned: an interaction that the provider stores belongs to its caller, and where reasoning is hidden a stored one
// is not fetched.
func TestInteractionsOwned(t *testing.T) {
	up := &interactionServer{t: t}
	server := httptest.NewServer(up)
	defer server.Close()
	for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide} {
		g, err := gateway.New(gateway.Config{Tokens: people, Upstream: urlOf(t, server.URL), Default: routing.Route{Display: display}})
		if err != nil {
			t.Fatal(err)
		}
		as := func(caller, method, path, body string) (int, string) {
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer secret-of-"+caller)
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		for _, stream := range []bool{false, true} {
			status, body := as("alice", "POST", "/v1/interactions", fmt.Sprintf(`{"model":"gemini-3-pro","input":"hi","stream":%v}`, stream))
			id := fmt.Sprintf("v1_%08d", up.n)
			if status != 200 || !strings.Contains(body, id) {
				t.Fatalf("%d %s", status, body)
			}
			before, next := up.n, fmt.Sprintf(`{"model":"gemini-3-pro","input":"more","previous_interaction_id":%q}`, id)
			if status, body := as("bob", "POST", "/v1/interactions", next); status != 404 || up.n != before {
				t.Errorf("%s, stream %v: bob continues it: %d %s", display, stream, status, body)
			}
			if status, body := as("alice", "POST", "/v1/interactions", next); status != 200 {
				t.Errorf("%s, stream %v: alice does not continue it: %d %s", display, stream, status, body)
			}
			if status, _ := as("alice", "GET", "/v1/interactions/"+id, ""); display == routing.DisplayHide && status != 403 {
				t.Errorf("a stored interaction is fetched: %d", status)
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}
