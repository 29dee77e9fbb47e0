package historyreplay

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/record"
)

// recorded has a client that drops all reasoning hold a tool loop with a model, through
// a gateway that records, and returns the exchanges.
func recorded(t *testing.T, upstream, model string, policy history.Policy) []record.Event {
	t.Helper()
	dir := t.TempDir()
	w, err := record.Open(dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	to, _ := url.Parse(upstream)
	g, err := gateway.New(gateway.Config{Upstream: to, Recorder: w, Default: routing.Route{History: policy}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g)
	defer server.Close()
	const tools = `"tools":[{"type":"function","function":{"name":"get_weather","description":"The weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`
	messages := []any{map[string]any{"role": "user", "content": "What is the weather in Paris?"}}
	for range 3 {
		body, _ := json.Marshal(messages)
		resp, err := http.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"`+model+`","temperature":0.5,`+tools+`,"messages":`+string(body)+`}`))
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		var reply struct {
			Choices []struct {
				Message struct {
					Content   *string          `json:"content"`
					ToolCalls []map[string]any `json:"tool_calls"`
				} `json:"message"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(answer, &reply); err != nil || len(reply.Choices) != 1 {
			t.Fatalf("%d %s", resp.StatusCode, answer)
		}
		m := reply.Choices[0].Message
		said := map[string]any{"role": "assistant", "content": m.Content}
		if m.ToolCalls == nil {
			messages = append(messages, said, map[string]any{"role": "user", "content": "And tomorrow?"})
			continue
		}
		said["tool_calls"] = m.ToolCalls
		messages = append(messages, said, map[string]any{"role": "tool", "tool_call_id": m.ToolCalls[0]["id"], "content": "18 degrees"})
	}
	server.Close() // a client has its reply before its exchange is recorded
	g.Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var events []record.Event
	for e, err := range r.Events(record.Query{Types: []record.Type{record.TypeExchange}}) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func casesOf(t *testing.T, c *Collector, events []record.Event) (list []Case) {
	t.Helper()
	for i, e := range events {
		x := e.Payload.(record.Exchange)
		if one, ok := c.Case(string(rune('a'+i)), &x); ok {
			list = append(list, one)
		}
	}
	return list
}

// TestReplay compares policies over providers that refuse a history without its
// reasoning, and one that never asks for it.
func TestReplay(t *testing.T) {
	var bodies [][]byte
	script := scripted.New(scripted.Options{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		script.ServeHTTP(w, r)
	}))
	defer upstream.Close()
	policies := []history.Policy{Drop, history.Preserve, history.Auto}
	for _, test := range []struct {
		model   string
		refused map[history.Policy]int // of two requests
		shared  int                    // requests that two policies have in common
		thought map[history.Policy]int // requests with reasoning
	}{
		{"deepseek-v3.2", map[history.Policy]int{Drop: 2}, 2, map[history.Policy]int{history.Preserve: 2, history.Auto: 2}},
		{"qwen3:8b", map[history.Policy]int{}, 1, map[history.Policy]int{history.Preserve: 2, history.Auto: 1}},
	} {
		t.Run(test.model, func(t *testing.T) {
			events := recorded(t, upstream.URL, test.model, "")
			c := Collector{}
			cases := casesOf(t, &c, events)
			if len(cases) != 2 || c.Skipped[errThoughts.Error()] != 1 {
				t.Fatalf("%d cases, left out: %v", len(cases), c.Skipped)
			}
			bodies = nil
			tally, rows := NewTally(policies), map[string]*Row{}
			r := Runner{
				Policies: policies, Rounds: 2, URL: upstream.URL, Salt: "cache_salt",
				Done:  func(key string) bool { return rows[key] != nil },
				Write: func(row *Row) error { rows[row.Key()] = row; tally.Add(row); return nil },
			}
			for range 2 { // the second time, all is there
				for i := range cases {
					if err := r.Do(context.Background(), &cases[i], i); err != nil {
						t.Fatal(err)
					}
				}
			}
			report := tally.Report()
			if report.Requests != 2 || report.Conversations != 1 || report.Rows != len(policies)*2*2 {
				t.Errorf("%d requests of %d conversations, %d rows", report.Requests, report.Conversations, report.Rows)
			}
			sent := report.Rows
			for _, p := range report.Policies {
				sent -= p.Shared
				if p.Refused.Count != 2*test.refused[p.Policy] {
					t.Errorf("%s: %d of %d refused: %v", p.Policy, p.Refused.Count, p.Rows, p.Errors)
				}
				if answered := p.Rows - p.Refused.Count; p.Recorded.Count != answered || p.Again.Count != answered/2 {
					t.Errorf("%s: of %d answers, %d are those of the record, and %d of %d are the same in the next round", p.Policy, answered, p.Recorded.Count, p.Again.Count, p.Again.Of)
				}
			}
			if len(bodies) != sent {
				t.Errorf("%d requests were sent, and the rows say %d", len(bodies), sent)
			}
			for _, b := range bodies {
				if !bytes.Contains(b, []byte(`"temperature":0.5`)) || !bytes.Contains(b, []byte(`"cache_salt":"sotto-`)) || !bytes.Contains(b, []byte(`"get_weather"`)) {
					t.Errorf("the request lost a parameter, the salt or the tool: %.300s", b)
				}
			}
			if want := report.Rows - 2*test.shared; sent != want {
				t.Errorf("%d requests were sent, want %d", sent, want)
			}
			thought := map[history.Policy]int{}
			for i := range cases {
				for _, p := range policies {
					if q := requestSent(t, &cases[i], p); bytes.Contains(q, []byte("I call it")) || bytes.Contains(q, []byte("<think>")) || bytes.Contains(q, []byte("reasoning")) {
						thought[p]++
					}
				}
			}
			if !maps.Equal(thought, test.thought) {
				t.Errorf("requests with reasoning: %v, want %v", thought, test.thought)
			}
		})
	}
}

// requestSent returns the body of a request.
func requestSent(t *testing.T, c *Case, p history.Policy) (body []byte) {
	t.Helper()
	r := Runner{URL: "http://localhost:1"}
	m, err := r.open(c, p, "", sending(func(q *http.Request) (*http.Response, error) {
		body, _ = io.ReadAll(q.Body)
		return nil, errCaptured
	}), -1)
	if err != nil {
		t.Fatal(err)
	}
	m.Invoke(context.Background(), requestOf(c, p), nil)
	return body
}

type sending func(*http.Request) (*http.Response, error)

func (f sending) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// TestClientMessages undoes the revisions of random histories.
func TestClientMessages(t *testing.T) {
	say := func(role, text string, thoughts ...string) record.Message {
		m := record.Message{Role: role, Text: record.Say(text)}
		for _, o := range thoughts {
			m.Reasoning = append(m.Reasoning, record.Thought{Field: "reasoning", Text: record.Say(o)})
		}
		return m
	}
	sent := []record.Message{say("user", "q"), say("assistant", "one two"), say("assistant", "end", "put in")}
	x := record.Exchange{Messages: sent, Revisions: []record.Revision{
		{Message: 1, At: 0, Removed: record.Say("<think>a</think>")},
		{Message: 1, At: 4, Added: 3, Removed: record.Say("three")},
		{Message: 1, Field: "reasoning", Removed: record.Say("gone")},
		{Message: 2, Field: "reasoning", Added: 6},
		{Message: 2, Role: "assistant", Field: "summary", Removed: record.Say("item")},
	}}
	got, err := clientMessages(&x)
	if err != nil {
		t.Fatal(err)
	}
	item := record.Message{Role: "assistant", Reasoning: []record.Thought{{Field: "summary", Text: record.Say("item")}}}
	want := []record.Message{say("user", "q"), say("assistant", "<think>a</think>one three", "gone"), item, say("assistant", "end")}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if !bytes.Equal(a, b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
	if len(sent[2].Reasoning) != 1 || sent[1].Text.Text != "one two" {
		t.Error("the recorded messages were changed")
	}
	for _, v := range []record.Revision{
		{Message: 3}, {Message: -1}, {Message: 1, At: 8}, {Message: 1, At: 5, Added: 3}, {Message: 1, At: -1}, {Message: 1, Added: -1},
		{Message: 1, Removed: record.Content{Text: "[secret]", Cuts: []record.Cut{{End: 4, Now: 8, Why: "secret"}}}},
	} {
		if _, err := clientMessages(&record.Exchange{Messages: sent, Revisions: []record.Revision{v}}); err == nil {
			t.Errorf("%+v: want an error", v)
		}
	}
}

// TestTurnsAreBounded drops the oldest replies.
func TestTurnsAreBounded(t *testing.T) {
	all := turns{max: 4000}
	question := record.Message{Role: "user", Text: record.Say("q")}
	answer := func(i int) string { return strings.Repeat("word ", i+1) }
	for i := range 50 {
		all.count(&record.Exchange{
			API: "openai.chat", Outcome: "answered", Messages: []record.Message{question},
			Replies: []record.Reply{{Raw: record.Say(answer(i)), Segments: []record.Segment{{End: len(answer(i))}}}},
		})
		if all.size > all.max || len(all.known) != len(all.order) {
			t.Fatalf("%d bytes in %d replies, of which %d are in order", all.size, len(all.known), len(all.order))
		}
	}
	last := record.Message{Role: "assistant", Text: record.Say(answer(49))}
	if all.lost == 0 || all.find(&question, &last) == nil {
		t.Errorf("%d were dropped; the last is there: %v", all.lost, all.find(&question, &last) != nil)
	}
}
