package console

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/effort"
	upstream "github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
)

// A seenScreen is a page in a state in which somebody sees it. Each screen of the rail has the
// states empty, chosen, failed, long, hostile and right to left, as far as it can be in them.
type seenScreen struct{ name, base, path string }

// seenScreens are the screens in their states. To test a new screen, add it here: TestScreens
// fails if a screen of the rail is missing.
func seenScreens(t *testing.T) (list []seenScreen) {
	t.Helper()
	of := func(base string, pages map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(pages)) {
			list = append(list, seenScreen{name, base, pages[name]})
		}
	}
	w, none := consoletest.Open(t)
	t.Cleanup(func() { w.Close() })
	of(serve(t, none), map[string]string{
		"exchanges empty": "exchanges", "runs empty": "runs", "search empty": "search", "memory empty": "memory", "health empty": "health", "explore empty": "explore", "playground empty": "playground",
		"views empty": "health/views", "event failed": "events/7", "run failed": "runs/none",
	})
	of(serve(t, consoletest.Traced(t)), map[string]string{
		"exchanges chosen": "exchanges", "exchanges filtered": "exchanges?model=qwen3:8b&text=tower", "exchanges failed": "exchanges?limit=x", "explore chosen": "explore", "explore failed": "explore?of=nothing", "exchanges sorted": "exchanges?sort=thought&sum=1", "run chosen": "runs/" + consoletest.Good, "run failing": "runs/" + consoletest.Bad,
		"runs chosen": "runs", "comparison chosen": "runs/" + consoletest.Good + "/compare?with=" + consoletest.Bad, "session right to left": "sessions?id=towers", "search chosen": "search?q=tower", "event chosen": "events/4", "text chosen": "events/5/text?path=result&at=4&end=9#at",
	})
	ugly, run := consoletest.Ugly(t)
	of(serve(t, ugly), map[string]string{"exchange hostile": "exchanges/2", "run hostile": "runs/" + run, "exchanges hostile": "exchanges", "explore hostile": "explore", "event hostile": "events/3", "runs hostile": "runs", "search hostile": "search?q=line"})
	many, _ := consoletest.Runs(t)
	of(serve(t, many), map[string]string{
		"run long": "runs/" + consoletest.First, "reflections": "runs/" + consoletest.First + "?view=reflections", "run memory": "runs/" + consoletest.First + "?view=memory&cycle=2", "memory chosen": "memory", "runs long": "runs", "evaluation chosen": "evaluation?with=1", "evaluation answer": "evaluation/1", "evaluation compared": "evaluation/1?with=1", "evaluation gained": "evaluation?with=1&change=gained", "evaluation failed": "evaluation/9999",
	})
	crowded, _ := consoletest.Crowded(t)
	of(serve(t, crowded), map[string]string{"list hostile": "exchanges", "reply hostile": "exchanges/4", "bytes hostile": "exchanges/4/bytes", "compare hostile": "exchanges/4?view=compare", "parting hostile": "exchanges/4/compare?with=3", "request hostile": "exchanges/4?view=request"})
	streams, _ := consoletest.Streams(t)
	of(serve(t, streams), map[string]string{"streams chosen": "runs/" + consoletest.WithMemory + "/compare?with=" + consoletest.WithoutMemory, "streams problem": "runs/" + consoletest.WithMemory + "/compare?with=" + consoletest.WithoutMemory + "&cycle=2&beside=10", "streams empty": "runs/" + consoletest.WithMemory + "/compare?with=" + consoletest.WithMemory, "streams failed": "runs/" + consoletest.WithMemory + "/compare?with=none"})
	for name, base := range schedulesIn(t) {
		of(base, map[string]string{name: "schedules"})
	}
	k := talkWith(t, upstream.New(upstream.Options{}))
	of(k.base, map[string]string{"chat empty": "chat/new", "chat failed": "chat/nothing", "chat chosen": "chat/" + keptChat(t, k.config.Chat.Kept, "How tall?", "A **tower**, $h^2$ metres.\n\n- one\n- two"), "chat silent": "chat/" + keptChat(t, k.config.Chat.Kept, "How tall?", ""),
		"chat right to left": "chat/" + keptChat(t, k.config.Chat.Kept, "מה גובה המגדל?", "# מגדל\n\nהמגדל בגובה 553 מטר.\n\n- אחת\n- שתיים"), "chat long": "chat/" + keptChat(t, k.config.Chat.Kept, strings.Repeat("averyverylongwordwithoutanyspace", 30), strings.Repeat("| a | b | c |\n", 1)+strings.Repeat("word ", 900)+"\n\n```\n"+strings.Repeat("x", 900)+"\n```\n"),
		"chat hostile": "chat/" + keptChat(t, k.config.Chat.Kept, "</div><script>hacked=1</script>\u202eevil", "<img src=x onerror=hacked=1> ![x](javascript:x) $\\href{x}{y}$")})
	of(shelf(t), map[string]string{"studies chosen": "studies", "study long": "studies/unfinished", "study streams": "studies/streams", "study failed": "studies/none", "study cells failed": "studies/unfinished/compare?a=x&b=y", "streams of a study": "studies/streams/compare?a=m0-v1-r1&b=m0-v0-r1"})
	for state, text := range saidTexts() {
		of(serve(t, consoletest.Said(t, text)), saidScreens(state, text))
		of(shelfOf(t, text), map[string]string{"studies " + state: "studies", "study " + state: "studies/shelf"})
	}
	of(serveStudies(t, t.TempDir()), map[string]string{"studies empty": "studies", "evaluation empty": "evaluation"})
	several := replicate(t)
	for i, x := range several.all {
		for range 2 + i {
			consoletest.Put(t, x.Writer, consoletest.Exchange("qwen3:8b", "Which tower?", "<think>Which?</think>Toronto's."))
		}
	}
	first := several.all[0]
	of(first.Server.URL+"/", map[string]string{"gateways chosen": "exchanges", "gateways sorted": "exchanges?sort=thought", "gateways runs": "runs", "gateways explored": "explore", "gateways searched": "search?q=tower", "gateways health": "health", "gateway here": "health?here", "gateway alone": console.AtGateway(first.Writer.ID()) + "exchanges/1", "gateway health": console.AtGateway(first.Writer.ID()) + "health", "gateway failed": "at/none/exchanges"})
	gone := replicate(t)
	consoletest.Put(t, gone.all[0].Writer, consoletest.Exchange("qwen3:8b", "Which tower?", "<think>Which?</think>Toronto's."))
	gone.all[1].Server.Close()
	of(gone.all[0].Server.URL+"/", map[string]string{"gateways failed": "exchanges", "gateways health gone": "health", "gateways search gone": "search?q=tower", "gateways explore gone": "explore"})
	painter := talkWithAgent(t)
	of(painter.base, map[string]string{"chat with an agent": "chat/" + asked(t, painter.base, "agent/painter", "Paint it")})
	for base, pages := range askScreens(t) {
		of(base, pages)
	}
	of(taskScreens(t))
	return list
}

