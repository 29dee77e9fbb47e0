package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/testing/terminaltest"
	"github.com/sotto-llm/sotto/record"
)

// serve serves the console of a record below a prefix, as a proxy would.
func serve(t *testing.T, c console.Config, prefix string) (base string) {
	t.Helper()
	if c.Extension == nil {
		c = withLab(c, screens.Config{})
	}
	k := console.New(c)
	s := httptest.NewServer(http.StripPrefix(strings.TrimSuffix(prefix, "/"), k))
	t.Cleanup(func() { k.Close(); s.Close() })
	return s.URL + prefix
}

// withLab adds the screens of experiments, as the program with all commands does.
func withLab(c console.Config, x screens.Config) console.Config {
	x.Record, x.Name, x.Named = c.Record, c.Name, c.Named
	c.Extension = screens.Screens(x)
	return c
}

// stay is a client that follows no redirect.
var stay = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func get(t *testing.T, address string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest("GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return do(t, r)
}

func do(t *testing.T, r *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := stay.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// walk visits every element of a page.
func walk(t *testing.T, page string, visit func(n *html.Node)) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			visit(n)
		}
	}
}

// Every address in every page leads to a page of the console, below whatever prefix
// a proxy gave it. So all addresses are relative, and no link is dead.
func TestEveryLink(t *testing.T) {
	if effort.Brief() {
		t.Skip("hundreds of pages: SOTTO_EFFORT=1 runs it")
	}
	base := serve(t, console.Config{Record: consoletest.Store(t, consoletest.Scripted(t)), Dialects: []string{"default", "qwen3"}}, "/any/prefix/")
	seen, kinds := crawl(t, base, "", "", "exchanges?text=tower&outcome=answered&from=2h", "exchanges/1?dialect=qwen3&start=inside", "exchanges/1?markdown=1")
	if seen < 200 || kinds["text/css"] != 1 || kinds["text/javascript"] < 1 || kinds["text/plain"] == 0 {
		t.Errorf("%d addresses of the kinds %v", seen, kinds)
	}
}

// crawl visits the pages of a console and everything that they lead to, and counts
// the addresses and the types of what is there. It follows links in pages whose path
// begins with the given one. Of the other pages it visits 20, and follows no link.
func crawl(t *testing.T, base, named string, begin ...string) (visited int, kinds map[string]int) {
	t.Helper()
	root, _ := url.Parse(base)
	seen := map[string]bool{}
	var queue []string
	for _, path := range begin {
		queue = append(queue, base+path)
	}
	kinds = map[string]int{}
	others := 0
	most := 3000
	if effort.Brief() || testing.Short() {
		most = 300
	}
	for len(queue) > 0 && len(seen) < most {
		at := queue[0]
		queue = queue[1:]
		if at, _, _ = strings.Cut(at, "#"); seen[at] {
			continue
		}
		seen[at] = true
		other := !strings.HasPrefix(at, base+named) && !strings.HasPrefix(at, base+"assets")
		if other {
			if others++; others > 20 {
				continue
			}
		}
		resp, body := get(t, at)
		here, _ := url.Parse(at)
		if resp.StatusCode == http.StatusSeeOther {
			to, err := here.Parse(resp.Header.Get("Location"))
			if err != nil {
				t.Fatal(err)
			}
			queue = append(queue, to.String())
			continue
		}
		if resp.StatusCode != 200 {
			t.Errorf("%s: %s", at, resp.Status)
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" || strings.Contains(resp.Header.Get("Content-Security-Policy"), "unsafe") || resp.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: headers %v", at, resp.Header)
		}
		kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
		kinds[kind]++
		if other || kind != "text/html" || resp.Header.Get("Content-Disposition") != "" {
			continue
		}
		walk(t, body, func(n *html.Node) {
			for _, a := range n.Attr {
				if a.Key != "href" && a.Key != "src" && a.Key != "action" {
					continue
				}
				to, err := here.Parse(a.Val)
				if err != nil || to.Host != root.Host || !strings.HasPrefix(to.Path, root.Path) || strings.HasPrefix(a.Val, "/") {
					t.Errorf("%s leads to %s (%v)", at, a.Val, err)
					continue
				}
				if n.Data != "form" || attr(n, "method") == "get" {
					queue = append(queue, to.String())
				}
			}
		})
	}
	return len(seen), kinds
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// elements are those that a page of the console has.
var elements = strings.Fields(`html head meta title link script style body a nav svg path rect span button form input div header ol li ul main dialog
	h1 h2 h3 h4 dl dt dd kbd p table caption thead tbody tr th td time details summary label select option datalist article section aside pre code footer b br
	em strong del blockquote hr h5 h6 bdi`)

