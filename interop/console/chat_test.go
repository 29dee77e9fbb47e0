package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	upstream "github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/screens"
)

// A talking is a console with a chat, before a gateway that records, before an upstream.
type talking struct {
	t      *testing.T
	config console.Config
	prefix string
	base   string
}

func talkWith(t *testing.T, server http.Handler) *talking {
	t.Helper()
	up := httptest.NewServer(server)
	t.Cleanup(up.Close)
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	w, dir := consoletest.Open(t)
	g, err := gateway.New(gateway.Config{Upstream: base, Recorder: w})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = g.Close(), w.Close() })
	k := &talking{t: t, config: console.Config{
		Record: consoletest.Store(t, dir), Name: "audit", Dialects: []string{"default"},
		Chat: &console.Chat{Gateway: g, Kept: &conversation.Store{Folder: filepath.Join(t.TempDir(), "conversations")}},
	}}
	k.start()
	return k
}

// start starts a console, as a restart of the program does.
func (k *talking) start() {
	k.t.Helper()
	c := newConsole(k.config, screens.Config{})
	s := httptest.NewServer(http.StripPrefix("/ops", c))
	k.t.Cleanup(func() { c.Close(); s.CloseClientConnections(); s.Close() })
	k.base = s.URL + "/ops/"
}

