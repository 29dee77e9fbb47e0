package console

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
)

// TestPlayground drags the cut through a reply: bytes that wait are marked with the
// reason, what follows decides them, and a link shows the same place again. The text
// is in no request's address.
func TestPlayground(t *testing.T) {
	c := console.New(console.Config{Dialects: []string{"default", "qwen3"}})
	s := httptest.NewServer(c)
	t.Cleanup(func() { c.Close(); s.CloseClientConnections(); s.Close() })
	b := open(t, s.URL+"/")
	b.look(1440, "light")
	b.visit("playground#" + url.Values{"text": {cutReply}, "dialect": {"default"}, "at": {"71"}}.Encode())
	b.until(`document.querySelector(".waits") !== null`)
	const left = `document.getElementById("play-bytes").innerText`
	if all := js[string](b, left); all != cutReply {
		t.Errorf("the page shows %q", all)
	}
	if waits := js[string](b, `document.querySelector(".waits").textContent`); waits != "</thinki" || cutReply[63:71] != waits {
		t.Errorf("%q waits", waits)
	}
	at := func() string { return js[string](b, `document.getElementById("play-at").innerText`) }
	if said := at(); !strings.Contains(said, "71 of 107 bytes") || !strings.Contains(said, "8 wait: may begin a marker") {
		t.Errorf("the page says %q", said)
	}
	if said := js[string](b, `document.getElementById("play-reading").innerText`); strings.Contains(said, "553") || !strings.Contains(said, "which tower") {
		t.Errorf("the reading is %q", said)
	}
	b.do(focus("#play-cut"))
	for range 3 {
		b.press(right)
	}
	b.until(`document.getElementById("play-at").innerText.includes("waits for the line's end")`)
	b.press(right)
	b.until(`document.querySelector(".waits") === null`)
	b.until(`location.hash.includes("at=75")`)
	if js[int](b, `document.querySelectorAll("#play-bytes .on-markup").length`) != 2 {
		t.Errorf("the close is not certain: %s", js[string](b, left))
	}
	b.press(end)
	b.until(`document.getElementById("play-reading").innerText.includes("553 metres.")`)
	b.do(focus("#play-text"))
	b.press("<", "b", ">")
	b.until(left + `.includes("<b>")`)
	if js[bool](b, `document.querySelector("#play-bytes b") !== null`) {
		t.Error("the text is markup")
	}
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if before, _, _ := strings.Cut(r, "#"); strings.Contains(before, "tower") {
			t.Errorf("a request to %s", r)
		}
	}
}

// TestPlaygroundHostile lets the script show every hostile text, at its end and at a
// cut in its middle.
func TestPlaygroundHostile(t *testing.T) {
	c := console.New(console.Config{})
	s := httptest.NewServer(c)
	t.Cleanup(func() { c.Close(); s.CloseClientConnections(); s.Close() })
	b := open(t, s.URL+"/")
	b.look(900, "light")
	b.visit("playground")
	b.until(`document.getElementById("play-at").innerText !== ""`)
	texts := consoletest.Hostile()
	for len(texts) > 0 {
		part := texts[:min(20, len(texts))]
		texts = texts[len(part):]
		all := strings.ToValidUTF8(strings.Join(part, "\n<think>x</think>\n"), "\ufffd")
		hash := "#" + url.Values{"text": {all}}.Encode()
		_ = js[bool](b, `document.getElementById("play-at").textContent = "", location.hash = `+quoted(hash)+`, true`)
		b.until(`document.getElementById("play-at").innerText !== ""`)
		_ = js[bool](b, `(c => { c.value = Math.floor(c.max / 2); c.dispatchEvent(new Event("input", { bubbles: true })); })(document.getElementById("play-cut")), true`)
		b.until(`document.querySelector("#play-bytes .future") !== null`)
		if js[bool](b, `"hacked" in window || document.querySelector("iframe, img, object, embed, base, #play-panes a[href^='http']") !== null`) {
			t.Errorf("something is alive in %.200q", all)
		}
		if hidden := js[bool](b, `/[\u202a-\u202e\u2066-\u2069\u200b\u{e0041}]/u.test(document.getElementById("play-panes").textContent)`); hidden {
			t.Errorf("hidden characters of %.200q are in the page", all)
		}
		if wide := js[int](b, "document.documentElement.scrollWidth"); wide > 900 {
			t.Errorf("%.100q: %d wide", all, wide)
		}
	}
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
	if out := b.elsewhere(); len(out) > 0 || b.dialogs > 0 {
		t.Errorf("requests to %v, %d dialogs", out, b.dialogs)
	}
}

// Keys of chromedp.
const right, end = kb.ArrowRight, kb.End

func focus(selector string) chromedp.Action[chromedp.Void] { return chromedp.Focus(selector) }

// quoted writes a string of JavaScript.
func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}
