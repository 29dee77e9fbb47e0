package console

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
)

// TestPaper prints an exchange: thoughts are unfolded, long texts are whole, and what
// only a screen needs is left out.
func TestPaper(t *testing.T) {
	w, dir := consoletest.Open(t)
	consoletest.Put(t, w, consoletest.Exchange("m", "p", "<think>The thought on paper.</think>The answer on paper."))
	w.Close()
	b := open(t, serve(t, dir))
	b.look(900, "dark")
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		return err
	}))
	for page, shown := range map[string]string{"exchanges/1": ".thought .words", "exchanges/1?view=compare": ".bytes", "exchanges/1/bytes": ".bytes"} {
		b.visit(page)
		if h := js[float64](b, `document.querySelector("`+shown+`").getBoundingClientRect().height`); h < 10 {
			t.Errorf("%s: %s is %v high", page, shown, h)
		}
		if left := js[[]string](b, `[...document.querySelectorAll(".rail, .top, .forms, .reread, .switch, button")].filter(e => e.getClientRects().length > 0).map(e => e.className || e.tagName)`); len(left) > 0 {
			t.Errorf("%s prints %q", page, left)
		}
		if wide := js[int](b, "document.documentElement.scrollWidth"); wide > 900 {
			t.Errorf("%s: %d wide", page, wide)
		}
		if dark := js[string](b, "getComputedStyle(document.body).backgroundColor"); dark != "rgb(255, 255, 255)" {
			t.Errorf("%s: the paper is %s", page, dark)
		}
	}
}

// TestCopy: the button of the command takes all of it.
func TestCopy(t *testing.T) {
	w, dir := consoletest.Open(t)
	consoletest.Put(t, w, consoletest.Exchange("m", "it's <b>this</b>", "a"))
	w.Close()
	b := open(t, serve(t, dir))
	b.look(390, "light")
	b.visit("exchanges/1?view=curl")
	b.do(chromedp.Click("[data-copy]"))
	b.until(`getSelection().toString() === document.getElementById("command").textContent && getSelection().toString().includes("curl -sS")`)
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}
