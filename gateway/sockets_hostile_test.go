package gateway_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

// frame is a frame of a WebSocket, as a client writes it if it is masked. The mask is zero.
func frame(op byte, final, masked bool, payload string) []byte {
	b := []byte{op, 0}
	if final {
		b[0] |= 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b[1] = byte(n)
	default:
		b[1] = 127
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	if masked {
		b[1] |= 0x80
		b = append(b, 0, 0, 0, 0)
	}
	return append(b, payload...)
}

const (
	opContinue, opText, opBinary = 0, 1, 2
	opClose, opPing, opPong      = 8, 9, 10
)

// rawSocket opens a connection whose frames the test writes and reads itself.
func rawSocket(t *testing.T, g http.Handler) (net.Conn, *bufio.Reader) {
	t.Helper()
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	resp, c, r := talk(t, srv.URL, "GET /v1/responses"+askWebSocket)
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(resp.Status)
	}
	return c, r
}

// nextFrame reads a frame of the server's.
func nextFrame(r *bufio.Reader) (op byte, payload string, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, "", err
	}
	n := int(head[1])
	switch n {
	case 126:
		b := make([]byte, 2)
		io.ReadFull(r, b)
		n = int(binary.BigEndian.Uint16(b))
	case 127:
		b := make([]byte, 8)
		io.ReadFull(r, b)
		n = int(binary.BigEndian.Uint64(b))
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return head[0] & 0x0f, string(b), err
}

// until reads frames until one has an opcode.
func until(t *testing.T, r *bufio.Reader, op byte) string {
	t.Helper()
	for {
		got, payload, err := nextFrame(r)
		if err != nil {
			t.Fatalf("no frame with opcode %d: %v", op, err)
		}
		if got == op {
			return payload
		}
	}
}

// closeCode reads until the server closes, and returns the status; 0 if it says none.
func closeCode(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	for {
		op, payload, err := nextFrame(r)
		switch {
		case errors.Is(err, io.EOF), err == nil && op == opClose && len(payload) < 2:
			return 0
		case err != nil:
			t.Fatal(err)
		case op == opClose:
			return int(binary.BigEndian.Uint16([]byte(payload)))
		}
	}
}

const hiTurn = `{"type":"response.create","model":"m","input":"Hi"}`

// TestSocketFrames: a message may come in pieces, with pings between them. What a client
// must not send ends the connection, with the status that says why.
func TestSocketFrames(t *testing.T) {
	var up noted
	g := handler(t, gateway.Config{Limits: gateway.Limits{Body: 1000}}, up.says("It is 4.", ""))
	c, r := rawSocket(t, g)
	for i := range hiTurn {
		op := byte(opContinue)
		if i == 0 {
			op = opText
		}
		c.Write(frame(op, i == len(hiTurn)-1, true, hiTurn[i:i+1]))
		c.Write(frame(opPing, true, true, "p"))
	}
	for {
		if e := until(t, r, opText); gjson.Get(e, "type").Str == "response.completed" {
			break
		}
	}
	c.Close()
	for name, v := range map[string]struct {
		sends []byte
		code  int
	}{
		"unmasked":            {frame(opText, true, false, hiTurn), 0},
		"binary":              {frame(opBinary, true, true, hiTurn), 1003},
		"too large":           {frame(opText, true, true, strings.Repeat("x", 1001)), 1009},
		"too large in pieces": {append(frame(opText, false, true, strings.Repeat("x", 600)), frame(opContinue, true, true, strings.Repeat("x", 600))...), 1009},
		"reserved opcode":     {frame(3, true, true, ""), 1002},
		"large ping":          {frame(opPing, true, true, strings.Repeat("x", 126)), 1002},
		"pieces of a ping":    {frame(opPing, false, true, "x"), 1002},
		"begins with a rest":  {frame(opContinue, true, true, "x"), 1002},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := rawSocket(t, g)
			c.Write(v.sends)
			if got := closeCode(t, r); got != v.code {
				t.Errorf("%d, want %d", got, v.code)
			}
		})
	}
	released(t, g)
}

// released waits until a gateway has no connection and holds no memory for any.
func released(t *testing.T, g *gateway.Handler) {
	t.Helper()
	waiting.For(t, "the end of all connections", func() error {
		n, used, open := gateway.Sockets(g), gateway.Used(g), g.Open()
		if n == 0 && used == 0 && open == 0 && gateway.SocketMemory(g) == 0 {
			return nil
		}
		return fmt.Errorf("%d connections, %d exchanges, %d bytes are left", n, open, used)
	})
}

