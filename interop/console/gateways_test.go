package console

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	upstream "github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/model"
)

// sharedLogins are the logins of several consoles.
type sharedLogins struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]bool
}

func (s *sharedLogins) BeginLogin(of [sha256.Size]byte, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[of] = true
	return nil
}

func (s *sharedLogins) UseLogin(of [sha256.Size]byte, _ time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[of], nil
}

func (s *sharedLogins) EndLogin(of [sha256.Size]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, of)
	return nil
}

// A replicated console is reached by a proxy that asks two consoles in turn, each beside a
// gateway with a record of its own.
type replicated struct {
	base  string
	all   []*consoletest.Gateway
	turns atomic.Int64
	wrong sync.Map // the requests that were answered with 401 or 404
}

// replicate serves two gateways with the model qwen3:8b and the agent painter, with logins and
// conversations in common. tokens open the consoles.
func replicate(t *testing.T, tokens ...access.Token) *replicated {
	t.Helper()
	up := httptest.NewServer(upstream.New(upstream.Options{}))
	t.Cleanup(up.Close)
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	kept := &conversation.Store{Folder: filepath.Join(t.TempDir(), "conversations")}
	logins := &sharedLogins{all: map[[sha256.Size]byte]bool{}}
	x := &replicated{}
	x.all = consoletest.Gateways(t, 2, time.Now, &consoletest.Directory{}, func(of *consoletest.Gateway) http.Handler {
		s, err := model.ReadScript(strings.NewReader(paintScript), "script.yaml")
		if err != nil {
			t.Fatal(err)
		}
		m := &agentmodel.Models{Base: gateway.UpstreamTransport(gateway.Limits{}), Record: of.Writer, Agents: []*agent.Agent{{
			Name: "painter", System: "You paint.",
			Turn: agent.Turn{Model: model.NewScripted("scripted", s), Start: "outside", Limits: agent.Limits{Attempts: 1}, Agents: []agent.Subagent{{Name: "mixer", System: "You mix."}}},
		}}}
		g, err := gateway.New(gateway.Config{Upstream: base, Transport: m, Separated: m.Has, Templates: true, Recorder: of.Writer})
		if err != nil {
			t.Fatal(err)
		}
		k := newConsole(console.Config{
			Record: consoletest.Store(t, of.Dir), Name: "audit", Dialects: []string{"default"}, Tokens: tokens, Audit: of.Writer,
			Logins: logins, LoginSecret: []byte("a secret that gateways have in common"), Peers: of.Peers,
			Chat: &console.Chat{Gateway: g, Kept: kept, Record: of.Writer.ID()},
		}, screens.Config{})
		t.Cleanup(func() { k.Close(); _ = g.Close(); m.Close() })
		return k
	})
	consoletest.Meet(x.all...)
	proxy := httptest.NewServer(http.StripPrefix("/ops", &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			to, _ := url.Parse(x.all[x.turns.Add(1)%2].Server.URL)
			r.SetURL(to)
			r.Out.Host = to.Host
			r.Out.Header.Del("Origin")
		},
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusNotFound {
				x.wrong.Store(r.Request.Method+" "+r.Request.URL.Path, r.StatusCode)
			}
			return nil
		},
	}))
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() })
	x.base = proxy.URL + "/ops/"
	return x
}

