package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/record"
)

// A journal is a log that is written from several sides.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

const canary = "canary7f3a"

// spill is a stream whose thoughts, answer and frames all hold the canary.
func spill(s speaker) string {
	return s.stream([]string{"<think>" + canary + "</think>", canary + "-answer </thi"}, sotto.EndStopped)
}

// TestCanary puts a word into all that a log or metric must not have: the
// question, the reasoning, the answer, every kind of key; over all APIs and every
// fault. It turns up in none, at the most talkative level.
func TestCanary(t *testing.T) {
	keys := http.Header{
		"Authorization": {"Bearer sk-" + canary}, "X-Api-Key": {"sk-" + canary}, "Api-Key": {canary}, "Cookie": {"s=" + canary},
		"X-Goog-Api-Key": {canary}, "Proxy-Authorization": {"Basic " + canary}, "Referer": {"http://localhost/" + canary},
	}
	raw := func(head, body string) func(s speaker) http.RoundTripper {
		return func(s speaker) http.RoundTripper {
			return &toRaw{t: t, bytes: strings.ReplaceAll(head, "KIND", s.kind(true)) + strings.ReplaceAll(body, "STREAM", spill(s))}
		}
	}
	ok := "HTTP/1.1 200 OK\r\nContent-Type: KIND\r\nConnection: close\r\n"
	faults := map[string]func(s speaker) http.RoundTripper{
		"none":              raw(ok+"\r\n", "STREAM"),
		"length":            raw(ok+"Content-Length: 9999999\r\n\r\n", "STREAM"),
		"short length":      raw(ok+"Content-Length: 99\r\n\r\n", "STREAM"),
		"chunks":            raw(ok+"Transfer-Encoding: chunked\r\n\r\n", canary+"\r\nSTREAM"),
		"no HTTP":           raw("", canary+" STREAM"),
		"no status":         raw("HTTP/1.1 "+canary+"\r\n\r\n", "STREAM"),
		"a bad header":      raw(ok, canary+" "+canary+"\r\n\r\nSTREAM"),
		"a bad length":      raw(ok+"Content-Length: "+canary+"\r\n\r\n", "STREAM"),
		"a bad coding":      raw(ok+"Transfer-Encoding: "+canary+"\r\n\r\n", "STREAM"),
		"an encoding":       raw(ok+"Content-Encoding: gzip\r\n\r\n", "STREAM"),
		"another type":      raw(strings.Replace(ok, "KIND", "text/"+canary, 1)+"\r\n", "STREAM"),
		"an error":          raw("HTTP/1.1 500 "+canary+"\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n", `{"error":"`+canary+`"}`),
		"within a frame":    raw(ok+"\r\n", "STREAM\n\ndata: {\"x\":\""+canary),
		"whole":             raw(strings.Replace(ok, "KIND", "application/json", 1)+"\r\n", `{"choices":[{"message":{"content":"`+canary+`"}}]`),
		"nobody there":      func(speaker) http.RoundTripper { return &toRaw{t: t} },
		"an address spoken": func(speaker) http.RoundTripper { return refusing{} },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range speakers {
				var log journal
				up := fault(s)
				g := handler(t, gateway.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))}, up)
				for _, body := range []string{
					`{"model":"m","stream":true,"messages":[{"role":"user","content":"` + canary + `"},{"role":"assistant","content":"<think>` + canary + `</think>x"}]}`,
					`{"model":"m","stream":true,"messages":` + canary,
					`["` + canary + `"]`,
				} {
					r := httptest.NewRequest("POST", s.path+"?key="+canary+"&x=%"+canary, strings.NewReader(body))
					r.Host = "localhost"
					r.Header = keys.Clone()
					w := httptest.NewRecorder()
					g.ServeHTTP(w, r)
					// An error body of ours tells nothing either.
					if w.Code == http.StatusBadGateway || w.Code == http.StatusBadRequest {
						if strings.Contains(w.Body.String(), canary) {
							t.Errorf("%s: error body %s", s.name(), w.Body)
						}
					}
				}
				if log.String() == "" {
					t.Errorf("%s: no line in the log", s.name())
				}
				if strings.Contains(log.String(), canary) {
					t.Errorf("%s: the log has\n%s", s.name(), log.String())
				}
				w := httptest.NewRecorder()
				r := httptest.NewRequest("GET", "/metrics", nil)
				r.Host = "localhost"
				g.ServeHTTP(w, r)
				if !strings.Contains(w.Body.String(), "sotto_exchanges_total") || strings.Contains(w.Body.String(), canary) {
					t.Errorf("%s: metrics %s", s.name(), w.Body)
				}
			}
		})
	}
}