// saidTexts are the texts that fill every screen, by the state that it then is in.
func saidTexts() map[string]string {
	return map[string]string{
		"right to left": "מגדל בגובה 553 מטר, ולידו (CN Tower) מגדל נוסף. ",
		"long":          strings.Repeat("averyverylongwordwithoutanyspace", 30),
		"hostile":       strings.Join(consoletest.Hostile()[:40], " "),
	}
}

// saidScreens are the screens of a record whose texts are all one text.
func saidScreens(state, text string) map[string]string {
	list := map[string]string{}
	for name, path := range map[string]string{
		"exchanges": "exchanges", "exchange": "exchanges/1", "explore": "explore", "runs": "runs", "run": "runs/" + consoletest.SaidRun, "run memory": "runs/" + consoletest.SaidRun + "?view=memory&cycle=1",
		"memory": "memory", "evaluation": "evaluation?file=2", "verdict": "evaluation/1?file=2", "event": "events/5", "health": "health", "search": "search?" + url.Values{"q": {text[:min(len(text), 12)]}}.Encode(),
		"playground": "playground#" + url.Values{"text": {"<think>" + text + "</think>" + text}}.Encode(),
	} {
		list["said: "+name+" "+state] = path
	}
	if state == "right to left" {
		list["health chosen"], list["playground chosen"] = "health", list["said: playground "+state]
	}
	return list
}

