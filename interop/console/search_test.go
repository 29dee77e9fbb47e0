package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
)

// TestSearchStreams searches a record that is longer than a page without scripts
// searches: the hits come by themselves, up to a bound, and Search on gives others.
func TestSearchStreams(t *testing.T) {
	w, dir := consoletest.Open(t)
	const events = 220
	for i := range events {
		text := fmt.Sprintf("<think>%s</think>number %d <img src=x onerror=window.hacked=1>\u202e", strings.Repeat("filler ", 40_000), i)
		consoletest.Put(t, w, consoletest.Exchange("m", "p", text))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(t, serve(t, dir))
	b.look(1440, "light")
	b.visit("search?q=onerror&in=answer")
	const count = `document.querySelectorAll(".hits li").length`
	b.until(count + ` > 100 && document.getElementById("search-stop").hidden`)
	first := js[int](b, count)
	if said := js[string](b, `document.getElementById("search-said").innerText`); first >= events || !strings.Contains(said, "MB of") {
		t.Errorf("%d hits: %q", first, said)
	}
	if js[bool](b, `"hacked" in window || document.querySelector("#found img") !== null || document.getElementById("found").textContent.includes("\u202e")`) {
		t.Error("a hit is alive")
	}
	b.press("j")
	if to := js[string](b, `document.activeElement.getAttribute("href")`); !strings.HasPrefix(to, "exchanges/220/bytes?at=") {
		t.Errorf("the first row leads to %s", to)
	}
	_ = js[bool](b, `document.getElementById("search-on").click(), true`)
	b.until(`location.search.includes("before=") && !!document.getElementById("search-said")?.innerText.includes("the whole record")`)
	if rest := js[int](b, count); first+rest != events {
		t.Errorf("%d and %d hits, want %d", first, rest, events)
	}
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}
