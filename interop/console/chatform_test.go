package console

import (
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	upstream "github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/testing/erasing"
)

// TestChatForm: a question with a form is filled in on its card, by the keyboard. The browser asks for
// what is missing, and nothing is sent before. A dismissal reaches the tool as one.
func TestChatForm(t *testing.T) {
	got := make(chan string, 10)
	up := httptest.NewServer(upstream.New(upstream.Options{}))
	t.Cleanup(up.Close)
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	w, dir := consoletest.Open(t)
	m := &agentmodel.Models{Base: gateway.UpstreamTransport(gateway.Limits{}), Record: w, Agents: []*agent.Agent{erasing.Booker(t, time.Hour, got)}}
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
	b := open(t, k.base)
	b.look(390, "dark")
	b.visit("chat/new")
	_ = js[string](b, `document.getElementById("model").value = "agent/booker"`)
	b.write("Book.")
	b.until(`document.querySelector('.ask[data-state="open"] [name="v.name"]') !== null`)
	if js[bool](b, `document.documentElement.scrollWidth > innerWidth || "hacked" in window`) {
		t.Error("the form is wider than the window, or runs what a server wrote")
	}
	_ = js[bool](b, `document.querySelector(".ask .allow").click(), true`)
	if js[bool](b, `document.querySelector(".ask-form").checkValidity() || document.querySelector("[aria-busy]") !== null`) {
		t.Error("a form without what it needs is sent")
	}
	_ = js[bool](b, `document.querySelector('[name="v.name"]').focus(), true`)
	b.do(chromedp.KeyEvent("Ada\r")) // the enter key answers nothing
	_ = js[bool](b, `document.querySelector('[name="v.extras"] option[value="bike"]').selected = true`)
	_ = js[bool](b, `document.querySelector('[name="v.smoke"]').checked`)
	b.until(`document.querySelector('.ask[data-state="open"]') !== null`)
	if len(got) > 0 {
		t.Fatalf("the enter key sent %s", <-got)
	}
	_ = js[bool](b, `document.querySelector(".ask .allow").click(), true`)
	b.until(`document.querySelector('.ask[data-state="answered"]') !== null`)
	if text, want := <-got, `{"extras":["bike"],"name":"Ada","nights":2,"room":"d","smoke":false}`; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	b.write("Again.")
	b.until(`document.querySelector('.ask[data-state="open"] .dismiss') !== null`)
	_ = js[bool](b, `document.querySelector('.ask[data-state="open"] .dismiss').click(), true`)
	b.until(`document.querySelectorAll('.ask[data-state="answered"]').length === 2`)
	if text := <-got; text != "dismissed" {
		t.Error(text)
	}
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}
