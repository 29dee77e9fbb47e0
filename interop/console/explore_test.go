package console

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
)

// explored serves a record whose events lie between two times. With SOTTO_EFFORT=10 it has
// 10^6 exchanges, in the time that it took to write them.
func explored(t *testing.T) (base string, many bool) {
	t.Helper()
	n := 4000
	effort, _ := strconv.Atoi(os.Getenv("SOTTO_EFFORT"))
	if many = effort >= 10; many {
		n = 1_000_000
	}
	dir := consoletest.Explored(t, n)
	if !many {
		consoletest.Spread(t, dir, time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
	}
	if _, err := sidecar.Make(t.Context(), dir, sidecar.Options{}); err != nil {
		t.Fatal(err)
	}
	return serve(t, dir), many
}

// TestThreeClicks asks the questions for which people come with a record of many exchanges,
// and counts clicks from the start page: how often does a model leak, and since when; and
// which are the ten longest thoughts. It prints how long each click took.
func TestThreeClicks(t *testing.T) {
	base, many := explored(t)
	b := open(t, base)
	b.look(1440, "light")
	for _, q := range []struct {
		name   string
		clicks []string
		see    []string
	}{
		{"how often does a model leak, since when", []string{`.rail a[href$="explore"]`}, []string{consoletest.Leaky + ": a thought stands in the text of 1", "since "}},
		{"the same of one model", []string{`.rail a[href$="explore"]`, `.series a.row-name`}, []string{consoletest.Leaky, "since "}},
		{"its replies", []string{`.rail a[href$="explore"]`, `.series td a[href*="leaked"]`}, []string{consoletest.Leaky, "CN Tower"}},
		{"the ten longest thoughts", []string{`.rail a[href$="explore"]`, `.most a[href*="sort=thought"]`}, []string{consoletest.Pensive, "10 kB"}},
		{"from the list", []string{`a.order[href$="sort=thought"]`}, []string{consoletest.Pensive, "10 kB"}},
		{"failing tools", []string{`.rail a[href$="explore"]`, `.measures a[href*="of=tools"]`, `h2 a[href*="by=tool"]`}, []string{consoletest.Broken, "of the uses of tools failed, since "}},
		{"durations", []string{`.rail a[href$="explore"]`, `.measures a[href*="of=took"]`}, []string{"deepseek-r1:14b", "half of the replies took longer than", "since "}},
	} {
		b.visit("")
		if len(q.clicks) > 3 {
			t.Errorf("%s: %d clicks", q.name, len(q.clicks))
		}
		took := ""
		for _, c := range q.clicks {
			at := js[string](b, "location.href")
			b.click(c)
			b.until("location.href !== " + quoted(at) + ` && document.readyState === "complete"`)
			took += fmt.Sprintf(" %.0f ms (%.0f by the server)", js[float64](b, `performance.getEntriesByType("navigation")[0].loadEventEnd`), js[float64](b, `(e => e.responseStart - e.requestStart)(performance.getEntriesByType("navigation")[0])`))
		}
		t.Logf("%s:%s", q.name, took)
		for _, text := range q.see {
			if !b.sees(text) {
				t.Errorf("%s after %v: nobody sees %q:\n%s", q.name, q.clicks, text, js[string](b, "document.body.innerText.slice(0, 3000)"))
			}
		}
	}
	if many {
		return
	}
	b.visit("explore")
	if first := js[string](b, `document.querySelector("main .says p").textContent`); !strings.Contains(first, "before that") {
		t.Errorf("the page begins with %q", first)
	}
}

// drag drags the pointer from one place to another.
func (b *tab) drag(x1, y1, x2, y2 float64) {
	b.t.Helper()
	b.do(chromedp.MouseEvent(chromedp.MouseMoved, x1, y1), chromedp.MouseEvent(chromedp.MousePressed, x1, y1, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(chromedp.MouseMoved, (x1+x2)/2, (y1+y2)/2, chromedp.ButtonLeft), chromedp.MouseEvent(chromedp.MouseMoved, x2, y2, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, x2, y2, chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

// TestPickTime picks a part of the time by dragging, by the keyboard, and by a click. The
// address has it, and Back returns to the whole.
func TestPickTime(t *testing.T) {
	base, _ := explored(t)
	b := open(t, base)
	b.look(1440, "light")
	whole := "explore?by=caller"
	b.visit(whole)
	place := func(share float64) (x, y float64) {
		box := js[[]float64](b, `(() => { const r = document.getElementById("plot").getBoundingClientRect(); return [r.left, r.top, r.width, r.height] })()`)
		return box[0] + share*box[2], box[1] + box[3]/2
	}
	picked := func() (from, to string) {
		b.until(`new URLSearchParams(location.search).has("from") && document.readyState === "complete"`)
		if by := js[string](b, `new URLSearchParams(location.search).get("by") ?? ""`); by != "caller" {
			t.Errorf("by is %q", by)
		}
		return js[string](b, `new URLSearchParams(location.search).get("from")`), js[string](b, `new URLSearchParams(location.search).get("to")`)
	}
	x1, y := place(0.21)
	x2, _ := place(0.39)
	b.drag(x1, y, x2, y)
	if from, to := picked(); !strings.HasPrefix(from, "2026-11-12T") || !strings.HasPrefix(to, "2026-11-1") || to <= from {
		t.Errorf("the drag picked %s to %s", from, to)
	}
	b.visit(whole)
	_ = js[bool](b, `document.getElementById("plot").focus(), true`)
	b.press(kb.ArrowRight, kb.ArrowRight)
	b.do(chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(chromedp.ModifierShift)))
	b.press("\r")
	if from, to := picked(); from >= to {
		t.Errorf("the keys picked %s to %s", from, to)
	}
	if text := js[string](b, `document.querySelector(".chips").innerText`); !strings.Contains(text, "from") {
		t.Errorf("the chips are %q", text)
	}
	b.visit(whole)
	b.do(chromedp.MouseClickXY(x1, y))
	if from, to := picked(); from >= to {
		t.Errorf("the click picked %s to %s", from, to)
	}
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// TestExploreLooks looks at the screen as TestLooks does.
func TestExploreLooks(t *testing.T) {
	base, _ := explored(t)
	b := open(t, base)
	b.looks(map[string]string{
		"explore": "explore", "explore-one": "explore?model=" + consoletest.Leaky, "explore-took": "explore?of=took", "explore-tools": "explore?of=tools&by=tool", "explore-none": "explore?model=nobody",
		"explore-reached": "explore?of=reached&by=caller", "sorted": "exchanges?sort=thought", "sorted-input": "exchanges?sort=-first_answer&outcome=answered", "summed": "exchanges?sum=1",
	})
	single, _ := consoletest.Attacked(t)
	b = open(t, serve(t, single))
	b.looks(map[string]string{"explore-hostile": "explore?of=took"})
	b.look(900, "light")
	b.inert([]string{"explore?of=took", "explore?of=took&by=caller", "explore?of=failed&by=api", "exchanges?sort=took"})
}

// TestExchangesCompared opens the comparison of an exchange with the one before from its page,
// and looks at it: what differs is on the first screen.
func TestExchangesCompared(t *testing.T) {
	dir := consoletest.Traced(t)
	b := open(t, serve(t, dir))
	b.look(1440, "light")
	b.visit("exchanges?text=taller")
	b.click(`tbody tr:first-child a.row`)
	b.click(`form[action$="/compare"] button`)
	b.until(`location.pathname.endsWith("/compare") && document.readyState === "complete"`)
	for _, text := range []string{"#", "They ", "Open here", "Facts that differ"} {
		if !b.sees(text) {
			t.Errorf("nobody sees %q:\n%s", text, js[string](b, "document.body.innerText.slice(0, 3000)"))
		}
	}
	at := strings.TrimPrefix(js[string](b, "location.href"), b.base)
	b.looks(map[string]string{"exchanges-compared": at})
	ugly, _ := consoletest.Ugly(t)
	b = open(t, serve(t, ugly))
	b.looks(map[string]string{"exchanges-compared-ugly": "exchanges/2/compare?with=2"})
}
