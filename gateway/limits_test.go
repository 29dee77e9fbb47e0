package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
)

// refused checks that an answer is an error in the API's own JSON.
func refused(t *testing.T, s speaker, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	refusedWith(t, s, w.Result(), w.Body.Bytes(), status)
}

func refusedWith(t *testing.T, s speaker, resp *http.Response, body []byte, status int) {
	t.Helper()
	root := gjson.ParseBytes(body)
	var own bool
	switch {
	case strings.HasPrefix(s.name(), "openai"), strings.HasPrefix(s.name(), "mistral"), strings.HasPrefix(s.name(), "llamacpp"):
		own = root.Get("error.message").Str != "" && root.Get("error.type").Str != ""
	case strings.HasPrefix(s.name(), "ollama"):
		own = root.Get("error").Str != ""
	case strings.HasPrefix(s.name(), "bedrock"):
		own = root.Get("message").Str != "" && strings.HasSuffix(resp.Header.Get("X-Amzn-Errortype"), "Exception")
	case strings.HasPrefix(s.name(), "cohere"):
		own = root.Get("message").Str != ""
	case strings.HasPrefix(s.name(), "gemini"):
		own = root.Get("error.code").Int() == int64(status) && root.Get("error.status").Str != "" && root.Get("error.message").Str != ""
	default:
		own = root.Get("type").Str == "error" && root.Get("error.type").Str != "" && root.Get("error.message").Str != ""
	}
	if resp.StatusCode != status || !own || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: %d %.500s, want %d", s.name(), resp.StatusCode, body, status)
	}
}

// TestBodyLimit bounds requests, by their bytes and not by what they say of
// them, and whole replies.
func TestBodyLimit(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		v := converse(t, s, gateway.Config{Limits: gateway.Limits{Body: 2000}})
		v.raw = "Hi"
		fits := v.request("m", false, "")
		if w := ask(v, s.path, fits+strings.Repeat(" ", 2000-len(fits))); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		refused(t, s, ask(v, s.path, fits+strings.Repeat(" ", 2001-len(fits))), http.StatusRequestEntityTooLarge)
		r := httptest.NewRequest("POST", s.path, io.MultiReader(strings.NewReader(fits+strings.Repeat(" ", 5000))))
		r.Host, r.ContentLength = "localhost", -1
		w := httptest.NewRecorder()
		v.ServeHTTP(w, r)
		refused(t, s, w, http.StatusRequestEntityTooLarge)

		v.raw = strings.Repeat("x", 2000)
		refused(t, s, ask(v, s.path, fits), http.StatusBadGateway)
	})
}

// TestCompressedRequest is refused in words, since it cannot be read.
func TestCompressedRequest(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		v := converse(t, s, gateway.Config{})
		r := httptest.NewRequest("POST", s.path, strings.NewReader("x"))
		r.Host = "localhost"
		r.Header.Set("Content-Encoding", "br")
		w := httptest.NewRecorder()
		v.ServeHTTP(w, r)
		refused(t, s, w, http.StatusUnsupportedMediaType)
	})
}

// TestFrameLimit: a frame that never ends is an error, after what came before.
func TestFrameLimit(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		g := handler(t, gateway.Config{Limits: gateway.Limits{Frame: 10_000}}, answering(func(*http.Request) *http.Response {
			endless := strings.NewReader(strings.TrimRight(s.say(strings.Repeat("x", 1<<20)), "\n"))
			return response(s.kind(true), io.MultiReader(strings.NewReader(s.open+s.say("Hi <th")), endless))
		}))
		h := s.listen(t, ask(g, s.path, `{"stream":true,"messages":[]}`).Body.Bytes())
		if string(h.text) != "Hi <th" || !strings.Contains(h.failed, "10000 bytes") {
			t.Errorf("text %q, failed %q", h.text, h.failed)
		}
	})
}

