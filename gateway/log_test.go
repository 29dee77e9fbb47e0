package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/record"
)

// A lines is a log that is written by several goroutines.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// with returns the lines with a message.
func (l *lines) with(t *testing.T, msg string) (list []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(l.buf.Bytes()) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if m["msg"] == msg {
			list = append(list, m)
		}
	}
	return list
}

const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + traceID + "-00f067aa0ba902b7-01"
)

// A told exchange is one of which the log, the record and the response tell.
type told struct {
	name                string
	stream, fail, leave bool
	body                string // if it is not a chat
	outcome             string
	status              int
	share               float64
	times               []string // that the line has
}

// TestExchangeLine: each exchange has one line in the log, with the id that the record and
// the response have, with its trace, its times and its share of reasoning, and without any
// text, however it ends and wherever reasoning goes.
func TestExchangeLine(t *testing.T) {
	s := speakers[0]
	cases := []told{
		{name: "whole", outcome: "answered", status: 200, share: 0.667, times: []string{"upstream_ms"}},
		{name: "streamed", stream: true, outcome: "answered", status: 200, share: 0.667, times: []string{"upstream_ms", "first_thought_ms", "first_answer_ms"}},
		{name: "upstream error", fail: true, outcome: "refused", status: 429, times: []string{"upstream_ms"}},
		{name: "client leaves", stream: true, leave: true, outcome: "canceled", status: 200, share: 1, times: []string{"upstream_ms", "first_thought_ms"}},
		{name: "refused", body: "{canary", status: 400},
	}
	for _, display := range routing.Displays() {
		for _, c := range cases {
			t.Run(string(display)+" "+c.name, func(t *testing.T) {
				waits := make(chan struct{})
				up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", s.kind(c.stream))
					w.Header().Set("Sotto-Exchange-Id", "of another gateway")
					switch {
					case c.fail:
						w.WriteHeader(http.StatusTooManyRequests)
						io.WriteString(w, `{"error":{"message":"canary"}}`)
					case c.leave:
						said, _, _ := strings.Cut(s.stream([]string{"<think>canaries</think>", "never"}, 1), "never")
						io.WriteString(w, said[:strings.LastIndex(said, "\n\n")+2])
						http.NewResponseController(w).Flush()
						<-waits
					case c.stream:
						io.WriteString(w, s.stream([]string{"<think>canaries</think>", "4ary"}, 1))
					default:
						io.WriteString(w, s.whole("<think>canaries</think>4ary", sotto.EndStopped))
					}
				}))
				defer up.Close()
				defer close(waits)
				log := new(lines)
				w, dir := openRecord(t, record.Options{})
				g := inFront(t, up.URL, gateway.Config{
					Recorder: w, Default: routing.Route{Display: display},
					Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				})
				header := c.ask(t, g, s.path)
				c.check(t, log, only(t, w, dir), header)
			})
		}
	}
}

// ask sends the request of a case, and returns the header of the response.
func (c told) ask(t *testing.T, g http.Handler, path string) http.Header {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	body := c.body
	if body == "" {
		body = strings.Replace(chatBody("m", c.stream), question, "canary", 1)
	}
	front := httptest.NewServer(g)
	defer front.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, front.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Traceparent", traceparent)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if c.leave {
		if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return resp.Header
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.Header
}

// check compares the log with the record and the response.
func (c told) check(t *testing.T, log *lines, e record.Exchange, header http.Header) {
	t.Helper()
	if strings.Contains(log.buf.String(), "canar") {
		t.Errorf("the log has text:\n%s", &log.buf)
	}
	msg := "exchange"
	if c.outcome == "" {
		msg = "refused"
	}
	all := log.with(t, msg)
	if len(all) != 1 {
		t.Fatalf("%d lines:\n%s", len(all), &log.buf)
	}
	line := all[0]
	id := line["exchange_id"]
	if id == "" || id != e.ID || !slices.Equal(header["Sotto-Exchange-Id"], []string{e.ID}) {
		t.Errorf("the log has %v, the record %q, the response %q", id, e.ID, header["Sotto-Exchange-Id"])
	}
	if line["trace_id"] != traceID || e.IDs[record.IDTrace] != traceID {
		t.Errorf("the log has the trace %v, the record %q", line["trace_id"], e.IDs[record.IDTrace])
	}
	if c.outcome != "" && line["route"] != "default" {
		t.Errorf("the route is %v", line["route"])
	}
	if line["status"] != float64(c.status) || c.outcome != "" && line["outcome"] != c.outcome {
		t.Errorf("%v", line)
	}
	if share, _ := line["reasoning_share"].(float64); share != c.share {
		t.Errorf("the share of reasoning is %v: %v", share, line)
	}
	for _, name := range []string{"upstream_ms", "first_thought_ms", "first_answer_ms"} {
		if _, has := line[name]; has != slices.Contains(c.times, name) {
			t.Errorf("%s: %v in %v", name, has, line)
		}
	}
	for _, msg := range []string{"exchange begins", "the upstream replies"} {
		if said := log.with(t, msg); c.outcome != "" && (len(said) != 1 || said[0]["exchange_id"] != id) {
			t.Errorf("at the level debug: %v", said)
		}
	}
}

// TestExchangeIDs: no two exchanges have an id in common, and later ones sort after earlier
// ones. A transport's response has one too.
func TestExchangeIDs(t *testing.T) {
	s := speakers[0]
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", s.kind(false))
		io.WriteString(w, s.whole("4", sotto.EndStopped))
	}))
	defer up.Close()
	g := inFront(t, up.URL, gateway.Config{})
	var all []string
	for range 50 {
		all = append(all, ask(g, s.path, chatBody("m", false)).Header().Get("Sotto-Exchange-Id"))
	}
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != 50 || len(all[0]) != 36 {
		t.Errorf("%q", all)
	}
	tr, err := gateway.NewTransport(gateway.TransportConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	resp, err := (&http.Client{Transport: tr}).Post(up.URL+s.path, "application/json", strings.NewReader(chatBody("m", false)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Sotto-Exchange-Id"); len(got) != 36 {
		t.Errorf("the transport says %q", got)
	}
}