// TestSocketGone: a client that sends nothing and does not answer pings, and one that
// begins a message and does not end it, hold no connection.
func TestSocketGone(t *testing.T) {
	for name, sends := range map[string][]byte{
		"nothing": nil, "half a message": frame(opText, false, true, "{"), "half a frame": frame(opText, true, true, hiTurn)[:20], "half a header": {0x81},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var up noted
			g := handler(t, gateway.Config{Silence: 200 * time.Millisecond, KeepAlive: 20 * time.Millisecond}, up.says("It is 4.", ""))
			c, r := rawSocket(t, g)
			c.Write(sends)
			if _, err := io.Copy(io.Discard, r); errors.Is(err, context.DeadlineExceeded) {
				t.Error("the connection stays")
			}
			released(t, g)
		})
	}
}

// TestSocketStays: a client that answers pings stays connected for longer than nothing may
// move, and can then go on.
func TestSocketStays(t *testing.T) {
	t.Parallel()
	const silence = 3 * time.Second
	var up noted
	g := handler(t, gateway.Config{Silence: silence, KeepAlive: 20 * time.Millisecond}, up.says("It is 4.", ""))
	c, r := rawSocket(t, g)
	for began := time.Now(); time.Since(began) < silence+silence/3; {
		c.Write(frame(opPong, true, true, until(t, r, opPing)))
	}
	c.Write(frame(opText, true, true, hiTurn))
	if e := until(t, r, opText); gjson.Get(e, "type").Str != "response.created" {
		t.Error(e)
	}
}

// endless is an upstream whose reply has no end. It tells when the gateway has left it.
func endless(left chan<- struct{}) answering {
	return func(r *http.Request) *http.Response {
		from, to := io.Pipe()
		go func() {
			defer close(left)
			defer func() { to.CloseWithError(context.Canceled) }() // as a transport's body ends
			io.WriteString(to, responsesSpeaker.open)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(to, responsesSpeaker.say(strings.Repeat("more ", 100))); err != nil {
					return
				}
			}
		}()
		resp := response("text/event-stream", nil)
		resp.Body = from // which closes the pipe
		return resp
	}
}

// TestSocketLeaves: a client that leaves in the middle of a reply, or takes nothing of it,
// ends it at the upstream too, and the record says so.
func TestSocketLeaves(t *testing.T) {
	for name, v := range map[string]struct {
		leave func(c net.Conn)
		want  string
	}{
		"closes":        {func(c net.Conn) { c.Write(frame(opClose, true, true, "\x03\xe8")) }, "canceled"},
		"breaks off":    {func(c net.Conn) { c.Close() }, "canceled"},
		"takes nothing": {func(net.Conn) {}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := openRecord(t, record.Options{})
			left := make(chan struct{})
			c := gateway.Config{Recorder: w}
			if v.want == "failed" {
				c.Silence = 300 * time.Millisecond
			}
			g := handler(t, c, endless(left))
			conn, r := rawSocket(t, g)
			conn.Write(frame(opText, true, true, hiTurn))
			until(t, r, opText)
			v.leave(conn)
			select {
			case <-left:
			case <-time.After(time.Minute):
				t.Fatal("the upstream goes on")
			}
			released(t, g)
			if list := exchanges(t, w, dir); len(list) != 1 || list[0].Outcome != v.want {
				t.Errorf("%+v", list)
			}
		})
	}
}

// TestSocketAccess: who may not use the API over HTTP may not over a WebSocket.
func TestSocketAccess(t *testing.T) {
	var up noted
	for _, v := range []struct {
		config gateway.Config
		header http.Header
		status int
	}{
		{gateway.Config{}, nil, 101},
		{gateway.Config{}, header("Origin", "https://evil.example"), 403},
		{gateway.Config{}, header("Origin", "null"), 403},
		{gateway.Config{AllowOrigins: []string{"https://page.example"}}, header("Origin", "https://page.example"), 101},
		{gateway.Config{Token: "tok"}, nil, 401},
		{gateway.Config{Token: "tok"}, header("Authorization", "Bearer other"), 401},
		{gateway.Config{Token: "tok"}, header("Authorization", "Bearer tok"), 101},
		{gateway.Config{Token: "tok"}, header("Sec-Websocket-Protocol", "realtime, openai-insecure-api-key.tok"), 101},
		{gateway.Config{Public: true, Token: "tok"}, header("Authorization", "Bearer tok"), 101},
		{gateway.Config{Tokens: []gateway.Token{{Name: "c", Secret: "tok", Scopes: []gateway.Scope{gateway.ScopeConsole}}}}, header("Authorization", "Bearer tok"), 403},
		{gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, nil, 101},
		{gateway.Config{Limits: gateway.Limits{MemoryBytes: 1000}}, nil, 503},
	} {
		g := handler(t, v.config, up.says("It is 4.", ""))
		srv := httptest.NewServer(g)
		c, resp, err := connect(t, srv.URL, v.header)
		if resp == nil || resp.StatusCode != v.status || (c != nil) != (v.status == 101) {
			t.Errorf("%+v, %v: %v %v, want %d", v.config, v.header, resp, err, v.status)
		}
		if c != nil {
			c.last(`"input":"Hi"`)
			if h := up.headers[len(up.headers)-1]; strings.Contains(fmt.Sprint(h), "tok") {
				t.Errorf("the token goes on: %v", h)
			}
			c.conn.CloseNow()
		}
		srv.Close()
	}
}

