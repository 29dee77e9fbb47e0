package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/testing/freeport"
)

// TestBrokenJSON has an upstream send bytes that are not JSON, or nearly, under types of
// all kinds: what can be read is, and of the rest nothing passes.
func TestBrokenJSON(t *testing.T) {
	const (
		whole = `{"choices":[{"index":0,"message":{"role":"assistant","content":"<think>SECRET</think>b"},"finish_reason":"stop"}]}`
		head  = `data: {"choices":[{"index":0,"delta":{"content":"<think>SEC"},"finish_reason":null}]}` + "\n\n"
		foot  = `data: {"choices":[{"index":0,"delta":{"content":"RET</think>b"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	)
	tests := []struct {
		name, kind, body string
		read             bool
	}{
		{"BOM", "application/json", "\xEF\xBB\xBF" + whole, true},
		{"NaN", "application/json", strings.Replace(whole, `"index":0`, `"index":0,"logprob":NaN`, 1), true},
		{"no type", "text/plain", whole, true},
		{"cut", "application/json", whole[:len(whole)-4], false},
		{"trailing", "application/json", whole + "\nextra", false},
		{"array", "application/json", "[" + whole + "]", false},
		{"events as JSON", "application/json", head + foot, true},
		{"events as text", "text/plain", head + foot, true},
		{"events", "text/event-stream", head + foot, true},
		{"NaN in a frame", "text/event-stream", strings.Replace(head, `"index":0`, `"index":0,"logprob":NaN`, 1) + foot, true},
		{"torn frame", "text/event-stream", head + `data: {"choices":[{"index":0,"delta":{"content":"SECRET"}` + "\n\n" + foot, false},
	}
	for _, test := range tests {
		for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayKeep} {
			for _, stream := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/stream=%v", test.name, display, stream), func(t *testing.T) {
					upstream := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Content-Type", test.kind)
						io.WriteString(w, test.body)
					})
					base := start(t, upstream, gateway.Config{Default: routing.Route{Display: display}})
					resp, body := post(t, base+"/v1/chat/completions", chatBody("m", stream), nil)
					switch got := string(body); {
					case display == routing.DisplayKeep && !strings.Contains(got, "SEC"):
						t.Errorf("kept: %d %s", resp.StatusCode, got)
					case display == routing.DisplayKeep:
					case strings.Contains(got, "SEC") || strings.Contains(got, "RET"):
						t.Errorf("leaked: %s", got)
					case test.read != strings.Contains(got, `"b"`) && test.name != "torn frame":
						t.Errorf("%d %s", resp.StatusCode, got)
					case test.read == strings.Contains(got, "error"):
						t.Errorf("%d %s", resp.StatusCode, got)
					}
				})
			}
		}
	}
}

// TestUpstreamDown passes a request with a body on to an upstream that is not
// there: the client gets an error, and can ask again on its connection.
func TestUpstreamDown(t *testing.T) {
	base := before(t, "http://"+freeport.Find(t), gateway.Config{})
	for range 50 {
		resp, body := post(t, base+"/v1/embeddings", `{"model":"x","input":"y"}`, nil)
		if resp.StatusCode != http.StatusBadGateway || resp.Close {
			t.Fatalf("%d %s, close %v", resp.StatusCode, body, resp.Close)
		}
	}
}

// TestOutcomes counts how exchanges end.
func TestOutcomes(t *testing.T) {
	replies := scripted.New(scripted.Options{})
	gone := make(chan struct{})
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Test") == "" {
			replies.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	base := start(t, upstream, gateway.Config{})
	for _, model := range []string{"plain", "busy", "hangs-up", "fails"} {
		post(t, base+"/v1/chat/completions", chatBody(model, true), http.Header{"Connection": {"close"}})
		post(t, base+"/v1/chat/completions", chatBody(model, model == "hangs-up"), http.Header{"Connection": {"close"}})
	}
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", base+"/v1/chat/completions", strings.NewReader(chatBody("left", true)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Test", "1")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	leave()
	<-gone
	resp.Body.Close()
	want := []string{
		`{api="openai.chat",model="busy",outcome="refused"} 2`,
		`{api="openai.chat",model="fails",outcome="failed"} 1`,
		`{api="openai.chat",model="fails",outcome="refused"} 1`,
		`{api="openai.chat",model="hangs-up",outcome="failed"} 2`,
		`{api="openai.chat",model="left",outcome="canceled"} 1`,
		`{api="openai.chat",model="plain",outcome="answered"} 2`,
	}
	var got []string
	for range 10000 { // an exchange is counted after its last byte
		if got = counted(t, base); slices.Equal(got, want) {
			return
		}
	}
	t.Errorf("%s", strings.Join(got, "\n"))
}

// counted are the samples of the count of exchanges.
func counted(t *testing.T, base string) (samples []string) {
	t.Helper()
	resp, err := http.Get(base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for line := range strings.Lines(readAll(t, resp.Body)) {
		if sample, ok := strings.CutPrefix(line, "sotto_exchanges_total"); ok {
			samples = append(samples, strings.TrimSpace(sample))
		}
	}
	return samples
}
