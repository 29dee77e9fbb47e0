package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// A slow body gives its parts with a pause before each, the last of which does
// not end where it hangs.
type slow struct {
	ctx   context.Context
	parts []string
	pause time.Duration
	hangs bool
}

func (b *slow) Read(p []byte) (int, error) {
	var due <-chan time.Time
	if len(b.parts) > 0 || !b.hangs {
		due = time.After(b.pause)
	}
	select {
	case <-due:
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
	if len(b.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.parts[0])
	if b.parts[0] = b.parts[0][n:]; b.parts[0] == "" {
		b.parts = b.parts[1:]
	}
	return n, nil
}

// TestSilence: an upstream that says nothing for too long ends the exchange as
// an error that the client sees: before its answer, within a whole one, and
// within a stream.
func TestSilence(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, stream := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				answers := true
				g := handler(t, gateway.Config{}, silencing(func(r *http.Request) (*http.Response, error) {
					if !answers {
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					parts := []string{s.open + s.say("Hello <th")}
					if !stream {
						parts = []string{s.whole("Hello", sotto.EndStopped)[:20]}
					}
					return response(s.kind(stream), &slow{r.Context(), parts, time.Second, true}), nil
				}))
				body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[]}`, stream)
				began := time.Now()
				w := ask(g, s.path, body)
				if took := time.Since(began); took < 10*time.Minute || took > 11*time.Minute {
					t.Errorf("it took %v", took)
				}
				if stream {
					if h := s.listen(t, w.Body.Bytes()); string(h.text) != "Hello <th" || !strings.Contains(h.failed, "no data came") {
						t.Errorf("text %q, failed %q", h.text, h.failed)
					}
				} else {
					refused(t, s, w, http.StatusGatewayTimeout)
				}
				answers = false
				refused(t, s, ask(g, s.path, body), http.StatusGatewayTimeout)
			})
		}
	})
}

// silencing is a transport that may wait.
type silencing func(r *http.Request) (*http.Response, error)

func (f silencing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f(r)
	if err == nil {
		resp.Request = r
	}
	return resp, err
}

// TestSlowIsNotSilent: what takes longer than the silence in all, and never as
// long between two bytes, comes whole.
func TestSlowIsNotSilent(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, stream := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				g := handler(t, gateway.Config{}, silencing(func(r *http.Request) (*http.Response, error) {
					text := s.whole(tagged, sotto.EndStopped)
					if stream {
						text = s.stream([]string{tagged}, sotto.EndStopped)
					}
					return response(s.kind(stream), &slow{r.Context(), byteByByte(text), time.Minute, false}), nil
				}))
				w := ask(g, s.path, fmt.Sprintf(`{"model":"m","stream":%v,"messages":[]}`, stream))
				if stream {
					s.listen(t, w.Body.Bytes()).wants(t, "It is 4.", "I add.\n\nsure")
				} else {
					s.listenWhole(t, w.Body.Bytes()).wants(t, "It is 4.", "I add.\n\nsure")
				}
			})
		}
	})
}

// TestKeepAlives: while reasoning is hidden, the client hears that the reply
// goes on, and its reply is the same.
func TestKeepAlives(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		synctest.Test(t, func(t *testing.T) {
			var quick, out string
			for _, pause := range []time.Duration{time.Millisecond, 4 * time.Second} {
				g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, silencing(func(r *http.Request) (*http.Response, error) {
					said := slices.Concat([]string{"<think>"}, slices.Repeat([]string{"I add. "}, 30), []string{"</think>It is 4."})
					parts := []string{s.open}
					for _, p := range said {
						parts = append(parts, s.say(p))
					}
					parts = append(parts, s.finish(strings.Join(said, ""), sotto.EndStopped))
					return response(s.kind(true), &slow{r.Context(), parts, pause, false}), nil
				}))
				out = ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`).Body.String()
				s.listen(t, []byte(out)).wants(t, "It is 4.", "")
				if pause == time.Millisecond {
					quick = out
				}
			}
			if strings.Count(out, "\n")-strings.Count(quick, "\n") < 8 && spaces(out) < 8 {
				t.Errorf("of 120 s the client heard\n%s", out)
			}
		})
	})
}

// TestSilenceOnAConnection tells the client over a real connection, which is
// good for another exchange after that.
func TestSilenceOnAConnection(t *testing.T) {
	s := speakers[0]
	base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, s.open+s.say("Hello <th"))
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}), gateway.Config{Silence: 700 * time.Millisecond})
	for range 2 {
		_, body := post(t, base+s.path, `{"model":"m","stream":true}`, nil)
		if h := s.listen(t, body); string(h.text) != "Hello <th" || !strings.Contains(h.failed, "no data came") {
			t.Errorf("text %q, failed %q", h.text, h.failed)
		}
	}
}

// TestClientTakesNothing: a client that reads no more does not hold the upstream
// for ever, streamed or whole.
func TestClientTakesNothing(t *testing.T) {
	s := speakers[0]
	big := strings.Repeat("word ", 1<<20)
	for _, name := range []string{"stream", "whole", "held"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream := name != "whole"
			stopped := make(chan struct{})
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(stopped)
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", s.kind(stream))
				if !stream {
					io.WriteString(w, s.whole(strings.Repeat(big, 4), sotto.EndStopped))
					return
				}
				for i := 0; r.Context().Err() == nil; i++ {
					if name == "held" && i == 160 { // then it says no more
						http.NewResponseController(w).Flush()
						<-r.Context().Done()
						return
					}
					if _, err := io.WriteString(w, s.say(big[:100<<10])); err != nil {
						return
					}
				}
			}))
			t.Cleanup(up.Close)
			ended := make(chan struct{})
			var g http.Handler
			base := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				g.ServeHTTP(w, r)
			}))
			t.Cleanup(base.Close)
			g = inFront(t, up.URL, gateway.Config{Silence: 300 * time.Millisecond, Limits: gateway.Limits{Hold: 64 << 20, Frame: 64 << 20}})
			c, err := net.Dial("tcp", base.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			model := "m"
			if name == "held" {
				model = "deepseek-r1" // which may begin inside
			}
			body := fmt.Sprintf(`{"model":%q,"stream":%v}`, model, stream)
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", s.path, len(body), body)
			for name, ch := range map[string]chan struct{}{"upstream": stopped, "gateway": ended} {
				select {
				case <-ch:
				case <-time.After(time.Minute):
					t.Fatalf("the %s goes on", name)
				}
			}
		})
	}
}