// TestSocketBounds: connections, lanes and waiting turns are bounded.
func TestSocketBounds(t *testing.T) {
	proceed := make(chan struct{})
	g := handler(t, gateway.Config{Limits: gateway.Limits{Exchanges: 20}}, answering(func(r *http.Request) *http.Response {
		select {
		case <-proceed:
		case <-r.Context().Done():
		}
		return response("text/event-stream", strings.NewReader(responsesSpeaker.open+responsesSpeaker.finish("", sotto.EndStopped)))
	}))
	srv := httptest.NewServer(g)
	defer srv.Close()
	var list []*talker
	for range 20 {
		c, _, err := connect(t, srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	if _, resp, _ := connect(t, srv.URL, nil); resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one more connection: %v", resp)
	}
	lanes := list[0]
	for i := range 33 {
		lanes.create(fmt.Sprintf(`"stream_id":"lane-%d","input":"Hi"`, i))
	}
	if e := lanes.hear(); e.Get("error.code").Str != "websocket_stream_limit_reached" || e.Get("stream_id").Str != "lane-32" {
		t.Errorf("a lane too many: %s", e)
	}
	if n := g.Open(); n > 16 {
		t.Errorf("%d turns of one connection run", n)
	}
	waiting := list[1]
	for range 49 {
		waiting.create(`"input":"Hi"`)
	}
	if e := waiting.hear(); e.Get("error.code").Str != "websocket_queue_full" || e.Get("status").Int() != 429 {
		t.Errorf("a turn too many: %s", e)
	}
	close(proceed)
	ended := 0
	for ended < 48 {
		if waiting.hear().Get("type").Str == "response.completed" {
			ended++
		}
	}
	for _, c := range list {
		c.conn.CloseNow()
	}
	released(t, g)
}

// TestSocketAge: a connection that has reached its age tells so, and closes when its reply
// has ended; so does one of a gateway that shuts down. Neither takes another turn.
func TestSocketAge(t *testing.T) {
	for name, retire := range map[string]func(t *testing.T, g *gateway.Handler){
		"age": func(*testing.T, *gateway.Handler) {},
		"shutdown": func(t *testing.T, g *gateway.Handler) {
			go func() {
				if err := g.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			}()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, proceed := make(chan struct{}), make(chan struct{})
			g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
				close(begun)
				<-proceed
				return response("text/event-stream", strings.NewReader(responsesSpeaker.open+responsesSpeaker.finish("", sotto.EndStopped)))
			}))
			if name == "age" {
				gateway.SocketLife(g, 50*time.Millisecond)
			}
			c := connected(t, g)
			c.create(`"input":"Hi"`)
			<-begun
			retire(t, g)
			want := map[string]string{"age": "websocket_connection_limit_reached", "shutdown": "service_unavailable"}[name]
			waiting.Until(t, "the connection's retirement", func() bool { return gateway.SocketsRetire(g) })
			c.create(`"input":"Hi"`)
			if e := c.hear(); e.Get("error.code").Str != want {
				t.Errorf("another turn: %s, want %s", e, want)
			}
			close(proceed)
			if code := c.closed(); code != websocket.StatusGoingAway {
				t.Errorf("closed with %d", code)
			}
			released(t, g)
		})
	}
}

// TestSocketShutdown: connections without a turn close at once, new ones are refused, and
// what runs for too long is cut.
func TestSocketShutdown(t *testing.T) {
	left := make(chan struct{})
	g := handler(t, gateway.Config{}, endless(left))
	srv := httptest.NewServer(g)
	defer srv.Close()
	idle, _, err := connect(t, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := connect(t, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.create(`"input":"Hi"`)
	c.hear()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- g.Shutdown(ctx) }()
	if code := idle.closed(); code != websocket.StatusGoingAway {
		t.Errorf("closed with %d", code)
	}
	if _, resp, _ := connect(t, srv.URL, nil); resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new connection: %v", resp)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-left
	released(t, g)
}