// shelfOf serves a study whose labels and question are a text.
func shelfOf(t *testing.T, text string) (base string) {
	t.Helper()
	dir := t.TempDir()
	shelf := filepath.Join(dir, "shelf")
	m := studytest.Streams(t, shelf, studytest.Grid{Models: []string{text}, Modes: []string{"io", "template"}, Repetitions: 2, Size: 6})
	m.Name, m.Question = text, text
	if err := study.WriteManifest(shelf, m); err != nil {
		t.Fatal(err)
	}
	return serveStudies(t, dir)
}

// states are those in which each screen of the rail is looked at. All are also looked at on a
// phone and in the dark.
var states = []string{"empty", "chosen", "failed", "long", "hostile", "right to left"}

// stateless are the states that a screen cannot be in, with the reason.
var stateless = map[string]string{
	"health failed":     "what fails there is the gateway: TestHealth",
	"playground failed": "a reply is any bytes: there is none that fails", "memory failed": "it has no address that names one thing, but for the length of its query",
	"tasks empty": "a task is always something", "tasks long": "its texts are those of a question: consent hostile", "tasks hostile": "its texts are those of a question: consent hostile", "tasks right to left": "its texts are those of a question: consent hostile",
	"events empty": "an event is always something", "search failed": "a pattern that is wrong is said beside the field: TestSearch",
	"sessions empty": "it is the form that asks for an identifier", "sessions hostile": "its steps are those of a run", "sessions long": "its steps are those of a run", "sessions failed": "an identifier that is not known is an empty one", "sessions chosen": "see right to left",
}

// TestStates: every screen is looked at in each state, or cannot be in it.
func TestStates(t *testing.T) {
	seen := map[string]bool{}
	screens := map[string]bool{}
	for _, s := range seenScreens(t) {
		screen := screenOf(s.path)
		if screen == "at" || screen == "a2a" {
			continue // the screens of another gateway
		}
		screens[screen] = true
		for _, state := range states {
			if strings.HasSuffix(s.name, state) {
				seen[screen+" "+state] = true
			}
		}
	}
	for _, screen := range slices.Sorted(maps.Keys(screens)) {
		for _, state := range states {
			if key := screen + " " + state; seen[key] == (stateless[key] != "") {
				t.Errorf("%s: looked at %v, and %q says why it cannot be", key, seen[key], stateless[key])
			}
		}
	}
}

// asked asks a question in a new conversation, and returns its name when it is answered.
func asked(t *testing.T, base, model, text string) (id string) {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"id": "new", "model": model, "text": text})
	resp, err := http.Post(base+"chat/send", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(resp.Body)
	for {
		var e struct{ K, ID string }
		if err := lines.Decode(&e); err != nil {
			return id
		}
		if e.K == "begin" {
			id = e.ID
		}
	}
}

