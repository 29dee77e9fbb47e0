package console_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/peers"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/record"
)

// gateways are the consoles of so many gateways, with a token.
func gateways(t *testing.T, n int, clock *handClock, directory *consoletest.Directory, tokens ...access.Token) []*consoletest.Gateway {
	t.Helper()
	clock.at.Store(time.Now().UnixNano())
	return consoletest.Gateways(t, n, clock.now, directory, func(g *consoletest.Gateway) http.Handler {
		k := console.New(withLab(console.Config{Record: consoletest.Store(t, g.Dir), Peers: g.Peers, Tokens: tokens, Audit: g.Writer, Now: clock.now}, screens.Config{}))
		t.Cleanup(k.Close)
		return k
	})
}

// listed is a page of a list as JSON.
type listed struct {
	Rows []struct {
		Record string
		Event  uint64
		Model  string
		Run    string
		Time   time.Time
		Fact   int64
	}
	Next     string
	Totals   *struct{ Rows, Runs int }
	Gateways []console.Gateway
	Error    struct{ Message string }
}

func listOf(t *testing.T, address string, header ...string) (l listed) {
	t.Helper()
	_, text := get(t, address, header...)
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		t.Fatalf("%s: %v: %s", address, err, text)
	}
	return l
}

// TestListsOfAll: whichever console is asked, a list has the exchanges of all gateways once
// each, in one order, over all of its pages, also sorted and filtered. Its totals are those of
// all. A link of a row leads to its exchange from any console.
func TestListsOfAll(t *testing.T) {
	var clock handClock
	list := gateways(t, 3, &clock, &consoletest.Directory{}, access.Token{Name: "ann", Secret: "secret-of-ann"})
	rng := rand.New(rand.NewPCG(1, 2))
	want := map[string]string{} // the model by record and event
	answered := 0
	at := time.Now().Add(-time.Hour)
	for i := range 720 {
		g := list[rng.IntN(3)]
		at = at.Add(time.Duration(1+rng.IntN(3)) * time.Second)
		answer := strings.Repeat("y", rng.IntN(30))
		if answer != "" {
			answered++
		}
		x := consoletest.Exchange(fmt.Sprint("m", i%7), "Hi", strings.Repeat("<think>x</think>", rng.IntN(2))+answer)
		r, err := g.Writer.Append(t.Context(), record.Event{Payload: x, Time: at})
		if err != nil {
			t.Fatal(err)
		}
		want[fmt.Sprint(g.Writer.ID(), " ", r.Seq)] = x.Model
	}
	auth := []string{"Authorization", "Bearer secret-of-ann"}
	alone := listOf(t, list[0].Server.URL+"/exchanges?format=json", auth...)
	if len(alone.Gateways) != 0 || len(alone.Rows) == 0 || alone.Rows[0].Record != "" {
		t.Errorf("a console that knows no other lists several: %+v", alone.Gateways)
	}
	consoletest.Meet(list...)
	for _, query := range []string{"", "sort=answer&", "sort=-answer&", "model=m3&", "text=y&"} {
		for _, g := range list {
			got, last, pages, totals := map[string]string{}, listed{}, 0, 0
			for cursor := ""; ; pages++ {
				l := listOf(t, g.Server.URL+"/exchanges?"+query+"format=json&sum=1&cursor="+cursor, auth...)
				if len(l.Gateways) != 3 || (l.Totals == nil) != (cursor != "") {
					t.Fatalf("%q: %+v", query, l)
				}
				if l.Totals != nil {
					totals = l.Totals.Rows
				}
				for _, row := range l.Rows {
					key := fmt.Sprint(row.Record, " ", row.Event)
					if got[key] != "" || want[key] != row.Model {
						t.Fatalf("%q: %s is listed twice, or is not %s", query, key, row.Model)
					}
					got[key] = row.Model
					if prev := last.Rows; len(prev) > 0 {
						before := prev[len(prev)-1]
						sorted := row.Time.After(before.Time)
						if strings.HasPrefix(query, "sort=") {
							sorted = row.Fact != before.Fact && (row.Fact > before.Fact) != strings.Contains(query, "-")
						}
						if sorted {
							t.Fatalf("%q: %+v stands after %+v", query, row, before)
						}
					}
					last.Rows = append(last.Rows, row)
				}
				if cursor = l.Next; cursor == "" {
					if all := map[bool]int{true: len(got), false: len(want)}[strings.Contains(query, "=") && !strings.Contains(query, "sort")]; totals != all {
						t.Errorf("%q: the totals are of %d, want %d", query, totals, all)
					}
					break
				}
			}
			if query == "" && (!maps.Equal(got, want) || pages < 2) {
				t.Errorf("%d of %d exchanges are listed, on %d pages", len(got), len(want), pages+1)
			}
			if strings.Contains(query, "sort") && len(got) != answered {
				t.Errorf("%q: %d exchanges with an answer are listed, want %d", query, len(got), answered)
			}
			if query == "model=m3&" && len(got) < 30 {
				t.Errorf("%q: %d", query, len(got))
			}
		}
	}
	_, page := get(t, list[1].Server.URL+"/exchanges", auth...)
	links := linksOf(page)
	if len(links) != 100 {
		t.Fatalf("%d rows", len(links))
	}
	for _, link := range links[:12] {
		for _, g := range list {
			if resp, text := get(t, g.Server.URL+"/"+link, auth...); resp.StatusCode != 200 || !strings.Contains(text, "The client got") {
				t.Errorf("%s: %s", link, resp.Status)
			}
		}
	}
}

