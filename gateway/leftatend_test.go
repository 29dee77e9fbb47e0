package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/record"
)

// TestLeftAtEnd: a client that reads a stream as far as the API's own sign of the end, and
// then leaves without waiting for the upstream to close, has its whole answer. One that
// leaves before has not.
func TestLeftAtEnd(t *testing.T) {
	signs := map[string]string{
		"openai.chat": "data: [DONE]\n\n", "openai.completions": "data: [DONE]\n\n", "openai.responses": "event: response.completed\n",
		"anthropic.messages": "event: message_stop\n", "ollama.chat": `"done":true`, "ollama.generate": `"done":true`,
	}
	seen := 0
	for _, s := range speakers {
		sign := signs[s.codec.Name()]
		if sign == "" {
			continue
		}
		seen++
		for want, said := range map[string]string{"answered": s.stream([]string{"<think>I add.</think>", "4 it is"}, 1), "canceled": s.open + s.say("<think>I add.</think>4 it is")} {
			for _, inside := range []bool{false, true} {
				if got := leftAtEnd(t, s, said, want == "answered", sign, inside); got != want {
					t.Errorf("%s, in a client: %t: recorded as %s, want %s", s.codec.Name(), inside, got, want)
				}
			}
		}
	}
	if seen != len(signs) {
		t.Errorf("%d APIs of %d", seen, len(signs))
	}
}

// leftAtEnd asks an upstream that does not close its stream, reads up to the sign or to
// the first text, leaves, and returns the outcome of the exchange.
func leftAtEnd(t *testing.T, s speaker, said string, whole bool, sign string, inside bool) string {
	t.Helper()
	w, dir := openRecord(t, record.Options{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", s.kind(true))
		io.WriteString(w, said)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer up.Close()
	client := http.DefaultClient
	var base string
	var stop func()
	if inside {
		tr, err := gateway.NewTransport(gateway.TransportConfig{Recorder: w})
		if err != nil {
			t.Fatal(err)
		}
		client, base, stop = &http.Client{Transport: tr}, up.URL, func() { tr.Close() } // which records what has ended
	} else {
		front := httptest.NewServer(inFront(t, up.URL, gateway.Config{Recorder: w}))
		base, stop = front.URL, front.Close // which waits for the handler
	}
	resp, err := client.Post(base+s.path, "application/json", strings.NewReader(chatBody("m", true)))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	piece := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(piece)
		got.Write(piece[:n])
		if at := strings.Index(got.String(), sign); whole && at >= 0 && strings.Contains(got.String()[at:], "\n") || !whole && strings.Contains(got.String(), "4 it is") {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v after %q", s.codec.Name(), err, got.String())
		}
	}
	resp.Body.Close()
	stop()
	return only(t, w, dir).Outcome
}
