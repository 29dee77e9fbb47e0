package probe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/a2aserver/probe"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// hostileCard is a card whose one interface is at a URL.
func hostileCard(url, more string) string {
	return fmt.Sprintf(`{"name":"h","description":"d","version":"1","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],`+
		`"skills":[{"id":"s","name":"s","description":"s"}],"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"0.3"}]%s}`, url, url, more)
}

// TestHostile: whatever a server answers with, the probe ends, takes a bounded
// number of bytes, and reports in bounded words.
func TestHostile(t *testing.T) {
	endless := func(kind, head, piece string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			if _, err := io.WriteString(w, head); err != nil {
				return
			}
			block := strings.Repeat(piece, 1+64<<10/len(piece))
			for {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
		}
	}
	says := func(body string) http.HandlerFunc { // PLACE is where the server is
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "PLACE", "http://"+r.Host+"/rpc"))
		}
	}
	long := strings.Repeat("\x1b]0;title\x07\u202e", 100_000)
	quoted, _ := json.Marshal(long)
	event := `data: {"jsonrpc":"2.0","id":1,"result":{"artifactUpdate":{"taskId":"t","contextId":"c","append":true,"artifact":{"artifactId":"a","parts":[{"text":"word "}]}}}}` + "\n\n"
	for name, c := range map[string]struct{ card, rpc http.HandlerFunc }{
		"endless card":   {card: endless("application/json", `{"name":"`, "x")},
		"deep card":      {card: says(strings.Repeat("[", 8<<20))},
		"skills":         {card: says(`{"name":"x","skills":[` + strings.Repeat(`{},`, 1_000_000) + `{}]}`)},
		"interfaces":     {card: says(`{"name":"x","supportedInterfaces":[null,` + strings.Repeat(`{"url":"u"},`, 20_000) + `null]}`)},
		"long words":     {card: says(hostileCard("PLACE", `,"x":1`)), rpc: says(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":` + string(quoted) + `}}`)},
		"long names":     {card: says(`{"name":` + string(quoted) + `,"supportedInterfaces":[{"url":"PLACE","protocolBinding":` + string(quoted) + `,"protocolVersion":` + string(quoted) + `}]}`)},
		"endless answer": {rpc: endless("application/json", `{"a":"`, "x")},
		"endless stream": {rpc: endless("text/event-stream", "", event)},
		"endless line":   {rpc: endless("text/event-stream", "data: ", "x")},
		"comments":       {rpc: endless("text/event-stream", "", ": x\n\n")},
		"deep answer":    {rpc: says(`{"jsonrpc":"2.0","id":1,"result":{"task":` + strings.Repeat(`{"metadata":`, 100_000))},
		"parts":          {rpc: says(`{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","artifacts":[` + strings.Repeat(`{"parts":[{}]},`, 300_000) + `{}]}}}`)},
		"nothings":       {rpc: says(`{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[null,{"parts":[null]}],"history":[null]},"tasks":[null],"kind":"task","id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[null],"history":[null]}}`)},
		"null":           {rpc: says(`{"jsonrpc":"2.0","id":1,"result":null}`)},
	} {
		t.Run(name, func(t *testing.T) {
			if effort.Brief() && slices.Contains([]string{"comments", "long words", "long names", "endless answer", "endless line", "endless stream"}, name) {
				t.Skip("many megabytes: SOTTO_EFFORT=1 runs it")
			}
			var sent atomic.Int64
			mux := http.NewServeMux()
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				mux.ServeHTTP(&counting{w, &sent}, r)
			}))
			defer web.Close()
			if c.card == nil {
				c.card = says(hostileCard(web.URL+"/rpc", ""))
			}
			mux.HandleFunc("/.well-known/agent-card.json", c.card)
			if c.rpc != nil {
				mux.HandleFunc("/rpc", c.rpc)
			}
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			report, err := probe.Run(t.Context(), web.URL, probe.Options{Transport: tr, Time: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if report.Findings == 0 && name != "nothings" {
				t.Error("there is nothing to say of it")
			}
			if data, _ := json.Marshal(report); len(data) > 128<<10 {
				t.Errorf("the report has %d bytes", len(data))
			}
			if n := sent.Load(); n > 1<<30 {
				t.Errorf("the probe took %d bytes", n)
			}
		})
	}
}

// A counting response counts the bytes that were sent.
type counting struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// TestTokenStays: the token goes to the server that it is for: not where a
// redirect leads, not to another host that the card names, and not by plain HTTP.
func TestTokenStays(t *testing.T) {
	var told atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			told.Add(1)
		}
	}))
	defer other.Close()
	for name, card := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
		"card": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, hostileCard(other.URL, "")) },
	} {
		s := httptest.NewServer(card)
		if r := look(t, s.URL, "secret"); r.Findings == 0 {
			t.Errorf("%s: %+v", name, r)
		}
		s.Close()
	}
	// A server of TLS whose card leads to the same address by plain HTTP.
	var plain atomic.Int32
	tls := httptest.NewUnstartedServer(nil)
	tls.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, hostileCard("http://"+r.Host+"/rpc", ""))
	})
	tls.StartTLS()
	defer tls.Close()
	tr := tls.Client().Transport.(*http.Transport)
	tr.Proxy = nil
	seen := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Scheme == "http" {
			plain.Add(1)
		}
		return tr.RoundTrip(r)
	})
	if _, err := probe.Run(t.Context(), tls.URL, probe.Options{Transport: seen, Token: "secret"}); err != nil {
		t.Fatal(err)
	}
	if told.Load() > 0 || plain.Load() > 0 {
		t.Errorf("another server got the token %d times; %d requests went by plain HTTP", told.Load(), plain.Load())
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestWhole: the probe as a whole has a bound in time. What could not be asked any more is
// skipped, and is not a finding about the server.
func TestWhole(t *testing.T) {
	done, stop := context.WithCancel(t.Context())
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	defer s.Close()
	defer stop()
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, hostileCard(s.URL+"/rpc", "")) })
	mux.HandleFunc("/rpc", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done.Done():
		}
	})
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	r, err := probe.Run(t.Context(), s.URL, probe.Options{Transport: tr, Time: time.Hour, Whole: 200 * time.Millisecond})
	if err != nil || !found(r)["time"] || !found(r)["send"] || r.Findings != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}
