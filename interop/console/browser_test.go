// Package console drives the console in a real browser.
package console

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// A tab is a page in a browser, with what the browser noticed.
type tab struct {
	context.Context
	t    *testing.T
	base string

	mu       sync.Mutex
	requests []string // to anywhere
	dialogs  int
}

// open opens a tab. Violations of the policy are collected in every document.
func open(t *testing.T, base string) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("no-sandbox", true), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("hide-scrollbars", true))
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Minute) // the machine may be busy
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{Context: ctx, t: t, base: base}
	if err := chromedp.Listen(ctx, b.noticed); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
			Source: `window.violations = []; addEventListener("securitypolicyviolation", e => violations.push(e.violatedDirective + " " + e.blockedURI + " " + e.sourceFile));`,
		})
		return err
	}))
	return b
}

func (b *tab) noticed(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *page.EventJavascriptDialogOpening:
		b.dialogs++
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// visit opens a page of the console.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + path))
}

// js evaluates an expression.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until an expression is true. An expression that fails is not true yet: what it
// looks for may be on the next page.
func (b *tab) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		yes, err := chromedp.Run(b, chromedp.Evaluate[bool](expression))
		switch {
		case yes:
			return
		case b.Err() != nil:
			b.t.Fatalf("%s: %v", expression, err)
		case time.Now().After(end):
			b.t.Fatalf("not within a minute: %s (%v), at %s\n%s", expression, err, js[string](b, "location.href"), js[string](b, "document.body.innerText.slice(0, 400)"))
		}
	}
}

// press types keys, one after the other.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.do(chromedp.KeyEvent(k))
	}
}

