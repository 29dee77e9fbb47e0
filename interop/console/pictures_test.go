package console

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
)

var update = flag.Bool("update", false, "take the pictures of docs/images")

// scripted and runs are the records that pictures show.
var (
	scripted = func(t *testing.T) string {
		if *update {
			return consoletest.Paced(t, 25*time.Millisecond)
		}
		return consoletest.Scripted(t)
	}
	traced = func(t *testing.T) string {
		if *update {
			return consoletest.TracedPaced(t, 45*time.Millisecond)
		}
		return consoletest.Traced(t)
	}
	runs   = func(t *testing.T) string { dir, _ := consoletest.Runs(t); return dir }
	chats  = func(t *testing.T) string { return chatted(t) }
	beside = besideGateway
	// changed is a record of ten days, in which a model began to leak.
	changed = func(t *testing.T) string { base, _ := explored(t); return base }
	// memoryStudy is the study of docs/study-report.md.
	memoryStudy = func(t *testing.T) string {
		dir := filepath.Join(t.TempDir(), "memory-study")
		studytest.Streams(t, dir, studytest.Grid{Models: []string{"qwen3:8b"}, Modes: []string{"cot", "template"}, Repetitions: 3, Size: 24})
		return serveStudies(t, dir)
	}
	// evaluations is a console with scored files, whose names are short.
	evaluations = func(t *testing.T) string {
		t.Chdir(t.TempDir())
		c := newConsole(console.Config{}, screens.Config{Scores: scoredIn(t, ".")})
		s := httptest.NewServer(c)
		t.Cleanup(func() { c.Close(); s.CloseClientConnections(); s.Close() })
		return s.URL + "/"
	}
)

// pictures are the pictures of the console in the documents: name, record, address,
// the keys to press, what to wait for, and in which colours. A %d in the address is
// the exchange of shownModel. A screen's picture is a row here, and a line of
// docs/reference/console.md, or of docs/howto/console-chat.md, that shows it.
var pictures = []struct {
	name    string
	record  *func(*testing.T) string
	path    string
	keys    []string
	until   string // an expression that is true when the scripts have finished
	schemes []string
}{
	{"exchanges", &scripted, "exchanges", nil, "", []string{"light"}},
	{"explore", &changed, "explore", nil, "", []string{"light", "dark"}},
	{"sorted", &changed, "exchanges?sort=thought", nil, "", []string{"light"}},
	{"exchange", &scripted, "exchanges/%d", []string{"t"}, "", []string{"light", "dark"}},
	{"bytes", &scripted, "exchanges/%d/bytes", nil, "", []string{"light"}},
	{"compare", &scripted, "exchanges/%d?view=compare", nil, "", []string{"light"}},
	{"chat", &chats, "chat/%s", nil, "", []string{"light"}},
	{"runs", &runs, "runs", nil, "", []string{"light"}},
	{"run", &traced, "runs/" + consoletest.Bad, nil, "", []string{"light"}},
	{"reflections", &runs, "runs/" + consoletest.First + "?view=reflections", nil, "", []string{"light"}},
	{"session", &traced, "sessions?id=towers", nil, "", []string{"light"}},
	{"parting", &traced, "runs/" + consoletest.Good + "/compare?with=" + consoletest.Bad, nil, "", []string{"light"}},
	{"study", &memoryStudy, "studies/memory-study", nil, "", []string{"light"}},
	{"memory", &runs, "memory", nil, "", []string{"light"}},
	{"health", &beside, "health", nil, "", []string{"light"}},
	{"evaluation", &evaluations, "evaluation?with=1", nil, "", []string{"light"}},
	{"scored", &evaluations, "evaluation/4?with=1", nil, "", []string{"light"}},
	{"search", &scripted, "search?q=tower", nil, `document.getElementById("search-stop").hidden`, []string{"light"}},
	{"playground", &scripted, "playground#" + url.Values{"text": {cutReply}, "dialect": {"default"}, "at": {"71"}}.Encode(), nil, `document.querySelector(".waits") !== null`, []string{"light"}},
}

// shownModel is the model whose exchange is in the pictures.
const shownModel = "deepseek-r1"

// A picture has at most so many bytes.
const maxPicture = 150 << 10

// TestPictures opens every page that a document shows. -update takes the pictures.
// Otherwise each must be there, be small, and be shown; a picture without a row is an
// error.
func TestPictures(t *testing.T) {
	folder, err := filepath.Abs("../../docs/images")
	if err != nil {
		t.Fatal(err)
	}
	var documents string
	for _, name := range []string{"../../README.md", "../../docs/reference/console.md", "../../docs/howto/console-chat.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		documents += string(text)
	}
	tabs := map[*func(*testing.T) string]*tab{}
	known := map[string]bool{}
	for _, p := range pictures {
		b := tabs[p.record]
		if b == nil {
			base := (*p.record)(t)
			if !strings.HasPrefix(base, "http") { // a record, and not a console that is served
				base = serve(t, base)
			}
			b = open(t, base)
			tabs[p.record] = b
		}
		path := p.path
		if strings.Contains(path, "%d") {
			b.visit("exchanges")
			path = fmt.Sprintf(path, js[int](b, `Number([...document.querySelectorAll("tr")].find(r => r.querySelector(".c-model")?.textContent === "`+shownModel+`").id.slice(1))`))
		}
		if strings.Contains(path, "%s") {
			b.visit("chat/new")
			path = fmt.Sprintf(path, js[string](b, `document.querySelector(".talks li a").getAttribute("href")`))
		}
		for _, scheme := range p.schemes {
			name := fmt.Sprintf("console-%s-%s.webp", p.name, scheme)
			known[name] = true
			b.visit(path)
			b.press(p.keys...)
			if p.until != "" {
				b.until(p.until)
			}
			if status := js[int](b, `performance.getEntriesByType("navigation")[0].responseStatus`); status != 200 {
				t.Errorf("%s: %s: status %d", name, path, status)
			}
			if *update {
				if err := os.WriteFile(filepath.Join(folder, name), b.picture(scheme), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() > maxPicture {
				t.Errorf("%s: %v, or more than %d bytes (go test ./console -run TestPictures -update takes it)", name, err, maxPicture)
			}
			if !strings.Contains(documents, "images/"+name) {
				t.Errorf("no document shows %s", name)
			}
		}
	}
	there, err := filepath.Glob(folder + "/console-*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range there {
		if !known[filepath.Base(name)] {
			t.Errorf("%s has no row in pictures", name)
		}
	}
}

// picture takes a picture of a page, with two pixels for one.
func (b *tab) picture(scheme string) []byte {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(1200, 780, chromedp.EmulateScale(2)))
	height := js[int64](b, `Math.ceil(Math.min(780, Math.max(600, document.querySelector("main").lastElementChild.getBoundingClientRect().bottom + scrollY + 24)))`)
	b.do(chromedp.EmulateViewport(1200, height, chromedp.EmulateScale(2)), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
	quality := int64(70)
	shot, err := chromedp.Run(b, chromedp.Action[[]byte](func(ctx context.Context, target *chromedp.Target) ([]byte, error) {
		r, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
		if err != nil {
			return nil, err
		}
		return r.Data, nil
	}))
	if err != nil {
		b.t.Fatal(err)
	}
	return shot
}
