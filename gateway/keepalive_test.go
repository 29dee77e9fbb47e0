package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
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
				for _, display := range []gateway.Display{gateway.DisplayField, gateway.DisplayHide, gateway.DisplayKeep} {
					g := handler(t, gateway.Config{KeepAlive: 7 * time.Second, Default: gateway.Route{Display: display}}, silencing(func(r *http.Request) (*http.Response, error) {
						return response(s.kind(true), &slow{r.Context(), []string{stream[:cut], stream[cut:]}, time.Minute, false}), nil
					}))
					out := ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`).Body.String()
					got := strings.Count(out, "keep-alive") + strings.Count(out, `"type": "ping"`) + strings.Count(out, "event: keepAlive\n")
					if s.codec.Capabilities().NoComments {
						got = strings.Count(out, `{"candidates":[]`)
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
					case gateway.DisplayField:
						h.wants(t, "It is 4.", "I add.")
					case gateway.DisplayHide:
						h.wants(t, "It is 4.", "")
					default:
						h.wants(t, raw, "")
					}
				}
			})
		}
	})
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
