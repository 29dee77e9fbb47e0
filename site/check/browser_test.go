package check

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A tab is a tab of a browser, and what was seen there.
type tab struct {
	context.Context
	t  *testing.T
	mu sync.Mutex
	// asked are the addresses that were requested, and said what scripts complained about.
	asked, said []string
}

func open(t *testing.T) *tab {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("no chromium: .ci/run programs installs it")
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(stop)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.Flag("no-sandbox", true), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("hide-scrollbars", true))
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	b := &tab{Context: ctx, t: t}
	if err := chromedp.Listen(ctx, b.noticed); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tab) noticed(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	case *network.EventWebSocketCreated:
		b.asked = append(b.asked, e.URL)
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			b.said = append(b.said, "an error in the console")
		}
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// js evaluates an expression, and waits for its promise.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.t.Helper()
	js[bool](b, fmt.Sprintf(`new Promise(done => { const look = () => (%s) ? done(true) : setTimeout(look, 20); look(); })`, expression))
}

// visit opens a page of the folder.
func (b *tab) visit(name string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.address(name)))
}

// address is that of a page in the folder.
func (b *tab) address(name string) string {
	folder, err := filepath.Abs(public)
	if err != nil {
		b.t.Fatal(err)
	}
	return "file://" + filepath.ToSlash(filepath.Join(folder, name))
}

// quiet fails if a page asked another than the folder, or a script failed.
func (b *tab) quiet(page string) {
	t := b.t
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.asked {
		if !strings.HasPrefix(url, "file:///") && !strings.HasPrefix(url, "data:") {
			t.Errorf("%s asked %s", page, url)
		}
	}
	if len(b.asked) == 0 {
		t.Errorf("%s: no request was seen, not even for the page", page)
	}
	for _, text := range b.said {
		t.Errorf("%s: %s", page, text)
	}
	b.asked, b.said = nil, nil
}

// ofEachKind are a page of each kind, of middle length. With SOTTO_EFFORT=2 it is every page.
func ofEachKind(pages map[string]string) []string {
	names := slices.SortedFunc(maps.Keys(pages), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(pages[a]), len(pages[b])), strings.Compare(a, b))
	})
	if effort.Times() > 1 {
		return names
	}
	kinds := map[string][]string{}
	for _, name := range names {
		kind := path.Dir(name)
		if base := path.Base(name); base == "index.html" || base == "playground.html" || base == "all.html" {
			kind = name
		}
		if !strings.Contains(pages[name], " data-moved") {
			kinds[kind] = append(kinds[kind], name)
		}
	}
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		list = append(list, kinds[kind][len(kinds[kind])/2])
	}
	return list
}

// A finding is what axe-core says about a page.
type finding struct {
	ID    string   `json:"id"`
	Help  string   `json:"help"`
	Nodes []string `json:"nodes"`
}

const runAxe = `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r =>
	JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 200))}))))`

// A page of each kind has no fault that axe-core finds, light on a wide screen or dark on a phone; nothing of it is wider than a phone; and it asks nobody but its folder.
func TestPages(t *testing.T) {
	axe, err := os.ReadFile("../node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	pages := read(t)
	list := ofEachKind(pages)
	b := open(t)
	for i, name := range list {
		for j, scheme := range []string{"light", "dark"} {
			if effort.Times() == 1 && j != i%2 && !strings.Contains(pages[name], "c-reasoning") {
				continue // pages with the colours of the channels get both looks, the others take turns
			}
			width := []int64{1440, 390}[j]
			b.look(width, scheme)
			b.visit(name)
			if name == "playground.html" {
				b.do(chromedp.WaitReady("body[data-ready]"))
			}
			if over := js[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("%s is %v px wider than a screen of %d", name, over, width)
			}
			js[int](b, string(axe)+";0")
			axeSaid := js[string](b, runAxe)
			var found []finding
			if err := json.Unmarshal([]byte(axeSaid), &found); err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				t.Errorf("%s, %s, %d px: %s: %s: %q", name, scheme, width, f.ID, f.Help, f.Nodes)
			}
			b.quiet(name)
		}
	}
	if len(list) < 12 {
		t.Errorf("looked at %d pages: %q", len(list), list)
	}
}

// look sets the size of the window and the colours.
func (b *tab) look(width int64, scheme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 900), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// A visitor types a question into the field of a page in a folder, and gets links that lead there.
func TestSearchField(t *testing.T) {
	b := open(t)
	b.look(1440, "light")
	b.visit("howto/tls.html")
	b.do(chromedp.SendKeys("#q", "How do I revoke a token?"), chromedp.WaitVisible("#found a"))
	href, count := js[string](b, `document.querySelector("#found a").href`), js[string](b, `document.querySelector("#count").textContent`)
	if want := b.address("howto/revoke-a-token.html"); strings.Split(href, "#")[0] != want {
		t.Errorf("the first link leads to %s, want %s", href, want)
	}
	if !strings.HasSuffix(count, "pages found") {
		t.Errorf("a screen reader hears %q", count)
	}
	b.do(chromedp.Click("#found a"), chromedp.WaitReady("h1#revoke-or-replace-a-token"))
	b.quiet("the search")
}

