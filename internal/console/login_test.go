package console_test

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// postForm sends a form.
func postForm(t *testing.T, address string, form url.Values, header ...string) (*http.Response, string) {
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

// logIn returns the cookie of a new login.
func logIn(t *testing.T, base, token string, header ...string) string {
	t.Helper()
	resp, _ := postForm(t, base+"login", url.Values{"token": {token}}, header...)
	for _, c := range resp.Cookies() {
		return c.Name + "=" + c.Value
	}
	t.Fatalf("a login with %q: %s", token, resp.Status)
	return ""
}

// opens reports whether a cookie opens a page.
func opens(t *testing.T, base, cookie string) bool {
	t.Helper()
	resp, _ := get(t, base+"exchanges", "Cookie", cookie)
	if resp.StatusCode != 200 && resp.StatusCode != 401 {
		t.Fatalf("with %s: %s", cookie, resp.Status)
	}
	return resp.StatusCode == 200
}

// guardedConsole serves a console with two tokens.
func guardedConsole(t *testing.T, now func() time.Time) (base string) {
	t.Helper()
	w, dir := consoletest.Open(t)
	t.Cleanup(func() { w.Close() })
	consoletest.Put(t, w, consoletest.Exchange("m", "p", "a"))
	return serve(t, console.Config{
		Record: consoletest.Store(t, dir), Now: now,
		Tokens: []access.Token{{Name: "ann", Secret: "secret-of-ann"}, {Name: "bob", Secret: "secret-of-bob"}},
	}, "/p/")
}

// TestLogout: a logout ends the session, also for whoever has copied the cookie, and the
// pages that follow the record in it. Other sessions of the same token go on.
func TestLogout(t *testing.T) {
	base := guardedConsole(t, time.Now)
	mine, other := logIn(t, base, "secret-of-ann"), logIn(t, base, "secret-of-ann")
	if mine == other {
		t.Error("two sessions have one cookie")
	}
	follow := func(cookie string) (ended chan error) {
		r, _ := http.NewRequest("GET", base+"live", nil)
		r.Header.Set("Cookie", cookie)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		lines := bufio.NewReader(resp.Body)
		if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "retry:") {
			t.Fatalf("%q %v", line, err)
		}
		ended = make(chan error, 1)
		go func() { _, err := io.Copy(io.Discard, lines); ended <- err }()
		return ended
	}
	here, there := follow(mine), follow(other)
	if !opens(t, base, mine) || !opens(t, base, other) {
		t.Fatal("a session opens nothing")
	}
	resp, _ := postForm(t, base+"logout", nil, "Cookie", mine)
	if resp.StatusCode != http.StatusSeeOther || !strings.Contains(resp.Header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("a logout: %s %v", resp.Status, resp.Header)
	}
	if opens(t, base, mine) {
		t.Error("a copied cookie opens the console after the logout")
	}
	select {
	case <-here:
	case <-time.After(10 * time.Second): // its next line comes in 15 s
		t.Error("a page follows the record after the logout")
	}
	select {
	case <-there:
		t.Error("the page of another session ended")
	default:
	}
	if !opens(t, base, other) {
		t.Error("another session ended")
	}
	third := logIn(t, base, "secret-of-bob", "Cookie", other) // in the browser of the other session
	if opens(t, base, other) || !opens(t, base, third) {
		t.Error("a new login does not take the place of the one before")
	}
}

