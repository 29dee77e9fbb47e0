package agentmodel_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// What the agent says shows how many replies it finds in its prompt, and which message
// it answers. It thinks each time, and keeps the last message in its memory.
const keptScript = `
- when: {tool: write, call: 2}
  text: "<think>CANARY</think>First."
- when: {tool: write, call: 3}
  text: "<think>CANARY</think>Second."
- when: {tool: write, call: "4-"}
  text: "<think>CANARY</think>Later."
- when: {user: Slow}
  text: "One two three"
  pause: 1h
- when: {step: 1, user: One}
  text: "<think>CANARY</think>"
  calls: [{name: write, arguments: {key: last, value: One}}]
- when: {step: 1, user: Two}
  text: "<think>CANARY</think>"
  calls: [{name: write, arguments: {key: last, value: Two}}]
- when: {step: 1}
  text: "<think>CANARY</think>"
  calls: [{name: write, arguments: {key: last, value: more}}]
`

func counter(t testing.TB) *agent.Agent {
	t.Helper()
	s, err := model.ReadScript(strings.NewReader(keptScript), "script.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return &agent.Agent{
		Name: "counter", Memory: []string{"write"}, Turn: agent.Turn{
			Model: model.NewScripted("scripted", s), Start: "outside",
			Limits: agent.Limits{Attempts: 1},
		},
	}
}