// toRaw is a transport to an upstream that answers with bytes.
type toRaw struct {
	t     *testing.T
	bytes string
}

func (u *toRaw) RoundTrip(r *http.Request) (*http.Response, error) {
	t := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	t.DialContext = func(context.Context, string, string) (net.Conn, error) {
		if u.bytes == "" {
			return nil, fmt.Errorf("connection refused")
		}
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			server.SetDeadline(time.Now().Add(time.Minute))
			if readRequest(server) == nil {
				io.WriteString(server, u.bytes)
			}
		}()
		return client, nil
	}
	return t.RoundTrip(r)
}

// refusing is a transport whose error tells the address with its query.
type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: errors.New("no way to the upstream")}
}

// TestRefusalsTellNothing: neither do the refusals of access control.
func TestRefusalsTellNothing(t *testing.T) {
	var log journal
	g := handler(t, gateway.Config{Token: "tok", Logger: slog.New(slog.NewTextHandler(&log, nil))}, refusing{})
	for _, h := range []http.Header{
		header("Authorization", "Bearer "+canary), header("X-Api-Key", canary), header("Cookie", canary), header("Sec-Fetch-Site", "cross-site", "Cookie", canary),
	} {
		r := httptest.NewRequest("POST", "/v1/chat/completions?key="+canary, strings.NewReader(canary))
		r.Host = "localhost"
		r.Header = h
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code < 400 || strings.Contains(w.Body.String(), canary) || strings.Contains(log.String(), canary) {
			t.Errorf("%d %s\n%s", w.Code, w.Body, log.String())
		}
	}
}

// TestKeyForModel: a key that a client sends as the model's name is in no log, no
// metric, no list of what was learned and no record, even where only its beginning
// would be.
func TestKeyForModel(t *testing.T) {
	long := strings.Repeat("sk-long-", 40)
	for place, h := range map[string]http.Header{
		"Authorization": header("Authorization", "Bearer "+long), "X-Api-Key": header("X-Api-Key", long), "Api-Key": header("Api-Key", long),
		"the second": header("Authorization", "Bearer other-key", "X-Api-Key", long), "the query": {},
	} {
		var log journal
		s := speakers[0]
		recorder, dir := openRecord(t, record.Options{})
		g := handler(t, gateway.Config{Recorder: recorder, Logger: slog.New(slog.NewTextHandler(&log, nil))}, answering(func(*http.Request) *http.Response {
			return response(s.kind(false), strings.NewReader(s.whole("<think>a</think>b", sotto.EndStopped)))
		}))
		for _, model := range []string{long, "openai/" + long + "/x"} {
			r := httptest.NewRequest("POST", s.path, strings.NewReader(chatBody(model, false)))
			if place == "the query" {
				r = httptest.NewRequest("POST", s.path+"?key="+long, strings.NewReader(chatBody(model, false)))
			}
			r.Host, r.Header = "localhost", h.Clone()
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", place, w.Code, w.Body)
			}
		}
		if !strings.Contains(log.String(), "model=[secret]") || !strings.Contains(log.String(), "model=openai/[secret]/x") {
			t.Errorf("%s: the log has\n%s", place, log.String())
		}
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if all := log.String() + w.Body.String() + fmt.Sprint(g.Learned().Starts()); strings.Contains(all, "sk-long") {
			t.Errorf("%s: the key is in\n%s", place, all)
		}
		exchanges(t, recorder, dir)
		mustLack(t, dir, "sk-long")
	}
}
