package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/sse"
)

// A talker is a client with a WebSocket connection.
type talker struct {
	t    testing.TB
	conn *websocket.Conn
}

// connect opens a connection to a gateway.
func connect(t testing.TB, base string, h http.Header) (*talker, *http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var protocols []string
	for _, v := range h["Sec-Websocket-Protocol"] {
		protocols = append(protocols, strings.Split(v, ", ")...)
	}
	conn, resp, err := websocket.Dial(ctx, base+"/v1/responses", &websocket.DialOptions{HTTPHeader: h, Subprotocols: protocols})
	if err != nil {
		return nil, resp, err
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { conn.CloseNow() })
	return &talker{t, conn}, resp, nil
}

// connected opens a connection to a gateway of its own.
func connected(t testing.TB, g http.Handler) *talker {
	t.Helper()
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	c, _, err := connect(t, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// create sends response.create with members.
func (c *talker) create(members string) {
	c.t.Helper()
	c.send(`{"type":"response.create","model":"m",` + members + `}`)
}

func (c *talker) send(message string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		c.t.Error(err)
	}
}

// hear returns the next event.
func (c *talker) hear() gjson.Result {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	kind, data, err := c.conn.Read(ctx)
	if err != nil || kind != websocket.MessageText || !gjson.ValidBytes(data) {
		c.t.Fatalf("%v %q, %v", kind, data, err)
	}
	return gjson.ParseBytes(data)
}

// closed returns with which status the gateway closed the connection.
func (c *talker) closed() websocket.StatusCode {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	for {
		if _, _, err := c.conn.Read(ctx); err != nil {
			if ctx.Err() != nil {
				c.t.Fatal("the connection does not close")
			}
			return websocket.CloseStatus(err)
		}
	}
}

// turn returns the events of one turn in the lane without a name, whatever they are: a
// turn that only prepares comes after them.
func (c *talker) turn(members string) (events []string) {
	c.t.Helper()
	c.create(members)
	c.create(`"generate":false`)
	for {
		e := c.hear()
		if !strings.HasPrefix(e.Get("response.id").Str, "resp_sotto_") {
			events = append(events, e.Raw)
			continue
		}
		if e.Get("type").Str == "response.completed" {
			return events
		}
	}
}

// last returns the event that ends a turn.
func (c *talker) last(members string) gjson.Result {
	c.t.Helper()
	events := c.turn(members)
	if len(events) == 0 {
		c.t.Fatalf("no events: %s", members)
	}
	return gjson.Parse(events[len(events)-1])
}

// streamedEvents returns the events of a stream over HTTP that are JSON objects.
func streamedEvents(t testing.TB, g http.Handler, body string) (events []string) {
	t.Helper()
	r := httptest.NewRequest("POST", "/v1/responses", strings.NewReader(body))
	r.Host = "localhost"
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return []string{fmt.Sprintf(`{"type":"error","status":%d,"error":%s}`, w.Code, gjson.Get(w.Body.String(), "error").Raw)}
	}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		status := gjson.Get(w.Body.String(), "status").Str
		return []string{`{"type":"response.` + status + `","sequence_number":0,"response":` + strings.ToValidUTF8(w.Body.String(), "\uFFFD") + `}`}
	}
	rest := w.Body.Bytes()
	for scan := (sse.Scanner{}); ; {
		f, ok := scan.Next(rest)
		if !ok {
			return events
		}
		rest = rest[len(f.Raw):]
		if strings.HasPrefix(string(f.Data), "{") {
			events = append(events, strings.ToValidUTF8(string(f.Data), "\uFFFD"))
		}
	}
}

// hearUntil reads until a lane's reply has ended.
func (c *talker) hearUntil(lane string) {
	c.t.Helper()
	for {
		e := c.hear()
		if e.Get("stream_id").Str == lane && e.Get("type").Str == "response.completed" {
			return
		}
	}
}