// post sends a request to an agent, and returns the status and the body.
func post(t testing.TB, url, body string, headers ...string) (int, gjson.Result) {
	t.Helper()
	q, err := http.NewRequestWithContext(context.Background(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, gjson.ParseBytes(text)
}

// A conversation goes on by its name over every API, and by the id of a response. The
// client sends only what is new, or everything; what the agent thought is in no later
// prompt. The record has the conversation as one run with a cycle for each turn.
func TestKeptConversation(t *testing.T) {
	dir := t.TempDir()
	w, err := record.Open(dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	base := serveModels(t, &agentmodel.Models{Agents: []*agent.Agent{counter(t)}, Record: w, Kept: &conversation.Store{Folder: t.TempDir()}}, nil)
	said := func(path, body string, headers ...string) (string, gjson.Result) {
		t.Helper()
		status, root := post(t, base+path, body, headers...)
		if status != 200 || strings.Contains(strings.ReplaceAll(root.Raw, "reasoning_content", ""), `"content":"CANARY`) {
			t.Fatalf("%s: %d %s", body, status, root.Raw)
		}
		return root.Get("choices.0.message.content").Str + root.Get("message.content").Str + root.Get(`output.#(type=="message").content.0.text`).Str, root
	}
	chat := `{"model":"agent/counter","messages":[{"role":"user","content":%q}]}`
	name := []string{"Sotto-Conversation", "holidays"}
	var texts []string
	text, _ := said("/v1/chat/completions", fmt.Sprintf(chat, "One."), name...)
	texts = append(texts, text)
	text, _ = said("/api/chat", `{"model":"agent/counter","stream":false,"messages":[{"role":"user","content":"One."},{"role":"assistant","content":"First."},{"role":"user","content":"Two."}]}`, name...)
	texts = append(texts, text)
	text, last := said("/v1/responses", `{"model":"agent/counter","input":"More.","conversation":{"id":"holidays"}}`)
	texts = append(texts, text)
	text, _ = said("/v1/responses", fmt.Sprintf(`{"model":"agent/counter","input":"More.","previous_response_id":%q}`, last.Get("id").Str))
	texts = append(texts, text)
	text, one := said("/v1/responses", `{"model":"agent/counter","input":"One."}`)
	texts = append(texts, text)
	for range 2 { // the second one continues what is not the last turn any more
		text, _ = said("/v1/responses", fmt.Sprintf(`{"model":"agent/counter","input":"Two.","previous_response_id":%q}`, one.Get("id").Str))
		texts = append(texts, text)
	}
	if diff := cmp.Diff([]string{"First.", "Second.", "Later.", "Later.", "First.", "Second.", "Second."}, texts); diff != "" {
		t.Error(diff)
	}
	cycles, starts := map[string][]int{}, map[string]int{}
	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range r.Events(record.Query{NoCheckpoints: true}) {
		if err != nil {
			t.Fatal(err)
		}
		switch x := e.Payload.(type) {
		case record.RunStart:
			starts[e.Run]++
			if len(starts) == 1 && x.IDs["conversation"] != "holidays" {
				t.Errorf("the run does not name the conversation: %v", x.IDs)
			}
		case record.CycleEnd:
			cycles[e.Run] = append(cycles[e.Run], e.Cycle)
		case record.Invocation:
			for _, m := range x.Messages {
				if strings.Contains(string(m.Text.Text), canary) || len(m.Reasoning) > 0 {
					t.Errorf("a prompt holds a thought: %+v", m)
				}
			}
		}
	}
	var all [][]int
	for run, list := range cycles {
		if starts[run] != 1 {
			t.Errorf("%s begins %d times", run, starts[run])
		}
		all = append(all, list)
	}
	if len(all) != 3 {
		t.Errorf("%v", cycles)
	}
	t.Cleanup(func() { w.Close() })
}

// What no conversation can be continued by is refused, with the reason.
func TestKeptRefusals(t *testing.T) {
	kept := &conversation.Store{Folder: t.TempDir()}
	base := serveModels(t, &agentmodel.Models{Agents: []*agent.Agent{counter(t)}, Kept: kept}, nil)
	none := serveModels(t, &agentmodel.Models{Agents: []*agent.Agent{counter(t)}}, nil)
	for _, c := range []struct {
		base, more, want string
		headers          []string
	}{
		{base, `"previous_response_id":"resp_x"`, "no response of this agent", nil},
		{base, `"previous_response_id":"resp_x","conversation":"n"`, "a conversation is named too", nil},
		{base, `"conversation":{}`, "want an id", nil},
		{base, `"conversation":"n"`, "send one of them", []string{"Sotto-Conversation", "n"}},
		{base, `"conversation":"n","store":false`, "leave out store", nil},
		{base, `"conversation":"` + strings.Repeat("n", 300) + `"`, "the limit is 256", nil},
		{none, `"conversation":"n"`, "no data folder", nil},
		{none, `"previous_response_id":"resp_x"`, "no data folder", nil},
	} {
		status, root := post(t, c.base+"/v1/responses", `{"model":"agent/counter","input":"One.",`+c.more+`}`, c.headers...)
		if status != 400 || !strings.Contains(root.Get("error.message").Str, c.want) {
			t.Errorf("%s: %d %s, want %q", c.more, status, root.Raw, c.want)
		}
	}
	// With store: false, nothing is kept.
	if _, root := post(t, base+"/v1/responses", `{"model":"agent/counter","input":"Two.","store":false}`); root.Get("store").Bool() {
		t.Error(root.Raw)
	} else if status, _ := post(t, base+"/v1/responses", `{"model":"agent/counter","input":"One.","previous_response_id":"`+root.Get("id").Str+`"}`); status != 400 {
		t.Error("a response that was not stored is continued")
	}
}

// One caller cannot continue the conversation of another, not by its name and not by
// the id of a response.
func TestCallersApart(t *testing.T) {
	base := serveModels(t, &agentmodel.Models{Agents: []*agent.Agent{counter(t)}, Kept: &conversation.Store{Folder: t.TempDir()}}, func(c *gateway.Config) {
		c.Tokens = []gateway.Token{{Name: "ann", Secret: "token-of-ann-0123456789"}, {Name: "bob", Secret: "token-of-bob-0123456789"}}
	})
	ask := func(who, more string) (int, gjson.Result) {
		return post(t, base+"/v1/responses", `{"model":"agent/counter","input":"One.",`+more+`}`, "Authorization", "Bearer token-of-"+who+"-0123456789")
	}
	text := `output.#(type=="message").content.0.text`
	_, root := ask("ann", `"conversation":"n"`)
	id := root.Get("id").Str
	if status, root := ask("bob", fmt.Sprintf(`"previous_response_id":%q`, id)); status != 400 {
		t.Errorf("bob: %d %s", status, root.Raw)
	}
	if _, root := ask("bob", `"conversation":"n"`); root.Get(text).Str != "First." {
		t.Errorf("bob continues: %s", root.Raw)
	}
	if status, root := ask("ann", fmt.Sprintf(`"previous_response_id":%q`, id)); status != 200 || root.Get(text).Str != "Second." {
		t.Errorf("ann: %d %s", status, root.Raw)
	}
}

// While a turn of a conversation is being answered, another request to it is refused.
// A turn whose client leaves is not kept.
func TestOneTurnAtATime(t *testing.T) {
	base := serveModels(t, &agentmodel.Models{Agents: []*agent.Agent{counter(t)}, Kept: &conversation.Store{Folder: t.TempDir()}}, nil)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	q, _ := http.NewRequestWithContext(ctx, "POST", base+"/v1/chat/completions", strings.NewReader(`{"model":"agent/counter","stream":true,"messages":[{"role":"user","content":"Slow."}]}`))
	q.Header.Set("Sotto-Conversation", "n")
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	one := func() (int, gjson.Result) {
		return post(t, base+"/v1/chat/completions", `{"model":"agent/counter","messages":[{"role":"user","content":"One."}]}`, "Sotto-Conversation", "n")
	}
	if status, root := one(); status != http.StatusConflict || !strings.Contains(root.Raw, "is being answered") {
		t.Errorf("%d %s", status, root.Raw)
	}
	leave()
	var status int
	var root gjson.Result
	waiting.Until(t, "the server to notice that the client left", func() bool {
		status, root = one()
		return status != http.StatusConflict
	})
	if status != 200 || root.Get("choices.0.message.content").Str != "First." {
		t.Errorf("%d %s", status, root.Raw)
	}
}

// A base is a transport to a server that only notes the headers that it gets.
type base struct{ got []http.Header }

func (b *base) RoundTrip(r *http.Request) (*http.Response, error) {
	b.got = append(b.got, r.Header)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// The name of a conversation does not reach the model server.
func TestNameStaysHere(t *testing.T) {
	b := &base{}
	m := &agentmodel.Models{Base: b, Agents: []*agent.Agent{counter(t)}}
	q, _ := http.NewRequestWithContext(t.Context(), "POST", "http://upstream/v1/chat/completions", strings.NewReader(`{"model":"other"}`))
	q.Header.Set("Sotto-Conversation", "holidays")
	q.Header.Set("Other", "x")
	resp, err := m.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if len(b.got) != 1 || b.got[0].Get("Sotto-Conversation") != "" || b.got[0].Get("Other") != "x" || q.Header.Get("Sotto-Conversation") == "" {
		t.Errorf("%v, %v", b.got, q.Header)
	}
}

// A request that names an agent anywhere is answered or refused here: the model server
// gets none of its text.
func TestAgentsStayHere(t *testing.T) {
	const jsonKind, form = "application/json", "multipart/form-data; boundary=b"
	chat := `"messages":[{"role":"user","content":"SECRET"}]`
	for _, c := range []struct{ method, path, kind, body, want string }{
		{"POST", "/v1/messages", jsonKind, `{"model":"agent/counter","max_tokens":9,` + chat + `}`, `"type":"error"`},
		{"POST", "/v1/messages/count_tokens", jsonKind, `{"model":"agent/counter",` + chat + `}`, `"type":"error"`},
		{"POST", "/v1/messages/batches", jsonKind, `{"requests":[{"params":{"model":"other"}},{"params":{"model":"agent/counter",` + chat + `}}]}`, `"error"`},
		{"POST", "/v1/completions", jsonKind, `{"model":"agent/counter","prompt":"SECRET"}`, `"message":"an agent answers`},
		{"POST", "/v1/embeddings", jsonKind, `{"model":"agent/counter","input":"SECRET"}`, `"message":"an agent answers`},
		{"POST", "/v1/chat/completions", jsonKind, `{"model":"agent/nobody",` + chat + `}`, `"message":"there is no agent`},
		{"POST", "/v1/chat/completions", jsonKind, `{"model":"other","models":["x","agent/counter"],` + chat + `}`, `"message":"an agent answers`},
		{"POST", "/v1/messages", jsonKind, `{"model":"other","fallbacks":[{"model":"agent/counter"}],` + chat + `}`, `"type":"error"`},
		{"POST", "/v1/responses/input_tokens", jsonKind, `{"model":"agent/counter","input":"SECRET"}`, `"message":"an agent answers`},
		{"POST", "/v1/audio/transcriptions", form, "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nSECRET\r\n--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nagent/counter\r\n--b--\r\n", `"message":"an agent answers`},
		{"POST", "/api/generate", jsonKind, `{"model":"agent/counter:latest","prompt":"SECRET"}`, `{"error":"an agent answers`},
		{"POST", "/api/embed", jsonKind, `{"model":"agent/counter","input":"SECRET"}`, `{"error":"an agent answers`},
		{"POST", "/api/chat", jsonKind, `{"model":"agent/nobody",` + chat + `}`, `{"error":"there is no agent`},
		{"POST", "/api/pull", jsonKind, `{"name":"agent/counter"}`, `{"error":"an agent answers`},
		{"DELETE", "/api/delete", jsonKind, `{"model":"agent/counter"}`, `{"error":"an agent answers`},
		{"POST", "/v1beta/models/agent/counter:generateContent", jsonKind, `{"contents":[{"parts":[{"text":"SECRET"}]}]}`, `"message":"an agent answers`},
		{"POST", "/model/agent%2Fcounter/converse", jsonKind, `{` + chat + `}`, `"message":"an agent answers`},
		{"POST", "/openai/deployments/agent/counter/embeddings", jsonKind, `{"input":"SECRET"}`, `"message":"an agent answers`},
		{"GET", "/v1/realtime?model=agent/counter", "", "", `"message":"an agent answers`},
		{"GET", "/v1/models/agent/nobody", "", "", `"message":"an agent answers`},
	} {
		b := &base{}
		m := &agentmodel.Models{Base: b, Agents: []*agent.Agent{counter(t)}}
		q, err := http.NewRequestWithContext(t.Context(), c.method, "http://upstream"+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", c.kind)
		resp, err := m.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusNotFound || len(b.got) != 0 || !strings.Contains(string(text), c.want) {
			t.Errorf("%s %s %s: %d %s, %v; the model server got %d requests, want %s", c.method, c.path, c.body, resp.StatusCode, text, err, len(b.got), c.want)
		}
	}
}

// A gateway reads the bodies of requests that pass for the name of an agent, whatever
// their length is.
func TestLongRequestStaysHere(t *testing.T) {
	b := &base{}
	gate := serveModels(t, &agentmodel.Models{Base: b, Agents: []*agent.Agent{counter(t)}}, nil)
	body := `{"input":"` + strings.Repeat("SECRET ", 200_000) + `","model":"agent/counter"}`
	for _, length := range []int64{int64(len(body)), -1} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, gate+"/v1/embeddings", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.ContentLength = length
		q.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound || len(b.got) != 0 {
			t.Errorf("%d %s; the model server got %d requests", resp.StatusCode, text, len(b.got))
		}
	}
}

// A client that sends what no agent can read or give is told so.
func TestUnsupported(t *testing.T) {
	base := serve(t, painter(t), nil, nil)
	for _, c := range []struct{ path, body, want string }{
		{"/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"text","text":"Paint."},{"type":"image_url","image_url":{"url":"data:"}}]}]`, "messages[0].content[1]: an agent reads text only, not an image"},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"Paint."}],"tools":[{"type":"function","function":{"name":"f"}}]`, "tools:"},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"Paint."}],"response_format":{"type":"json_object"}`, "format"},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"Paint."}],"modalities":["text","audio"]`, "modalities"},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"Paint."}],"n":2`, "n:"},
		{"/api/chat", `"messages":[{"role":"user","content":"Paint.","images":["AAAA"]}]`, "images"},
		{"/api/chat", `"messages":[{"role":"user","content":"Paint."}],"tools":[{"type":"function","function":{"name":"f"}}]`, "tools:"},
		{"/v1/responses", `"input":[{"role":"user","content":[{"type":"input_text","text":"Paint."},{"type":"input_file","file_id":"f"}]}]`, "input[0].content[1]: an agent reads text only, not a file"},
		{"/v1/responses", `"input":[{"type":"item_reference","id":"x"},{"role":"user","content":"Paint."}]`, "item_reference"},
		{"/v1/responses", `"input":"Paint.","background":true`, "background"},
		{"/v1/responses", `"input":"Paint.","tools":[{"type":"web_search"}]`, "tools:"},
	} {
		if status, root := post(t, base+c.path, `{"model":"agent/painter","stream":false,`+c.body+`}`); status != 400 || !strings.Contains(root.Raw, c.want) {
			t.Errorf("%s: %d %s, want %q", c.body, status, root.Raw, c.want)
		}
	}
	// What changes nothing is taken.
	if status, root := post(t, base+"/v1/chat/completions", `{"model":"agent/painter","tools":[],"tool_choice":"none","temperature":0.1,"messages":[{"role":"user","content":[{"type":"text","text":"Paint."}]}]}`); status != 200 {
		t.Errorf("%d %s", status, root.Raw)
	}
}
