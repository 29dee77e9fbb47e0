package console_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestHalfSentBodies: forms that never come to an end keep nobody out, of the login or of
// the pages behind it, and those of people who have not logged in cut off no others. There
// are so many at most; the oldest is cut off for the next one.
func TestHalfSentBodies(t *testing.T) {
	base := guardedConsole(t, time.Now)
	cookie := logIn(t, base, "secret-of-ann")
	at, _ := url.Parse(base)
	const most, more = 256, 20
	half := func(n int, path, header string) (statuses chan int) {
		statuses = make(chan int, n)
		for range n {
			c, err := net.Dial("tcp", at.Host)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n%sContent-Length: 1000\r\n\r\ntoken=", at.JoinPath(path).Path, header)
			go func() {
				c.SetReadDeadline(time.Now().Add(time.Minute))
				if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
					io.Copy(io.Discard, resp.Body)
					statuses <- resp.StatusCode
				}
			}()
		}
		return statuses
	}
	inside := half(most, "playground/read", "Cookie: "+cookie+"\r\n")
	outside := half(most+more, "login", "")
	for range more {
		select {
		case status := <-outside:
			if status != http.StatusRequestTimeout {
				t.Errorf("a half-sent login: %d", status)
			}
		case <-time.After(time.Minute):
			t.Fatal("too few logins were cut off")
		}
	}
	if len(inside) > 0 {
		t.Error("a login cut off the form of somebody who has logged in")
	}
	for range 10 {
		second := logIn(t, base, "secret-of-bob")
		resp, body := postForm(t, base+"playground/read?format=json", url.Values{"text": {"<think>a</think>b"}}, "Cookie", second)
		if resp.StatusCode != 200 || !strings.Contains(body, `"b"`) {
			t.Fatalf("beside half-sent forms: %s %s", resp.Status, body)
		}
	}
}