// look sets the size of the window and the colours.
func (b *tab) look(width int64, scheme string) {
	b.t.Helper()
	height := int64(900)
	if width < 500 {
		height = 844
	}
	b.do(chromedp.EmulateViewport(width, height), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// elsewhere are requests to anywhere except the console.
func (b *tab) elsewhere() (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if !strings.HasPrefix(r, b.base) && !strings.HasPrefix(r, "about:") {
			list = append(list, r)
		}
	}
	return list
}

// serve serves a console.
func serve(t *testing.T, dir string) (base string) {
	t.Helper()
	c := newConsole(console.Config{Record: consoletest.Store(t, dir), Dir: dir, Name: "audit", Dialects: []string{"default", "qwen3", "harmony"}}, screens.Config{Scores: scored(t)})
	s := httptest.NewServer(http.StripPrefix("/ops", c))
	t.Cleanup(func() { c.Close(); s.CloseClientConnections(); s.Close() })
	return s.URL + "/ops/"
}

// cutReply is a reply of which some bytes wait after 71 have come.
const cutReply = "<think>\nThe user asks which tower is taller: they want a name.\n</thinking>\nToronto's is taller: 553 metres."

// pages are those that are looked at, by their names.
func pages() map[string]string {
	return map[string]string{
		"exchanges": "exchanges", "filtered": "exchanges?text=tower&outcome=answered", "exchange": "exchanges/%d", "bytes": "exchanges/%d/bytes",
		"compare": "exchanges/%d?view=compare", "request": "exchanges/%d?view=request", "curl": "exchanges/%d?view=curl", "reread": "exchanges/%d?dialect=qwen3&start=inside", "missing": "exchanges/999", "health": "health", "evaluation": "evaluation", "evaluation-lost": "evaluation?with=1&change=lost", "scored": "evaluation/4?with=1", "search": "search?q=tower", "search-none": "search?q=nothing+like+it", "search-empty": "search", "playground": "playground", "playground-cut": "playground#" + url.Values{"text": {cutReply}, "dialect": {"default"}, "at": {"71"}}.Encode(),
	}
}

// TestLooks opens every page at three widths, in light and in dark: nothing is wider
// than the window, nothing violates the policy, and axe-core finds nothing. If
// SOTTO_SHOTS names a folder, it gets a picture of each.
func TestLooks(t *testing.T) {
	base := serve(t, consoletest.Scripted(t))
	b := open(t, base)
	b.visit("exchanges")
	event := js[int](b, `Number([...document.querySelectorAll("tr")].find(r => r.querySelector(".c-model")?.textContent === "scratch-pad").id.slice(1))`)
	list := pages()
	for name, path := range list {
		if strings.Contains(path, "%d") {
			list[name] = fmt.Sprintf(path, event)
		}
	}
	b.looks(list)
}

// looks looks at pages, by their names.
func (b *tab) looks(list map[string]string) {
	t := b.t
	t.Helper()
	axe := axeCore(t)
	shots := os.Getenv("SOTTO_SHOTS")
	for name, path := range list {
		for _, width := range []int64{1440, 900, 390, 360} {
			for _, scheme := range []string{"light", "dark"} {
				if shots == "" && (scheme == "dark") == (width == 1440 || width == 390) {
					continue // half of them without pictures
				}
				b.look(width, scheme)
				b.visit(path)
				where := fmt.Sprintf("%s at %d, %s", name, width, scheme)
				if wide := js[int](b, "document.documentElement.scrollWidth"); wide > int(width) {
					t.Errorf("%s: %d wide", where, wide)
				}
				if found := js[[]string](b, "violations"); len(found) > 0 {
					t.Errorf("%s: %v", where, found)
				}
				if width == 1440 || width == 360 {
					for _, v := range b.axe(axe) {
						t.Errorf("%s: %s", where, v)
					}
				}
				if shots != "" && width != 360 {
					png, err := chromedp.Run(b, chromedp.CaptureScreenshot())
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(shots, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), png, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	if out := b.elsewhere(); len(out) > 0 {
		t.Errorf("requests to %v", out)
	}
}

// axeCore returns the script that checks whether a page is accessible.
func axeCore(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		out, install := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput()
		if install != nil {
			t.Fatalf("npm ci: %v\n%s", install, out)
		}
		if data, err = os.ReadFile("node_modules/axe-core/axe.min.js"); err != nil {
			t.Fatal(err)
		}
	}
	return string(data)
}

// axe returns what axe-core finds on the page.
func (b *tab) axe(script string) []string {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool](script+";true")(ctx, t)
		return err
	}))
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool](`window.found = null; axe.run().then(r => { window.found = r.violations.map(v => v.id + ": " + v.nodes.map(n => n.target + " " + (n.any[0]?.message ?? "")).slice(0, 3).join("; ")) }, e => { window.found = [String(e)] }); true`)(ctx, t)
		return err
	}))
	b.until("window.found !== null")
	return js[[]string](b, "found")
}

// TestHostileTexts shows every hostile text on the list and in every form of an
// exchange: no script of theirs runs, nothing is requested, the page stays, and the
// policy has nothing to stop.
func TestHostileTexts(t *testing.T) {
	single, _ := consoletest.Attacked(t)
	crowded, n := consoletest.Crowded(t)
	lists := []string{"exchanges", "exchanges?before=106", "exchanges?before=156"}
	var forms []string
	for i := 1; i <= n; i++ {
		for _, form := range []string{"", "?markdown=1", "?view=compare", "?view=request", "?view=curl", "/bytes"} {
			forms = append(forms, fmt.Sprintf("exchanges/%d%s", i, form))
		}
	}
	for base, paths := range map[string][]string{serve(t, single): lists, serve(t, crowded): forms} {
		b := open(t, base)
		b.look(900, "light")
		b.inert(paths)
	}
}

// inert visits pages with hostile texts, and finds all of them inert.
func (b *tab) inert(paths []string) {
	t := b.t
	t.Helper()
	for _, path := range paths {
		b.visit(path)
		b.press("t") // unfolds the thoughts
		at := js[string](b, "location.href")
		if at != b.base+path || js[bool](b, `"hacked" in window || document.querySelector("iframe, img, object, embed, base, form form") !== null`) {
			t.Errorf("%s: the page is %s, and something of a text is alive in it", path, at)
		}
		if found := js[[]string](b, "violations"); len(found) > 0 {
			t.Errorf("%s: %v", path, found)
		}
		if wide := js[int](b, "document.documentElement.scrollWidth"); wide > 900 {
			t.Errorf("%s: %d wide", path, wide)
		}
	}
	if out := b.elsewhere(); len(out) > 0 || b.dialogs > 0 {
		t.Errorf("requests to %v, %d dialogs", out, b.dialogs)
	}
}

