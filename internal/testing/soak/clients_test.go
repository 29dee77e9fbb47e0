//go:build linux

package soak

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"
)

// A kind is one sort of client.
type kind struct {
	name     string
	weight   int
	outcomes []string // that the record may have of its exchanges
	// run makes exchanges, and returns how many the record must have at least and at most.
	run func(c *client) (least, most int, err error)
}

// A client makes the exchanges of one name.
type client struct {
	ctx   context.Context
	base  string // of the gateway
	id    string
	n     int
	token string
	http  *http.Client
	tls   *tls.Config
}

// answered are the outcomes of an exchange that nothing disturbs.
var answered = []string{"answered"}

const question = `"messages":[{"role":"user","content":"What is the capital of Canada?"}]`

// kinds are the clients of the load. The weights are shares of a hundred, about.
var kinds = []*kind{
	{"chat stream", 10, answered, asks("/v1/chat/completions", `{"model":"minimax-m2","stream":true,`+question+`}`, "data: [DONE]")},
	{"chat", 8, answered, asks("/v1/chat/completions", `{"model":"qwen3:8b",`+question+`}`, `"finish_reason":"stop"`)},
	{"chat choices", 2, answered, asks("/v1/chat/completions", `{"model":"magistral","n":3,"stream":true,`+question+`}`, "data: [DONE]")},
	{"completions", 3, answered, asks("/v1/completions", `{"model":"qwen3:8b","prompt":"What is the capital of Canada?"}`, `"finish_reason":"stop"`)},
	{"messages stream", 6, answered, asks("/v1/messages", `{"model":"claude","max_tokens":99,"stream":true,`+question+`}`, "event: message_stop")},
	{"messages", 4, answered, asks("/v1/messages", `{"model":"claude","max_tokens":99,`+question+`}`, `"stop_reason"`)},
	{"responses stream", 5, answered, asks("/v1/responses", `{"model":"minimax-m2","stream":true,"input":"hi"}`, "response.completed")},
	{"responses", 4, answered, asks("/v1/responses", `{"model":"minimax-m2","input":"hi"}`, `"completed"`)},
	{"ollama chat", 5, answered, asks("/api/chat", `{"model":"ollama-native",`+question+`}`, `"done":true`)},
	{"ollama generate", 3, answered, asks("/api/generate", `{"model":"qwen3:8b","prompt":"hi"}`, `"done":true`)},
	{"gemini stream", 3, answered, asks("/v1beta/models/gemini:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, `"finishReason"`)},
	{"gemini", 3, answered, asks("/v1beta/models/gemini:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, `"finishReason"`)},
	{"bedrock stream", 2, answered, asks("/model/claude/converse-stream", `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`, "messageStop")},
	{"bedrock", 2, answered, asks("/model/claude/converse", `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`, `"stopReason"`)},
	{"cohere", 2, answered, asks("/v2/chat", `{"model":"plain","stream":true,`+question+`}`, "message-end")},
	{"llama.cpp", 2, answered, asks("/completion", `{"prompt":"hi","stream":true}`, `"stop":true`)},
	{"guarded", 4, []string{"answered", "failed"}, asks("/v1/chat/completions", `{"model":"granite3.2","stream":true,`+question+`}`, "data: [DONE]", `"error"`)},
	{"tool loop", 6, answered, toolLoop},
	{"web socket", 4, answered, webSocket},
	{"background", 2, answered, background},
	{"batch results", 1, answered, asOperator(get("/v1/files/file-1/content", "Ottawa"))},
	{"leaves", 6, []string{"answered", "canceled"}, leaves},
	{"gives up", 2, []string{"canceled"}, givesUp},
	{"reads slowly", 1, answered, readsSlowly},
	{"breaks off", 2, []string{"failed"}, fails("breaks-off")},
	{"hangs up", 2, []string{"answered", "failed"}, fails("hangs-up")},
	{"fails", 2, []string{"answered", "refused", "failed"}, fails("fails")},
	{"busy", 2, []string{"refused"}, fails("busy")},
	{"hostile", 4, []string{"refused"}, hostile},
	{"models", 1, nil, get("/v1/models", `"qwen3:8b"`)},
	{"a2a", 1, nil, a2a},
}

// ask sends one request and reads the whole answer.
func (c *client) ask(method, path, body string) (*http.Response, string, error) {
	resp, err := c.send(c.ctx, method, path, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, string(data), err
}

func (c *client) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("X-Load", c.id)
	return c.http.Do(r)
}

// asks is a client that sends one request. Its answer must have one of the texts.
func asks(path, body string, whole ...string) func(*client) (int, int, error) {
	return func(c *client) (int, int, error) {
		resp, text, err := c.ask("POST", path, body)
		if err != nil {
			return 1, 1, err
		}
		for _, w := range whole {
			if resp.StatusCode == http.StatusOK && strings.Contains(text, w) {
				return 1, 1, nil
			}
		}
		return 1, 1, fmt.Errorf("%s: %.300q", resp.Status, text[max(0, len(text)-300):])
	}
}

// get returns a client that gets a page, or a list, which no model has to answer.
func get(path, want string) func(*client) (int, int, error) {
	return func(c *client) (int, int, error) {
		resp, text, err := c.ask("GET", path, "")
		if err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(text, want) || strings.Contains(text, "<think>")) {
			err = fmt.Errorf("%s: %.300q", resp.Status, text)
		}
		return 0, 0, err
	}
}

// asOperator asks with the token of the operators: nobody else may read what no caller made.
func asOperator(run func(*client) (int, int, error)) func(*client) (int, int, error) {
	return func(c *client) (int, int, error) {
		c.token = tokens["ops"]
		return run(c)
	}
}

const weather = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`

// toolLoop is a client of a provider that demands its reasoning back. The client does not
// send it: the gateway restores it.
func toolLoop(c *client) (int, int, error) {
	ask := fmt.Sprintf(`{"role":"user","content":"The weather in Oslo, for %s?"}`, c.id)
	_, text, err := c.ask("POST", "/v1/chat/completions", fmt.Sprintf(`{"model":"deepseek-v3.2",%s,"messages":[%s]}`, weather, ask))
	if err != nil {
		return 1, 1, err
	}
	call := gjson.Get(text, "choices.0.message.tool_calls")
	if !call.Exists() {
		return 1, 1, fmt.Errorf("no call of a tool: %.300q", text)
	}
	resp, text, err := c.ask("POST", "/v1/chat/completions", fmt.Sprintf(
		`{"model":"deepseek-v3.2",%s,"messages":[%s,{"role":"assistant","content":null,"tool_calls":%s},{"role":"tool","tool_call_id":%q,"content":"4 °C, light rain"}]}`,
		weather, ask, call.Raw, call.Get("0.id").Str))
	if err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(text, "Oslo")) {
		err = fmt.Errorf("after the tool: %s: %.300q", resp.Status, text)
	}
	return 2, 2, err
}

// webSocket is a client that makes two turns on a connection.
func webSocket(c *client) (n, _ int, err error) {
	conn, _, err := websocket.Dial(c.ctx, c.base+"/v1/responses", &websocket.DialOptions{
		HTTPClient: c.http, HTTPHeader: http.Header{"Authorization": {"Bearer " + c.token}, "X-Load": {c.id}},
	})
	if err != nil {
		return 0, 0, err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(-1)
	previous := ""
	for n < 2 {
		if err := conn.Write(c.ctx, websocket.MessageText, []byte(`{"type":"response.create","model":"minimax-m2","input":"hi"`+previous+`}`)); err != nil {
			return n, n, err
		}
		n++
		for {
			_, event, err := conn.Read(c.ctx)
			if err != nil {
				return n, n, err
			}
			if kind := gjson.GetBytes(event, "type").Str; kind == "response.completed" {
				previous = fmt.Sprintf(`,"previous_response_id":%q`, gjson.GetBytes(event, "response.id").Str)
				break
			} else if kind == "error" || kind == "response.failed" {
				return n, n, fmt.Errorf("%.300q", event)
			}
		}
	}
	return n, n, conn.Close(websocket.StatusNormalClosure, "")
}

// background is a client that fetches a response that was made in the background.
func background(c *client) (int, int, error) {
	_, text, err := c.ask("POST", "/v1/responses", `{"model":"qwen3:8b","background":true,"input":"hi"}`)
	if err != nil {
		return 1, 1, err
	}
	id := gjson.Get(text, "id").Str
	resp, text, err := c.ask("GET", "/v1/responses/"+url.PathEscape(id), "")
	if err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(text, "Ottawa") || strings.Contains(text, "<think>")) {
		err = fmt.Errorf("%s: %.300q", resp.Status, text)
	}
	return 2, 2, err
}

// leaves is a client that goes away in the middle of a stream.
func leaves(c *client) (int, int, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	resp, err := c.send(ctx, "POST", "/v1/chat/completions", strings.NewReader(`{"model":"long","stream":true,`+question+`}`))
	if err != nil {
		return 1, 1, err
	}
	defer resp.Body.Close()
	_, err = io.ReadFull(resp.Body, make([]byte, 200+c.n%4000))
	return 1, 1, err
}

// givesUp is a client that goes away before the answer begins.
func givesUp(c *client) (int, int, error) {
	ctx, cancel := context.WithTimeout(c.ctx, time.Second)
	defer cancel()
	resp, err := c.send(ctx, "POST", "/v1/chat/completions", strings.NewReader(`{"model":"hangs","stream":true,`+question+`}`))
	if err != nil {
		return 0, 1, nil
	}
	defer resp.Body.Close()
	if ctx.Err() != nil { // over TLS a client says that it closes before it does, and can still get an answer to that
		return 1, 1, nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	return 1, 1, fmt.Errorf("an answer from nowhere: %s, exchange %s: %q", resp.Status, resp.Header.Get("Sotto-Exchange-Id"), text)
}

// readsSlowly is a client that takes some seconds for an answer that fills all buffers.
func readsSlowly(c *client) (int, int, error) {
	resp, err := c.send(c.ctx, "POST", "/v1/chat/completions", strings.NewReader(`{"model":"huge","stream":true,`+question+`}`))
	if err != nil {
		return 1, 1, err
	}
	defer resp.Body.Close()
	var end []byte
	piece := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(piece)
		end = append(end, piece[:n]...)
		end = end[max(0, len(end)-100):]
		if err == io.EOF {
			break
		} else if err != nil {
			return 1, 1, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !bytes.Contains(end, []byte("data: [DONE]")) {
		return 1, 1, fmt.Errorf("the end is %q", end)
	}
	return 1, 1, nil
}

// fails is a client of a model whose upstream fails, which must not look like an answer
// that is whole.
func fails(model string) func(*client) (int, int, error) {
	return func(c *client) (int, int, error) {
		stream := c.n%2 == 0
		resp, text, err := c.ask("POST", "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"stream":%t,%s}`, model, stream, question))
		if err == nil && resp.StatusCode == http.StatusOK && !stream {
			err = fmt.Errorf("the fault is not seen: %.300q", text)
		} else {
			err = nil
		}
		return 1, 1, err
	}
}

