package console_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// loginShelf is a store of logins in memory. It fails while down is set.
type loginShelf struct {
	mu   sync.Mutex
	all  map[[sha256.Size]byte]bool
	down bool
	uses int
}

func (s *loginShelf) do(f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errors.New("no server")
	}
	f()
	return nil
}

func (s *loginShelf) BeginLogin(of [sha256.Size]byte, _ time.Duration) error {
	return s.do(func() { s.all[of] = true })
}

func (s *loginShelf) UseLogin(of [sha256.Size]byte, _ time.Duration) (lives bool, err error) {
	err = s.do(func() { lives = s.all[of]; s.uses++ })
	return lives, err
}

func (s *loginShelf) EndLogin(of [sha256.Size]byte) error {
	time.Sleep(20 * time.Millisecond) // as a server on the network
	return s.do(func() { delete(s.all, of) })
}

func (s *loginShelf) set(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// A clock that tests set.
type handClock struct{ at atomic.Int64 }

func (c *handClock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *handClock) forward(d time.Duration) { c.at.Add(int64(d)) }

// TestSharedLogins: a login at one console opens another one with the same secret and store. A
// logout at either ends it at both as soon as each asks again, within a second. A cookie that
// another secret has sealed, or that was changed, opens nothing and asks the store nothing.
func TestSharedLogins(t *testing.T) {
	shelf := &loginShelf{all: map[[sha256.Size]byte]bool{}}
	clock := &handClock{}
	clock.at.Store(time.Now().UnixNano())
	dir := consoletest.Scripted(t)
	replica := func(secret string) string {
		return serve(t, console.Config{
			Record: consoletest.Store(t, dir), Now: clock.now, Logins: shelf, LoginSecret: []byte(secret),
			Tokens: []access.Token{{Name: "ann", Secret: "secret-of-ann"}},
		}, "/p/")
	}
	const secret = "a secret that replicas have in common"
	a, b, foreign := replica(secret), replica(secret), replica("another secret, of other gateways")
	cookie := logIn(t, a, "secret-of-ann")
	if !opens(t, a, cookie) || !opens(t, b, cookie) {
		t.Fatal("the login does not open both")
	}
	uses := shelf.uses
	changed := []byte(cookie)
	changed[len(changed)-20] ^= 1
	if opens(t, foreign, cookie) || opens(t, b, string(changed)) || opens(t, b, "sotto_console=x") {
		t.Error("a cookie of another secret, or a changed one, opens a console")
	}
	if shelf.uses != uses {
		t.Errorf("the store was asked %d times for cookies that nobody sealed", shelf.uses-uses)
	}
	if !opens(t, b, cookie) || shelf.uses != uses {
		t.Error("the store is asked for each request")
	}
	postForm(t, a+"logout", nil, "Cookie", cookie)
	clock.forward(time.Second)
	if opens(t, a, cookie) || opens(t, b, cookie) {
		t.Error("after a logout at one console, the login opens one")
	}
	// Without the store, a login that was known goes on, and no other begins or ends.
	cookie = logIn(t, a, "secret-of-ann")
	second := logIn(t, a, "secret-of-ann")
	shelf.set(true)
	clock.forward(time.Minute)
	if !opens(t, a, cookie) || opens(t, b, cookie) {
		t.Error("without the store: a known login does not go on, or an unknown one begins")
	}
	// The login that admitted the request has ended by the time that the store fails.
	if resp, page := postForm(t, a+"logout", nil, "Cookie", cookie+"; "+second); resp.StatusCode != 503 || !strings.Contains(page, "cannot be reached") {
		t.Errorf("a logout without the store: %s", resp.Status)
	}
	if resp, _ := postForm(t, a+"login", url.Values{"token": {"secret-of-ann"}}); resp.StatusCode != 503 {
		t.Errorf("a login without the store: %s", resp.Status)
	}
	clock.forward(2 * time.Hour)
	if opens(t, a, cookie) {
		t.Error("without the store a login goes on for more than two hours")
	}
	shelf.set(false)
	cookie = logIn(t, a, "secret-of-ann")
	clock.forward(12 * time.Hour)
	if opens(t, a, cookie) || opens(t, b, cookie) {
		t.Error("a login opens a console after twelve hours")
	}
}

// TestRoundRobin talks through a proxy that asks two consoles in turn: each with a gateway and
// a record of its own, and with the conversations and the logins in common. No answer is a 401
// or a 404, and a reply says in whose record it is.
func TestRoundRobin(t *testing.T) {
	shelf := &loginShelf{all: map[[sha256.Size]byte]bool{}}
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	t.Cleanup(up.Close)
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	kept := &conversation.Store{Folder: t.TempDir()}
	var replicas []string
	for range 2 {
		w, dir := consoletest.Open(t)
		g, err := gateway.New(gateway.Config{Upstream: base, Recorder: w})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = g.Close(), w.Close() })
		replicas = append(replicas, serve(t, console.Config{
			Record: consoletest.Store(t, dir), Logins: shelf, LoginSecret: []byte("a secret that replicas have in common"),
			Tokens: []access.Token{{Name: "ann", Secret: "secret-of-ann"}},
			Chat:   &console.Chat{Gateway: g, Kept: kept, Record: w.ID()},
		}, "/"))
	}
	var turn atomic.Int64
	var wrong sync.Map
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			to, _ := url.Parse(replicas[turn.Add(1)%2])
			r.SetURL(to)
			r.Out.Host = to.Host
			r.Out.Header.Del("Origin")
		},
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == 401 || r.StatusCode == 404 {
				wrong.Store(r.Request.Method+" "+r.Request.URL.String(), r.StatusCode)
			}
			return nil
		},
	})
	t.Cleanup(proxy.Close)
	at := proxy.URL + "/"
	cookie := logIn(t, at, "secret-of-ann")
	ask := func(q map[string]any) (begin, end map[string]any) {
		t.Helper()
		q["model"] = "qwen3:8b"
		body, _ := json.Marshal(q)
		resp, text := postJSON(t, at+"chat/send", string(body), "Cookie", cookie)
		if resp.StatusCode != 200 {
			t.Fatalf("%s %s", resp.Status, text)
		}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if json.Unmarshal([]byte(lines[0]), &begin) != nil || json.Unmarshal([]byte(lines[len(lines)-1]), &end) != nil {
			t.Fatal(text)
		}
		return begin, end
	}
	begin, end := ask(map[string]any{"id": "new", "text": "One?"})
	id := begin["id"].(string)
	for i := range 5 {
		_, end = ask(map[string]any{"id": id, "after": end["n"], "text": fmt.Sprint("More? ", i)})
	}
	ask(map[string]any{"id": id, "after": 1, "again": true})
	ask(map[string]any{"id": id, "after": 1, "edits": true, "text": "Uno?"})
	own, apart := 0, 0
	for _, path := range []string{"chat/new", "chat/" + id, "chat/" + id + "?at=12", "chat/" + id + "/export", "chat/" + id + "/text?at=2", "exchanges", "health", "chat/" + id + "?at=12"} {
		resp, page := get(t, at+path, "Cookie", cookie)
		if resp.StatusCode != 200 {
			t.Errorf("%s: %s", path, resp.Status)
		}
		apart += strings.Count(page, "in the record of another gateway")
		own += strings.Count(page, `href="../exchanges/find?id=`)
	}
	if own == 0 || apart == 0 {
		t.Errorf("%d links lead to the record of the console, and %d replies are in another one", own, apart)
	}
	// Whichever console is asked, it answers for every reply.
	for n := 2; n <= 12; n += 2 {
		var m struct {
			Messages []struct {
				N     int
				Reply *conversation.Reply
			}
		}
		_, text := get(t, at+"chat/"+id+"?format=json&at=12", "Cookie", cookie)
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		for _, m := range m.Messages {
			if m.N != n {
				continue
			}
			if m.Reply.Record == "" {
				t.Errorf("message %d does not know its record", n)
			}
			for range 2 {
				if resp, text := get(t, at+"chat/"+id+"/thought?response="+url.QueryEscape(m.Reply.Response), "Cookie", cookie); resp.StatusCode != 200 {
					t.Errorf("the thought of message %d: %s %s", n, resp.Status, text)
				}
			}
		}
	}
	if resp, _ := postForm(t, at+"logout", nil, "Cookie", cookie); resp.StatusCode != 303 {
		t.Errorf("the logout: %s", resp.Status)
	}
	wrong.Range(func(request, status any) bool {
		t.Errorf("%v: %v", request, status)
		return true
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { // each asks again after a second
		a, _ := get(t, replicas[0]+"health", "Cookie", cookie)
		b, _ := get(t, replicas[1]+"health", "Cookie", cookie)
		if a.StatusCode == 401 && b.StatusCode == 401 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a login goes on after the logout")
		}
	}
}
