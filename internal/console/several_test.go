package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/explore"
	"github.com/sotto-llm/sotto/record"
)

// TestExploreAll: the answer about the records of several gateways is the one about a record
// that has all of their events: the same values, intervals and changes, by each measure.
func TestExploreAll(t *testing.T) {
	var clock handClock
	list := gateways(t, 3, &clock, &consoletest.Directory{})
	whole, dir := consoletest.Open(t)
	begin := time.Now().Add(-40 * time.Hour).Truncate(time.Second)
	for i := range 900 {
		x := consoletest.Exchange(fmt.Sprint("model-", i%3), "Hi", "<think>"+strings.Repeat("x", i%50)+"</think>Yes.")
		x.Millis, x.Outcome, x.Caller = int64(100+i%7*90), "answered", fmt.Sprint("n", i)
		if i > 500 && i%3 == 1 {
			x.Millis *= 20
			x.Outcome = []string{"answered", "failed"}[i%2]
		}
		for _, w := range []*record.Writer{list[i%2].Writer, whole} { // the third record is empty
			consoletest.Put(t, w, x)
		}
	}
	consoletest.Meet(list...)
	number := regexp.MustCompile(`"caller":"n([0-9]+)"`)
	for at, w := range map[string]*record.Writer{list[0].Dir: list[0].Writer, list[1].Dir: list[1].Writer, dir: whole} {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		last := begin
		consoletest.Retime(t, at, func(_, _ int, line []byte) time.Time {
			if m := number.FindSubmatch(line); m != nil {
				i, _ := strconv.Atoi(string(m[1]))
				last = begin.Add(time.Duration(i) * 2 * time.Minute)
			}
			return last
		})
	}
	one := serve(t, console.Config{Record: consoletest.Store(t, dir), Dir: dir}, "/")
	type answer struct {
		explore.Answer
		Gateways []console.Gateway
	}
	ask := func(at string) (a answer) {
		t.Helper()
		resp, text := get(t, at)
		if err := json.Unmarshal([]byte(text), &a); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s: %v: %.300s", at, err, text)
		}
		return a
	}
	for _, query := range []string{"", "of=took", "of=failed", "of=took&by=api", "of=thought&model=model-1", "of=took&from=" + url.QueryEscape(begin.Add(10*time.Hour).Format(time.RFC3339)) + "&to=" + url.QueryEscape(begin.Add(20*time.Hour).Format(time.RFC3339))} {
		want := ask(one + "explore?format=json&" + query)
		for _, g := range list[:2] {
			got := ask(g.Server.URL + "/explore?format=json&" + query)
			if len(got.Gateways) != 3 || got.Events != want.Events || !got.From.Equal(want.From) || got.Width != want.Width {
				t.Fatalf("%q: %d events since %v of %v, want %d since %v", query, got.Events, got.From, got.Gateways, want.Events, want.From)
			}
			a, _ := json.Marshal(got.Series)
			b, _ := json.Marshal(want.Series)
			if string(a) != string(b) || len(want.Series) == 0 {
				t.Errorf("%q:\n%.600s\nwant\n%.600s", query, a, b)
			}
		}
	}
	if changed := ask(list[0].Server.URL + "/explore?format=json&of=took"); len(changed.Series[0].Stretches) < 2 {
		t.Error("what was planted is not found")
	}
	list[1].Server.Close()
	if _, page := get(t, list[0].Server.URL+"/explore"); !strings.Contains(page, "gateway-b is not on this page: it did not answer") || !strings.Contains(page, "450 events counted") {
		t.Errorf("a gateway is gone: %s", page)
	}
}