// Whatever a record holds, a page has only elements and attributes of its own, no
// address of another site except as a link of a rendered answer, and no character
// that is hidden or reorders others.
func TestHostileTexts(t *testing.T) {
	effort.OneGoroutine(t)
	dir, n := consoletest.Attacked(t)
	if n < 200 {
		t.Fatalf("%d hostile texts, want 200", n)
	}
	base := serve(t, console.Config{Record: consoletest.Store(t, dir), Name: "\u202e<script>"}, "/")
	allowed := map[string]bool{}
	for _, e := range elements {
		allowed[e] = true
	}
	pages := []string{"exchanges", "exchanges?text=" + url.QueryEscape("<script>"), "exchanges?model=" + url.QueryEscape(`"><script>`), "nowhere/%3Cscript%3E", "exchanges/0"}
	chosen := effort.OneIn(3, "forms")
	for i := 1; i <= n; i++ {
		forms := []string{"?view=compare", "?view=request", "?view=curl", "/bytes", "/export"}
		for _, form := range []string{"?markdown=1", forms[i%len(forms)]} { // a form treats all texts alike
			if !chosen() {
				continue
			}
			pages = append(pages, fmt.Sprintf("exchanges/%d%s", i, form))
		}
	}
	for _, page := range pages {
		resp, body := get(t, base+page)
		if resp.StatusCode >= 500 {
			t.Errorf("%s: %s", page, resp.Status)
		}
		if bad := terminaltest.Forbidden([]byte(body)); bad != "" {
			t.Errorf("%s holds %s", page, bad)
		}
		scripts := 0
		walk(t, body, func(n *html.Node) {
			if !allowed[n.Data] {
				t.Errorf("%s has an element %s", page, n.Data)
			}
			if n.Data == "script" {
				scripts++
			}
			for _, a := range n.Attr {
				link := n.Data == "a" && a.Key == "href" && (strings.HasPrefix(a.Val, "http://") || strings.HasPrefix(a.Val, "https://")) && strings.Contains(attr(n, "rel"), "noreferrer")
				switch {
				case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc", a.Key == "srcset", a.Key == "ping", a.Key == "formaction":
					t.Errorf("%s: %s has the attribute %s", page, n.Data, a.Key)
				case (a.Key == "href" || a.Key == "src" || a.Key == "action") && strings.Contains(strings.SplitN(a.Val, "?", 2)[0], ":") && !link:
					t.Errorf("%s: %s leads to %s", page, n.Data, a.Val)
				}
			}
		})
		if strings.HasSuffix(page, "/export") && scripts > 0 || scripts > 1 {
			t.Errorf("%s has %d scripts", page, scripts)
		}
	}
}

