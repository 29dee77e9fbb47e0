package cli

import (
	"context"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"
)

// TestServeShutdownWebSocket: a reply over a WebSocket that is running when the signal comes
// continues to its end, and then the connection is closed as one that goes away. A second
// signal does not wait, and the client is told that the reply is not whole.
func TestServeShutdownWebSocket(t *testing.T) {
	for name, v := range map[string]struct {
		flags []string
		again bool
		last  string
	}{
		"waits":         {[]string{"--scripted-pause=2ms"}, false, "response.completed"},
		"second signal": {[]string{"--scripted-pause=100ms", "--shutdown-wait=1h"}, true, "error response.failed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := startServe(t, v.flags...)
			c, _, err := websocket.Dial(t.Context(), r.gateway+"/v1/responses", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseNow()
			c.SetReadLimit(-1)
			if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","model":"long","input":"hi"}`)); err != nil {
				t.Fatal(err)
			}
			last, signaled := "", false
			for {
				_, event, err := c.Read(context.Background())
				if err != nil {
					if code := websocket.CloseStatus(err); code != websocket.StatusGoingAway && err != io.EOF {
						t.Errorf("closed with %d: %v", code, err)
					}
					break
				}
				last = gjson.GetBytes(event, "type").Str
				if !signaled {
					signaled = true
					r.signals <- syscall.SIGTERM
					if v.again {
						r.signals <- syscall.SIGTERM
					}
				}
			}
			if last == "" || !strings.Contains(v.last, last) {
				t.Errorf("the last event is %q, want %s", last, v.last)
			}
			if err := <-r.ended; (err != nil) != v.again {
				t.Error(err)
			}
			<-r.log
		})
	}
}
