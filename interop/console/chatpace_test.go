package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
)

// paced is an upstream that sends a thousand deltas a second: a thought, and then an
// answer with paragraphs, lists and code.
func paced(deltas int) http.Handler {
	words := strings.Fields(strings.Repeat("The quick **brown** fox jumps over the `lazy` dog and on it goes for a while ", 10))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"paced"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		began := time.Now()
		for i := range deltas {
			if ahead := time.Duration(i)*time.Millisecond - time.Since(began); ahead > 0 {
				time.Sleep(ahead)
			}
			text := words[i%len(words)] + " "
			switch i % 120 {
			case 40:
				text = "\n\n- an item\n- another\n\n"
			case 80:
				text = "\n\n```go\nfunc f() int {\n\treturn 1\n}\n```\n\n"
			case 119:
				text = "\n\n"
			}
			member := "content"
			if i < deltas/3 {
				member = "reasoning_content"
			}
			data, _ := json.Marshal(map[string]any{"id": "r", "model": "paced", "choices": []any{map[string]any{"index": 0, "delta": map[string]string{member: text}}}})
			fmt.Fprintf(w, "data: %s\n\n", data)
			_ = http.NewResponseController(w).Flush()
		}
		fmt.Fprint(w, `data: {"id":"r","model":"paced","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
}

// TestChatPace lets a reply of a thousand deltas a second stream into a conversation of
// thousands of messages. What the page holds is bounded, and a frame does not wait for a
// delta. The times are printed; docs/evidence/console.md has those of one machine.
func TestChatPace(t *testing.T) {
	const deltas = 9000
	k := talkWith(t, paced(deltas))
	add := make([]conversation.Message, 4000)
	for i := range add {
		add[i] = conversation.Message{Role: "user", Text: strings.Repeat(fmt.Sprintf("Message %d. ", i+1), 20), Parent: i}
		if i%2 == 1 {
			add[i].Role, add[i].Reply = "assistant", &conversation.Reply{Model: "paced", FirstThought: -1}
		}
	}
	id, err := k.config.Chat.Kept.Create("console/", "console", conversation.Change{Add: add})
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, k.base)
	b.look(1440, "light")
	b.visit("chat/" + id)
	if n := js[int](b, `document.querySelectorAll(".said").length`); n != 40 {
		t.Errorf("%d of %d messages are on the page", n, len(add))
	}
	var opened []float64
	for range 3 { // the first time, the browser starts too
		b.until(`performance.getEntriesByName("first-contentful-paint").length > 0`)
		opened = append(opened, js[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`))
		b.visit("chat/" + id)
	}
	_ = js[bool](b, `window.tasks = [], window.frames = 0, new PerformanceObserver(l => { for (const e of l.getEntries()) tasks.push(e.duration) }).observe({type: "longtask"}),
		requestAnimationFrame(function f() { frames++; requestAnimationFrame(f) }), true`)
	_ = js[bool](b, `window.first = -1, window.sent = performance.now(), new MutationObserver((l, o) => { if (document.querySelector(".reply[aria-busy] .figures")?.textContent || document.querySelector(".reply[aria-busy] .thought:not([hidden])")) { o.disconnect(); requestAnimationFrame(() => setTimeout(() => { first = performance.now() - sent })) } }).observe(document.getElementById("thread"), {subtree: true, childList: true, attributes: true}), true`)
	b.send("go")
	for _, step := range []string{"", `document.querySelector(".reply[aria-busy] details.thought").open = true`} {
		if step != "" {
			_ = js[bool](b, step)
		}
		time.Sleep(500 * time.Millisecond)
	}
	b.until(`document.querySelector("[aria-busy]") === null`)
	got := js[[]float64](b, `[tasks.length, Math.max(0, ...tasks), first, frames, document.querySelectorAll("*").length]`)
	t.Logf("opened %d messages: first paint after %.0f ms, three times; %d deltas: first thought painted after %.0f ms, %v long tasks, the longest %.0f ms, %v frames, %v elements",
		len(add), opened, deltas, got[2], got[0], got[1], got[3], got[4])
	if n := js[int](b, `document.querySelectorAll(".reply:last-child .answer > *").length`); n < 100 || n > 3000 {
		t.Errorf("the answer has %d blocks", n)
	}
	if js[bool](b, `document.querySelector(".reply:last-child .answer").innerText.includes("**brown**") || document.querySelector(".reply:last-child .open") !== null`) {
		t.Error("the answer is not rendered")
	}
	if n := int(got[4]); n > 12_000 {
		t.Errorf("the page has %d elements", n)
	}
	if err := chromedp.Do(b, chromedp.KeyEvent("\u001b")); err != nil {
		t.Fatal(err)
	}
}