// A server of files shows 404.html at whatever address was asked for, and the site may be in a
// folder of the server. From every depth the page finds the site: its links lead there, and its
// search asks for the words of the address.
func TestMissingPage(t *testing.T) {
	files := os.DirFS(public)
	server := httptest.NewServer(http.StripPrefix("/docs/sotto", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if info, err := fs.Stat(files, name); err == nil && !info.IsDir() {
			http.ServeFileFS(w, r, files, name)
			return
		}
		page, err := fs.ReadFile(files, "404.html")
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write(page)
	})))
	defer server.Close()
	root := server.URL + "/docs/sotto/"
	b := open(t)
	b.look(1440, "light")
	for _, missing := range []string{"revoke-a-token", "howto/revoke_a_token.md", "old/pages/howto/revoke-a-token.html"} {
		b.do(chromedp.Navigate(root + missing))
		b.until(`!document.getElementById("again").hidden`)
		if links := js[[]string](b, `[...document.querySelectorAll("main a, .brand")].map(a => a.href)`); len(links) < 5 {
			t.Errorf("%s: links %q", missing, links)
		} else {
			for _, link := range links {
				if file, ok := strings.CutPrefix(link, root); !ok {
					t.Errorf("%s: the link %s leads out of the site", missing, link)
				} else if _, err := fs.Stat(files, file); err != nil {
					t.Errorf("%s: %v", missing, err)
				}
			}
		}
		js[bool](b, `document.getElementById("again").click() ?? true`)
		b.until(`document.querySelector("#found a")`)
		if first, want := js[string](b, `document.querySelector("#found a").href`), root+"howto/revoke-a-token.html"; strings.Split(first, "#")[0] != want {
			t.Errorf("%s: the search leads to %s, want %s", missing, first, want)
		}
	}
	// In the folder itself, it is a page like the others.
	b.visit("404.html")
	b.until(`self.sottoSearch`)
	js[bool](b, `(q => { q.value = "token"; return q.dispatchEvent(new Event("input")); })(document.getElementById("q"))`)
	b.until(`document.querySelector("#found a")`)
}

// The splitter reads a visitor's text in the page: whole, in parts, and as it arrives.
func TestPlayground(t *testing.T) {
	b := open(t)
	set := func(id, value string) {
		t.Helper()
		js[bool](b, fmt.Sprintf(`(e => { e.value = %q; return e.dispatchEvent(new Event("input")); })(document.getElementById(%q))`, value, id))
	}
	look := func(id, want string) {
		t.Helper()
		if got := js[string](b, fmt.Sprintf(`document.getElementById(%q).textContent`, id)); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
	b.visit("playground.html#dialect=qwen3")
	b.do(chromedp.WaitReady("body[data-ready]"))
	set("size", "1")
	set("reply", "<think>Zürich, 七</think>Yes: 七.")
	look("thought", "Zürich, 七")
	look("said", "Yes: 七.")
	look("bytes", "<think>Zürich, 七</think>Yes: 七.")
	// Within the closing marker, nothing of it is shown.
	set("at", "23")
	look("thought", "Zürich, 七")
	look("said", "")
	kinds := js[string](b, `[...document.querySelectorAll("#bytes span")].map(e => e.className + ":" + e.textContent).join(" ")`)
	if want := "c-markup:<think> c-reasoning:Zürich, 七 c-markup:</th later:ink> later:Yes: 七."; kinds != want {
		t.Errorf("the bytes are %q, want %q", kinds, want)
	}
	// What may be a thought waits, and its remark leads to a page.
	set("dialect", "deepseek_r1")
	set("reply", "So B.</think>B")
	if href := js[string](b, `document.querySelector("#notes a").href`); href != b.address("errors/orphan-close.html") {
		t.Errorf("the diagnostic leads to %s", href)
	}
	set("at", "4")
	look("thought", "")
	look("said", "")
	if got, want := js[string](b, `document.querySelector("#bytes .waits").textContent`), "So B"; got != want {
		t.Errorf("%q waits, want %q", got, want)
	}
	// Another dialect, which the page guesses.
	set("dialect", "")
	set("reply", "[THINK]Five.[/THINK]5")
	look("thought", "Five.")
	look("said", "5")
	b.quiet("the playground")
}
