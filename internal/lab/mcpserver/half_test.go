package mcpserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/net/access"
)

// TestHalfSentBodies: bodies that never come to an end keep no caller out, not their own
// one either. There are so many of them at most; the oldest is cut off for the next one.
func TestHalfSentBodies(t *testing.T) {
	front := httptest.NewServer(newServer(t, nil, false).Handler(access.Rules{Tokens: []access.Token{{Name: "a", Secret: "s3cret"}}}))
	defer front.Close()
	const header = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer s3cret\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	var half []net.Conn
	for range maxArriving + 20 {
		c, err := net.Dial("tcp", front.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := fmt.Fprintf(c, "%sContent-Length: 1000\r\n\r\n{\"json", header); err != nil {
			t.Fatal(err)
		}
		half = append(half, c)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"split","arguments":{"text":"<think>a</think>b"}}}`
	for range 20 {
		r, _ := http.NewRequest("POST", front.URL, strings.NewReader(body))
		r.Header = http.Header{"Authorization": {"Bearer s3cret"}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		resp, err := front.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("beside half-sent bodies: %d %s", resp.StatusCode, text)
		}
	}
	statuses := make(chan int, len(half))
	for _, c := range half {
		go func() {
			c.SetReadDeadline(time.Now().Add(time.Minute))
			if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
				statuses <- resp.StatusCode
			}
		}()
	}
	for range 20 {
		select {
		case status := <-statuses:
			if status != http.StatusRequestTimeout {
				t.Errorf("a half-sent body: %d", status)
			}
		case <-time.After(time.Minute):
			t.Fatal("too few bodies were cut off")
		}
	}
}
