package gateway

import (
	"net/http/httptest"
	"net/url"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

func testHandler(t *testing.T, c Config) *Handler {
	t.Helper()
	c.Upstream = &url.URL{Scheme: "http", Host: "upstream"}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestCosts: what the reading of a request is charged covers what it takes, for
// the bodies that make it grow most. The estimates were measured so.
func TestCosts(t *testing.T) {
	if effort.Brief() {
		t.Skip("measures memory: SOTTO_EFFORT=1 runs it")
	}
	const size = 512 << 10
	g := testHandler(t, Config{Limits: Limits{MemoryBytes: 4 << 30}})
	fill := func(s string) string { return strings.TrimSuffix(strings.Repeat(s, size/len(s)), ",") }
	said := func(s string) string { return `{"role":"assistant","content":"` + fill(s) + `"}` }
	for name, messages := range map[string]string{
		"text":             said("word "),
		"escaped":          said(`x\n`),
		"closes":           said("</think>"),
		"closes on lines":  said(`</think>\n`),
		"opens":            said("<think>"),
		"blocks":           said("<think>a</think>b"),
		"angles":           said("<"),
		"ticks":            said("`"),
		"escaped brackets": said(`\u003c/think>`),
		"objects":          fill("{},"),
		"messages":         fill(`{"role":"user","content":""},`),
		"parts":            `{"role":"assistant","content":[` + fill(`{"type":"text","text":"a"},`) + `]}`,
		"empty parts":      `{"role":"assistant","content":[` + fill(`{},`) + `]}`,
		"calls":            `{"role":"assistant","content":"","tool_calls":[` + fill(`{"id":"a"},`) + `]}`,
	} {
		// Replies of this model may begin inside a block, so that a text without a
		// close is held to its end.
		body := []byte(`{"model":"deepseek-r1","messages":[` + messages + `,{"role":"user","content":"x"}]}`)
		charged, most := costOf(t, g, body)
		t.Logf("%s: live %.1f, charged %.1f times the body", name, float64(most)/float64(len(body)), float64(charged)/float64(len(body)))
		if allowed := charged*3/2 + 4<<20; most > allowed {
			t.Errorf("%s: %d KiB live for a body of %d KiB, and charged are %d", name, most>>10, len(body)>>10, charged>>10)
		}
		if charged > int64(len(body))*(budget.ReadCost("<")+2)+4<<20 {
			t.Errorf("%s: charged are %d KiB", name, charged>>10)
		}
	}
}

// costOf plans an exchange and returns the most that was charged for it at a
// time, and the most memory that was live.
func costOf(t *testing.T, g *Handler, body []byte) (charged, live int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // so that little garbage counts
	c, err := g.now().engine.budget.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Leave()
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before := int64(m.HeapAlloc)
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			var m runtime.MemStats
			charged = max(charged, held(g.now().engine.budget))
			runtime.ReadMemStats(&m)
			live = max(live, int64(m.HeapAlloc)-before)
			select {
			case <-end:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	r := httptest.NewRequest("POST", "/v1/chat/completions", nil)
	if _, err := g.now().engine.begin(Codecs()[0], body, r, nil, c); err != nil {
		t.Errorf("%v", err)
	}
	close(end)
	<-done
	return charged, live
}