// TestExchangeLimit refuses what is too much at once, and takes it again later.
func TestExchangeLimit(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		begun, end := make(chan struct{}), make(chan struct{})
		g := handler(t, gateway.Config{Limits: gateway.Limits{Exchanges: 1}}, answering(func(*http.Request) *http.Response {
			begun <- struct{}{}
			<-end
			return response("application/json", strings.NewReader(s.whole("Hi", sotto.EndStopped)))
		}))
		body := `{"model":"m","stream":false,"messages":[]}`
		first := make(chan int)
		go func() { first <- ask(g, s.path, body).Code }()
		<-begun
		refused(t, s, ask(g, s.path, body), http.StatusServiceUnavailable)
		if w := ask(g, "/v1/embeddings", body); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%d", w.Code)
		}
		close(end)
		if code := <-first; code != 200 {
			t.Errorf("%d", code)
		}
		go func() { first <- ask(g, s.path, body).Code }()
		<-begun
		if code := <-first; code != 200 {
			t.Errorf("later: %d", code)
		}
	})
}

// TestChoiceLimit: a number that would make memory grow is an error, and not a
// choice that vanishes.
func TestChoiceLimit(t *testing.T) {
	for _, name := range []string{"openai.chat", "openai.completions"} {
		s := speakerOf(t, name)
		for index, ok := range map[string]bool{"1023": true, "1024": false, "1000000": false, "-1": false, "1e300": false, "9223372036854775808": false} {
			frame := strings.Replace(s.say("<think>r</think>Hi"), `"index":0`, `"index":`+index, 1)
			body := s.say("Hello ") + frame + s.finish("Hello <think>r</think>Hi", sotto.EndStopped)
			g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response { return response(s.kind(true), strings.NewReader(body)) }))
			h := s.listen(t, ask(g, s.path, `{"stream":true}`).Body.Bytes())
			if (h.failed == "") != ok || !strings.HasPrefix(string(h.text), "Hello ") {
				t.Errorf("%s, index %s: text %q, failed %q", name, index, h.text, h.failed)
			}
		}
	}
	s := speakers[0]
	choices := strings.TrimSuffix(strings.Repeat(`{"message":{"content":"a"}},`, 1025), ",")
	g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
		return response("application/json", strings.NewReader(`{"choices":[`+choices+`]}`))
	}))
	refused(t, s, ask(g, s.path, `{}`), http.StatusBadGateway)
}

// TestLabelLimit: models of any name make few labels.
func TestLabelLimit(t *testing.T) {
	v := converse(t, speakers[0], gateway.Config{Limits: gateway.Limits{Labels: 5}})
	v.raw = "Hi"
	for i := range 40 {
		if w := ask(v, v.s.path, v.request(fmt.Sprintf("m%d%s", i, strings.Repeat("x", 5000)), false, "")); w.Code != 200 {
			t.Fatal(w.Code)
		}
	}
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	v.ServeHTTP(w, r)
	n := 0
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "sotto_exchanges_total{") {
			n++
			if len(line) > 400 {
				t.Errorf("a label of %d bytes", len(line))
			}
		}
	}
	if n != 6 || !strings.Contains(w.Body.String(), `model="other",outcome="answered"} 35`) {
		t.Errorf("%d labels:\n%s", n, w.Body)
	}
	if got := len(v.Learned().Starts()); got > 4096 {
		t.Errorf("%d learned", got)
	}
}

// TestHoldLimit: a reply in doubt is held no further than the limit, and the held
// text is read as the dialect says, not lost.
func TestHoldLimit(t *testing.T) {
	v := converse(t, speakers[0], gateway.Config{Limits: gateway.Limits{Hold: 512}})
	raw := strings.Repeat("word ", 400)
	v.raw, v.cut = raw, byteByByte(raw)
	w := ask(v, v.s.path, v.request("deepseek-r1", true, ""))
	h := v.s.listen(t, w.Body.Bytes())
	if got := string(h.text) + string(h.thought); strings.TrimSpace(got) != strings.TrimSpace(raw) || h.failed != "" {
		t.Errorf("%d bytes of %d, failed %q", len(got), len(raw), h.failed)
	}
	first := 0
	for f := range framesOf(v.s.codec, w.Body.Bytes()) {
		d := gjson.GetBytes(f.Data, "choices.0.delta")
		if first = len(d.Get("content").Str) + len(d.Get("reasoning_content").Str); first > 0 {
			break
		}
	}
	if first == 0 || first > 600 {
		t.Errorf("the first text has %d bytes", first)
	}
}