// keptChat keeps a conversation with a question and an answer, and returns its name.
func keptChat(t *testing.T, s *conversation.Store, question, answer string) string {
	t.Helper()
	reply := &conversation.Reply{Model: "qwen3:8b", Thought: 900, ThoughtMillis: 1200, FirstThought: 90, FirstAnswer: 1290, Millis: 3000, Input: 40, Output: 96, Finish: "stop"}
	id, err := s.Create("console/", "console", conversation.Change{Add: []conversation.Message{
		{Role: "user", Text: question, Files: []conversation.Attachment{{Name: "notes.txt", Text: "a"}}}, {Role: "assistant", Text: answer, Parent: 1, Reply: reply}, {Role: "assistant", Text: answer, Parent: 1, Reply: reply},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// geometry finds what is wrong with what a person sees of a page: what sticks out of the
// window, controls that have no name or that lie over each other, texts that lie over other
// texts, texts that are cut without a sign, and rows of a table that are not rows.
const geometry = `(() => {
	const bad = [], add = (what, el) => bad.length < 12 && bad.push(what + ": <" + el.tagName.toLowerCase() + " class=" + JSON.stringify(el.className?.baseVal ?? el.className) + "> " + JSON.stringify(el.textContent.trim().slice(0, 50)));
	const wide = document.documentElement.clientWidth;
	const seen = (el) => el.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !el.closest(".hidden, .skip, template, dialog:not([open])");
	const scrolls = (el) => { for (let p = el; p; p = p.parentElement) { const s = getComputedStyle(p); if (/auto|scroll|hidden|clip/.test(s.overflowX)) return true; } return false; };
	const floats = (el) => { for (let p = el; p; p = p.parentElement) { const s = getComputedStyle(p); if (s.position === "fixed" || s.position === "sticky") return p; } return null; };
	if (document.documentElement.scrollWidth > wide) {
		const far = [...document.querySelectorAll("body *")].filter((el) => el.checkVisibility()).sort((a, b) => b.getBoundingClientRect().right - a.getBoundingClientRect().right);
		add("the page is " + document.documentElement.scrollWidth + " wide, by", far.find((el) => !scrolls(el)) ?? document.body);
	}
	// The texts as they are painted.
	const texts = [];
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; (n = walk.nextNode()); ) {
		const el = n.parentElement;
		if (n.data.trim() === "" || !seen(el) || el.closest("svg:not(:has(.axis)), math, script, style, option, select, textarea, noscript")) continue;
		const r = document.createRange();
		r.selectNodeContents(n);
		for (const box of r.getClientRects()) {
			if (box.width < 2 || box.height < 2) continue;
			texts.push({ el, box, floats: floats(el), scrolls: scrolls(el) });
			if (texts.length > 4000) break;
		}
	}
	for (const { el, box, scrolls } of texts) {
		if (!scrolls && (box.left < -1 || box.right > wide + 1)) add("a text sticks out", el);
	}
	// Texts over texts: only of elements that are not within each other, and that do not float.
	const rest = texts.filter((t) => !t.floats && !t.scrolls && !t.el.closest(".bytes, .raw, pre, .strip")).sort((a, b) => a.box.top - b.box.top);
	for (let i = 0; i < rest.length; i++) {
		for (let k = i + 1; k < rest.length && rest[k].box.top < rest[i].box.bottom - 3; k++) {
			const a = rest[i], b = rest[k];
			if (a.el === b.el || a.el.contains(b.el) || b.el.contains(a.el)) continue;
			const x = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left), y = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
			if (x > 3 && y > 5) add("two texts lie over each other, the other is " + JSON.stringify(b.el.textContent.trim().slice(0, 40)), a.el);
		}
	}
	// The labels of a drawing are within it, and not over each other.
	for (const svg of document.querySelectorAll("main svg")) {
		if (!seen(svg) || getComputedStyle(svg).overflow === "visible") continue;
		const whole = svg.getBoundingClientRect(), labels = [...svg.querySelectorAll("text")].filter((el) => el.textContent.trim() !== "" && seen(el)).map((el) => ({ el, box: el.getBoundingClientRect() }));
		for (const { el, box } of labels) if (box.width > 0 && (box.left < whole.left - 2 || box.right > whole.right + 2)) add("a label is cut at the edge of its drawing", el);
		if (labels.length > 400) continue;
		for (const [i, a] of labels.entries()) for (const b of labels.slice(i + 1)) {
			const x = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left), y = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
			if (x > 3 && y > 5) add("two labels of a drawing lie over each other, the other is " + JSON.stringify(b.el.textContent.trim().slice(0, 40)), a.el);
		}
	}
	// Controls: each has a name that is seen or said, and none lies over another.
	const controls = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")].filter(seen);
	const boxes = [];
	for (const el of controls) {
		const words = (of) => { const copy = of.cloneNode(true); for (const field of copy.querySelectorAll("select, textarea")) field.remove(); return copy.textContent.trim(); };
		const named = (!el.matches("select, textarea") && el.textContent.trim()) || el.getAttribute("aria-label") || el.title || el.placeholder || [...(el.labels ?? [])].map(words).join("");
		if (!named) add("a control without a name", el);
		const box = el.getBoundingClientRect();
		if (box.width > 0 && box.height > 0 && !floats(el) && !scrolls(el) && getComputedStyle(el).display !== "inline") boxes.push({ el, box });
	}
	for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1)) {
		if (a.el.contains(b.el) || b.el.contains(a.el)) continue;
		const x = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left), y = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
		if (x > 3 && y > 3) add("two controls lie over each other, the other is " + JSON.stringify(b.el.textContent.trim().slice(0, 40)), a.el);
	}
	// The places of the rail have their words.
	for (const el of document.querySelectorAll(".rail .place")) {
		const word = el.querySelector("span"), painted = document.createRange();
		if (word) painted.selectNodeContents(word);
		const size = painted.getBoundingClientRect();
		if (seen(el) && (!word || size.height < 8 || size.width < 8 || word.scrollWidth > word.clientWidth + 1 && getComputedStyle(word).display !== "inline")) add("a place of the rail without its whole word", el);
	}
	const here = document.querySelector(".rail [aria-current] span")?.getBoundingClientRect();
	if (here && (here.left < 0 || here.right > wide)) add("the place of the page is not seen in the rail", document.querySelector(".rail [aria-current]"));
	// What is cut says so: an ellipsis, or it scrolls.
	for (const el of document.querySelectorAll("main *")) {
		const s = getComputedStyle(el);
		if (!seen(el) || !/hidden|clip/.test(s.overflowX) || el.closest("svg, .strip") || el.clientWidth === 0) continue;
		if (el.scrollWidth > el.clientWidth + 2 && s.textOverflow !== "ellipsis" && s.webkitLineClamp === "none" && el.children.length === 0) add("a text is cut without a sign", el);
	}
	// The bar at the top says where one is.
	const top = document.querySelector("header.top");
	if (top && !top.querySelector(".trail li")) add("a screen without its name", top);
	// Rows of tables are rows: their cells are on one line, in order, as many as the head has.
	for (const table of document.querySelectorAll("table")) {
		if (!seen(table) || table.matches(".matrix") || getComputedStyle(table).display === "block") continue;
		const wideOf = (tr) => [...tr.cells].reduce((n, c) => n + c.colSpan, 0), head = table.tHead?.rows[0];
		for (const tr of table.querySelectorAll("tbody tr")) {
			if (!seen(tr)) continue;
			if (getComputedStyle(tr).display !== "table-row") { add("a row is not a row", tr); continue; }
			const cells = [...tr.cells].filter(seen);
			if (head && getComputedStyle(head).display === "table-row" && tr.querySelector("[rowspan]") === null && table.querySelector("[rowspan]") === null && wideOf(tr) !== wideOf(head)) add("a row has " + wideOf(tr) + " cells, and its table " + wideOf(head), tr);
			for (let i = 1; i < cells.length; i++) {
				const a = cells[i - 1].getBoundingClientRect(), b = cells[i].getBoundingClientRect();
				if (Math.abs(a.top - b.top) > 1 || b.left < a.right - 1) add("a row is not a row", tr);
			}
		}
	}
	return bad;
})()`

var oneScreen = flag.String("screen", "", "the only screen that TestScreens looks at")

// TestScreens looks at every screen in its states, at two widths and in both colours: nothing
// overlaps, sticks out or is cut without a sign; rows are rows; every control has its name, on a
// phone too; axe-core, which also measures the contrast, finds nothing. Usually it looks at a
// part of them; .ci/long screens looks at all, and -screen NAME at all states of one.
// SOTTO_SHOTS names a folder for pictures.
func TestScreens(t *testing.T) {
	axe, shots := axeCore(t), os.Getenv("SOTTO_SHOTS")
	chosen := effort.OneOf(6, 6, t.Name())
	groups, known := map[string][]seenScreen{}, map[string]bool{}
	for _, s := range seenScreens(t) {
		known[screenOf(s.path)] = true
		if *oneScreen == "" || *oneScreen == screenOf(s.path) {
			groups[s.base] = append(groups[s.base], s)
		}
	}
	if len(groups) == 0 {
		t.Errorf("the screen %q is in no state of this test", *oneScreen)
	}
	for base, group := range groups {
		t.Run(group[0].name, func(t *testing.T) { // with a browser of its own
			b := open(t, base)
			for _, s := range group {
				for _, look := range []seenAs{{1440, "light"}, {390, "dark"}, {1440, "dark"}, {390, "light"}} {
					if chosen() || shots != "" || *oneScreen != "" {
						b.screen(s, look, axe, shots)
					}
				}
			}
			for _, place := range js[[]string](b, `[...document.querySelectorAll(".rail a.place")].map(a => a.getAttribute("href").replace(/^([.][.][/])*/, ""))`) {
				if !known[screenOf(place)] {
					t.Errorf("the screen %s is in no state of this test", place)
				}
			}
		})
	}
}

// screenOf is the screen of an address.
func screenOf(path string) string {
	return strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("/?#", r) })[0]
}

// A seenAs is a window and its colours.
type seenAs struct {
	width  int64
	scheme string
}

// screen looks at a screen.
func (b *tab) screen(s seenScreen, look seenAs, axe, shots string) {
	b.t.Helper()
	b.look(look.width, look.scheme)
	b.visit(s.path)
	b.until(`document.readyState === "complete" && document.querySelectorAll("[data-agent]:not(.stepped), code.math:not([data-said])").length === 0`)
	if look == (seenAs{390, "dark"}) {
		b.press("t") // with unfolded thoughts
	}
	where := fmt.Sprintf("%s at %d, %s", s.name, look.width, look.scheme)
	for _, v := range js[[]string](b, geometry) {
		b.t.Errorf("%s: %s", where, v)
	}
	for _, v := range b.axe(axe) {
		b.t.Errorf("%s: %s", where, v)
	}
	if shots == "" {
		return
	}
	png, err := chromedp.Run(b, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(shots, strings.ReplaceAll(fmt.Sprintf("screen-%s-%d-%s.png", s.name, look.width, look.scheme), " ", "-")), png, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// drawn adds a drawing, and has a function for its labels.
const drawn = `const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
svg.setAttribute("width", "100%"); document.querySelector("main").append(svg);
const label = (x, y, text, anchor) => { const el = document.createElementNS(svg.namespaceURI, "text"); el.setAttribute("x", x); el.setAttribute("y", y); el.setAttribute("text-anchor", anchor ?? "start"); el.textContent = text; svg.append(el); };
`

// TestGeometry: each fault that a change of a style sheet can make is found where it is, and
// there alone: on a desk and on a phone, by the geometry or by axe-core, which measures contrast.
func TestGeometry(t *testing.T) {
	const desk, phone, contrast = 1440, 390, "color-contrast"
	axe := axeCore(t)
	b := open(t, serve(t, consoletest.Traced(t)))
	run := "runs/" + consoletest.Good
	known := map[string]bool{} // pages that were looked at as they are
	for _, fault := range []struct {
		path  string
		width int64
		spoil string
		want  string
	}{
		{"exchanges", desk, `document.querySelector("main").append(Object.assign(document.createElement("div"), { style: "width: 3000px; height: 3px" }))`, "the page is"},
		{run, phone, `document.querySelector("h1").style.cssText = "white-space: nowrap; min-width: 420px"`, "the page is"},
		{"exchanges", desk, `document.querySelector("main").append(Object.assign(document.createElement("p"), { textContent: "a text", style: "position: relative; left: -400px" }))`, "a text sticks out"},
		{"exchanges", desk, `(() => { const main = document.querySelector("main"); for (const text of ["the first text", "the other text"]) { const p = document.createElement("p"); p.textContent = text; p.style.marginBottom = "-20px"; main.prepend(p); } })()`, "two texts lie over each"},
		{run, desk, `document.querySelector(".head .sub").style.marginBottom = "-24px"`, "two texts lie over each"},
		{"exchanges", desk, `document.querySelector("main").append(document.createElement("button"))`, "a control without a name"},
		{"exchanges", desk, `(() => { const field = document.querySelector("select"); field.closest("details").open = true; field.labels[0].querySelector("span").remove(); })()`, "a control without a name"},
		{"exchanges", desk, `document.querySelector(".rail .place span").style.display = "none"`, "a place of the rail without"},
		{"runs", phone, `for (const el of document.querySelectorAll(".rail .place span")) el.style.fontSize = "0"`, "a place of the rail without"},
		{"exchanges", desk, `document.querySelector("main").append(Object.assign(document.createElement("p"), { textContent: "a text that is long", style: "width: 40px; overflow: hidden; white-space: nowrap" }))`, "a text is cut without"},
		{"exchanges", desk, `document.querySelector("tbody tr td:nth-child(2)").style.cssText = "position: relative; top: 9px"`, "a row is not a row"},
		{"exchanges", desk, `document.querySelector("tbody tr").lastElementChild.remove()`, "cells, and its table"},
		{"exchanges", desk, `document.querySelector(".trail li").remove()`, "a screen without its name"},
		// What broke the page of a run once: a class of another screen made its chosen row a box.
		{run, desk, `document.querySelector(".lanes tbody tr").style.display = "flex"`, "a row is not a row"},
		{run, phone, `document.querySelector(".lanes tbody tr").style.display = "grid"`, "a row is not a row"},
		{"exchanges", phone, drawn + `label(40, 40, "a template", "end")`, "a label is cut at the edge"},
		{"exchanges", desk, drawn + `label(40, 40, "a template"), label(60, 44, "a problem")`, "two labels of a drawing"},
		{run, desk, `document.querySelector(".head .sub").style.color = "#bbb"`, contrast},
		{run, phone, `document.querySelector("h1").style.color = "#ccc"`, contrast},
	} {
		b.look(fault.width, "light")
		b.visit(fault.path)
		found := func() string {
			if fault.want == contrast {
				return strings.Join(b.axe(axe), "\n")
			}
			return strings.Join(js[[]string](b, geometry), "\n")
		}
		if page := fmt.Sprint(fault.path, fault.width, fault.want == contrast); !known[page] {
			known[page] = true
			if found := found(); found != "" {
				t.Fatalf("%s, %d wide, as it is: %s", fault.path, fault.width, found)
			}
		}
		_ = js[bool](b, `(() => { `+fault.spoil+`; return true })()`)
		if found := found(); !strings.Contains(found, fault.want) {
			t.Errorf("%s, %d wide: %s: %q is not found: %q", fault.path, fault.width, fault.spoil, fault.want, found)
		}
	}
}
