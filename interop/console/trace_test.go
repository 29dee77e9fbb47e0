package console

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
)

// click clicks on what a selector finds first, as a person does: it must be on the page and
// visible.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.until(`document.readyState === "complete" && document.querySelector(` + quoted(selector) + `)?.checkVisibility() === true`)
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool](`window.left = true, document.querySelector(`+quoted(selector)+`).click(), true`)(ctx, t)
		return err
	}))
}

// sees reports whether a reader sees a text without another click: it is in no folded part.
func (b *tab) sees(text string) bool {
	b.t.Helper()
	return js[bool](b, `document.body.innerText.includes(`+quoted(text)+`)`)
}

// TestTwoClicks asks the two questions that people come with, and counts clicks from a list:
// which thought led to this call, and what did the user see; and why did run B fail.
func TestTwoClicks(t *testing.T) {
	base := serve(t, consoletest.Traced(t))
	b := open(t, base)
	b.look(1440, "light")
	for _, q := range []struct {
		list   string
		clicks []string
		see    []string
	}{
		// An exchange with a call: the thought is beside it, and what the client got below.
		{"exchanges", []string{`tr:has(.tag.calls) a.row[href^="exchanges/"]`}, nil},
		{"exchanges?text=taller", []string{`tbody tr:last-child a.row`}, []string{"The tool knows: I call it", "height_of", `{"tower":"CN Tower"}`, "The client got"}},
		// The rest of the conversation: its session.
		{"exchanges?text=taller", []string{`tbody tr:last-child a.row`, `.facts a[href*="sessions?id="]`}, []string{"The tool knows: I call it", "height_of", "553 m", "It has stood by the lake", "The client got"}},
		// A run: the thought, the call, the result and the answer.
		{"runs", []string{`a.row[href="runs/` + consoletest.Good + `"]`}, []string{"I need the trains first", "timetable", "08:30 and 14:10", "Take the train at 08:30"}},
		// Its called agent, nested.
		{"runs", []string{`a.row[href="runs/` + consoletest.Good + `"]`, `.inner > summary`}, []string{"Prices are in the list.", "89 dollars"}},
		{"runs", []string{`a.row[href="runs/` + consoletest.Bad + `"]`}, []string{"Why it failed", consoletest.ToolError, "Now the way back", "31 February"}},
		// The comparison has the tool's error too.
		{"runs/" + consoletest.Good + "/compare?with=" + consoletest.Bad, nil, []string{"28 February", "31 February", consoletest.ToolError}},
		// By the name of a tool.
		{"search?q=timetable&in=tool", []string{`.hits a.row`}, []string{"timetable"}},
	} {
		b.visit(q.list)
		if len(q.clicks) > 2 {
			t.Errorf("%s: %d clicks", q.list, len(q.clicks))
		}
		for _, c := range q.clicks {
			at := js[string](b, "location.href")
			b.click(c)
			if !strings.Contains(c, "summary") {
				b.until("location.href !== " + quoted(at) + ` && document.readyState === "complete"`)
			}
		}
		for _, text := range q.see {
			if !b.sees(text) {
				t.Errorf("%s after %v: nobody sees %q:\n%s", q.list, q.clicks, text, js[string](b, "document.body.innerText.slice(0, 3000)"))
			}
		}
	}
}

// TestTraceLooks looks at traces as TestLooks does, with usual and with ugly texts.
func TestTraceLooks(t *testing.T) {
	b := open(t, serve(t, consoletest.Traced(t)))
	b.looks(map[string]string{
		"trace-list": "exchanges", "trace-run": "runs/" + consoletest.Bad, "trace-good": "runs/" + consoletest.Good, "trace-session": "sessions?id=towers", "trace-exchange": "exchanges?text=taller",
		"trace-compare": "runs/" + consoletest.Good + "/compare?with=" + consoletest.Bad, "trace-event": "events/4", "trace-text": "events/5/text?path=result&at=4&end=9#at", "trace-missing": "exchanges/9999",
		"trace-search": "search?q=timetable",
	})
	dir, run := consoletest.Ugly(t)
	b = open(t, serve(t, dir))
	b.looks(map[string]string{"ugly-run": "runs/" + run, "ugly-exchange": "exchanges/2", "ugly-list": "exchanges", "ugly-event": "events/3"})
	b.look(900, "light")
	b.inert([]string{"runs/" + run, "exchanges/2", "events/3", "events/3/text?path=result", "exchanges"})
}

// TestPlantedFaults compares pairs of runs with one planted fault each: its cause is on the
// first screen, without scrolling and without a click, of at least 18 in 20.
func TestPlantedFaults(t *testing.T) {
	dir, faults := consoletest.Planted(t)
	b := open(t, serve(t, dir))
	b.look(1440, "light")
	found := 0
	for _, f := range faults {
		b.visit("runs/" + f.A + "/compare?with=" + f.B)
		missing := ""
		for _, cause := range f.Cause {
			if !js[bool](b, `(() => {
				const w = document.createTreeWalker(document.getElementById("main"), NodeFilter.SHOW_TEXT);
				for (let n; (n = w.nextNode()); ) {
					const at = n.data.indexOf(`+quoted(cause)+`);
					if (at < 0 || !n.parentElement.checkVisibility()) continue;
					const r = document.createRange();
					r.setStart(n, at); r.setEnd(n, at + `+quoted(cause)+`.length);
					const box = r.getBoundingClientRect();
					if (box.height > 0 && box.top >= 0 && box.bottom <= innerHeight && n.parentElement.getBoundingClientRect().bottom >= box.top) return true;
				}
				return false;
			})()`) {
				missing += " " + cause
			}
		}
		if missing == "" {
			found++
		} else {
			t.Logf("%s: not on the first screen:%s", f.Name, missing)
		}
	}
	t.Logf("%d of %d", found, len(faults))
	if found < 18 || len(faults) != 20 {
		t.Errorf("the cause of %d faults of %d is on the first screen", found, len(faults))
	}
	b.looks(map[string]string{"planted": "runs/" + faults[7].A + "/compare?with=" + faults[7].B, "planted-long": "runs/" + faults[19].A + "/compare?with=" + faults[19].B})
}
