package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/record"
)

// A timedBody sends its pieces, each after its time.
type timedBody struct{ pieces []timedPiece }

type timedPiece struct {
	after time.Duration
	text  string
}

func (b *timedBody) Read(p []byte) (int, error) {
	if len(b.pieces) == 0 {
		return 0, io.EOF
	}
	time.Sleep(b.pieces[0].after)
	n := copy(p, b.pieces[0].text)
	b.pieces = b.pieces[1:]
	return n, nil
}

func (b *timedBody) Close() error { return nil }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An eventList is a Recorder that keeps the events.
type eventList struct {
	mu   sync.Mutex
	list []record.Event
}

func (k *eventList) Enqueue(e record.Event) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, e)
	return true
}

func (k *eventList) Dropped() uint64 { return 0 }

// sums returns the sums and counts of the histograms of a registry, by name and labels.
func sums(t *testing.T, reg *prometheus.Registry) map[string][2]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	list := map[string][2]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if h := m.GetHistogram(); h != nil {
				name := f.GetName()
				for _, l := range m.GetLabel() {
					name += " " + l.GetValue()
				}
				list[name] = [2]float64{h.GetSampleSum(), float64(h.GetSampleCount())}
			}
		}
	}
	return list
}

// TestFirst: the record and the metrics have the times from the request to the first
// thought and to the first visible text, wherever the upstream puts its thoughts and
// the client gets them. White space is neither. A reply that came whole has no such
// times.
func TestFirst(t *testing.T) {
	content := func(s string) string {
		text, _ := json.Marshal(s)
		return `data: {"choices":[{"index":0,"delta":{"content":` + string(text) + `}}]}` + "\n\n"
	}
	native := func(s string) string {
		return `data: {"choices":[{"index":0,"delta":{"reasoning_content":"` + s + `"}}]}` + "\n\n"
	}
	const ms = time.Millisecond
	end := timedPiece{500 * ms, "data: [DONE]\n\n"}
	for _, c := range []struct {
		name            string
		pieces          []timedPiece
		thought, answer int64
	}{
		{"in the text", []timedPiece{{100 * ms, content("<think>\n")}, {110 * ms, content("a")}, {2400 * ms, content("</think>\n\n")}, {1 * time.Second, content("b")}, end}, 210, 3610},
		{"in a member", []timedPiece{{40 * ms, native("\\n")}, {60 * ms, native("a")}, {900 * ms, content("b")}, {1000 * ms, content("c")}, end}, 100, 1000},
		{"no thought", []timedPiece{{70 * ms, content("\n")}, {7 * ms, content("b")}, end}, 0, 77},
		{"only a thought", []timedPiece{{5 * ms, content("<think>a")}, end}, 5, 0},
		{"a refusal", []timedPiece{{30 * ms, `data: {"choices":[{"index":0,"delta":{"refusal":"no"}}]}` + "\n\n"}, end}, 0, 30},
	} {
		for _, display := range routing.Displays() {
			synctest.Test(t, func(t *testing.T) {
				k, reg := &eventList{}, prometheus.NewRegistry()
				tr, err := gateway.NewTransport(gateway.TransportConfig{
					Recorder: k, Observers: []gateway.Observer{gateway.Metrics(reg)}, Default: routing.Route{Display: display, Start: sotto.BeginOutside},
					Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
						return &http.Response{
							StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: -1,
							Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: &timedBody{c.pieces},
						}, nil
					}),
				})
				if err != nil {
					t.Fatal(err)
				}
				resp, err := (&http.Client{Transport: tr}).Post("http://upstream.test/v1/chat/completions", "application/json", strings.NewReader(chatBody("m", true)))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if err := tr.Close(); err != nil {
					t.Fatal(err)
				}
				x := k.list[0].Payload.(record.Exchange)
				if x.FirstThought != c.thought || x.FirstAnswer != c.answer {
					t.Errorf("%s, %s: the first thought after %d ms, the first answer after %d, want %d and %d", c.name, display, x.FirstThought, x.FirstAnswer, c.thought, c.answer)
				}
				got := sums(t, reg)
				for name, want := range map[string]int64{"sotto_first_thought_seconds": c.thought, "sotto_first_answer_seconds": c.answer} {
					have := got[name+" openai.chat m"]
					if ms := int64(have[0]*1000 + 0.5); ms != want || (have[1] == 1) != (want > 0) {
						t.Errorf("%s, %s: %s is %v, want %d ms", c.name, display, name, have, want)
					}
				}
			})
		}
	}
	w, dir := openRecord(t, record.Options{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"<think>a</think>b"},"finish_reason":"stop"}]}`)
	}))
	defer up.Close()
	ask(inFront(t, up.URL, gateway.Config{Recorder: w}), "/v1/chat/completions", chatBody("m", false))
	if x := only(t, w, dir); x.FirstThought != 0 || x.FirstAnswer != 0 {
		t.Errorf("a whole reply has times: %d, %d", x.FirstThought, x.FirstAnswer)
	}
}

// TestRecordSettings: the record has the parameters of a request as they were sent,
// and none of its texts; the definitions of its tools, bounded; its trace and its
// conversation; what was cached; and the text of a refusal.
func TestRecordSettings(t *testing.T) {
	long := `{"type":"function","function":{"name":"long","description":"` + strings.Repeat("d", 70<<10) + `"}}`
	const short = `{"type":"function","function":{"name":"add","parameters":{"type":"object"}}}`
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, c := range []struct {
		name, path, more, reply string
		params                  string
		usage                   record.Usage
		session                 string
		refusal                 string
	}{
		{
			"chat", "/v1/chat/completions",
			`"messages":[{"role":"user","content":"x"}],"temperature":0.20,"seed":7,"stop":["a","b"],"reasoning_effort":"high","suffix":"secret text","unknown":{"a":"b"},"extra_number":3,"previous_response_id":"r-0"`,
			`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":"I will not."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`,
			`{"temperature":0.20,"seed":7,"stop":["a","b"],"reasoning_effort":"high","extra_number":3}`, record.Usage{Input: 9, Output: 2, CacheRead: 4}, "talk-1", "I will not.",
		},
		{
			"responses", "/v1/responses",
			`"input":"x","instructions":"be terse","max_output_tokens":5,"reasoning":{"effort":"low"},"conversation":{"id":"conv-1"}`,
			`{"id":"r","object":"response","status":"completed","output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"refusal","refusal":"No."}]}],"usage":{"input_tokens":9,"output_tokens":2,"input_tokens_details":{"cached_tokens":4}}}`,
			`{"max_output_tokens":5,"reasoning":{"effort":"low"}}`, record.Usage{Input: 9, Output: 2, CacheRead: 4}, "talk-1", "No.",
		},
		{
			"messages", "/v1/messages",
			`"messages":[{"role":"user","content":"x"}],"system":"be terse","max_tokens":5,"thinking":{"type":"enabled","budget_tokens":1024}`,
			`{"type":"message","role":"assistant","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":2,"cache_read_input_tokens":100,"cache_creation_input_tokens":10}}`,
			`{"max_tokens":5,"thinking":{"type":"enabled","budget_tokens":1024}}`, record.Usage{Input: 119, Output: 2, CacheRead: 100, CacheWrite: 10}, "talk-1", "",
		},
		{
			"ollama", "/api/chat",
			`"messages":[{"role":"user","content":"x"}],"options":{"temperature":0,"num_ctx":4096},"think":true,"keep_alive":"5m"`,
			`{"model":"m","message":{"role":"assistant","content":"a"},"done":true,"prompt_eval_count":9,"eval_count":2}`,
			`{"options":{"temperature":0,"num_ctx":4096},"think":true,"keep_alive":"5m"}`, record.Usage{Input: 9, Output: 2}, "talk-1", "",
		},
	} {
		w, dir := openRecord(t, record.Options{})
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, c.reply)
		}))
		g := inFront(t, up.URL, gateway.Config{Recorder: w})
		q := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(`{"model":"m","stream":false,`+c.more+`,"tools":[`+short+`,`+long+`,`+short+`]}`))
		q.Host = "localhost"
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-01")
		q.Header.Set("X-OpenWebUI-Chat-Id", "talk-1")
		q.Header.Set("X-Session-Id", "a-login-perhaps")
		reply := httptest.NewRecorder()
		g.ServeHTTP(reply, q)
		e := only(t, w, dir)
		up.Close()
		if reply.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", c.name, reply.Code, reply.Body)
		}
		if got := string(e.Parameters.Text); got != c.params {
			t.Errorf("%s: the parameters are %s\nwant %s", c.name, got, c.params)
		}
		want := []record.Tool{{Name: "add", Definition: record.Say(short)}, {Name: "long", Digest: record.DigestOf(long).String()}, {Name: "add", Definition: record.Say(short)}}
		if d := cmp.Diff(want, e.Tools); d != "" {
			t.Errorf("%s: tools: %s", c.name, d)
		}
		if d := cmp.Diff(&c.usage, e.Usage); d != "" {
			t.Errorf("%s: usage: %s", c.name, d)
		}
		if _, id := e.Session(); id != c.session || e.IDs[record.IDTrace] != trace || e.IDs[record.IDParentSpan] != parent || e.IDs["X-Session-Id"] != "" {
			t.Errorf("%s: the session is %q, the identifiers %v", c.name, id, e.IDs)
		}
		if len(e.Replies) != 1 || string(e.Replies[0].Refusal.Text) != c.refusal {
			t.Errorf("%s: %d replies, want the refusal %q: %+v", c.name, len(e.Replies), c.refusal, e.Replies)
		}
	}
}