// TestLoginEndsMeanwhile: a page whose login ends while it is made asks for a token, and so does
// one that was asked for as JSON. Before, it was empty.
func TestLoginEndsMeanwhile(t *testing.T) {
	begun := make(chan struct{}, 1)
	slow := func(_ *console.Console, r *http.Request) (console.Answer, error) {
		begun <- struct{}{}
		<-r.Context().Done()
		return console.Answer{}, r.Context().Err()
	}
	base := serve(t, console.Config{
		Tokens:    []access.Token{{Name: "ann", Secret: "secret-of-ann"}},
		Extension: &console.Extension{Screens: []console.Screen{{Path: "slow", Under: "events", Routes: map[string]console.Handler{"": slow}}}, Files: fstest.MapFS{}},
	}, "/p/")
	for path, want := range map[string]string{"slow": `name="token"`, "slow?format=json": `"error"`} {
		mine := logIn(t, base, "secret-of-ann")
		type answer struct {
			status int
			body   string
		}
		got := make(chan answer, 1)
		go func() {
			resp, body := get(t, base+path, "Cookie", mine)
			got <- answer{resp.StatusCode, body}
		}()
		<-begun
		postForm(t, base+"logout", nil, "Cookie", mine)
		if a := <-got; a.status != http.StatusUnauthorized || !strings.Contains(a.body, want) || !strings.Contains(a.body, "login has ended") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// TestSessionEnds: a session ends 12 hours after the login, and after 2 hours in which
// nobody used it.
func TestSessionEnds(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	base := guardedConsole(t, func() time.Time { return now })
	used, unused := logIn(t, base, "secret-of-ann"), logIn(t, base, "secret-of-ann")
	for range 7 {
		now = now.Add(100 * time.Minute)
		if !opens(t, base, used) {
			t.Fatalf("the session ended at %s", now)
		}
	}
	if opens(t, base, unused) {
		t.Error("a session that was not used goes on")
	}
	now = now.Add(19 * time.Minute)
	if !opens(t, base, used) {
		t.Error("the session ended too soon")
	}
	now = now.Add(time.Minute)
	if opens(t, base, used) {
		t.Error("the session lasts longer than 12 hours")
	}
}

// TestManyLogins: the sessions of one token are bounded, and those of another token stay.
func TestManyLogins(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	base := guardedConsole(t, func() time.Time { return now })
	bob := logIn(t, base, "secret-of-bob")
	var all []string
	for range 66 {
		now = now.Add(time.Second)
		all = append(all, logIn(t, base, "secret-of-ann"))
	}
	if opens(t, base, all[0]) || opens(t, base, all[1]) || !opens(t, base, all[2]) || !opens(t, base, all[65]) || !opens(t, base, bob) {
		t.Error("of 66 sessions of a token, others than the first two ended")
	}
}

// TestTokenInURL: a token in a URL opens nothing. A browser is led to the same page without
// it, once, and reads why on the page of the login.
func TestTokenInURL(t *testing.T) {
	base := guardedConsole(t, time.Now)
	const page = "text/html,application/xhtml+xml"
	for query, rest := range map[string]string{
		"key=secret-of-ann": "", "token=secret-of-ann": "", "access_token=secret-of-ann": "", "api_key=secret-of-ann": "", "Api-Key=secret-of-ann": "", "%6bey=secret-of-ann": "", "key=": "",
		"view=compare&key=secret-of-ann&a=b%20c": "?view=compare&a=b%20c", "key=secret-of-ann&key=secret-of-bob": "", "a=1;key=secret-of-ann": "?a=1",
	} {
		for path, last := range map[string]string{"": "", "exchanges": "exchanges", "exchanges/1": "1", "assets/style.css": "style.css"} {
			resp, _ := get(t, base+path+"?"+query, "Accept", page)
			if got := resp.Header.Get("Location"); resp.StatusCode != http.StatusSeeOther || got != "./"+last+rest {
				t.Errorf("%s?%s: %s to %q", path, query, resp.Status, got)
			}
			if h := resp.Header; h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" || strings.Contains(h.Get("Set-Cookie"), "sotto_console=") {
				t.Errorf("%s?%s: %v", path, query, h)
			}
		}
		for _, header := range [][]string{nil, {"Authorization", "Bearer secret-of-ann"}, {"Cookie", logIn(t, base, "secret-of-bob")}} {
			if resp, body := get(t, base+"exchanges?format=json&"+query, header...); resp.StatusCode != 400 || !strings.Contains(body, "Authorization") || strings.Contains(body, "secret-of") {
				t.Errorf("JSON with %q and %v: %s %s", query, header, resp.Status, body)
			}
		}
		if resp, _ := postForm(t, base+"login?"+query, url.Values{"token": {"secret-of-ann"}}, "Accept", page); resp.StatusCode != 400 {
			t.Errorf("a login with %q: %s", query, resp.Status)
		}
	}
	resp, _ := get(t, base+"exchanges/1?key=secret-of-ann", "Accept", page)
	warned := resp.Cookies()
	if len(warned) != 1 || !warned[0].HttpOnly || warned[0].MaxAge != 60 {
		t.Fatalf("cookies %v", warned)
	}
	resp, body := get(t, base+"exchanges/1", "Accept", page, "Cookie", warned[0].Name+"="+warned[0].Value)
	if resp.StatusCode != 401 || !strings.Contains(body, "had a token in it") || !strings.Contains(resp.Header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("the page of the login: %s %v %s", resp.Status, resp.Header, body)
	}
	if _, body := get(t, base+"exchanges/1", "Accept", page); strings.Contains(body, "had a token in it") {
		t.Error("who had no token in an address is warned")
	}
	if resp, body := get(t, base+"exchanges?keys=1&monkey=2", "Authorization", "Bearer secret-of-ann"); resp.StatusCode == 400 && strings.Contains(body, "Authorization") {
		t.Errorf("other parameters: %s", body)
	}
}
