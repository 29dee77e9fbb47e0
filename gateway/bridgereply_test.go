package gateway_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// heardOf is what a client of another API reads: its texts and its thoughts.
func (c crossing) heardOf(t *testing.T, w *httptest.ResponseRecorder, stream bool) (text, thought string) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, p := range c.as.parts(c.as.join(t, w.Body.Bytes(), stream)) {
		switch p.kind {
		case "text":
			text += p.text
		case "thought":
			thought += p.text
		}
	}
	return text, thought
}

// TestBridgeDisplays: the display of a route holds for a client of another API, wherever the upstream's bytes are cut.
func TestBridgeDisplays(t *testing.T) {
	const raw = "<think>A canary.</think>An answer."
	crossings(t, func(t *testing.T, c crossing) {
		stream := c.upstream.stream(inPieces(raw, 3), sotto.EndStopped)
		for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayField, routing.DisplayTags, routing.DisplayKeep} {
			for _, size := range []int{0, 1, 17, 400} { // 0 is a whole reply
				g := handler(t, gateway.Config{UpstreamAPI: c.upstream.name(), Default: routing.Route{Display: display}}, answering(func(r *http.Request) *http.Response {
					if size == 0 {
						return response("application/json", strings.NewReader(c.upstream.whole(raw, sotto.EndStopped)))
					}
					return response(c.upstream.kind(true), &slow{ctx: r.Context(), parts: inPieces(stream, size)})
				}))
				w := c.ask(g, "m", size > 0)
				text, thought := c.heardOf(t, w, size > 0)
				want, thinks := "An answer.", ""
				switch display {
				case routing.DisplayField:
					thinks = "A canary."
				case routing.DisplayTags, routing.DisplayKeep:
					want = raw
				}
				if strings.ReplaceAll(text, "\n", "") != want || strings.TrimSpace(thought) != thinks || display == routing.DisplayHide && strings.Contains(w.Body.String(), "canary") {
					t.Errorf("%s in pieces of %d: text %q, thought %q in\n%s", display, size, text, thought, w.Body)
				}
			}
		}
	})
}

// TestBridgeSilence: while the upstream says nothing, the client of another API hears in its own form that the reply goes
// on, and its reply is the same. An upstream that then breaks off is an error in that form.
func TestBridgeSilence(t *testing.T) {
	const raw = "<think>I add.</think>It is 4."
	crossings(t, func(t *testing.T, c crossing) {
		stream := c.upstream.stream(inPieces(raw, 5), sotto.EndStopped)
		for _, cut := range []int{len(stream) / 3, len(stream) * 2 / 3} {
			for _, breaks := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					g := handler(t, gateway.Config{UpstreamAPI: c.upstream.name(), KeepAlive: 7 * time.Second}, silencing(func(r *http.Request) (*http.Response, error) {
						pieces := []string{stream[:cut], stream[cut:]}
						if breaks {
							pieces[1] = ""
						}
						return response(c.upstream.kind(true), &slow{r.Context(), pieces, time.Minute, false}), nil
					}))
					w := c.ask(g, "m", true)
					out := w.Body.String()
					signs := strings.Count(out, "keep-alive") + strings.Count(out, `"type": "ping"`) + strings.Count(out, "keepAlive") + spaces(out) + strings.Count(out, `"content":""},"done":false`)
					if signs < 8 {
						t.Errorf("cut at %d: %d signs in a minute:\n%s", cut, signs, out)
					}
					if breaks {
						if !strings.Contains(out, "before the reply was complete") && !strings.Contains(out, "broke off") && !strings.Contains(out, "ended") {
							t.Errorf("cut at %d: no error in\n%s", cut, out)
						}
						return
					}
					if text, thought := c.heardOf(t, w, true); text != "It is 4." || thought != "I add." {
						t.Errorf("cut at %d: text %q, thought %q in\n%s", cut, text, thought, out)
					}
				})
			}
		}
	})
}

// TestBridgeArray: Google's clients may ask for a stream as one array.
func TestBridgeArray(t *testing.T) {
	s := speakers[0]
	g := handler(t, gateway.Config{UpstreamAPI: "chat"}, answering(func(*http.Request) *http.Response {
		return response(s.kind(true), strings.NewReader(s.stream(inPieces("<think>I add.</think>It is 4.", 5), sotto.EndStopped)))
	}))
	w := request(g, "POST", "/v1beta/models/m:streamGenerateContent", `{"contents":[{"role":"user","parts":[{"text":"What is it?"}]}]}`)
	var list []map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list) < 2 || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		t.Errorf("%v: %v %s", err, w.Header(), w.Body)
	}
}