// TestHostileCounts: what another console sends is refused if no record has it, or if it would
// take much memory.
func TestHostileCounts(t *testing.T) {
	q := explore.Query{Of: explore.Took, By: explore.ByModel}
	span := explore.Span{From: time.Unix(0, 0), To: time.Unix(600, 0)}
	read := func(line string) error {
		_, err := explore.ReadCounts([]byte(`{"v":1,"lines":[`+line+`]}`), q, span)
		return err
	}
	if err := read(`{"name":"m","cells":[{"at":0,"sizes":[5,1,2,3]}]}`); err != nil {
		t.Error(err)
	}
	many := strings.Repeat(`,{"name":"m","cells":[{"at":0,"sizes":[3000,1]},{"at":1,"sizes":[3000,1]}]}`, 199)[1:]
	wide := `{"name":"m","cells":[{"at":0,"sizes":[3000,1]}`
	for i := 1; i < 60; i++ {
		wide += fmt.Sprintf(`,{"at":%d,"sizes":[3000,1]}`, i)
	}
	wide = strings.Repeat(","+wide+"]}", 30)[1:]
	for name, c := range map[string]struct {
		line string
		ok   bool
	}{
		"no part":        {`{"cells":[{"at":60,"sizes":[1,1]}]}`, false},
		"before all":     {`{"cells":[{"at":-1,"sizes":[1,1]}]}`, false},
		"twice":          {`{"cells":[{"at":1,"sizes":[1,1]},{"at":1,"sizes":[1,1]}]}`, false},
		"a size without": {`{"cells":[{"at":1,"sizes":[1]}]}`, false},
		"none of a size": {`{"cells":[{"at":1,"sizes":[1,0]}]}`, false},
		"backwards":      {`{"cells":[{"at":1,"sizes":[5,1,-2,1]}]}`, false},
		"too large":      {`{"cells":[{"at":1,"sizes":[1000000000,1]}]}`, false},
		"too many":       {`{"cells":[{"at":1,"sizes":[1,9000000000]}]}`, false},
		"a share":        {`{"cells":[{"at":1,"n":5,"count":2}]}`, false},
		"many names":     {many, true},
		"more memory":    {wide, false},
		"not a line":     {`7`, false},
	} {
		if err := read(c.line); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// foundPage is a page of a search as JSON.
type foundPage struct {
	List []struct {
		Record string
		Event  uint64
		Time   time.Time
	}
	Searched, Total int64
	Next            string
	Gateways        []console.Gateway
}

// TestSearchAll: a search finds what is in each of the records, once each, over all of its
// pages, and each hit leads to its byte. The views of thoughts are in the record that has them.
func TestSearchAll(t *testing.T) {
	var clock handClock
	list := gateways(t, 2, &clock, &consoletest.Directory{})
	want := 0
	for i := range 900 { // the second one has more than two pages of hits
		g := list[1-i%4/3]
		if i%2 == 0 || g == list[1] {
			want++
			consoletest.Put(t, g.Writer, consoletest.Exchange("m", "Hi", "<think>A rare needle.</think>Yes."))
		} else {
			consoletest.Put(t, g.Writer, consoletest.Exchange("m", "Hi", "Hay."))
		}
	}
	consoletest.Meet(list...)
	base := list[0].Server.URL + "/"
	seen := map[string]bool{}
	pages := 0
	next := "search?q=needle"
	for next != "" {
		pages++
		var f foundPage
		_, text := get(t, base+next+"&format=json")
		if err := json.Unmarshal([]byte(text), &f); err != nil || len(f.Gateways) == 0 || f.Searched > f.Total {
			t.Fatalf("%s: %v: %.300s", next, err, text)
		}
		if !slices.IsSortedFunc(f.List, func(a, b struct {
			Record string
			Event  uint64
			Time   time.Time
		}) int {
			return b.Time.Compare(a.Time)
		}) {
			t.Error("the hits of a page are not in their order")
		}
		for _, h := range f.List {
			key := fmt.Sprint(h.Record, " ", h.Event)
			if seen[key] {
				t.Errorf("%s is found twice", key)
			}
			seen[key] = true
		}
		_, page := get(t, base+next)
		for _, link := range linksOf(page)[:min(2, len(f.List))] {
			if resp, at := get(t, base+html.UnescapeString(link)); resp.StatusCode != 200 || !strings.Contains(at, "needle</mark>") {
				t.Errorf("%s: %s", link, resp.Status)
			}
		}
		if next = ""; f.Next != "" {
			next = "search?" + url.Values{"q": {"needle"}, "cursor": {f.Next}, "done": {fmt.Sprint(f.Searched)}, "of": {fmt.Sprint(f.Total)}}.Encode()
			if !strings.Contains(page, "cursor="+f.Next) {
				t.Errorf("the page does not lead to %s", next)
			}
		} else if f.Searched != f.Total {
			t.Errorf("the search ends at %d of %d", f.Searched, f.Total)
		}
	}
	if len(seen) != want || pages < 3 {
		t.Errorf("%d of %d are found, on %d pages", len(seen), want, pages)
	}
	for _, g := range list {
		for e, err := range consoletest.Store(t, g.Dir).Reader().Events(record.Query{Types: []record.Type{record.TypeAudit}}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, seq := range e.Payload.(record.Audit).Events {
				if e.Payload.(record.Audit).Action == "search" && !seen[fmt.Sprint(g.Writer.ID(), " ", seq)] {
					t.Errorf("the record of a gateway says that event %d was seen, which is not in it", seq)
				}
			}
		}
	}
	list[1].Server.Close()
	if _, page := get(t, base+"search?q=needle"); !strings.Contains(page, "gateway-b is not on this page: it did not answer") {
		t.Error("a gateway is gone, and the page does not say so")
	}
}

// TestHealthOfAll: the health begins with the gateways that do not answer, and then has what is
// wrong at each, with links to its pages. Its own page is for changes, and says whose it is.
func TestHealthOfAll(t *testing.T) {
	var clock handClock
	list := gateways(t, 3, &clock, &consoletest.Directory{})
	begin := time.Now().Add(-4 * 24 * time.Hour)
	for i := range 600 { // the second one becomes slow
		x := consoletest.Exchange("m", "Hi", "Yes.")
		if x.Millis = int64(100 + i%9); i > 300 {
			x.Millis *= 30
		}
		consoletest.Put(t, list[1].Writer, x)
	}
	consoletest.Meet(list...)
	if err := list[1].Writer.Close(); err != nil {
		t.Fatal(err)
	}
	consoletest.Spread(t, list[1].Dir, begin, time.Now())
	list[2].Server.Close()
	base := list[0].Server.URL + "/"
	var d struct {
		Wrong    []struct{ Gateway, What, Link string }
		Gateways []struct {
			Name, State string
			Health      *struct{ Record struct{ Head uint64 } }
		}
	}
	_, text := get(t, base+"health?format=json")
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Wrong) < 2 || d.Wrong[0].What != "gateway-c did not answer" || d.Wrong[1].Gateway != "gateway-b" || !strings.Contains(d.Wrong[1].What, "took longer") {
		t.Fatalf("%s", text)
	}
	if len(d.Gateways) != 3 || d.Gateways[1].Health == nil || d.Gateways[1].Health.Record.Head < 600 || d.Gateways[2].State != "away" || d.Gateways[2].Health != nil {
		t.Errorf("%s", text)
	}
	_, page := get(t, base+"health")
	for _, link := range append(linksOf(page)[:2], d.Wrong[1].Link) {
		if resp, _ := get(t, base+link); resp.StatusCode != 200 || !strings.HasPrefix(link, "at/") {
			t.Errorf("%s: %s", link, resp.Status)
		}
	}
	if strings.Contains(page, `action="health/verify"`) || !strings.Contains(page, `href="health?here"`) {
		t.Error("the page of all changes one of them")
	}
	if _, page := get(t, base+"health?here"); !strings.Contains(page, `action="health/verify"`) || !strings.Contains(page, "</span>gateway-a</summary>") {
		t.Error(page)
	}
	if resp, _ := post(t, base+"health/verify", nil); resp.Header.Get("Location") != "../health?here" {
		t.Error(resp.Header)
	}
}

// TestFollowAll: who follows the lists of all gateways learns about an event in any of their records.
// Who follows one record learns about that one only.
func TestFollowAll(t *testing.T) {
	var clock handClock
	list := gateways(t, 2, &clock, &consoletest.Directory{})
	consoletest.Put(t, list[0].Writer, consoletest.Exchange("m", "Hi", "Yes."))
	consoletest.Meet(list...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	follow := func(path string) <-chan string {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, list[0].Server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		heads := make(chan string, 100)
		go func() {
			defer resp.Body.Close()
			defer close(heads)
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					heads <- data
				}
			}
		}()
		return heads
	}
	all, one := follow("/live?all"), follow("/live")
	consoletest.Put(t, list[1].Writer, consoletest.Exchange("m", "Hi", "Yes."))
	consoletest.Meet(list...)
	if data := <-all; !strings.HasPrefix(data, "1.") {
		t.Errorf("of the other gateway's event: %q", data)
	}
	consoletest.Put(t, list[0].Writer, consoletest.Exchange("m", "Hi", "Yes."))
	if data := <-all; !strings.HasPrefix(data, "2.") {
		t.Errorf("of this gateway's event: %q", data)
	}
	if data := <-one; data != "2" {
		t.Errorf("who follows one record hears %q", data)
	}
	for path, want := range map[string]bool{"/exchanges": true, "/exchanges?sort=took": false, "/" + console.AtGateway(list[0].Writer.ID()) + "exchanges": false, "/runs": true} {
		if _, page := get(t, list[0].Server.URL+path); (strings.Contains(page, " data-all>") && strings.Contains(page, ` id="live" `)) != want {
			t.Errorf("%s follows all: %v", path, !want)
		}
	}
}
