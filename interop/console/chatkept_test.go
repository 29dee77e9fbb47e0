package console

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	upstream "github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/model"
)

// paintScript is an agent that calls another one, and a tool that there is not.
const paintScript = `
- when: {system: "^You mix", step: 1}
  text: "<think>Red and white.</think>Mixed pink."
- when: {step: 1, user: Paint}
  text: "<think>The mixer knows colours.</think>Let me see."
  calls: [{name: mixer, arguments: {task: "Mix a light red."}}, {name: brush, arguments: {size: 4}}]
- text: "<think>Pink, and no brush.</think>It is pink. I have no brush."
`

// talkWithAgent is a console with a chat with an agent, whose runs are recorded.
func talkWithAgent(t *testing.T) *talking {
	t.Helper()
	s, err := model.ReadScript(strings.NewReader(paintScript), "script.yaml")
	if err != nil {
		t.Fatal(err)
	}
	up := httptest.NewServer(upstream.New(upstream.Options{}))
	t.Cleanup(up.Close)
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	w, dir := consoletest.Open(t)
	m := &agentmodel.Models{Base: gateway.UpstreamTransport(gateway.Limits{}), Record: w, Agents: []*agent.Agent{{
		Name: "painter", System: "You paint.",
		Turn: agent.Turn{Model: model.NewScripted("scripted", s), Start: "outside", Limits: agent.Limits{Attempts: 1}, Agents: []agent.Subagent{{Name: "mixer", System: "You mix."}}},
	}}}
	g, err := gateway.New(gateway.Config{Upstream: base, Transport: m, Separated: m.Has, Templates: true, Recorder: w})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(); m.Close(); _ = w.Close() })
	k := &talking{t: t, config: console.Config{
		Record: consoletest.Store(t, dir), Name: "audit", Dialects: []string{"default"},
		Chat: &console.Chat{Gateway: g, Kept: &conversation.Store{Folder: filepath.Join(t.TempDir(), "conversations")}},
	}}
	k.start()
	return k
}

// reload reloads the page, and waits for the new one.
func (b *tab) reload() {
	b.t.Helper()
	_ = js[bool](b, `window.left = true, location.reload(), true`)
	b.until(`!("left" in window) && document.readyState === "complete"`)
}

