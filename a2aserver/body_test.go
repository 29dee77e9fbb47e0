package a2aserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// bodyRoutes are those that read a body.
var bodyRoutes = []string{rpcPath, restPath + "/message:send", restPath + "/message:stream", restPath + "/tasks/x/pushNotificationConfigs", legacyPath}

// halfSend begins a request whose body stops before its end.
func halfSend(t *testing.T, h *house, path, header string, length int, body string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", h.web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: %d\r\n\r\n%s", path, header, length, body); err != nil {
		t.Fatal(err)
	}
	return c
}

// answered reads the answer to a request, to the end of the connection.
func answered(t *testing.T, c net.Conn) (status int, closed bool) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	io.Copy(io.Discard, res.Body)
	_, err = r.ReadByte()
	return res.StatusCode, errors.Is(err, io.EOF)
}

// TestHalfSentBodies: bodies that never come to an end keep no caller out, not
// their own one either, and end.
func TestHalfSentBodies(t *testing.T) {
	s, err := New(Config{Mind: says("Yes."), Tokens: []Token{{Name: "ann", Secret: "a"}}, Limits: Limits{Requests: 4}})
	if err != nil {
		t.Fatal(err)
	}
	s.pace = serving.Pace{Idle: 2 * time.Second}
	h := &house{s, httptest.NewServer(s)}
	t.Cleanup(func() { h.close(t) })
	var half []net.Conn
	for i := range 100 {
		half = append(half, halfSend(t, h, bodyRoutes[i%len(bodyRoutes)], "Authorization: Bearer a\r\n", 1000, `{"json`))
	}
	for range 20 {
		if status, body, _ := get(t, "POST", h.url()+rpcPath, list, "Authorization", "Bearer a"); status != 200 {
			t.Fatalf("beside 100 half-sent bodies: %d %s", status, body)
		}
	}
	for _, c := range half {
		if status, closed := answered(t, c); status != http.StatusRequestTimeout || !closed {
			t.Fatalf("a half-sent body: %d, closed: %v", status, closed)
		}
	}
}

// TestRefusedUnread: who is not admitted gets the answer at once, whatever there
// is of the body, and the connection ends.
func TestRefusedUnread(t *testing.T) {
	h := serve(t, Config{Mind: says("Yes."), Tokens: []Token{{Name: "ann", Secret: "a"}}, Limits: Limits{Body: 10_000}})
	for _, c := range []struct {
		header string
		length int
		want   int
	}{
		{"", 5000, 401},
		{"Authorization: Bearer b\r\n", 5000, 401},
		{"Authorization: Bearer a\r\nOrigin: https://evil.example\r\n", 5000, 403},
		{"Authorization: Bearer a\r\n", 10_001, 413},
	} {
		for _, path := range bodyRoutes {
			if status, closed := answered(t, halfSend(t, h, path, c.header, c.length, "{")); status != c.want || !closed {
				t.Errorf("%s with %q: %d, closed: %v, want %d", path, c.header, status, closed, c.want)
			}
		}
	}
}

// TestBodyMemory: bodies that are on their way hold no more memory than they may,
// and the oldest of them makes room for others.
func TestBodyMemory(t *testing.T) {
	const limit, piece = 1 << 20, 40 << 10
	h := serve(t, Config{Mind: says("Yes."), Limits: Limits{MemoryBytes: limit}})
	var half []net.Conn
	for range 20 {
		half = append(half, halfSend(t, h, rpcPath, "", 1<<20, strings.Repeat("x", piece)))
		time.Sleep(5 * time.Millisecond) // so that they are there in order
		if held, _ := h.memory.Held(); held > limit/2 {
			t.Fatalf("one caller's bodies hold %d bytes of %d", held, limit)
		}
	}
	if status, _ := answered(t, half[0]); status != http.StatusRequestTimeout {
		t.Errorf("the oldest: %d", status)
	}
	if status, body, _ := get(t, "POST", h.url()+rpcPath, list); status != 200 {
		t.Errorf("another request: %d %s", status, body)
	}
}