// linksOf returns where the links of rows lead to.
func linksOf(page string) (list []string) {
	for part := range strings.SplitSeq(page, `<a class="row" href="`) {
		if link, _, ok := strings.Cut(part, `"`); ok && !strings.HasPrefix(part, "<!doctype") {
			list = append(list, link)
		}
	}
	return list
}

// TestRunsOfAll: the list of runs has those of all gateways, and each leads to its run.
func TestRunsOfAll(t *testing.T) {
	var clock handClock
	list := gateways(t, 2, &clock, &consoletest.Directory{})
	for i := range 6 {
		w := list[i%2].Writer
		run := fmt.Sprint("run-", i)
		for _, p := range []record.Payload{record.RunStart{Agent: "a", Goal: record.Say("go")}, record.RunEnd{Status: "done"}} {
			if _, err := w.Append(t.Context(), record.Event{Run: run, Payload: p}); err != nil {
				t.Fatal(err)
			}
		}
	}
	consoletest.Meet(list...)
	for _, g := range list {
		l := listOf(t, g.Server.URL+"/runs?format=json")
		var names []string
		for _, row := range l.Rows {
			names = append(names, row.Run)
		}
		if slices.Sort(names); fmt.Sprint(names) != "[run-0 run-1 run-2 run-3 run-4 run-5]" || len(l.Gateways) != 2 {
			t.Errorf("%v of %v", names, l.Gateways)
		}
		_, page := get(t, g.Server.URL+"/runs")
		for _, link := range linksOf(page) {
			if resp, _ := get(t, g.Server.URL+"/"+link); resp.StatusCode != 200 {
				t.Errorf("%s: %s", link, resp.Status)
			}
		}
	}
}

// TestMissingGateways: a list says which gateways are not in it: one that does not answer, one
// of which nothing was heard, and one that does not know the token. Without the store of the
// addresses, it says that there may be others.
func TestMissingGateways(t *testing.T) {
	var clock handClock
	directory := &consoletest.Directory{}
	list := gateways(t, 3, &clock, directory)
	for _, g := range list {
		consoletest.Put(t, g.Writer, consoletest.Exchange("m", "Hi", "Yes."))
	}
	consoletest.Meet(list...)
	states := func() string {
		t.Helper()
		var said []string
		for _, g := range listOf(t, list[0].Server.URL+"/exchanges?format=json").Gateways {
			said = append(said, string(g.State))
		}
		return strings.Join(said, " ")
	}
	page := func() string { _, page := get(t, list[0].Server.URL+"/exchanges"); return page }
	if got := states(); got != "listed listed listed" || strings.Contains(page(), "is not on this page") {
		t.Fatal(got)
	}
	list[2].Server.Close()
	if got := states(); got != "listed listed away" || !strings.Contains(page(), "gateway-c is not on this page: it did not answer") {
		t.Error(got)
	}
	clock.forward(time.Minute)
	consoletest.Meet(list[:2]...)
	if got := states(); got != "listed listed silent" || !strings.Contains(page(), "gateway-c is not on this page: nothing was heard") {
		t.Error(got)
	}
	directory.Break(true)
	consoletest.Meet(list[0])
	if got := states(); got != "listed listed away" || !strings.Contains(page(), "There may be other gateways") {
		t.Error(got)
	}
	directory.Break(false)
	clock.forward(25 * time.Hour)
	consoletest.Meet(list[:2]...)
	if got := states(); got != "listed listed" {
		t.Errorf("after a day: %s", got)
	}
	resp, text := get(t, list[0].Server.URL+"/"+console.AtGateway(list[2].Writer.ID())+"exchanges")
	if resp.StatusCode != 404 || !strings.Contains(text, "This gateway is not known") {
		t.Errorf("%s: %s", resp.Status, text)
	}
}

