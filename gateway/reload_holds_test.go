package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// An idleGuard counts how often its idle connections were closed.
type idleGuard struct {
	judgeFunc
	closed int
}

func (g *idleGuard) CloseIdleConnections() { g.closed++ }

// TestReloadHoldsNothing: after many reloads, with connections to the upstream between
// them, there are no more goroutines, connections and bytes than after a few. What is no
// longer used closes its idle connections, and what is used again keeps them.
func TestReloadHoldsNothing(t *testing.T) {
	var mu sync.Mutex
	conns := map[string]bool{}
	kept := 0 // requests on a connection that was there
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"<think>a</think>b"},"finish_reason":"stop"}]}`)
		mu.Lock()
		if conns[r.RemoteAddr] {
			kept++
		}
		conns[r.RemoteAddr] = true
		mu.Unlock()
	}))
	up.Start()
	defer up.Close()
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	guards := []*idleGuard{{}, {}}
	configOf := func(i int) gateway.Config {
		return gateway.Config{Upstream: base, Default: routing.Route{Guard: guard.Rule{Guard: guards[i/2%2]}}, Limits: gateway.Limits{Header: 8<<10 + i/10}}
	}
	g, err := gateway.New(configOf(0))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	round := func(from, to int) (goroutines int, heap uint64) {
		for i := from; i < to; i++ {
			if err := g.Reload(configOf(i)); err != nil {
				t.Fatal(err)
			}
			if i%5 == 0 {
				if w := ask(g, "/v1/chat/completions", `{"model":"m","messages":[]}`); w.Code != 200 {
					t.Fatal(w.Body)
				}
			}
		}
		var m runtime.MemStats
		for range 3 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	const most = 3000
	goroutines, heap := round(0, 100)
	from := 100
	// What a round left is garbage after the next one, or it is held.
	for rounds := 0; ; rounds++ {
		now, grown := round(from, from+most)
		if from += most; now <= goroutines+20 && grown <= heap+1<<20 {
			break
		}
		if rounds == 5 {
			t.Fatalf("%d goroutines, then %d; %d bytes, then %d, after %d reloads", goroutines, now, heap, grown, from)
		}
	}
	clear(conns)
	kept = 0
	requests := 0
	for ; kept == 0; requests += 2 { // a connection may be back in its pool only after a while
		if requests > 400 {
			t.Fatal("no connection is used again after a reload that does not change the transport")
		}
		round(from, from+6)
		time.Sleep(time.Millisecond)
	}
	if n := guards[0].closed; n == 0 || n > from+requests*3 {
		t.Errorf("the first guard's idle connections were closed %d times", n)
	}
}

// TestReloadOverWebSocket: a turn that begins after a reload has the new configuration, on
// the connection that there is. If the new one would not admit the connection, the client
// must connect again.
func TestReloadOverWebSocket(t *testing.T) {
	n := &noted{}
	up := n.says("<think>a</think>b", "")
	hidden := gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}
	g := handler(t, gateway.Config{}, up)
	c := connected(t, g)
	shows := func() bool {
		return strings.Contains(strings.Join(c.turn(`"input":"What?"`), "\n"), "reasoning_text")
	}
	if !shows() {
		t.Error("no reasoning before the reload")
	}
	reload(t, g, hidden, up)
	if shows() {
		t.Error("a turn after the reload shows what the new configuration hides")
	}
	hidden.Token = "a-token-that-is-new"
	reload(t, g, hidden, up)
	c.create(`"input":"What?"`)
	if got := c.hear(); got.Get("type").Str != "error" {
		t.Errorf("without the token: %s", got)
	}
	if code := c.closed(); code != websocket.StatusPolicyViolation {
		t.Errorf("closed with %v", code)
	}
}