// TestReplicas talks in a browser, through a proxy that asks two consoles in turn: with a
// model, on branches, with an agent, and with pages that are opened again. From the login to
// the logout no answer is a 401 or a 404. Each thought, and each step of the agent, is shown
// whichever gateway recorded it. Each row of the list leads to its own exchange, also after a
// reload.
func TestReplicas(t *testing.T) {
	x := replicate(t, access.Token{Name: "ann", Secret: "the-secret-of-the-test"})
	b := open(t, x.base)
	b.look(1440, "light")
	b.visit("chat/new")
	b.do(chromedp.SendKeys("input[name=token]", "the-secret-of-the-test"))
	b.press("\r")
	b.until(`location.pathname.endsWith("/chat/new") && document.activeElement?.id === "say"`)
	x.wrong.Clear() // what asked for the token
	_ = js[string](b, `document.getElementById("model").value = "qwen3:8b"`)
	for i := range 3 {
		b.write(fmt.Sprintf("Question %d?", i))
	}
	_ = js[bool](b, `document.querySelector(".reply .ask-again").click(), true`)
	b.until(`document.querySelector("[aria-busy]") === null && document.querySelector(".reply .branches .of") !== null`)
	b.write("And then?")
	_ = js[string](b, `document.getElementById("model").value = "agent/painter"`)
	b.write("Paint it")
	want, _ := upstream.Find("qwen3:8b")
	at := strings.TrimPrefix(js[string](b, "location.pathname + location.search"), "/ops/")
	records := map[string]bool{}
	for range 2 { // each console makes the page once
		b.reload()
		b.until(`document.querySelectorAll(".steps .call").length >= 2`)
		n := js[int](b, `(() => { const all = [...document.querySelectorAll(".reply:not([data-agent]) > .thought")]; for (const d of all) d.open = true; return all.length })()`)
		if n < 2 {
			t.Fatalf("%d thoughts", n)
		}
		b.until(`[...document.querySelectorAll(".reply:not([data-agent]) > .thought .words")].every(w => w.querySelector("a") === null)`)
		for i, text := range js[[]string](b, `[...document.querySelectorAll(".reply:not([data-agent]) > .thought .words")].map(w => w.innerText)`) {
			if !strings.Contains(text, want.Reply.Reasoning[0][:20]) {
				t.Errorf("thought %d is %q", i, text)
			}
		}
		if text := js[string](b, `[...document.querySelectorAll(".reply .steps")].map(e => e.innerText).join()`); !strings.Contains(text, "Mixed pink.") {
			t.Errorf("the steps of the agent are %q", text)
		}
		for _, link := range js[[]string](b, `[...document.querySelectorAll(".reply a.raw")].map(a => a.getAttribute("href"))`) {
			record, _, ok := strings.Cut(strings.TrimPrefix(link, "../at/"), "/")
			if !ok || !strings.HasPrefix(link, "../at/") {
				t.Errorf("a reply leads to %q", link)
			}
			records[record] = true
		}
		x.turns.Add(1)
	}
	if len(records) != 2 {
		t.Errorf("the replies are in %d records", len(records))
	}
	b.click(".reply[data-agent] a.raw")
	b.until(`location.pathname.includes("/runs/") && document.readyState === "complete" && document.body.innerText.includes("Mixed pink.")`)
	b.visit("exchanges")
	links := js[[]string](b, `[...document.querySelectorAll("a.row")].map(a => a.getAttribute("href"))`)
	if len(links) < 5 {
		t.Fatalf("the list has %q", links)
	}
	for _, link := range links[:4] {
		b.visit(link)
		first := js[string](b, `document.querySelector("main").innerText`)
		x.turns.Add(1)
		b.reload()
		if again := js[string](b, `document.querySelector("main").innerText`); !sameButAgo(first, again) {
			t.Errorf("%s is\n%s\nand then\n%s", link, first, again)
		}
	}
	for _, page := range []string{"exchanges?sort=thought", "runs", "health", "explore", "search?q=tower", at} {
		b.visit(page)
		b.visit(page)
	}
	// The menu leads to the other gateway's own pages, and back to all.
	b.visit("explore")
	b.click(".gateways summary")
	b.click(".gateways li:last-child a")
	b.until(`location.pathname.includes("/at/") && location.pathname.endsWith("/explore") && document.readyState === "complete"`)
	b.click(`.rail a[data-key="c"]`)
	b.until(`location.pathname.endsWith("/ops/chat") || location.pathname.includes("/ops/chat/")`)
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
	x.wrong.Delete("GET /favicon.ico")
	x.wrong.Range(func(request, status any) bool {
		t.Errorf("%v: %v", request, status)
		return true
	})
	b.visit(strings.TrimPrefix(links[0], "/"))
	_ = js[bool](b, `document.querySelector("form[action$=logout]").requestSubmit(), true`)
	b.until(`document.querySelector("input[name=token]") !== null`)
}

// TestListsFollowAll: a list of several gateways shows an exchange that another one recorded, and
// a search goes on by itself through all of the records.
func TestListsFollowAll(t *testing.T) {
	x := replicate(t)
	b := open(t, x.all[0].Server.URL+"/")
	b.look(1440, "light")
	b.visit("exchanges")
	b.until(`document.querySelector("#live").getAttribute("aria-pressed") === "true"`)
	for i, g := range []*consoletest.Gateway{x.all[1], x.all[0], x.all[1]} {
		consoletest.Put(t, g.Writer, consoletest.Exchange("qwen3:8b", "Which tower?", "A rare needle."))
		consoletest.Meet(x.all...)
		b.until(fmt.Sprintf(`document.querySelectorAll("#list a.row").length === %d`, i+1))
	}
	for range 32 { // more than a page of a search reads
		consoletest.Put(t, x.all[1].Writer, consoletest.Exchange("qwen3:8b", "Which tower?", strings.Repeat("hay ", 150_000)))
	}
	b.visit("search?q=needle")
	b.until(`document.querySelectorAll(".hits li").length === 3 && document.getElementById("search-said").textContent.includes("the whole record") && document.getElementById("search-on").hidden`)
	for _, link := range js[[]string](b, `[...document.querySelectorAll(".hits a.row")].map(a => a.getAttribute("href"))`) {
		b.visit(link)
		b.until(`document.querySelector("mark#at")?.textContent === "needle"`)
	}
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// sameButAgo compares two texts of a page, without what the time since changes.
func sameButAgo(a, b string) bool {
	without := func(text string) string {
		var lines []string
		for l := range strings.SplitSeq(text, "\n") {
			if !strings.Contains(l, " ago") && !strings.Contains(l, "just now") {
				lines = append(lines, l)
			}
		}
		return strings.Join(lines, "\n")
	}
	return without(a) == without(b)
}