// TestKeys goes through the page by the keyboard alone. Back returns to the same
// filters, and a new exchange appears without a reload.
func TestKeys(t *testing.T) {
	w, dir := consoletest.Open(t)
	defer w.Close()
	for i := range 120 {
		consoletest.Put(t, w, consoletest.Exchange([]string{"odd", "even"}[i%2], "p", fmt.Sprintf("<think>t</think>answer %d", i)))
	}
	b := open(t, serve(t, dir))
	b.look(1440, "light")
	b.visit("exchanges?model=even")
	b.until(`document.getElementById("live").getAttribute("aria-pressed") === "true"`)
	b.press("j", "j", "k", "j")
	if at := js[string](b, `document.activeElement.getAttribute("href")`); at != "exchanges/118?model=even" {
		t.Errorf("the second row is %s", at)
	}
	consoletest.Put(t, w, consoletest.Exchange("even", "p", "the newest"))
	b.until(`document.querySelector(".rows tbody tr")?.textContent.includes("the newest")`)
	if at := js[string](b, `document.activeElement.getAttribute("href")`); at != "exchanges/118?model=even" {
		t.Errorf("after a new row, the focus is on %s", at)
	}
	b.press("\r")
	b.until(`location.pathname.endsWith("exchanges/118") && document.readyState === "complete"`)
	b.press("t")
	b.until(`document.querySelector("details.thought").open`)
	b.press("]")
	b.until(`location.pathname.endsWith("exchanges/116") && location.search === "?model=even" && document.readyState === "complete"`)
	b.press("[")
	b.until(`location.pathname.endsWith("exchanges/118") && document.readyState === "complete"`)
	b.press("]")
	b.until(`location.pathname.endsWith("exchanges/116") && document.readyState === "complete"`)
	b.press("b")
	b.until(`location.pathname.endsWith("116/bytes") && document.readyState === "complete"`)
	b.press("?")
	b.until(`document.getElementById("keys").open`)
	b.press("\u001b")
	b.press("g", "e")
	b.until(`location.pathname.endsWith("/exchanges") && location.search === "" && document.readyState === "complete"`)
	b.press("/")
	b.until(`document.activeElement.id === "search"`)
	_ = js[string](b, `document.activeElement.value = ""`) // this keyboard also types the key that was taken
	b.press("x", "\r")
	b.until(`location.search === "?text=x"`)
	_ = js[bool](b, "setTimeout(() => history.go(-7)), true")
	b.until(`location.search === "?model=even" && document.activeElement?.getAttribute("href") === "exchanges/118?model=even"`)
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// TestLogin logs in by the form and by the fragment of a link, which leaves the
// address.
func TestLogin(t *testing.T) {
	c := newConsole(console.Config{Record: consoletest.Store(t, consoletest.Scripted(t)), Tokens: []access.Token{{Name: "t", Secret: "the-secret-of-the-test"}}}, screens.Config{})
	s := httptest.NewServer(http.StripPrefix("/ops", c))
	t.Cleanup(func() { c.Close(); s.CloseClientConnections(); s.Close() })
	for _, by := range []string{"form", "fragment"} {
		b := open(t, s.URL+"/ops/")
		b.look(390, "dark")
		if by == "form" {
			b.visit("exchanges?model=prose")
			for _, v := range b.axe(axeCore(t)) {
				t.Errorf("login: %s", v)
			}
			b.do(chromedp.SendKeys("input[name=token]", "the-secret-of-the-test"))
			b.press("\r")
		} else {
			b.visit("exchanges?model=prose#token=the-secret-of-the-test")
		}
		b.until(`location.search === "?model=prose" && document.querySelector(".rows") !== null`)
		if at := js[string](b, "location.href + document.cookie"); strings.Contains(at, "secret") || strings.Contains(at, "sotto_console") {
			t.Errorf("by %s: a script sees %s", by, at)
		}
	}
}
