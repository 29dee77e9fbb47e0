package console_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/testing/freeport"
	"github.com/sotto-llm/sotto/internal/testing/terminaltest"
)

// verified lets a console verify its record, and returns the page with the result.
func verified(t *testing.T, base string) (page string) {
	t.Helper()
	if resp, body := post(t, base+"health/verify", nil); resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "../health" {
		t.Fatalf("%s: %s", resp.Status, body)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var resp *http.Response
		resp, page = get(t, base+"health")
		running := strings.Contains(page, "Under way")
		if running != (resp.Header.Get("Refresh") != "") {
			t.Errorf("running %v, and the page comes again after %q s", running, resp.Header.Get("Refresh"))
		}
		if !running {
			return page
		}
		if time.Now().After(end) {
			t.Fatal("the verification does not end")
		}
	}
}

// The page says up to which event the record was verified, and what is wrong with one
// that was changed.
func TestHealthOfRecord(t *testing.T) {
	dir := consoletest.Scripted(t)
	base := serve(t, console.Config{Record: consoletest.Store(t, dir), Dir: dir}, "/p/")
	_, page := get(t, base+"health")
	if !strings.Contains(page, "Not verified since") || !strings.Contains(page, "<dt>Segments</dt><dd>1</dd>") || !strings.Contains(page, "not beside a gateway") {
		t.Error(page)
	}
	if page := verified(t, base); !strings.Contains(page, "Verified up to event 3") {
		t.Error(page)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], bytes.Replace(data, []byte("Ottawa"), []byte("Quebec"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if page := verified(t, base); !strings.Contains(page, "damaged or was changed") || strings.Contains(page, "Verified up to") {
		t.Error(page)
	}
}

// TestUnreached: why an upstream cannot be reached is said in words, and not as a program says it.
func TestUnreached(t *testing.T) {
	for address, want := range map[string]string{freeport.Find(t): "Nothing listens at this address.", "no-such-host.invalid:80": "There is no host with the name no-such-host.invalid."} {
		base := serve(t, console.Config{Health: &console.Health{
			Settings: func() string { return "" }, Counters: func() []console.Counter { return nil }, Starts: func() []console.LearnedStart { return nil },
			Upstreams: func() []console.Upstream { return []console.Upstream{{URL: &url.URL{Scheme: "http", Host: address}}} },
			Reach: func(ctx context.Context, at *url.URL) error {
				_, err := (&net.Dialer{}).DialContext(ctx, "tcp", at.Host)
				return err
			},
		}}, "/p/")
		if _, page := get(t, base+"health"); !strings.Contains(page, want) || strings.Contains(page, "dial tcp") {
			t.Errorf("%s: %s", address, page)
		}
	}
}

// What the gateway learned of a model is forgotten if its name is typed, by a page of
// this console only. What others named is inert.
func TestHealthOfGateway(t *testing.T) {
	models := append(consoletest.Hostile(), "qwen3:8b")
	var forgotten []string
	h := &console.Health{
		Settings: func() string { return "listen: 127.0.0.1:8384\n" },
		Upstreams: func() []console.Upstream {
			return []console.Upstream{{Name: "default", URL: &url.URL{Scheme: "http", Host: "upstream.example:1"}}, {Name: "big", URL: &url.URL{Scheme: "http", Host: "big.example:2"}}}
		},
		Reach: func(_ context.Context, at *url.URL) error {
			if at.Host == "big.example:2" {
				return nil
			}
			return errors.New("refused \u202e<script>")
		},
		Counters: func() []console.Counter {
			list := []console.Counter{{Name: "sotto_dropped_total", Help: "Dropped events.", Value: 3}}
			for _, m := range models {
				list = append(list, console.Counter{Name: "sotto_leaks_total", Labels: "model=" + m, Value: 1})
			}
			return list
		},
		Starts: func() (list []console.LearnedStart) {
			for _, m := range slices.Backward(models) {
				list = append(list, console.LearnedStart{Model: m, Start: "inside", Switch: m, Native: m, Seen: time.Now()})
			}
			return list
		},
		Forget: func(model string) (int, error) {
			forgotten = append(forgotten, model)
			return strings.Count(model, "qwen3"), nil
		},
	}
	base := serve(t, console.Config{Health: h}, "/p/")
	resp, page := get(t, base+"health")
	if bad := terminaltest.Forbidden([]byte(page)); resp.StatusCode != 200 || bad != "" || !strings.Contains(page, "cannot be reached") || !strings.Contains(page, "http://big.example:2") || strings.Count(page, ">reachable<") != 1 || !strings.Contains(page, "sotto_dropped_total") || !strings.Contains(page, "qwen3:8b") {
		t.Fatalf("%s, holds %s: %s", resp.Status, bad, page)
	}
	allowed := map[string]bool{}
	for _, e := range elements {
		allowed[e] = true
	}
	walk(t, page, func(n *html.Node) {
		if !allowed[n.Data] {
			t.Errorf("an element %s", n.Data)
		}
	})
	form := func(model, typed string) url.Values { return url.Values{"model": {model}, "confirm": {typed}} }
	for _, c := range []struct {
		form   url.Values
		header []string
		status int
	}{
		{form("qwen3:8b", "qwen3"), nil, 400},
		{form("qwen3:8b", ""), nil, 400},
		{form("*", "*"), nil, 400},
		{form("qwen*", "qwen*"), nil, 400},
		{form("", ""), nil, 400},
		{form("qwen3:8b", "qwen3:8b"), []string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		if resp, _ := post(t, base+"health/forget", c.form, c.header...); resp.StatusCode != c.status || len(forgotten) > 0 {
			t.Errorf("%v: %s, %q forgotten", c.form, resp.Status, forgotten)
		}
	}
	if resp, _ := get(t, base+"health/forget?model=qwen3:8b&confirm=qwen3:8b"); resp.StatusCode == 200 || len(forgotten) > 0 {
		t.Errorf("a link forgets: %s", resp.Status)
	}
	if resp, _ := post(t, base+"health/forget", form("other", "other")); resp.StatusCode != 404 {
		t.Error(resp.Status)
	}
	if resp, _ := post(t, base+"health/forget", form("qwen3:8b", "qwen3:8b")); resp.StatusCode != 303 || !slices.Equal(forgotten, []string{"other", "qwen3:8b"}) {
		t.Errorf("%s, %q", resp.Status, forgotten)
	}
	if resp, _ := post(t, base+"health/verify", nil); resp.StatusCode != 404 {
		t.Errorf("there is no record: %s", resp.Status)
	}
}
