package console_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/explore"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// lately is a record of the last days, in which what was planted became worse.
func lately(t *testing.T) (dir string) {
	t.Helper()
	dir = consoletest.Explored(t, 3000)
	consoletest.Spread(t, dir, time.Now().Add(-4*24*time.Hour), time.Now().Add(-time.Minute))
	return dir
}

// TestHealthBegins: the health begins with what became worse, before anything else, and with
// links to it; or says that nothing is wrong, and what it looked at.
func TestHealthBegins(t *testing.T) {
	dir := lately(t)
	base := serve(t, console.Config{Record: consoletest.Store(t, dir), Dir: dir}, "/p/")
	_, page := get(t, base+"health")
	first := strings.Index(page, "things are wrong")
	if first < 0 || first > strings.Index(page, "<h2>Record") || !strings.Contains(page, consoletest.Leaky+": ") || !strings.Contains(page, `href="explore?from=7d&amp;model=`+url.QueryEscape(consoletest.Leaky)+`&amp;of=reached"`) {
		t.Error(page)
	}
	_, text := get(t, base+"health?format=json")
	var d struct{ Wrong []struct{ What, Link string } }
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	// What is planted is found. By chance, and by where the hours begin, one more series may
	// seem to have changed.
	slower := func(i int) bool {
		return strings.HasPrefix(d.Wrong[i].What, "deepseek-r1:14b: half of the replies took longer")
	}
	if n := len(d.Wrong); n < 2 || n > 3 || !strings.HasPrefix(d.Wrong[0].What, consoletest.Leaky+": ") || !slower(1) && !slower(n-1) {
		t.Errorf("%s", text)
	}
	dir = consoletest.Scripted(t)
	base = serve(t, console.Config{Record: consoletest.Store(t, dir), Dir: dir}, "/p/")
	if _, page := get(t, base+"health"); !strings.Contains(page, "Nothing wrong was found") || !strings.Contains(page, "changes for the worse") {
		t.Error(page)
	}
}

// TestExplorePage: every link of the screen leads to a page, and keeps what was chosen.
func TestExplorePage(t *testing.T) {
	dir := lately(t)
	base := serve(t, console.Config{Record: consoletest.Store(t, dir), Dir: dir}, "/p/")
	slow := func(page string) bool { return strings.Contains(page, "without a sidecar were read line by line") }
	if _, page := get(t, base+"explore"); slow(page) {
		t.Error("the page says that it is slow: the newest segment alone has no sidecar, as one that is being written")
	}
	w, err := record.Open(dir, record.Options{SegmentSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	consoletest.Put(t, w, consoletest.Exchange(consoletest.Pensive, "Which tower?", "Toronto's."))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, page := get(t, base+"explore"); !slow(page) {
		t.Error("the page does not say that it is slow")
	}
	if _, err := sidecar.Make(t.Context(), dir, sidecar.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, page := get(t, base+"explore"); slow(page) {
		t.Error("the page says that it is slow")
	}
	seen := map[string]bool{}
	todo := []string{"explore?from=3d", "explore?of=tools&by=tool&tool=" + consoletest.Broken}
	for len(todo) > 0 && len(seen) < 60 {
		at := todo[0]
		todo = todo[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		resp, page := get(t, base+at)
		if resp.StatusCode != 200 {
			t.Errorf("%s: %s", at, resp.Status)
		}
		if !strings.HasPrefix(at, "explore?") {
			continue
		}
		from, _ := url.Parse(at)
		walk(t, page, func(n *html.Node) {
			i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "href" })
			if n.Data != "a" || i < 0 || !strings.Contains(n.Attr[i].Val, "?") {
				return
			}
			to, err := url.Parse(n.Attr[i].Val)
			if err != nil {
				t.Fatal(err)
			}
			inPlot := slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "tabindex" })
			chip := slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "title" })
			if !inPlot {
				todo = append(todo, n.Attr[i].Val)
			}
			if from.Query().Get("from") != "" && to.Query().Get("from") == "" && !chip && to.Path != "search" && to.Path != "runs" { // these have no filter by time
				t.Errorf("%s: the link %s loses the time", at, n.Attr[i].Val)
			}
		})
	}
	if len(seen) < 25 {
		t.Errorf("%d pages", len(seen))
	}
	for _, bad := range []string{"of=x", "by=tool", "from=x"} {
		if resp, _ := get(t, base+"explore?"+bad); resp.StatusCode != 400 {
			t.Errorf("%s: %s", bad, resp.Status)
		}
	}
	_, text := get(t, base+"explore?format=json&of=took")
	var a explore.Answer
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.V != 1 || len(a.Series) != 4 {
		t.Errorf("%v: %.200s", err, text)
	}
}