// chatted serves a console with two conversations.
func chatted(t *testing.T) (base string) {
	t.Helper()
	k := talkWith(t, upstream.New(upstream.Options{Pause: 20 * time.Millisecond}))
	for _, one := range [][]string{{"long", "How does rain come about?"}, {"qwen3:8b", "Which months have 31 days in a row?", "Is that so every year?"}} {
		id, after := "new", 0
		for _, text := range one[1:] {
			body, _ := json.Marshal(map[string]any{"id": id, "after": after, "model": one[0], "text": text})
			resp, err := http.Post(k.base+"chat/send", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			lines := json.NewDecoder(resp.Body)
			for {
				var e struct{ K, ID string }
				if err := lines.Decode(&e); err != nil {
					break
				}
				if e.K == "begin" {
					id = e.ID
				}
			}
			resp.Body.Close()
			after += 2
		}
	}
	return k.base
}

// write types a message and sends it, and waits until it is answered.
func (b *tab) write(text string) {
	b.t.Helper()
	n := js[int](b, `document.querySelectorAll(".reply").length`)
	b.send(text)
	b.until(fmt.Sprintf(`document.querySelectorAll(".reply").length > %d && document.querySelector("[aria-busy]") === null`, n))
}

func (b *tab) send(text string) {
	b.t.Helper()
	b.do(chromedp.SendKeys("#say", text))
	b.do(chromedp.KeyEvent("\r"))
}

// answers are the texts of the replies on the page.
func (b *tab) answers() []string {
	b.t.Helper()
	return js[[]string](b, `[...document.querySelectorAll(".reply > .answer")].map(a => a.innerText.trim())`)
}

// TestChat talks: it writes, retries, edits, goes to another branch, restarts the console,
// and opens a link to a message.
func TestChat(t *testing.T) {
	k := talkWith(t, upstream.New(upstream.Options{}))
	b := open(t, k.base)
	b.look(1440, "light")
	b.visit("")
	b.until(`location.pathname.endsWith("/chat/new") && document.activeElement.id === "say"`)
	_ = js[string](b, `document.getElementById("model").value = "qwen3:8b"`)
	b.write("Which months have 31 days in a row?")
	want, _ := upstream.Find("qwen3:8b")
	if got := b.answers(); len(got) != 1 || got[0] != want.Reply.Visible {
		t.Fatalf("the answers are %q", got)
	}
	at := js[string](b, "location.pathname")
	if len(at) != len("/ops/chat/")+32 {
		t.Fatalf("the address is %s", at)
	}
	if got := js[string](b, `document.querySelector(".thought summary").innerText`); !strings.HasPrefix(got, "thought · ") || !strings.Contains(got, " B · ") {
		t.Errorf("the thought is %q", got)
	}
	if js[bool](b, `document.querySelector(".thought").open`) {
		t.Error("the thought is not folded")
	}
	b.press("\u001b")
	_ = js[bool](b, `document.activeElement.blur(), true`)
	b.press("t")
	b.until(`document.querySelector(".thought .words").innerText.length > 20`)
	if got := js[string](b, `document.querySelector(".reply footer").innerText`); !strings.Contains(got, "tokens") || !strings.Contains(got, "first thought") || !strings.Contains(got, "first answer") {
		t.Errorf("the facts are %q", got)
	}
	// Thinking off, and retry: the first reply stays on its branch.
	_ = js[string](b, `document.getElementById("think").value = "off"`)
	_ = js[bool](b, `document.querySelector(".ask-again").click(), true`)
	b.until(`document.querySelectorAll(".reply").length === 1 && document.querySelector(".reply").id === "m3" && document.querySelector("[aria-busy]") === null`)
	if got := js[string](b, `document.querySelector(".reply .branches .of").innerText`); got != "2/2" {
		t.Errorf("the branches are %q", got)
	}
	if !js[bool](b, `document.querySelector(".reply .thought").hidden`) {
		t.Error("it thought although thinking is off")
	}
	b.write("And then?")
	// Edit the first message: a new branch.
	_ = js[bool](b, `document.querySelector("#m1 .edit-this").click(), true`)
	b.until(`document.activeElement.id === "edit-say"`)
	_ = js[string](b, `document.activeElement.value = ""`)
	b.do(chromedp.SendKeys("#edit-say", "Another question"))
	_ = js[bool](b, `document.querySelector("form.edit").requestSubmit(), true`)
	b.until(`document.querySelectorAll(".said").length === 2 && document.querySelector("#m7") !== null`)
	// A text file goes with a message; one that is not text is refused.
	dir := t.TempDir()
	for name, data := range map[string]string{"notes.txt": "the notes", "picture.bin": "\x00\xff"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.do(chromedp.SetUploadFiles("#files", []string{filepath.Join(dir, "notes.txt"), filepath.Join(dir, "picture.bin")}))
	b.until(`document.querySelectorAll("#chosen li").length === 1 && document.getElementById("refused").innerText.startsWith("picture.bin")`)
	b.write("See the file")
	// A restart, and the same address.
	k.start()
	b.base = k.base
	b.visit(strings.TrimPrefix(at, "/ops/"))
	if got := js[string](b, `document.querySelector(".user .words").innerText`); got != "Another question" {
		t.Errorf("after a restart the first message is %q", got)
	}
	if got := js[string](b, `document.querySelector(".user .files summary").innerText`); !strings.HasPrefix(got, "notes.txt") {
		t.Errorf("after a restart the file is %q", got)
	}
	if got := js[string](b, `document.querySelector(".talks li a[aria-current] .title").innerText`); got != "Which months have 31 days in a row?" {
		t.Errorf("the list has %q", got)
	}
	// A link to a message of another branch.
	b.visit(strings.TrimPrefix(at, "/ops/") + "#m2")
	b.until(`location.search === "?at=2" && document.querySelector("#m2:target") !== null`)
	b.do(chromedp.Click(`#m2 .thought summary`))
	b.until(`document.querySelector("#m2 .thought .words a") === null`)
	if got := js[string](b, `document.querySelector("#m2 .thought .words").innerText`); !strings.Contains(got, want.Reply.Reasoning[0][:20]) {
		t.Errorf("the kept thought is %q", got)
	}
	b.visit("chat/new?q=another")
	b.until(`document.querySelectorAll(".talks li a").length === 1`)
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
	if out := b.elsewhere(); len(out) > 0 && !strings.HasPrefix(out[0], "http://127.0.0.1") {
		t.Errorf("requests to %v", out)
	}
}

// TestChatStop stops a reply that runs. What came stays, and the next message is answered.
func TestChatStop(t *testing.T) {
	k := talkWith(t, upstream.New(upstream.Options{Pause: 20 * time.Millisecond}))
	b := open(t, k.base)
	b.look(390, "dark")
	b.visit("chat/new")
	_ = js[string](b, `document.getElementById("model").value = "long"`)
	b.send("x")
	b.until(`document.querySelector(".reply .answer").innerText.length > 30`)
	if js[bool](b, `document.getElementById("stop").hidden`) {
		t.Error("there is no stop")
	}
	b.press("\u001b")
	b.until(`document.querySelector("[aria-busy]") === null`)
	if !js[bool](b, `!document.querySelector(".f-stopped").hidden && document.querySelector(".reply").id === "m2" && document.getElementById("stop").hidden`) {
		t.Error("the page does not say that the reply was stopped")
	}
	_ = js[string](b, `document.getElementById("model").value = "plain"`)
	b.write("again")
	if got := b.answers(); len(got) != 2 || got[1] == "" {
		t.Errorf("%q", got)
	}
	// Leaving the page stops the upstream too.
	_ = js[string](b, `document.getElementById("model").value = "long"`)
	b.send("and leave")
	b.until(`document.querySelectorAll(".reply")[2]?.querySelector(".answer").innerText.length > 30`)
	b.visit("exchanges")
	end := time.Now().Add(time.Minute)
	for n := 0; n < 3; {
		list := js[string](b, `document.querySelector(".rows")?.innerText ?? ""`)
		if n = strings.Count(list, "long") + strings.Count(list, "plain"); time.Now().After(end) {
			t.Fatalf("the exchanges are %s", list)
		}
		b.visit("exchanges")
	}
}

// hostileUpstream answers the n-th question with the n-th text, in small pieces, as a
// thought, a call, narration and an answer. Its model has the name of a text.
func hostileUpstream(texts []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			var data []any
			for _, text := range texts[:60] {
				data = append(data, map[string]string{"id": text})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
			return
		}
		var q struct{ Messages []struct{ Content string } }
		_ = json.NewDecoder(r.Body).Decode(&q)
		var n int
		_, _ = fmt.Sscanf(q.Messages[len(q.Messages)-1].Content, "%d", &n)
		text := texts[n]
		w.Header().Set("Content-Type", "text/event-stream")
		put := func(delta map[string]any, finish any) {
			data, _ := json.Marshal(map[string]any{"id": text, "model": text, "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
			fmt.Fprintf(w, "data: %s\n\n", data)
			_ = http.NewResponseController(w).Flush()
		}
		runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
		for piece := range slices.Chunk(runes, max(9, len(runes)/30)) {
			put(map[string]any{"reasoning_content": string(piece)}, nil)
		}
		put(map[string]any{"narration": text}, nil)
		for piece := range slices.Chunk(runes, max(9, len(runes)/30)) {
			put(map[string]any{"content": string(piece)}, nil)
		}
		put(map[string]any{"content": "\n\n" + text + "\n\nAn end that is long enough for a block of its own, so that one more is rendered."}, nil)
		put(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": text, "function": map[string]string{"name": text, "arguments": text}}}}, "stop")
		fmt.Fprint(w, "data: [DONE]\n\n")
	})
}

// TestChatHostile lets a model answer with every hostile text: while it streams and after
// it, no script of theirs runs, nothing is requested, the page stays, and the policy has
// nothing to stop.
func TestChatHostile(t *testing.T) {
	texts := consoletest.Hostile()
	k := talkWith(t, hostileUpstream(texts))
	b := open(t, k.base)
	b.look(900, "light")
	b.visit("chat/new")
	alive := func(when string) {
		t.Helper()
		if js[bool](b, `"hacked" in window || document.querySelector("iframe, img, object, embed, base, form form, .answer script, .answer style") !== null`) {
			t.Errorf("%s: something of a text is alive", when)
		}
		if found := js[[]string](b, "violations"); len(found) > 0 {
			t.Errorf("%s: %v", when, found)
		}
		if wide := js[int](b, "document.documentElement.scrollWidth"); wide > 900 {
			t.Errorf("%s: %d wide", when, wide)
		}
		if hidden := js[bool](b, `/[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u001b]/.test(document.getElementById("thread").textContent)`); hidden {
			t.Errorf("%s: characters that hide or reorder", when)
		}
	}
	// All questions but the last are sent by the page's own script, one after the other.
	for i := range texts {
		_ = js[bool](b, fmt.Sprintf(`(() => { const m = document.getElementById("model"); m.selectedIndex = %d %% m.options.length; const s = document.getElementById("say"); s.value = "%d"; document.getElementById("composer").requestSubmit(); return true })()`, i, i))
		b.until(`document.querySelector("[aria-busy]") === null`)
		if i%20 == 19 || i == len(texts)-1 {
			_ = js[bool](b, `[...document.querySelectorAll("details")].forEach(d => { d.open = true }), true`)
			alive(fmt.Sprintf("after text %d", i))
		}
	}
	if n := js[int](b, `document.querySelectorAll(".said").length`); n > 120 {
		t.Errorf("%d messages on the page", n)
	}
	at := strings.TrimPrefix(js[string](b, "location.pathname"), "/ops/")
	for n := 2 * len(texts); n > 0; n -= 40 {
		b.visit(fmt.Sprintf("%s?at=%d", at, n))
		_ = js[bool](b, `[...document.querySelectorAll("details:not(.thought)")].forEach(d => { d.open = true }), true`)
		alive(fmt.Sprintf("kept, at %d", n))
	}
	if out := b.elsewhere(); len(out) > 0 || b.dialogs > 0 {
		t.Errorf("requests to %v, %d dialogs", out, b.dialogs)
	}
}

// TestChatLooks takes pictures of the chat, if SOTTO_SHOTS names a folder, and lets
// axe-core look at it.
func TestChatLooks(t *testing.T) {
	k := talkWith(t, upstream.New(upstream.Options{}))
	b := open(t, k.base)
	axe := axeCore(t)
	b.look(1440, "light")
	b.visit("chat/new")
	for _, m := range []string{"qwen3:8b", "narrate", "gpt-oss:20b", "breaks-off", "prose"} {
		_ = js[string](b, `document.getElementById("model").value = "`+m+`"`)
		b.write("Which months have 31 days in a row? Say it in one sentence, please.")
	}
	at := strings.TrimPrefix(js[string](b, "location.pathname"), "/ops/")
	_ = js[bool](b, `[...document.querySelectorAll(".ask-again")].at(-1).click(), true`)
	b.until(`document.querySelector("#m11") !== null`)
	b.visit("chat/new")
	b.write("Something else about the water cycle")
	for name, path := range map[string]string{"chat": at, "chat-new": "chat/new", "chat-search": at + "?q=months"} {
		for _, width := range []int64{1440, 900, 390, 360} {
			for _, scheme := range []string{"light", "dark"} {
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
				if dir := os.Getenv("SOTTO_SHOTS"); dir != "" && width != 360 {
					png, err := chromedp.Run(b, chromedp.CaptureScreenshot())
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), png, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}
