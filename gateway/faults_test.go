package gateway_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var errReset = errors.New("read: connection reset by peer")

// breaking is a stream's body that ends with an error.
func breaking(b []byte, err error) io.Reader {
	return io.MultiReader(bytes.NewReader(b), iotest.ErrReader(err))
}

// faultReply is cut where a tag, a word and a code point are.
var faultReply = []string{"<thi", "nk>I ad", "d 2\nand ", "2.</th", "ink>\n\nIt", " is \"4\" — <b", ">é</b>.", " <thinker"}

// TestBreaksAnywhere ends a stream after every byte, by a reset and by a plain
// close. The client gets what the frames that came whole say, and an error, or
// the complete reply: never a reply that looks complete and is not.
func TestBreaksAnywhere(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		t.Parallel()
		stream := []byte(s.stream(faultReply, sotto.EndStopped))
		var body io.Reader
		g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response { return response(s.kind(true), body) }))
		// What a client may have received after n whole deltas.
		var texts, thoughts []string
		for n := range len(faultReply) + 1 {
			r, err := sotto.Default().Parse(strings.Join(faultReply[:n], ""), sotto.BeginOutside, sotto.EndAborted)
			if err != nil {
				t.Fatal(err)
			}
			texts, thoughts = append(texts, r.Visible()), append(thoughts, strings.Join(r.Reasoning(), "\n\n"))
		}
		complete := 0
		step := 1
		if effort.Brief() {
			step = 23
		}
		for n := len(stream); n >= 0; n -= step {
			deltas, whole := s.within(stream[:n])
			for _, fault := range []error{io.EOF, io.ErrUnexpectedEOF, errReset} {
				body = breaking(stream[:n], fault)
				w := ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`)
				h := s.listen(t, w.Body.Bytes())
				switch {
				case whole && h.failed == "":
					complete++
					h.wants(t, texts[len(faultReply)], thoughts[len(faultReply)])
				case h.failed == "":
					t.Fatalf("%d bytes, %v: no error in\n%s", n, fault, w.Body)
				case h.failed != "" && fault == io.EOF && whole && n == len(stream):
					t.Fatalf("%v: failed: %s", fault, h.failed)
				}
				// A last frame that only lacks its blank line counts.
				if !s.said(h, texts, thoughts, deltas) && !(fault == io.EOF && s.said(h, texts, thoughts, deltas+1)) {
					t.Fatalf("%d bytes, %v, %d deltas: text %q, thought %q", n, fault, deltas, h.text, h.thought)
				}
			}
		}
		if complete == 0 {
			t.Error("no reply came to its end")
		}
	})
}

func (s speaker) said(h *heard, texts, thoughts []string, deltas int) bool {
	deltas = min(deltas, len(texts)-1)
	return string(h.text) == texts[deltas] && string(h.thought) == thoughts[deltas]
}

// within counts the deltas in the frames that are whole in a stream's beginning;
// whole says that the reply's end may be among them.
func (s speaker) within(b []byte) (deltas int, whole bool) {
	n := len(s.open)
	for _, d := range faultReply {
		n += len(s.say(d))
		if n <= len(b) {
			deltas++
		}
	}
	return deltas, len(b) > n
}

// TestEveryAPIBreaksAnywhere does the same with a scripted reply of every API, as
// a client of it reads it.
func TestEveryAPIBreaksAnywhere(t *testing.T) {
	up := scripted.New(scripted.Options{Now: func() time.Time { return time.Unix(1760000000, 0) }})
	for _, a := range apis {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			rec := httptest.NewRecorder()
			up.ServeHTTP(rec, httptest.NewRequest("POST", addressed(a.path, a.body("minimax-m2", true)), strings.NewReader(a.body("minimax-m2", true))))
			if rec.Code != 200 {
				t.Fatal(rec.Body)
			}
			stream, kind := rec.Body.Bytes(), rec.Header().Get("Content-Type")
			var body io.Reader
			g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response { return response(kind, body) }))
			hear := func() said {
				w := ask(g, a.path, a.body("m", true))
				return a.understand(t, w.Result(), w.Body.Bytes())
			}
			body = bytes.NewReader(stream)
			want := hear()
			if want.failed != "" || want.finish == "" || want.thought == "" {
				t.Fatalf("%+v", want)
			}
			step := 3
			if effort.Brief() {
				step = 31
			}
			for n := len(stream) - 1; n >= 0; n -= step {
				for _, fault := range []error{io.EOF, errReset} {
					body = breaking(stream[:n], fault)
					got := hear()
					switch {
					case got.failed == "" && (got.text != want.text || got.thought != want.thought || got.finish == ""):
						t.Fatalf("%d bytes, %v: looks complete: %+v", n, fault, got)
					case !strings.HasPrefix(want.text, got.text) && !strings.HasPrefix("<think>", got.text): // a cut opener is text
						t.Fatalf("%d bytes, %v: text %q", n, fault, got.text)
					case !strings.HasPrefix(want.thought+"\n</think>", got.thought): // a cut close is thought
						t.Fatalf("%d bytes, %v: thought %q", n, fault, got.thought)
					}
				}
			}
		})
	}
}

// A rawUpstream writes bytes to each connection, as they are.
func rawUpstream(t testing.TB, answer func(c *net.TCPConn, n int)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			func() {
				defer c.Close()
				if readRequest(c) == nil {
					answer(c.(*net.TCPConn), n)
				}
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

// readRequest reads a request with its body.
func readRequest(c net.Conn) error {
	var b []byte
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return err
		}
		b = append(b, buf[:n]...)
		head, body, ok := bytes.Cut(b, []byte("\r\n\r\n"))
		if !ok {
			continue
		}
		_, length, _ := strings.Cut(strings.ToLower(string(head)), "content-length: ")
		length, _, _ = strings.Cut(length, "\r\n")
		if want, _ := strconv.Atoi(length); len(body) >= want {
			return nil
		}
	}
}

// TestConnectionBreaks does it with real connections: reset, closed, half
// closed, a body shorter or longer than its length, a chunk cut off.
func TestConnectionBreaks(t *testing.T) {
	s := speakers[0]
	stream := s.stream(faultReply, sotto.EndStopped)
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	part := stream[:len(stream)/2]
	chunked := func(b string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(b), b) }
	for _, test := range []struct {
		name, bytes string
		reset, half bool
		ok          bool
	}{
		{name: "closed", bytes: head + "Connection: close\r\n\r\n" + part},
		{name: "closed at the end", bytes: head + "Connection: close\r\n\r\n" + stream, ok: true},
		{name: "half closed at the end", bytes: head + "Connection: close\r\n\r\n" + stream, half: true, ok: true},
		{name: "half closed", bytes: head + "Connection: close\r\n\r\n" + part, half: true},
		{name: "reset", bytes: head + "Connection: close\r\n\r\n" + part, reset: true},
		{name: "reset in a chunk", bytes: head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(part)[:len(part)-9], reset: true},
		{name: "no last chunk", bytes: head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(part)},
		{name: "empty last chunk", bytes: head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(part) + "0\r\n\r\n"},
		{name: "chunked", bytes: head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(part) + chunked(stream[len(part):]) + "0\r\n\r\n", ok: true},
		{name: "bad chunk", bytes: head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(part) + "canary\r\n"},
		{name: "length too long", bytes: head + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(stream)+100) + stream[:len(stream)-20]},
		{name: "length too short", bytes: head + fmt.Sprintf("Connection: close\r\nContent-Length: %d\r\n\r\n", len(part)) + stream},
	} {
		t.Run(test.name, func(t *testing.T) {
			up := rawUpstream(t, func(c *net.TCPConn, _ int) {
				io.WriteString(c, test.bytes)
				switch {
				case test.half:
					c.CloseWrite()
					io.Copy(io.Discard, c)
				case test.reset:
					c.SetLinger(0)
				}
			})
			base := before(t, up, gateway.Config{})
			resp, body := post(t, base+s.path, `{"model":"m","stream":true}`, nil)
			if resp.StatusCode != 200 {
				if test.ok || !test.reset || !strings.Contains(string(body), `"error"`) {
					t.Errorf("%d %s", resp.StatusCode, body)
				}
				return // a reset may overtake the bytes before it
			}
			h := s.listen(t, body)
			if (h.failed == "") != test.ok {
				t.Errorf("failed %q", h.failed)
			}
			if test.ok {
				h.wants(t, "It is \"4\" — <b>é</b>. <thinker", "I add 2\nand 2.")
			}
		})
	}
}

// TestLastFrame: a last frame that only lacks its end counts, and one that is cut
// off is an error even after the finish reason.
func TestLastFrame(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, trim := range []string{"\n\n", "\n"} {
			stream := s.stream([]string{"<think>r</think>Hi"}, sotto.EndStopped)
			var body string
			g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
				return response(s.kind(true), strings.NewReader(body))
			}))
			request := `{"stream":true,"messages":[]}`
			body = strings.TrimSuffix(stream, trim)
			w := ask(g, s.path, request)
			s.listen(t, w.Body.Bytes()).wants(t, "Hi", "r")
			if !strings.HasSuffix(w.Body.String(), "\n") {
				t.Errorf("the last frame has no end: %q", w.Body)
			}
			if s.codec.Capabilities().Texts {
				continue // their last event ends the reply, whatever follows
			}
			body = stream + strings.TrimRight(s.say("x"), "}\n")
			if h := s.listen(t, ask(g, s.path, request).Body.Bytes()); h.failed == "" {
				t.Error("a frame cut off is no error")
			}
		}
	})
}

// TestWholeBreaks: a whole reply that is not whole is an error.
func TestWholeBreaks(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		body := s.whole("<think>r</think>a", sotto.EndStopped)
		for _, n := range []int{0, 1, len(body) / 2, len(body) - 1} {
			g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
				return response("application/json", breaking([]byte(body[:n]), io.ErrUnexpectedEOF))
			}))
			w := ask(g, s.path, `{"model":"m","stream":false,"messages":[]}`)
			if w.Code != http.StatusBadGateway {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if h := s.listenWhole(t, w.Body.Bytes()); h.failed == "" {
				t.Errorf("no error in %s", w.Body)
			}
		}
	})
}

var encodings = map[string]func(w io.Writer) io.WriteCloser{
	"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"x-gzip":  func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	"Deflate": func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 6); return z },
}

// TestErrorsPass: what the upstream refuses, it refuses in its own words.
func TestErrorsPass(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, status := range []int{400, 401, 404, 429, 500, 503, 529} {
			body := `{ "error": {"message":"no", "x":1e400} }`
			g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
				resp := response("application/json", strings.NewReader(body))
				resp.StatusCode = status
				resp.Header.Set("Retry-After", "7")
				resp.Header.Set("X-Request-Id", "abc")
				return resp
			}))
			for _, mode := range []string{"true", "false"} {
				w := ask(g, s.path, `{"model":"m","stream":`+mode+`,"messages":[]}`)
				if w.Code != status || w.Body.String() != body || w.Header().Get("Retry-After") != "7" || w.Header().Get("X-Request-Id") != "abc" {
					t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
				}
			}
		}
	})
}

// TestErrorFrame: an error within the stream passes as it is, after what was
// held, and nothing is added after it.
func TestErrorFrame(t *testing.T) {
	for name, fault := range map[string]string{
		"openai.chat":           `data: {"error":{"message":"busy","type":"server_error"}}` + "\n\n",
		"openai.completions":    `data: {"error":{"message":"busy"}}` + "\n\n",
		"llamacpp.completion":   `data: {"error":{"code":500,"message":"busy","type":"server_error"}}` + "\n\n",
		"cohere.chat":           event("message-end", `"delta":{"finish_reason":"ERROR","error":"busy"}`),
		"bedrock.converse":      named("exception/serviceUnavailableException", `{"message":"busy"}`),
		"openai.responses":      "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"busy\",\"param\":null}\n\n",
		"ollama.chat":           `{"error":"busy"}` + "\n",
		"ollama.generate":       `{"error":"busy"}` + "\n",
		"gemini.generate":       `data: {"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}` + "\n\n",
		"mistral.conversations": event("conversation.response.error", `"message":"busy","code":503`),
		"gemini.interactions":   interactionEvent("error", `"error":{"code":"503","message":"busy"}`),
		"anthropic.messages":    "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n",
	} {
		s := speakerOf(t, name)
		g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
			return response(s.kind(true), strings.NewReader(s.open+s.say("Hi <thin")+fault))
		}))
		w := ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`)
		h := s.listen(t, w.Body.Bytes())
		if string(h.text) != "Hi <thin" || !strings.Contains(h.failed, "busy") || !strings.HasSuffix(w.Body.String(), fault) {
			t.Errorf("%s: text %q, failed %q\n%s", name, h.text, h.failed, w.Body)
		}
	}
}

// TestNullErrors: a member error that is null is not an error.
func TestNullErrors(t *testing.T) {
	s := speakers[0]
	null := `data: {"id":"c1","error":null,"choices":[]}` + "\n\n"
	stream := null + s.say("<think>r</think>Hi") + null
	body := stream
	g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
		return response("text/event-stream", strings.NewReader(body))
	}))
	if h := s.listen(t, ask(g, s.path, `{"stream":true}`).Body.Bytes()); h.failed == "" {
		t.Error("a stream without its end looks complete")
	}
	body = stream + s.finish("<think>r</think>Hi", sotto.EndStopped)
	s.listen(t, ask(g, s.path, `{"stream":true}`).Body.Bytes()).wants(t, "Hi", "r")
}

// TestOneOfTwoFinished: a stream that ends before all of its choices did is not
// complete.
func TestOneOfTwoFinished(t *testing.T) {
	frame := func(index int, delta, reason string) string {
		return fmt.Sprintf(`data: {"choices":[{"index":%d,"delta":%s,"finish_reason":%s}]}`+"\n\n", index, delta, reason)
	}
	body := frame(0, `{"content":"a"}`, "null") + frame(1, `{"content":"b"}`, "null") + frame(0, "{}", `"stop"`)
	g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
		return response("text/event-stream", strings.NewReader(body))
	}))
	if h := speakers[0].listen(t, ask(g, "/v1/chat/completions", `{"stream":true,"n":2}`).Body.Bytes()); h.failed == "" {
		t.Error("looks complete")
	}
	body += frame(1, "{}", `"stop"`)
	speakers[0].listen(t, ask(g, "/v1/chat/completions", `{"stream":true,"n":2}`).Body.Bytes()).wants(t, "ab", "")
}

// TestCancelReachesUpstream: a client that goes away stops the upstream.
func TestCancelReachesUpstream(t *testing.T) {
	for _, a := range apis {
		t.Run(a.name, func(t *testing.T) {
			stopped := make(chan struct{})
			s := speakers[0]
			base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(stopped)
				w.Header().Set("Content-Type", s.kind(true))
				io.WriteString(w, ": hello\n\n")
				http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}), gateway.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			r, _ := http.NewRequestWithContext(ctx, "POST", base+"/v1/chat/completions", strings.NewReader(`{"model":"m","stream":true}`))
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := resp.Body.Read(make([]byte, 16)); err != nil {
				t.Fatal(err)
			}
			cancel()
			select {
			case <-stopped:
			case <-time.After(time.Minute):
				t.Fatal("the upstream was not told")
			}
		})
	}
}

// TestCancelBeforeAnswer: also where the upstream has not answered yet.
func TestCancelBeforeAnswer(t *testing.T) {
	asked, stopped := make(chan struct{}), make(chan struct{})
	base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(stopped)
		io.Copy(io.Discard, r.Body)
		close(asked)
		<-r.Context().Done()
	}), gateway.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	r, _ := http.NewRequestWithContext(ctx, "POST", base+"/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
	if resp, err := http.DefaultClient.Do(r); err == nil {
		resp.Body.Close()
		t.Error("an answer")
	}
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Fatal("the upstream was not told")
	}
}

func dial(host string) (net.Conn, error) { return net.Dial("tcp", host) }