// TestTickets: a console opens its pages to another one for somebody with a token that it knows
// itself, for this page, for a minute, and only for reading. The view is in its own record,
// with who looked.
func TestTickets(t *testing.T) {
	var clock handClock
	directory := &consoletest.Directory{}
	ann := access.Token{Name: "ann", Secret: "secret-of-ann"}
	list := gateways(t, 2, &clock, directory, ann)
	strict := gateways(t, 1, &clock, directory, access.Token{Name: "bob", Secret: "secret-of-bob"})[0]
	for _, g := range append(list, strict) {
		consoletest.Put(t, g.Writer, consoletest.Exchange("m", "Hi", "<think>No.</think>Yes."))
	}
	consoletest.Meet(append(list, strict)...)
	auth := []string{"Authorization", "Bearer secret-of-ann"}
	l := listOf(t, list[0].Server.URL+"/exchanges?format=json", auth...)
	if i := slices.IndexFunc(l.Gateways, func(g console.Gateway) bool { return g.Record == strict.Writer.ID() }); len(l.Rows) != 2 || i < 0 || l.Gateways[i].State != peers.Refused {
		t.Errorf("a console that does not know the token: %+v", l)
	}
	at := "/" + console.AtGateway(list[1].Writer.ID())
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", at+"exchanges/1", nil)
	r.Host, r.RemoteAddr = "127.0.0.1", "192.0.2.7:1234"
	r.Header.Set(auth[0], auth[1])
	list[0].Server.Config.Handler.ServeHTTP(w, r)
	if w.Code != 200 || !strings.Contains(w.Body.String(), "Yes.") {
		t.Fatal(w.Code, w.Body)
	}
	for _, refused := range []struct {
		at     string
		status int
	}{{"/" + console.AtGateway(strict.Writer.ID()) + "exchanges/1", 503}, {at + "exchanges/999", 404}} {
		if resp, text := get(t, list[0].Server.URL+refused.at, auth...); resp.StatusCode != refused.status {
			t.Errorf("%s: %s %s", refused.at, resp.Status, text)
		}
	}
	if resp, _ := get(t, list[0].Server.URL+at+"exchanges/1"); resp.StatusCode != 401 {
		t.Errorf("without a token: %s", resp.Status)
	}
	if resp, _ := postForm(t, list[0].Server.URL+at+"health/verify", nil, auth...); resp.StatusCode != 405 {
		t.Errorf("a change: %s", resp.Status)
	}
	var views []record.Audit
	for e, err := range consoletest.Store(t, list[1].Dir).Reader().Events(record.Query{Types: []record.Type{record.TypeAudit}}) {
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, e.Payload.(record.Audit))
	}
	if len(views) != 1 || views[0].Who != "ann" || views[0].Page != "/exchanges/1" || views[0].From != "192.0.2.7" {
		t.Errorf("the record of the gateway that was asked has the views %+v", views)
	}
	// A ticket opens nothing else, and not for long. This gateway has a fresh one.
	var seen http.Header
	spy := gateways(t, 1, &clock, directory, ann)[0]
	inner := spy.Server.Config.Handler
	spy.Server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(peers.Header) != "" {
			seen = r.Header.Clone()
		}
		inner.ServeHTTP(w, r)
	})
	consoletest.Meet(append(list, spy)...)
	page := console.AtGateway(spy.Writer.ID()) + "exchanges?model=m"
	if resp, _ := get(t, list[0].Server.URL+"/"+page, append(auth, "Cookie", "a=b")...); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	if seen.Get("Authorization") != "" || seen.Get("Cookie") != "" {
		t.Errorf("the other console gets %v", seen)
	}
	ticket := []string{peers.Header, seen.Get(peers.Header)}
	for at, want := range map[string]int{spy.Server.URL + "/exchanges?model=m": 200, spy.Server.URL + "/exchanges": 401, spy.Server.URL + "/health": 401, list[1].Server.URL + "/exchanges?model=m": 401} {
		if resp, _ := get(t, at, ticket...); resp.StatusCode != want {
			t.Errorf("%s with a ticket: %s, want %d", at, resp.Status, want)
		}
	}
	if resp, _ := postForm(t, spy.Server.URL+"/health/verify", nil, ticket...); resp.StatusCode != 401 {
		t.Errorf("a change with a ticket: %s", resp.Status)
	}
	clock.forward(time.Minute)
	if resp, _ := get(t, spy.Server.URL+"/exchanges?model=m", ticket...); resp.StatusCode != 401 {
		t.Errorf("an old ticket: %s", resp.Status)
	}
}

// TestFindOfAll: an identifier is found in the record of any gateway, and leads to the same
// exchange from each.
func TestFindOfAll(t *testing.T) {
	var clock handClock
	list := gateways(t, 3, &clock, &consoletest.Directory{})
	for i, g := range list {
		for n := range i + 1 {
			x := consoletest.Exchange("m", "Hi", "Yes.")
			x.ResponseID = fmt.Sprintf("answer-%d-%d", i, n)
			consoletest.Put(t, g.Writer, x)
		}
	}
	consoletest.Meet(list...)
	for i, g := range list {
		want := "/" + console.AtGateway(g.Writer.ID()) + "exchanges/" + fmt.Sprint(i+1)
		for _, from := range list {
			resp, err := http.Get(from.Server.URL + "/exchanges/find?id=" + url.QueryEscape(fmt.Sprintf("answer-%d-%d", i, i)))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 200 || resp.Request.URL.Path != want {
				t.Errorf("%s: %s, want %s", resp.Request.URL, resp.Status, want)
			}
		}
	}
	if resp, _ := get(t, list[0].Server.URL+"/exchanges/find?id=nothing"); resp.StatusCode != 404 {
		t.Error(resp.Status)
	}
	list[2].Server.Close()
	if resp, page := get(t, list[0].Server.URL+"/exchanges/find?id=answer-2-1"); resp.StatusCode != 404 || !strings.Contains(page, "gateway-c") {
		t.Errorf("%s: %s", resp.Status, page)
	}
}
