package js

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A tab is a page in headless Chromium.
type tab struct {
	context.Context
	t *testing.T
}

// open opens a page of the repository.
func open(t *testing.T, path string) *tab {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium")
	}
	site := httptest.NewServer(http.FileServer(http.Dir("../..")))
	t.Cleanup(site.Close)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.Flag("no-sandbox", true), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-gpu", true))
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Minute) // the machine may be busy
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx, chromedp.Navigate(site.URL+path)); err != nil {
		t.Fatal(err)
	}
	return &tab{ctx, t}
}

func evaluate[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until an expression is true.
func (b *tab) until(expression string) {
	b.t.Helper()
	for !evaluate[bool](b, expression) {
		select {
		case <-b.Done():
			b.t.Fatalf("%s is not true", expression)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestKitInBrowser reads the conformance kit in Chromium: a part of it at some cuts, and with
// SOTTO_EFFORT=2 all of it at every cut.
func TestKitInBrowser(t *testing.T) {
	built(t)
	asked := "?of=10"
	if effort.Times() > 1 {
		asked = "?all=true"
	}
	b := open(t, "/js/kit/kit.html"+asked)
	b.until(`document.title === "done"`)
	var got struct {
		Replies, Readings int
		Faults            []string
	}
	text := evaluate[string](b, `document.getElementById("out").textContent`)
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if len(got.Faults) > 0 || got.Replies == 0 || got.Readings < 3*got.Replies {
		t.Errorf("%d replies, %d readings: %s", got.Replies, got.Readings, strings.Join(got.Faults, "\n"))
	}
	t.Logf("%d replies, %d readings", got.Replies, got.Readings)
}
