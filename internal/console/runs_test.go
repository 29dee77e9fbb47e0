package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/record"
)

// Every address in the pages of runs leads to a page, and each page is also JSON of
// version 1.
func TestEveryLinkOfRuns(t *testing.T) {
	if effort.Brief() {
		t.Skip("hundreds of pages: SOTTO_EFFORT=1 runs it")
	}
	dir, file := consoletest.Runs(t)
	g, err := metagraph.Open(file, metagraph.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	base := serve(t, withLab(console.Config{Record: consoletest.Store(t, dir)}, screens.Config{Memory: runview.NewFile(g, "memory.db")}), "/any/prefix/")
	paths := []string{
		"runs", "runs?below=1", "runs/" + consoletest.Second, "runs/" + consoletest.First + "?from=2&to=4", "runs/" + consoletest.Solved,
		"runs/" + consoletest.First + "?view=memory&cycle=2", "runs/" + consoletest.Solved + "?view=memory&cycle=3", "runs/" + consoletest.First + "?view=reflections", "runs/" + consoletest.First + "?view=again",
		"runs/" + consoletest.First + "/compare?with=" + consoletest.Second, "sessions?id=nothing", "memory", "memory?run=" + consoletest.Solved, "memory?from=record",
	}
	if seen, kinds := crawl(t, base, "runs", paths...); seen < 150 || kinds["text/javascript"] != 2 {
		t.Errorf("%d addresses of the kinds %v", seen, kinds)
	}
	for _, path := range paths {
		address := base + path + "?format=json"
		if strings.Contains(path, "?") {
			address = base + path + "&format=json"
		}
		var v struct{ V int }
		if resp, body := get(t, address); resp.StatusCode != http.StatusOK || json.Unmarshal([]byte(body), &v) != nil || v.V != versionOf(path) {
			t.Errorf("%s: %s %.200s", path, resp.Status, body)
		}
	}
}

// The page of a run has a bar for each invocation and its place as attributes, not as
// styles. An event of another run is not selected, and a run with any name has a page.
func TestRunPage(t *testing.T) {
	dir, _ := consoletest.Runs(t)
	base := serve(t, console.Config{Record: consoletest.Store(t, dir)}, "/")
	_, body := get(t, base+"runs/"+consoletest.First)
	bars := 0
	walk(t, body, func(n *html.Node) {
		if strings.HasPrefix(attr(n, "class"), "bar-link") {
			bars++
		}
		if attr(n, "style") != "" {
			t.Errorf("%s has a style", n.Data)
		}
	})
	if bars != 28 || !strings.Contains(body, "The rule now has its exceptions for centuries.") {
		t.Errorf("%d bars", bars)
	}
	for path, status := range map[string]int{
		"runs/" + consoletest.First + "?at=1": 200, "runs/" + consoletest.Second + "?at=9": 404, "runs/nobody": 404, "runs/~%21": 400,
		"runs/" + consoletest.First + "?from=x": 400, "runs/" + consoletest.First + "?view=x": 400, "runs?before=0": 400,
	} {
		if resp, _ := get(t, base+path); resp.StatusCode != status {
			t.Errorf("%s: %s, want %d", path, resp.Status, status)
		}
	}
}

// The commands that go on with a run name it as a shell takes it. Other runs say why
// there is no command.
func TestAgain(t *testing.T) {
	dir, _ := consoletest.Runs(t)
	base := serve(t, console.Config{Record: consoletest.Store(t, dir), Name: "my record's"}, "/")
	var v struct{ Commands []struct{ Text, Why string } }
	_, body := get(t, base+"runs/"+consoletest.First+"?view=again&format=json")
	if err := json.Unmarshal([]byte(body), &v); err != nil || len(v.Commands) != 2 || v.Commands[0].Text != `sotto run --config FILE --name first-a --record 'my record'\''s'` || !strings.Contains(v.Commands[1].Text, "--replay") {
		t.Errorf("%s", body)
	}
	_, body = get(t, base+"runs/"+consoletest.Solved+"?view=again&format=json")
	v.Commands = nil
	if err := json.Unmarshal([]byte(body), &v); err != nil || v.Commands[0].Text != "" || v.Commands[0].Why == "" {
		t.Errorf("%s", body)
	}
}

// The empty list of runs says the next command. An encrypted record says so.
func TestNoRuns(t *testing.T) {
	w, dir := consoletest.Open(t)
	base := serve(t, console.Config{Record: consoletest.Store(t, dir)}, "/")
	if _, body := get(t, base+"runs"); !strings.Contains(body, "sotto run --record") {
		t.Error("no next command")
	}
	if _, err := w.Append(context.Background(), record.Event{Run: "live", Payload: record.RunStart{Agent: "sotto"}}); err != nil {
		t.Fatal(err)
	}
	_, body := get(t, base+"runs/live")
	if !strings.Contains(body, " data-live>") {
		t.Error("a run that goes on is not followed")
	}
	base = serve(t, console.Config{Record: consoletest.Store(t, sealedRecord(t))}, "/")
	if resp, body := get(t, base+"runs"); resp.StatusCode != 200 || !strings.Contains(body, "--identity FILE") {
		t.Error(resp.Status)
	}
	if resp, body := get(t, base+"runs/x"); resp.StatusCode != 403 || !strings.Contains(body, "--identity FILE") {
		t.Error(resp.Status)
	}
}

// versionOf is the version of the JSON of a page of runs.
func versionOf(path string) int {
	if strings.HasPrefix(path, "sessions") || strings.HasPrefix(path, "runs/") && !strings.Contains(path, "view=") && !strings.Contains(path, "/compare") {
		return 2
	}
	return 1
}