// With tokens, nothing of the record is shown without one that has both scopes.
func TestAccess(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	base := serve(t, console.Config{
		Record: consoletest.Store(t, consoletest.Scripted(t)), Now: func() time.Time { return now },
		Tokens: []access.Token{
			{Name: "all", Secret: "secret-of-all"}, {Name: "reader", Secret: "secret-of-reader", Scopes: []access.Scope{access.Console, access.Record}},
			{Name: "metrics", Secret: "secret-of-metrics", Scopes: []access.Scope{access.Console}}, {Name: "chat", Secret: "secret-of-chat", Scopes: []access.Scope{access.Models}},
		},
	}, "/p/")
	paths := []string{"", "exchanges", "exchanges?format=json", "exchanges/1", "exchanges/1/bytes", "exchanges/1/raw", "exchanges/1/export", "exchanges/find?id=x", "live", "nowhere"}
	for _, path := range paths {
		for secret, want := range map[string]int{"": 401, "wrong": 401, "secret-of-metrics": 403, "secret-of-chat": 403} {
			var header []string
			if secret != "" {
				header = []string{"Authorization", "Bearer " + secret}
			}
			resp, body := get(t, base+path, header...)
			if resp.StatusCode != want || strings.Contains(body, "tower") || strings.Contains(body, "openai.chat") {
				t.Errorf("%q with %q: %s, want %d", path, secret, resp.Status, want)
			}
		}
	}
	for _, secret := range []string{"secret-of-all", "secret-of-reader"} {
		if resp, body := get(t, base+"exchanges?format=json", "Authorization", "Bearer "+secret); resp.StatusCode != 200 || !strings.Contains(body, "openai.chat") {
			t.Errorf("%s: %s", secret, resp.Status)
		}
	}
	login := func(token, next string, header ...string) (*http.Response, string) {
		r, _ := http.NewRequest("POST", base+"login", strings.NewReader(url.Values{"token": {token}, "next": {next}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return do(t, r)
	}
	for token, want := range map[string]int{"": 401, "wrong": 401, "secret-of-metrics": 403} {
		if resp, _ := login(token, ""); resp.StatusCode != want || resp.Header.Get("Set-Cookie") != "" {
			t.Errorf("a login with %q: %s %v", token, resp.Status, resp.Header)
		}
	}
	if resp, _ := login("secret-of-all", "", "Origin", consoletest.Origin, "Sec-Fetch-Site", "cross-site"); resp.StatusCode != 403 {
		t.Errorf("a login from another site: %s", resp.Status)
	}
	for next, want := range map[string]string{
		"exchanges/1?view=compare": "./exchanges/1?view=compare", "": "./", "//attacker.invalid": "./", "https://attacker.invalid": "./", "/x": "./", `\\x`: "./",
		"../x": "./", "x\r\nSet-Cookie: a=b": "./", "a:b": "./",
	} {
		resp, _ := login("secret-of-all", next)
		if got := resp.Header.Get("Location"); resp.StatusCode != 303 || got != want {
			t.Errorf("a login for %q leads to %q, want %q", next, got, want)
		}
	}
	resp, _ := login("secret-of-reader", "", "X-Forwarded-Proto", "https")
	cookies := resp.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || !cookies[0].Secure || cookies[0].SameSite != http.SameSiteLaxMode || cookies[0].Path != "" || strings.Contains(cookies[0].Value, "secret") {
		t.Fatalf("cookies %v", cookies)
	}
	cookie := cookies[0].Name + "=" + cookies[0].Value
	if resp, body := get(t, base+"exchanges", "Cookie", cookie); resp.StatusCode != 200 || !strings.Contains(body, "openai.chat") {
		t.Errorf("with a session: %s", resp.Status)
	}
	if resp, _ := get(t, base+"exchanges", "Cookie", cookie[:len(cookie)-2]+"AA"); resp.StatusCode != 401 {
		t.Errorf("with a changed cookie: %s", resp.Status)
	}
	now = now.Add(12*time.Hour + time.Second)
	if resp, _ := get(t, base+"exchanges", "Cookie", cookie); resp.StatusCode != 401 {
		t.Errorf("after the session: %s", resp.Status)
	}
}

// A page of another site, or one that resolves its own name to this machine, reads
// nothing. A link on another site may be followed.
func TestForeignPages(t *testing.T) {
	base := serve(t, console.Config{Record: consoletest.Store(t, consoletest.Scripted(t))}, "/")
	for _, header := range [][]string{
		{"Origin", consoletest.Origin}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
		{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"},
	} {
		if resp, _ := get(t, base+"exchanges", header...); resp.StatusCode != 403 {
			t.Errorf("%v: %s", header, resp.Status)
		}
	}
	if resp, _ := get(t, base+"exchanges", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); resp.StatusCode != 200 {
		t.Errorf("a link: %s", resp.Status)
	}
	r, _ := http.NewRequest("GET", base+"exchanges", nil)
	r.Host = "attacker.invalid"
	if resp, _ := do(t, r); resp.StatusCode != 403 {
		t.Errorf("another name: %s", resp.Status)
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		r, _ := http.NewRequest(method, base+"exchanges/1", nil)
		if resp, _ := do(t, r); resp.StatusCode != 404 && resp.StatusCode != 405 {
			t.Errorf("%s: %s", method, resp.Status)
		}
	}
}

// Every page is JSON too, by the event or by an identifier, and so is every error.
func TestJSON(t *testing.T) {
	base := serve(t, console.Config{Record: consoletest.Store(t, consoletest.Scripted(t))}, "/")
	var list struct {
		V    int
		Rows []struct {
			Event uint64
			Model string
		}
	}
	_, body := get(t, base+"exchanges?format=json")
	if err := json.Unmarshal([]byte(body), &list); err != nil || list.V != 1 || len(list.Rows) < 20 {
		t.Fatalf("%v: %d rows", err, len(list.Rows))
	}
	var one struct {
		V       int
		Event   uint64
		ID      string `json:"response_id"`
		Replies []struct{ Answer struct{ Text string } }
	}
	newest := map[string]uint64{}
	for _, row := range list.Rows {
		_, body := get(t, fmt.Sprintf("%sexchanges/%d?format=json", base, row.Event))
		if err := json.Unmarshal([]byte(body), &one); err != nil || one.V != 1 || one.Event != row.Event {
			t.Fatalf("%d: %v", row.Event, err)
		}
		if one.ID == "" {
			continue
		}
		newest[one.ID] = max(newest[one.ID], row.Event)
		resp, _ := get(t, base+"exchanges/find?format=json&id="+url.QueryEscape(one.ID))
		if want := fmt.Sprintf("%d?format=json", newest[one.ID]); resp.Header.Get("Location") != want {
			t.Errorf("%s leads to %q, want %q", one.ID, resp.Header.Get("Location"), want)
		}
	}
	for path, want := range map[string]int{
		"exchanges/999": 404, "exchanges/x": 400, "exchanges/1/bytes?choice=9": 404, "exchanges/1/bytes?at=x": 400, "exchanges?before=x": 400, "exchanges?from=never": 400,
		"exchanges?outcome=x": 400, "exchanges/1?view=x": 400, "exchanges/1?dialect=nonesuch": 400, "exchanges/1?start=nowhere": 400, "exchanges/find": 400, "exchanges/find?id=none": 404, "x": 404,
	} {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		var failed struct {
			V     int
			Error struct{ Message string }
		}
		resp, body := get(t, base+path+sep+"format=json")
		if err := json.Unmarshal([]byte(body), &failed); err != nil || resp.StatusCode != want || failed.V != 1 || failed.Error.Message == "" {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
		if resp, body := get(t, base+path); resp.StatusCode != want || !strings.Contains(body, "<main") {
			t.Errorf("%s as a page: %s", path, resp.Status)
		}
	}
}

// A page that follows the record learns of a new event. Any number of events at once
// costs it one line.
func TestLive(t *testing.T) {
	w, dir := consoletest.Open(t)
	defer w.Close()
	consoletest.Put(t, w, consoletest.Exchange("m", "p", "a"))
	base := serve(t, console.Config{Record: consoletest.Store(t, dir)}, "/")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "GET", base+"live", nil)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Scan() // the stream is open
	var last uint64
	for range 50 {
		last = consoletest.Put(t, w, consoletest.Exchange("m", "p", "b"))
	}
	heads := 0
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if heads++; data == fmt.Sprint(last) {
				break
			}
		}
	}
	if lines.Err() != nil || heads == 0 || heads > 25 {
		t.Errorf("%d lines for 50 events: %v", heads, lines.Err())
	}
}

// What cannot be shown says what to do.
func TestEmptyStates(t *testing.T) {
	w, dir := consoletest.Open(t)
	base := serve(t, console.Config{Record: consoletest.Store(t, dir)}, "/")
	if _, body := get(t, base+"exchanges"); !strings.Contains(body, "sotto serve --upstream") {
		t.Errorf("an empty record: %s", body)
	}
	consoletest.Put(t, w, consoletest.Exchange("m", "p", "a"))
	w.Close()
	if _, body := get(t, base+"exchanges?model=none"); !strings.Contains(body, "No exchange matches") {
		t.Errorf("no match: %s", body)
	}
	sealed := sealedRecord(t)
	base = serve(t, console.Config{Record: consoletest.Store(t, sealed)}, "/")
	if _, body := get(t, base+"exchanges"); !strings.Contains(body, "--identity FILE") {
		t.Errorf("an encrypted record: %s", body)
	}
	if resp, body := get(t, base+"exchanges/1"); resp.StatusCode != 403 || !strings.Contains(body, "--identity FILE") {
		t.Errorf("an encrypted exchange: %s", resp.Status)
	}
}

// TestListAndBack: the rows of a filtered list lead to exchanges that keep the filter:
// their neighbours, their forms and the way back are those of the list. From an older
// page there is a way to the page before.
func TestListAndBack(t *testing.T) {
	w, dir := consoletest.Open(t)
	for i := range 450 {
		x := consoletest.Exchange([]string{"odd", "even"}[i%2], "p", fmt.Sprint("answer ", i))
		x.Caller = []string{"ada", "bob"}[i/2%2]
		consoletest.Put(t, w, x)
	}
	w.Close()
	base := serve(t, console.Config{Record: consoletest.Store(t, dir)}, "/")
	links := func(page string) (list []string) {
		_, body := get(t, base+page)
		for z := html.NewTokenizer(strings.NewReader(body)); ; {
			if z.Next() == html.ErrorToken {
				return list
			}
			for _, a := range z.Token().Attr {
				if a.Key == "href" {
					list = append(list, a.Val)
				}
			}
		}
	}
	has := func(page string, want ...string) {
		t.Helper()
		all := links(page)
		for _, w := range want {
			if !slices.Contains(all, w) {
				t.Errorf("%s has no link to %s, but %.2000q", page, w, all)
			}
		}
	}
	const bob = "caller=bob&model=even"
	has("exchanges?model=even&caller=bob", "exchanges/448?"+bob, "exchanges/444?"+bob, "exchanges?before=51&"+bob)
	has("exchanges?before=52&"+bob, "exchanges?after=48&"+bob, "exchanges?"+bob)
	has("exchanges?after=48&"+bob, "exchanges/448?"+bob, "exchanges/52?"+bob)
	has("exchanges?before=100", "exchanges?after=99")
	has("exchanges?after=99", "exchanges/199", "exchanges/100", "exchanges?after=199", "exchanges?before=100", "exchanges")
	has("exchanges/444?"+bob, "448?"+bob, "440?"+bob, "../exchanges?"+bob, "444/bytes?"+bob, "444?"+bob+"&view=request", "444?caller=bob&markdown=1&model=even")
	has("exchanges/444/bytes?"+bob, "../../exchanges?"+bob, "../444?"+bob)
	has("exchanges/444", "445", "443", "../exchanges")
}

// TestCurl: the command sends the parameters and the tools of the request again. If
// not all of them are in the record, there is none.
func TestCurl(t *testing.T) {
	w, dir := consoletest.Open(t)
	x := consoletest.Exchange("m", "it's", "a")
	x.Parameters, x.Tools = record.Say(`{"temperature":0.20,"stop":["'"]}`), []record.Tool{{Name: "add", Definition: record.Say(`{"type":"function"}`)}}
	consoletest.Put(t, w, x)
	x.Tools = append(x.Tools, record.Tool{Name: "long", Digest: "d"})
	consoletest.Put(t, w, x)
	w.Close()
	base := serve(t, console.Config{Record: consoletest.Store(t, dir)}, "/")
	_, body := get(t, base+"exchanges/1?view=curl")
	_, command, _ := strings.Cut(body, `id="command">`)
	command, _, _ = strings.Cut(html.UnescapeString(command), "</pre>")
	_, sent, _ := strings.Cut(command, "-d '")
	sent = strings.TrimSuffix(strings.ReplaceAll(sent, `'\''`, "'"), "'")
	var got map[string]any
	if err := json.Unmarshal([]byte(sent), &got); err != nil || got["temperature"] != 0.2 || fmt.Sprint(got["stop"], got["tools"], got["messages"]) != "['] [map[type:function]] [map[content:it's role:user]]" {
		t.Errorf("%v: %s", err, command)
	}
	if _, body := get(t, base+"exchanges/2?view=curl"); strings.Contains(body, `id="command"`) {
		t.Error("a command without all of the tools")
	}
}