// TestBodyShape: what a body costs is bounded by its bytes: one that nests deep or
// holds many values is refused before the SDK decodes it, on every route.
func TestBodyShape(t *testing.T) {
	h := serve(t, Config{Mind: says("Yes.")})
	wrap := func(parts string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"SendMessage","message":{"parts":[` + parts + `]},"params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[` + parts + `]}}}`
	}
	chosen := effort.OneIn(3, "routes")
	for name, body := range map[string]string{
		"deep":      strings.Repeat("[", 4<<20),
		"deep data": wrap(`{"data":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`),
		"parts":     wrap(strings.Repeat("{},", 600_000) + "{}"),
		"metadata":  wrap(`{"text":"x","metadata":{"a":[` + strings.Repeat("0,", 900_000) + `0]}}`),
		"id":        `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 1<<20) + `","method":"GetTask","params":{"id":"x"}}`,
	} {
		for _, path := range bodyRoutes {
			if !chosen() {
				continue
			}
			var status int
			cost := allocated(func() { status, _, _ = get(t, "POST", h.url()+path, body) })
			if status != http.StatusBadRequest || cost > 64<<20 {
				t.Errorf("%s at %s: %d, and %d bytes allocated for %d", name, path, status, cost, len(body))
			}
		}
	}
	ordinary := wrap(`{"text":"` + strings.Repeat(`[[[\"{{{,,,`, 100_000) + `"}`)
	if status, body, _ := get(t, "POST", h.url()+rpcPath, ordinary); status != 200 || !strings.Contains(body, "Yes.") {
		t.Errorf("a text full of brackets: %d %.200s", status, body)
	}
}

// TestAnswersHoldMemory: what requests are answered with counts as their bodies
// do, and is given back.
func TestAnswersHoldMemory(t *testing.T) {
	h := serve(t, Config{Mind: says(strings.Repeat("y", 200<<10)), Limits: Limits{MemoryBytes: 1 << 20, Page: 100 << 10}})
	c := client(t, h.url(), 0)
	task := send(t, c, message("Hi"))
	path := h.url() + restPath + "/tasks/" + string(task.ID)
	if status, body, _ := get(t, "GET", path, ""); status == 200 || !strings.Contains(body, "all the memory that they may") {
		t.Errorf("a task that is larger than what a caller may hold: %d %.200s", status, body)
	}
	if status, body, _ := get(t, "POST", h.url()+rpcPath, list); status != 200 || !strings.Contains(body, string(task.ID)) {
		t.Errorf("a page: %d %.200s", status, body)
	}
	if held, bodies := h.memory.Held(); held != 0 || bodies != 0 {
		t.Errorf("%d bytes and %d bodies are held by nobody", held, bodies)
	}
}

// TestNetwork: the addresses that one machine has count as one.
func TestNetwork(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:1": "192.0.2.1/32", "[::ffff:192.0.2.1]:2": "192.0.2.1/32",
		"[2001:db8:1:2:3::4]:5": "2001:db8:1:2::/64", "[2001:db8:1:2:9::4%eth0]:6": "2001:db8:1:2::/64", "pipe": "pipe",
	} {
		if got := network(remote); got != want {
			t.Errorf("%s is of %s, want %s", remote, got, want)
		}
	}
}

// TestDoubleKeys: a body with a key twice in one object is refused in the form of each
// binding, with the key and its places, and has no effect. The same key in two objects is fine.
func TestDoubleKeys(t *testing.T) {
	h := serve(t, Config{Mind: says("Yes.")})
	const message = `{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Hi","metadata":{"a":{"a":1}}}]}`
	for path, body := range map[string]string{
		rpcPath:                    `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":%s}}`,
		legacyPath:                 `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":%s}}`,
		restPath + "/message:send": `{"message":%s}`,
	} {
		good := strings.Replace(strings.Replace(body, "%s", message, 1), `"messageId":"1"`, fmt.Sprintf("\"messageId\":%q", path), 1)
		if path == legacyPath {
			good = strings.NewReplacer("ROLE_USER", "user", `"text":"Hi"`, `"kind":"text","text":"Hi"`).Replace(good)
		}
		bad := strings.Replace(good, `{"a":1}`, `{"a":1,"\u0061":2}`, 1)
		at := strings.Index(bad, `"a":1`)
		want := fmt.Sprintf(`the key \"a\" appears twice in one object of the body, at byte %d and at byte %d`, at, at+6)
		code, text, _ := get(t, "POST", h.url()+path, bad)
		status, number := http.StatusOK, `"code":-32600`
		if strings.HasPrefix(path, restPath) {
			status, number = http.StatusBadRequest, `"code":400`
		}
		if code != status || !strings.Contains(text, want) || !strings.Contains(text, number) {
			t.Errorf("%s: %d %s, want %s", path, code, text, want)
		}
		if code, text, _ := get(t, "POST", h.url()+path, good); code != http.StatusOK || !strings.Contains(text, "Yes.") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	list, err := client(t, h.url(), 0).ListTasks(t.Context(), &a2a.ListTasksRequest{})
	if err != nil || len(list.Tasks) != 3 {
		t.Errorf("%d tasks, %v", len(list.Tasks), err)
	}
}