// TestChatAgent talks with an agent: its calls are cards in their order, with their results
// and the steps of the agent that it called, when they come and when the page is opened
// again, and one click leads to the run.
func TestChatAgent(t *testing.T) {
	b := open(t, talkWithAgent(t).base)
	b.look(1440, "light")
	b.visit("chat/new")
	_ = js[string](b, `document.getElementById("model").value = "agent/painter"`)
	b.write("Paint it")
	cards := func(when string) {
		t.Helper()
		b.until(`document.querySelectorAll(".steps .call").length >= 2 && document.querySelector(".steps .call.failed") !== null`)
		got := js[[]string](b, `[...document.querySelectorAll(".reply .steps > .trace > .step > .what")].map(e => e.innerText.split("\n")[0])`)
		if all := strings.Join(got, " | "); len(got) != 4 || !strings.HasPrefix(all, "thought") || !strings.Contains(all, "agent mixer") || !strings.Contains(all, "brush") {
			t.Errorf("%s: the steps are %q", when, got)
		}
		if text := js[string](b, `document.querySelector(".reply .steps").innerText`); !strings.Contains(text, "Mixed pink.") || !strings.Contains(text, "Mix a light red.") {
			t.Errorf("%s: the cards have %q", when, text)
		}
		if js[bool](b, `[...document.querySelectorAll(".narrations, .reply > .thought, .reply > .calls")].some(e => e.checkVisibility())`) {
			t.Errorf("%s: the merged narration, thought or calls are shown too", when)
		}
		if got := b.answers(); len(got) != 1 || !strings.Contains(got[0], "It is pink.") {
			t.Errorf("%s: the answers are %q", when, got)
		}
	}
	cards("when it came")
	b.reload()
	cards("after a reload")
	b.click(".reply a.raw")
	b.until(`location.pathname.includes("/runs/") && document.readyState === "complete" && document.body.innerText.includes("Mixed pink.")`)
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// saying is an upstream that says one text, in pieces.
func saying(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for piece := range slices.Chunk([]rune(text), 11) {
			data, _ := json.Marshal(map[string]any{"id": "r", "model": "m", "choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": string(piece)}}}})
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
		fmt.Fprint(w, `data: {"id":"r","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
}

// whatIsSaid has formulas, images, and text that runs from right to left.
const whatIsSaid = `# מגדל

The height $h_1^2$ and \(\frac{a}{b}\) cost $5 or $6. A broken one: $\frac{$ stays.

\[
\sum_{i=1}^{n} \frac{1}{i^2}
= \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}
\]

המגדל הוא בגובה 553 מטר, וזה הרבה.

![a dot](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==) and ![the tower](https://elsewhere.invalid/tower.png) are images.

$\href{javascript:window.hacked=1}{x}$ and $\style{position:fixed}{y}$ and $` + `\def\x{\x\x}\x$.
`

// TestChatShows: formulas are typeset without a request to elsewhere, as they come and from
// the conversation; images are shown or named; each paragraph has its own direction; a copy
// has what was said.
func TestChatShows(t *testing.T) {
	b := open(t, talkWith(t, saying(whatIsSaid)).base)
	b.look(900, "light")
	b.visit("chat/new")
	b.write("Say it")
	for _, when := range []string{"when it came", "after a reload"} {
		b.until(`document.querySelectorAll(".answer code.math math").length >= 3 && document.querySelector(".answer code.display math mfrac") !== null`)
		b.until(`document.querySelectorAll(".answer code.math:not([data-said])").length === 0`)
		if n := js[int](b, `document.querySelectorAll(".answer math msubsup, .answer math munderover, .answer math mtable").length`); n != 3 {
			t.Errorf("%s: %d of 3 parts of formulas", when, n)
		}
		if js[bool](b, `"hacked" in window || [...document.querySelectorAll("math *")].some(e => e.hasAttribute("href") || getComputedStyle(e).position === "fixed")`) {
			t.Errorf("%s: a formula is alive", when)
		}
		if got := js[[]string](b, `[...document.querySelectorAll(".answer img")].map(i => i.alt + " " + i.naturalWidth)`); fmt.Sprint(got) != "[a dot 1]" {
			t.Errorf("%s: the images are %q", when, got)
		}
		if text := js[string](b, `document.querySelector(".answer").innerText`); !strings.Contains(text, "image: the tower") || !strings.Contains(text, "cost $5 or $6") || !strings.Contains(text, `$\frac{$`) {
			t.Errorf("%s: the answer has %q", when, text)
		}
		// The Hebrew paragraph begins at the right edge, the English ones at the left.
		edge := func(words string) string {
			return js[string](b, `(() => { const p = [...document.querySelectorAll(".answer p")].find(p => p.textContent.includes(`+quoted(words)+`)), r = document.createRange(); r.selectNodeContents(p); const t = r.getBoundingClientRect(), box = p.getBoundingClientRect(); return Math.abs(t.right - box.right) < 2 && t.left > box.left + 20 ? "right" : Math.abs(t.left - box.left) < 2 ? "left" : "?"; })()`)
		}
		if r, l := edge("בגובה"), edge("are images"); r != "right" || l != "left" {
			t.Errorf("%s: the paragraphs begin at %s and %s", when, r, l)
		}
		b.reload()
	}
	// The clipboard of a selection, and that of the button.
	b.until(`document.querySelectorAll(".answer code.math math").length >= 3`)
	_ = js[bool](b, `(() => { getSelection().selectAllChildren(document.querySelector(".answer")); const e = new ClipboardEvent("copy", { clipboardData: new DataTransfer(), bubbles: true, cancelable: true }); document.dispatchEvent(e); window.copied = e.clipboardData.getData("text/plain"); return e.defaultPrevented })()`)
	if got := js[string](b, "window.copied"); !strings.Contains(got, `$h_1^2$ and \(\frac{a}{b}\) cost`) || !strings.Contains(got, `\sum_{i=1}^{n}`) {
		t.Errorf("a copy of the answer is %q", got)
	}
	_ = js[bool](b, `navigator.clipboard.writeText = async t => { window.copied = t }, document.querySelector(".reply .copy-this").click(), true`)
	b.until(`document.querySelector(".reply .copy-this").textContent === "Copied"`)
	if got := js[string](b, "window.copied"); got != whatIsSaid {
		t.Errorf("the button copies %q", got)
	}
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
	for _, r := range b.elsewhere() {
		if !strings.HasPrefix(r, "data:") {
			t.Errorf("a request to %s", r)
		}
	}
}

// TestChatRefused: a message that the server refuses is back where it was written, and the
// page shows what is kept.
func TestChatRefused(t *testing.T) {
	k := talkWith(t, saying("Yes."))
	b := open(t, k.base)
	b.look(900, "light")
	b.visit("chat/new")
	b.write("One?")
	b.write("Two?")
	before := js[string](b, `document.getElementById("thread").innerText`)
	_ = js[bool](b, `window.real = window.fetch, window.fetch = async () => new Response('{"error":{"message":"no room: try again later"}}', { status: 503 }), true`)
	b.send("Three?")
	b.until(`document.getElementById("refused").innerText === "no room: try again later" && document.getElementById("say").value.trim() === "Three?" && document.getElementById("stop").hidden`)
	_ = js[bool](b, `document.querySelector("#m1 .edit-this").click(), document.querySelector("form.edit textarea").value = "Uno?", document.querySelector("form.edit").requestSubmit(), true`)
	b.until(`document.querySelectorAll(".said").length === 4 && document.querySelector("#m1 form.edit textarea").value === "Uno?"`)
	_ = js[bool](b, `document.querySelector("form.edit .cancel").click(), true`)
	if got := js[string](b, `document.getElementById("thread").innerText`); got != before {
		t.Errorf("the page has %q, not %q", got, before)
	}
	_ = js[bool](b, `window.fetch = window.real, true`)
	_ = js[bool](b, `document.getElementById("composer").requestSubmit(), true`)
	b.until(`document.querySelectorAll(".said").length === 6 && document.querySelector("[aria-busy]") === null`)
	if got := js[[]string](b, `[...document.querySelectorAll(".user .words")].map(e => e.innerText)`); fmt.Sprint(got) != "[One? Two? Three?]" {
		t.Errorf("the questions are %q", got)
	}
}

// TestChatOrders does what people do in random orders, in the page itself: what it shows
// after each is what it shows after a reload, and every question stands after what was seen.
func TestChatOrders(t *testing.T) {
	k := talkWith(t, upstream.New(upstream.Options{}))
	b := open(t, k.base)
	b.look(900, "light")
	const shown = `[...document.querySelectorAll(".said")].map(e => e.dataset.n + ">" + e.dataset.parent + " " + (e.querySelector(".at-branches")?.textContent ?? "").replace(/\s/g, "") + " " + (e.classList.contains("user") ? e.querySelector(".words").innerText : e.querySelector(".answer").innerText).trim())`
	const idle = `document.querySelector("[aria-busy]") === null && document.readyState === "complete" && !("underWay" in document.getElementById("talk").dataset)`
	r := rand.New(rand.NewPCG(7, 42))
	b.visit("chat/new")
	_ = js[string](b, `document.getElementById("model").value = "plain"`)
	b.write("question 0")
	for i := 1; i <= 24; i++ {
		seen := js[[]string](b, shown)
		what := []string{"send", "stop", "edit", "again", "branch", "reload"}[r.IntN(6)]
		pick := func(selector string) string {
			return fmt.Sprintf(`[...document.querySelectorAll(%q)][%d %% document.querySelectorAll(%q).length]`, selector, r.IntN(100), selector)
		}
		text := fmt.Sprintf("question %d", i)
		switch what {
		case "send", "stop":
			_ = js[string](b, `document.getElementById("model").value = "`+map[string]string{"send": "plain", "stop": "long"}[what]+`"`)
			b.send(text)
			if what == "stop" {
				_ = js[bool](b, `document.getElementById("stop").click(), true`)
			}
			b.until(idle)
			now := js[[]string](b, shown)
			if len(now) != len(seen)+2 || !slices.Equal(now[:len(seen)], seen) || !strings.HasSuffix(now[len(seen)], text) || !strings.Contains(now[len(seen)], ">"+strings.Split(seen[len(seen)-1], ">")[0]+" ") {
				t.Fatalf("%d: %s after\n%s\nis\n%s", i, what, strings.Join(seen, "\n"), strings.Join(now, "\n"))
			}
		case "edit":
			_ = js[bool](b, `(() => { const e = `+pick(".user .edit-this")+`; e.click(); const f = e.closest(".said").querySelector("form.edit"); f.querySelector("textarea").value = "`+text+`"; f.requestSubmit(); return true })()`)
			b.until(idle)
			if now := js[[]string](b, shown); !strings.Contains(now[len(now)-2], text) {
				t.Fatalf("%d: the edit is %q", i, now)
			}
		case "again":
			_ = js[bool](b, pick(".reply .ask-again")+`.click(), true`)
			b.until(idle)
		case "branch":
			if js[bool](b, `document.querySelector(".branches a") !== null`) {
				_ = js[bool](b, `window.left = true, `+pick(".branches a")+`.click(), true`)
				b.until(`!("left" in window) && ` + idle)
			}
		}
		now := js[[]string](b, shown)
		b.reload()
		b.until(idle)
		if again := js[[]string](b, shown); !slices.Equal(again, now) {
			t.Fatalf("%d: after %s the page has\n%s\nand after a reload\n%s", i, what, strings.Join(now, "\n"), strings.Join(again, "\n"))
		}
		_ = js[string](b, `document.getElementById("model").value = "plain"`)
	}
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}
