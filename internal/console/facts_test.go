package console_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/record"
)

// TestFactsOfRoute: the page of an exchange names its route and its upstream, and says how
// often the request was sent, what became of
// reasoning in its text, and how its switch of thinking was translated. It has no line for
// what an exchange lacks.
func TestFactsOfRoute(t *testing.T) {
	w, dir := consoletest.Open(t)
	x := consoletest.Exchange("m", "Hi", "<think>No.</think>Yes.")
	consoletest.Put(t, w, x)
	x.Route, x.Leak, x.LeakBytes = "small <models>", "text", 1234
	x.Delivered = &record.Delivery{Display: "tags", Texts: []record.Delivered{{Place: record.PlaceText, Bytes: 9, Spans: []record.DeliveredSpan{{Put: "<think>"}, {Start: 7, End: 9}}}}}
	x.Switch = &record.Switching{Translated: "off; think -> reasoning_effort; exact", Client: record.Say(`{"think":false}`)}
	x.Upstream, x.UpstreamName, x.Retries = "http://10.0.0.7:8000", "big", 3
	x.UpstreamAPI, x.LeftOut, x.Asked = "ollama.chat", []string{"metadata"}, []record.Message{{Role: "user", Text: record.Say("as the client said it")}}
	consoletest.Put(t, w, x)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	base := serve(t, console.Config{Record: consoletest.Store(t, dir)}, "/")
	facts := func(path string) (text string) {
		_, page := get(t, base+path)
		walk(t, page, func(n *html.Node) {
			if n.Data != "dl" || attr(n, "class") != "facts" {
				return
			}
			for d := range n.Descendants() {
				if d.Type == html.TextNode {
					text += strings.TrimSpace(d.Data) + " "
				}
			}
		})
		return text
	}
	want := []string{"Route small <models> ", "Reasoning in the text sent in the text 1.2 kB ", "The client got display tags: 9 bytes in the text ", "The thought was sent in the text ", "Sent again 3 ", "The upstream speaks ollama.chat ", "Left out of the request metadata ", "Switch of thinking off; think -> reasoning_effort; exact "}
	if _, page := get(t, base+"exchanges/2?view=request"); !strings.Contains(page, "as the client said it") {
		t.Error("the messages of the client are not shown")
	}
	with, without := facts("exchanges/2"), facts("exchanges/1")
	if !strings.Contains(with, "Upstream big http://10.0.0.7:8000 ") {
		t.Errorf("the upstream is not named in %q", with)
	}
	for _, w := range want {
		label := strings.Fields(w)[0]
		if !strings.Contains(with, w) || strings.Contains(without, label+" ") {
			t.Errorf("%q is not in %q, or its label is in %q", w, with, without)
		}
	}
}
