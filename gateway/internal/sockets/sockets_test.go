package sockets

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/wire"
)

// What comes over a WebSocket is a POST with the credentials of the handshake, without the
// headers of a WebSocket, and in the trace that the message names.
func TestTurnRequests(t *testing.T) {
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	h := httptest.NewRequest("GET", "http://h/v1/responses?x=1", nil)
	h.Header = http.Header{
		"Authorization": {"Bearer k"}, "Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Key": {"x"}, "Sec-Websocket-Version": {"13"}, "Te": {"trailers"}, "Content-Length": {"5"}, "Accept-Encoding": {"gzip"}, "X-Session-Id": {"s"}, "Tracestate": {"old=1"}, "Traceparent": {"old"},
	}
	s := &socket{handshake: h}
	for _, c := range []struct {
		turn          wire.Turn
		parent, state string
	}{
		{wire.Turn{}, "old", "old=1"}, {wire.Turn{Traceparent: "bad", Tracestate: "a=1"}, "old", "old=1"}, {wire.Turn{Traceparent: trace}, trace, ""}, {wire.Turn{Traceparent: trace, Tracestate: "a=1"}, trace, "a=1"}, {wire.Turn{Traceparent: trace, Tracestate: strings.Repeat("a", 513)}, trace, ""}, {wire.Turn{Traceparent: trace, Tracestate: strings.Repeat("a", 512)}, trace, strings.Repeat("a", 512)}, {wire.Turn{Traceparent: trace, Tracestate: "a\nb"}, trace, ""},
	} {
		r := s.turnRequest(context.Background(), &c.turn, 9)
		if r.Method != "POST" || r.ContentLength != 9 || r.URL.String() != h.URL.String() || r.Header.Get("Authorization") != "Bearer k" || r.Header.Get("X-Session-Id") != "s" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Accept") != "text/event-stream" || r.Header.Get("Traceparent") != c.parent || r.Header.Get("Tracestate") != c.state || len(r.Header) > 7 {
			t.Errorf("%+v: %s %d %v", c.turn, r.Method, r.ContentLength, r.Header)
		}
	}
	if h.Header.Get("Upgrade") == "" {
		t.Error("the handshake has changed")
	}
	for header, want := range map[string]bool{"websocket": true, "WebSocket": true, "h2c": false, "": false} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header = http.Header{"Connection": {"keep-alive, Upgrade"}}
		if header != "" {
			r.Header.Set("Upgrade", header)
		}
		if got := endpoints.AsksWebSocket(r); got != want {
			t.Errorf("%q asks for a WebSocket: %v", header, got)
		}
	}
}

// WebSocket connections take a quarter of the memory at most, and one in any case.
func TestSocketSlots(t *testing.T) {
	for _, c := range []struct {
		exchanges int
		memory    int64
		want      int
	}{{5, 1 << 30, 5}, {100, 3 * socketShare * budget.BaseCost, 3}, {100, 1, 1}} {
		l, n := New(c.exchanges, c.memory, nil), 0
		for ; n < 200; n++ {
			if _, err := l.slots.Take("c"); err != nil {
				break
			}
		}
		if n != c.want || l.kept.Most != c.memory/keptShare || l.Life.Hours() != 1 {
			t.Errorf("%+v: %d connections, %d bytes", c, n, l.kept.Most)
		}
	}
	l := New(0, 0, nil)
	a, b := &socket{}, &socket{}
	if !l.add(a) || !l.add(b) || len(l.close()) != 2 || l.add(&socket{}) {
		t.Error("connections are not counted")
	}
	l.remove(a)
	select {
	case <-l.idle:
		t.Error("idle with a connection")
	default:
	}
	l.remove(b)
	waiting.Until(t, "the end of all connections", func() bool {
		select {
		case <-l.idle:
			return true
		default:
			return false
		}
	})
	if len(l.close()) != 0 { // again, which must not close what is closed
		t.Error("a connection is left")
	}
}
