package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/record"
)

// TestViews: the page of the views says who looked at what, with the words of the search, and
// who changed what. To change something needs the scope operator, and is in the record before
// it is done.
func TestViews(t *testing.T) {
	w, dir := consoletest.Open(t)
	t.Cleanup(func() { w.Close() })
	for i := range 12 {
		consoletest.Put(t, w, consoletest.Exchange("m", "p", fmt.Sprintf("<think>needle %d</think>answer", i)))
	}
	looks := []access.Scope{access.Console, access.Record}
	noted := 0
	base := serve(t, console.Config{
		Record: consoletest.Store(t, dir), Dir: dir, Audit: w,
		Tokens: []access.Token{{Name: "ann", Secret: "secret-of-ann", Scopes: looks}, {Name: "bob", Secret: "secret-of-bob", Scopes: append(looks, access.Operator)}},
		Health: &console.Health{
			Upstreams: func() []console.Upstream { return nil }, Counters: func() []console.Counter { return nil },
			Starts: func() []console.LearnedStart { return nil }, Settings: func() string { return "" },
			Forget: func(string) (int, error) { noted = len(views(t, dir)); return 1, nil },
		},
	}, "/")
	bearer := func(name string) []string { return []string{"Authorization", "Bearer secret-of-" + name} }
	get(t, base+"search?q=needle+1&in=thought", bearer("ann")...)
	get(t, base+"exchanges/3?view=compare", bearer("ann")...)
	form := url.Values{"model": {"qwen3:8b"}, "confirm": {"qwen3:8b"}}
	if resp, page := postForm(t, base+"health/forget", form, bearer("ann")...); resp.StatusCode != http.StatusForbidden || !strings.Contains(page, "scope operator") || noted > 0 {
		t.Errorf("without the scope operator: %s, %d", resp.Status, noted)
	}
	if resp, _ := postForm(t, base+"health/forget", form, bearer("bob")...); resp.StatusCode != http.StatusSeeOther || noted != 3 {
		t.Errorf("with the scope operator: %s, and %d views were recorded before", resp.Status, noted)
	}
	_, page := get(t, base+"health/views", bearer("ann")...)
	at := 0
	for _, want := range []string{"bob", "forget", "/health/forget", "qwen3:8b", "ann", "view", "/exchanges/3", "view=compare", "#3", "ann", "search", "q=needle 1", "127.0.0.1"} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("after byte %d, the page does not have %q:\n%s", at, want, page)
		}
		at += i
	}
	for i := range 120 {
		consoletest.Put(t, w, record.Audit{Action: "view", Who: "eve", Page: fmt.Sprint("/exchanges/", i), Events: []uint64{1}})
	}
	resp, page := get(t, base+"health/views?format=json", bearer("ann")...)
	if n := strings.Count(page, `"who":"eve"`); resp.StatusCode != 200 || n != 100 || !strings.Contains(page, `"older":`) {
		t.Errorf("%s: %d views on the page", resp.Status, n)
	}
	_, page = get(t, base+"health/views", bearer("ann")...)
	older := page[strings.Index(page, "views?before="):]
	older = older[:strings.Index(older, `"`)]
	if _, page = get(t, base+"health/"+older, bearer("ann")...); strings.Count(page, "<td>eve</td>") != 20 || !strings.Contains(page, "bob") {
		t.Errorf("the older page has %d of eve's views", strings.Count(page, "<td>eve</td>"))
	}
}
