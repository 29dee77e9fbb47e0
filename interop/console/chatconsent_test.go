package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/agents/pending"
	upstream "github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/testing/erasing"
)

// talkWithEraser is a console with a chat with an agent that asks before it erases. Its questions
// are open for a time, and erased counts its calls.
func talkWithEraser(t *testing.T, depth int, open time.Duration, erased *atomic.Int64) *talking {
	t.Helper()
	up := httptest.NewServer(upstream.New(upstream.Options{}))
	t.Cleanup(up.Close)
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	w, dir := consoletest.Open(t)
	m := &agentmodel.Models{Base: gateway.UpstreamTransport(gateway.Limits{}), Record: w, Agents: []*agent.Agent{erasing.Agent(t, depth, open, erased)}}
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

// keptAsk keeps a conversation whose reply asks what somebody hostile may ask, and returns its name.
func keptAsk(t *testing.T, k *talking) string {
	t.Helper()
	call := consent.Call{Tool: "erase</code><script>hacked=1</script>\u202eesare", For: strings.Repeat("averylongnamewithoutanyspace", 9)}
	q := consent.About(call, `{"what":"<img src=x onerror=hacked=1>\u202e`+strings.Repeat("averyverylongwordwithoutanyspace", 40)+`","list":[`+strings.Repeat(`"x",`, 400)+`"x"]}`, time.Now().Add(24*time.Hour))
	q.Through = "<b>remote</b> > " + strings.Repeat("librarian", 30) + " > next"
	turn, err := pending.Keep(k.config.Chat.Kept, "console/", pending.Turn{Agent: "eraser", Asked: q})
	if err != nil {
		t.Fatal(err)
	}
	reply := &conversation.Reply{Model: "eraser", FirstThought: -1, FirstAnswer: -1, Asks: &conversation.Asks{Question: conversation.Question(q), Turn: turn}}
	id, err := k.config.Chat.Kept.Create("console/", "console", conversation.Change{Add: []conversation.Message{{Role: "user", Text: "Erase."}, {Role: "assistant", Parent: 1, Reply: reply}}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// askScreens are the screens of a question in its states.
func askScreens(t *testing.T) map[string]map[string]string {
	t.Helper()
	var erased atomic.Int64
	open, late := talkWithEraser(t, 3, 24*time.Hour, &erased), talkWithEraser(t, 1, time.Nanosecond, &erased)
	done := talkWithEraser(t, 1, 24*time.Hour, &erased)
	answered := asked(t, done.base, "agent/eraser", "Erase.")
	consents(t, done, answered)
	return map[string]map[string]string{
		open.base: {"consent chosen": "chat/" + asked(t, open.base, "agent/eraser", "Erase."), "consent hostile": "chat/" + keptAsk(t, open)},
		late.base: {"consent late": "chat/" + asked(t, late.base, "agent/eraser", "Erase.")},
		done.base: {"consent answered": "chat/" + answered},
	}
}

// consents allows the call of the second message of a conversation.
func consents(t *testing.T, k *talking, id string) {
	t.Helper()
	f, err := k.config.Chat.Kept.Get("console/", id)
	if err != nil {
		t.Fatal(err)
	}
	q := f.Messages[1].Reply.Asks
	body, _ := json.Marshal(map[string]any{"id": id, "at": 2, "question": q.ID, "digest": q.Digest, "agree": true})
	resp, err := http.Post(k.base+"chat/consent", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s %s %v", resp.Status, text, err)
	}
}

// TestChatConsent: the question of an agent is a card with its arguments and two buttons, which
// the keyboard reaches. A text does not answer it. It is there after a reload, in another
// window and after a restart; and whoever answers second is told.
func TestChatConsent(t *testing.T) {
	var erased atomic.Int64
	k := talkWithEraser(t, 3, 24*time.Hour, &erased)
	b := open(t, k.base)
	b.look(390, "dark")
	b.visit("chat/new")
	_ = js[string](b, `document.getElementById("model").value = "agent/eraser"`)
	b.write("Erase.")
	cards := func(b *tab, n int, state string) {
		b.t.Helper()
		b.until(fmt.Sprintf(`document.querySelectorAll('.ask[data-state="%s"]').length === %d`, state, n))
	}
	cards(b, 1, "open")
	if said := js[string](b, `document.getElementById("asked").textContent`); !strings.HasSuffix(said, "consent to call erase") {
		t.Errorf("a screen reader hears %q", said)
	}
	shown := js[string](b, `document.querySelector(".ask").innerText`)
	for _, want := range []string{"erase", "next › next", "console", `"what": "a [21 bytes of reasoning are not shown]"`, "a message in the chat does not answer", "Allow\nRefuse"} {
		if !strings.Contains(strings.ReplaceAll(shown, "\n\n", "\n"), want) {
			t.Errorf("the card does not have %q: %s", want, shown)
		}
	}
	b.write("yes")
	cards(b, 2, "open")
	if n := erased.Load(); n != 0 {
		t.Fatalf("a text made %d calls", n)
	}
	b.reload()
	cards(b, 2, "open")
	at := js[string](b, "location.href")
	other := open(t, k.base)
	other.visit(strings.TrimPrefix(at, k.base))
	cards(other, 2, "open")

	// The keyboard goes from the arguments to the buttons.
	_ = js[bool](b, `[...document.querySelectorAll(".ask .arguments")].at(-1).focus(), true`)
	b.do(chromedp.KeyEvent("\t"))
	if got := js[string](b, "document.activeElement.textContent"); got != "Allow" {
		t.Errorf("after the arguments comes %q", got)
	}
	b.do(chromedp.KeyEvent("\r"))
	cards(b, 1, "answered")
	cards(b, 2, "open") // the first one, and that of the second call
	if n := erased.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
	_ = js[bool](other, `[...document.querySelectorAll(".ask .allow")].at(-1).click(), true`)
	other.until(`[...document.querySelectorAll(".ask-fault")].some(e => e.checkVisibility() && e.textContent.includes("answered before"))`)
	cards(other, 1, "answered")

	k.start() // a new process
	b.base = k.base
	b.visit(strings.TrimPrefix(at, strings.SplitAfter(at, "/ops/")[0]))
	cards(b, 2, "open")
	_ = js[bool](b, `[...document.querySelectorAll(".ask .refuse")].at(-1).click(), true`)
	cards(b, 2, "answered")
	b.until(`document.querySelector("[aria-busy]") === null && [...document.querySelectorAll(".reply > .answer")].at(-1).innerText.includes("The next one has answered.")`)
	if n := erased.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// TestChatConsentCloses: a question that nobody answers in time says so by itself.
func TestChatConsentCloses(t *testing.T) {
	var erased atomic.Int64
	k := talkWithEraser(t, 1, 2*time.Second, &erased)
	b := open(t, k.base)
	b.look(1440, "light")
	b.visit("chat/new")
	_ = js[string](b, `document.getElementById("model").value = "agent/eraser"`)
	b.write("Erase.")
	b.until(`document.querySelector('.ask[data-state="late"]') !== null`)
	if js[bool](b, `document.querySelector(".ask button") !== null`) || erased.Load() != 0 {
		t.Error("a question that has closed can be answered")
	}
}

// TestChatConsentScope: who may not consent sees the card, without buttons, and why.
func TestChatConsentScope(t *testing.T) {
	var erased atomic.Int64
	k := talkWithEraser(t, 1, 24*time.Hour, &erased)
	k.config.Tokens = []access.Token{{Name: "ann", Secret: "secret-of-ann-0123456789", Scopes: []access.Scope{access.Console, access.Record, access.Models}}}
	k.start()
	b := open(t, k.base)
	b.look(390, "light")
	b.visit("chat/new")
	b.do(chromedp.SendKeys("input[name=token]", "secret-of-ann-0123456789\r"))
	b.until(`document.getElementById("model") !== null`)
	_ = js[string](b, `document.getElementById("model").value = "agent/eraser"`)
	b.write("Erase.")
	b.until(`document.querySelector('.ask[data-state="open"] .ask-may') !== null`)
	if js[bool](b, `document.querySelector(".ask button") !== null`) || !strings.Contains(js[string](b, `document.querySelector(".ask-may").innerText`), "needs the scopes models and consent") {
		t.Error(js[string](b, `document.querySelector(".ask").innerText`))
	}
}
