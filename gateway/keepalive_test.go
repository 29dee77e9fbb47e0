package gateway_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// TestKeepAlivesInSilence lets an upstream say nothing for a minute, at every place of a
// stream: the client hears that the reply continues, and its reply is the same.
func TestKeepAlivesInSilence(t *testing.T) {
	const raw = "<think>I add.</think>It is 4."
	each(t, func(t *testing.T, s speaker) {
		stream := s.stream([]string{"<think>I ", "add.</think>It ", "is 4."}, sotto.EndStopped)
		step := len(stream)/9 + 1
		for cut := 0; cut < len(stream); cut += step {
			synctest.Test(t, func(t *testing.T) {
				for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayKeep} {
					g := handler(t, gateway.Config{KeepAlive: 7 * time.Second, Default: routing.Route{Display: display}}, silencing(func(r *http.Request) (*http.Response, error) {
						return response(s.kind(true), &slow{r.Context(), []string{stream[:cut], stream[cut:]}, time.Minute, false}), nil
					}))
					out := ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`).Body.String()
					got := strings.Count(out, "keep-alive") + strings.Count(out, `"type": "ping"`) + strings.Count(out, "event: keepAlive\n")
					if s.codec.Capabilities().NoComments {
						got = spaces(out)
					}
					begun := true // a keep-alive is a line of the reply, which needs what its first line says
					if s.codec.Framing() == wire.NDJSON {
						got = strings.Count(out, `"content":"","`) + strings.Count(out, `"response":"",`) + strings.Count(out, `"content":""},"done":false`)
						begun = strings.Contains(stream[:cut], "\n")
					}
					if want := 8; begun && got < want {
						t.Errorf("%s cut at %d: %d keep-alives in a minute, want %d:\n%s", display, cut, got, want, out)
					}
					h := s.listen(t, []byte(out))
					switch display {
					case routing.DisplayField:
						h.wants(t, "It is 4.", "I add.")
					case routing.DisplayHide:
						h.wants(t, "It is 4.", "")
					default:
						h.wants(t, raw, "")
					}
				}
			})
		}
	})
}

// spaces counts the keep-alives that are spaces before the data of an event.
func spaces(out string) (n int) {
	for _, s := range regexp.MustCompile(`data: {2,}`).FindAllString(out, -1) {
		n += len(s) - len("data: ")
	}
	return n
}

// TestKeepAliveBeginsAnEvent: what begins as a keep-alive is the event that follows. No
// event of the reply says nothing, except where what follows is no event's data.
func TestKeepAliveBeginsAnEvent(t *testing.T) {
	s := geminiSpeaker
	text, end := s.say("It is 4."), s.finish("", sotto.EndStopped)
	for _, test := range []struct {
		name           string
		before, after  string
		events, silent int
		failed         bool
	}{
		{"an event", text, end, 2, 0, false},
		{"before the first", "", text + end, 2, 0, false},
		{"a named event", text, "event: message\n" + end, 3, 1, false},
		{"a comment", text, ": still here\n\n" + end, 3, 1, false},
		{"an error", text, `data: {"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}` + "\n\n", 2, 0, true},
		{"the end in the middle", text, "", 2, 0, true},
		{"the end", text + end, "", 2, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := handler(t, gateway.Config{KeepAlive: 7 * time.Second}, silencing(func(r *http.Request) (*http.Response, error) {
				return response(s.kind(true), &slow{r.Context(), []string{test.before, test.after}, time.Minute, false}), nil
			}))
			out := ask(g, s.path, `{"stream":true,"contents":[]}`).Body.String()
			events, silent := 0, 0
			var scan sse.Scanner
			for in := []byte(out); ; {
				f, ok := scan.Next(in)
				if !ok {
					if len(in) > 0 {
						t.Errorf("%s: an event has no end: %q", test.name, in)
					}
					break
				}
				in = in[len(f.Raw):]
				if f.Data == nil {
					continue
				}
				events++
				if !gjson.ValidBytes(f.Data) {
					t.Errorf("%s: the event %q", test.name, f.Data)
				}
				if gjson.GetBytes(f.Data, "candidates.#").Raw == "0" {
					silent++
				}
			}
			if h := s.listen(t, []byte(out)); string(h.text) != "It is 4." || test.failed != (h.failed != "") {
				t.Errorf("%s: text %q, failed %q", test.name, h.text, h.failed)
			}
			if events != test.events || silent != test.silent || spaces(out) < 8 {
				t.Errorf("%s: %d events, %d without candidates, want %d and %d:\n%s", test.name, events, silent, test.events, test.silent, out)
			}
		})
	}
}

// TestNoKeepAliveBeforeTheReply checks that nothing is sent before the upstream has
// answered: the status is not known.
func TestNoKeepAliveBeforeTheReply(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		synctest.Test(t, func(t *testing.T) {
			g := handler(t, gateway.Config{KeepAlive: time.Second}, silencing(func(r *http.Request) (*http.Response, error) {
				time.Sleep(time.Minute)
				return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{}, Body: http.NoBody, ProtoMajor: 1, ProtoMinor: 1}, nil
			}))
			if w := ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`); w.Code != http.StatusTooManyRequests || w.Body.Len() > 0 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	})
}
