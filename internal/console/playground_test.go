package console_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/testing/terminaltest"
)

// post sends a form, as a page would.
func post(t *testing.T, address string, form url.Values, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest("POST", address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return do(t, r)
}

// A console without a record has the playground alone, and every link in it leads
// somewhere.
func TestWithoutRecord(t *testing.T) {
	base := serve(t, console.Config{Dialects: []string{"default", "qwen3"}}, "/p/")
	resp, _ := get(t, base)
	if to := resp.Header.Get("Location"); to != "playground" {
		t.Fatalf("the console opens %q", to)
	}
	_, page := get(t, base+"playground")
	rail := 0
	walk(t, page, func(n *html.Node) {
		for _, a := range n.Attr {
			if a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
				if resp, _ := get(t, base+a.Val); resp.StatusCode != 200 {
					t.Errorf("%s: %s", a.Val, resp.Status)
				}
			}
		}
		if strings.HasPrefix(attr(n, "class"), "place") && n.Data == "a" {
			rail++
		}
	})
	if rail != 1 {
		t.Errorf("%d screens", rail)
	}
	for _, path := range []string{"exchanges", "exchanges/1", "live"} {
		if resp, _ := get(t, base+path); resp.StatusCode != 404 {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
}

// The playground reads what a form sends: as a page, and as JSON with the time at
// which each byte is certain. Nothing of the text is in an address.
func TestPlaygroundReads(t *testing.T) {
	base := serve(t, console.Config{Record: consoletest.Store(t, consoletest.Scripted(t)), Dialects: []string{"default", "qwen3"}}, "/p/")
	form := url.Values{"text": {"<think>a\r\n</thinking>\r\nb <x"}, "dialect": {"default"}, "end": {"stopped"}}
	_, body := post(t, base+"playground/read?format=json", form)
	var got struct {
		V, Total int
		Pieces   []struct {
			From, To, At int
			Channel      string
		}
		Holds []struct {
			From, To, At int
			Why          string
		}
		Reasons map[string]string
		Reading struct{ Visible string }
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.V != 1 || got.Total != len("<think>a\n</thinking>\nb <x") || got.Reading.Visible != "b <x" {
		t.Errorf("%s", body)
	}
	line := false
	for _, h := range got.Holds {
		line = line || h.At == 9 && h.To == 20 && h.Why == "line" && strings.Contains(got.Reasons[h.Why], "the line's end")
	}
	if !line {
		t.Errorf("the close waits for its line: %+v", got.Holds)
	}
	if _, body := post(t, base+"playground/read?format=json", url.Values{}); strings.Contains(body, "null") {
		t.Errorf("a reader of JSON finds no list: %s", body)
	}
	resp, page := post(t, base+"playground/read", form)
	if resp.StatusCode != 200 || !strings.Contains(page, "may be a close: waits for the line&#39;s end") || !strings.Contains(page, `action="../playground/read"`) {
		t.Errorf("%s: %s", resp.Status, page)
	}
	if _, page := post(t, base+"playground/read", url.Values{"text": {"\n\nx"}}); !strings.Contains(page, "autocomplete=\"off\">\n\n\nx</textarea>") {
		t.Errorf("the newlines at the start of a text are lost: %s", page)
	}
}

// What the playground cannot read is refused, with the reason: of another site, too
// long, or in a dialect, start or end that does not exist.
func TestPlaygroundRefuses(t *testing.T) {
	base := serve(t, console.Config{Named: nil}, "/")
	for _, c := range []struct {
		form   url.Values
		header []string
		status int
		says   string
	}{
		{url.Values{"text": {"a"}}, []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		{url.Values{"text": {"a"}}, []string{"Origin", "https://elsewhere.example"}, 403, ""},
		{url.Values{"text": {strings.Repeat("a", 128<<10+1)}}, nil, 400, "at most 131072"},
		{url.Values{"text": {strings.Repeat("a", 2<<20)}}, nil, 400, "1 MiB"},
		{url.Values{"dialect": {"no\x1b"}}, nil, 400, "dialect"},
		{url.Values{"start": {"middle"}}, nil, 400, "start"},
		{url.Values{"end": {"never"}}, nil, 400, "want stopped, cut"},
	} {
		for _, format := range []string{"", "?format=json"} {
			resp, body := post(t, base+"playground/read"+format, c.form, c.header...)
			if resp.StatusCode != c.status || !strings.Contains(body, c.says) || terminaltest.Forbidden([]byte(body)) != "" {
				t.Errorf("%.60v%s: %s %.300s", c.form, format, resp.Status, body)
			}
		}
	}
	resp, err := http.Post(base+"playground/read", "application/json", io.LimitReader(strings.NewReader(`{"text":"a"}`), 100))
	if err != nil || resp.StatusCode != 200 { // an empty reply
		t.Errorf("%v %v", resp, err)
	}
}

// Hostile texts are inert in the playground too.
func TestPlaygroundHostile(t *testing.T) {
	base := serve(t, console.Config{}, "/")
	allowed := map[string]bool{"textarea": true, "output": true}
	for _, e := range elements {
		allowed[e] = true
	}
	for _, text := range consoletest.Hostile() {
		_, page := post(t, base+"playground/read", url.Values{"text": {"<think>" + text + "</think>\n" + text}})
		if bad := terminaltest.Forbidden([]byte(page)); bad != "" {
			t.Errorf("%.80q: the page holds %s", text, bad)
		}
		areas := 0
		walk(t, page, func(n *html.Node) {
			if n.Data == "textarea" {
				areas++
			}
			if !allowed[n.Data] {
				t.Errorf("%.80q: an element %s", text, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || (a.Key == "href" || a.Key == "src") && strings.Contains(strings.SplitN(a.Val, "?", 2)[0], ":") {
					t.Errorf("%.80q: %s has %s=%s", text, n.Data, a.Key, a.Val)
				}
			}
		})
		if areas != 1 {
			t.Errorf("%.80q: %d areas", text, areas)
		}
	}
}