// a2a is a client of the agent.
func a2a(c *client) (int, int, error) {
	resp, text, err := c.ask("POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"`+rand.Text()+`","role":"ROLE_USER","parts":[{"text":"hi"}]}}}`)
	if err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(text, `"result"`)) {
		err = fmt.Errorf("%s: %.300q", resp.Status, text)
	}
	return 0, 0, err
}

// attacks are requests that must be refused, with the status. The record has those that
// access control lets in, and that name a model.
var attacks = []func(c *client) (int, error){
	sends("POST", "/v1/chat/completions", `{"model":"qwen3:8b","messages":`, 400),
	sends("POST", "/v1/chat/completions", `{"model":"qwen3:8b","messages":`+strings.Repeat("[", 100_000)+`}`, 400),
	sends("POST", "/v1/chat/completions", `{"model":"no-such-model",`+question+`}`, 404),
	sends("POST", "/v1/chat/completions", strings.Repeat("x", 3<<20), 413),
	sends("GET", "/v1/../../etc/passwd", "", 404, 400),
	sends("POST", "/v1/nothing/at/all", "{}", 403, 404),
	func(c *client) (int, error) {
		stranger := *c
		stranger.token = "wrong"
		return sends("POST", "/v1/chat/completions", `{"model":"qwen3:8b",`+question+`}`, 401)(&stranger)
	},
	raw("GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 200<<10) + "\r\n\r\n"),
	raw("\x00\xff\x00 not HTTP\r\n\r\n"),
	raw("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n"),
	raw("GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n"),
	plain("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\r\n"),
	plain("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03half a handshake"),
	halfBody,
}

// hostile makes one of the attacks.
func hostile(c *client) (int, int, error) {
	n, err := attacks[c.n%len(attacks)](c)
	return 0, n, err
}

// sends is a request that is refused with one of the statuses.
func sends(method, path, body string, statuses ...int) func(*client) (int, error) {
	return func(c *client) (int, error) {
		resp, text, err := c.ask(method, path, body)
		if err != nil { // the gateway closes the connection if the body is too long
			return 1, nil
		}
		for _, status := range statuses {
			if resp.StatusCode == status {
				return 1, nil
			}
		}
		return 1, fmt.Errorf("%s of %.60s: %s, want %v: %.200q", method, body, resp.Status, statuses, text)
	}
}

// raw sends bytes over TLS and reads until the gateway closes, or a second.
func raw(text string) func(*client) (int, error) {
	return func(c *client) (int, error) {
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", strings.TrimPrefix(c.base, "https://"), c.tls)
		if err != nil {
			return 0, err
		}
		return 0, converse(conn, text)
	}
}

// plain sends bytes without TLS.
func plain(text string) func(*client) (int, error) {
	return func(c *client) (int, error) {
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(c.base, "https://"), time.Minute)
		if err != nil {
			return 0, err
		}
		return 0, converse(conn, text)
	}
}

func converse(conn net.Conn, text string) error {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(conn, text) // the gateway may refuse to read it
	data, _ := io.ReadAll(io.LimitReader(conn, 64<<10))
	if bytes.HasPrefix(data, []byte("HTTP/1.1 200")) {
		return fmt.Errorf("%.60q is served: %.200q", text, data)
	}
	return nil
}

// halfBody sends the half of a body, and leaves.
func halfBody(c *client) (int, error) {
	_, err := raw("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + c.token + "\r\nX-Load: " + c.id + "\r\nContent-Length: 1000\r\n\r\n{\"model\":")(c)
	return 1, err
}
