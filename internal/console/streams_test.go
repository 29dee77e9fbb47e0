package console_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/lab/streamview"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
)

// TestStreams: two streams of problems open at their first difference, with the paired
// difference above it; each problem of both leads to the comparison of its two runs, which is of
// that problem alone.
func TestStreams(t *testing.T) {
	dir, _ := consoletest.Streams(t)
	base := serve(t, withLab(console.Config{Record: consoletest.Store(t, dir)}, screens.Config{}), "/p/")
	path := "runs/" + consoletest.WithMemory + "/compare?with=" + consoletest.WithoutMemory
	_, body := get(t, base+path+"&format=json")
	var c streamview.Comparison
	if err := json.Unmarshal([]byte(body), &c); err != nil || c.First == nil || c.Count[streamview.OnlyA] != 1 || c.Count[streamview.OnlyB] != 1 || c.Difference.N != 12 {
		t.Fatalf("%v: %.600s", err, body)
	}
	_, page := get(t, base+path)
	first := strings.Index(page, `class="streams-first"`)
	for _, want := range []string{"points (95 % interval", c.First.Problem().ID, "right only in " + consoletest.WithMemory} {
		if at := strings.Index(page, want); at < 0 || at > first+1500 {
			t.Errorf("%q is at %d, and the first difference at %d", want, at, first)
		}
	}
	links := regexp.MustCompile(`class="row" href="([^"]+)"`).FindAllStringSubmatch(page, -1)
	if want := c.Selected - 2; len(links) != want {
		t.Fatalf("%d problems lead to their runs, want %d", len(links), want)
	}
	for _, link := range links {
		to := base + strings.ReplaceAll(strings.TrimPrefix(link[1], "../../"), "&amp;", "&")
		resp, page := get(t, to)
		if resp.StatusCode != http.StatusOK || strings.Count(page, `<section class="pair`) != 1 {
			t.Fatalf("%s: %s, %d cycles", to, resp.Status, strings.Count(page, `<section class="pair`))
		}
	}
	for _, bad := range []string{"&show=x", "&at=-1", "&cycle=x", "&beside=2"} {
		if resp, _ := get(t, base+path+bad); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", bad, resp.Status)
		}
	}
	if resp, _ := get(t, base+"runs/"+consoletest.WithMemory+"/compare?with=none"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("with a run that is not there: %s", resp.Status)
	}
}

// TestStreamsOfStudy: the cells of a study of streams are compared without a record, and the
// study's answer leads there. A stream that cannot be read says why.
func TestStreamsOfStudy(t *testing.T) {
	dir := t.TempDir()
	m := studytest.Streams(t, filepath.Join(dir, "one"), studytest.Grid{Models: []string{"a"}, Modes: []string{"io", "template"}, Repetitions: 3, Size: 12})
	base := serve(t, withLab(console.Config{}, screens.Config{Studies: &screens.Studies{Dir: dir}}), "/p/")
	_, page := get(t, base+"studies/one")
	link := regexp.MustCompile(`href="(one/compare\?a=[^"]+)"`).FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("the answer leads nowhere:\n%.1500s", page)
	}
	resp, page := get(t, base+"studies/"+strings.ReplaceAll(link[1], "&amp;", "&"))
	if resp.StatusCode != http.StatusOK || !strings.Contains(page, "streams-first") || strings.Contains(page, `class="row"`) || !strings.Contains(page, "a, template, repetition 1") {
		t.Errorf("%s\n%.1500s", resp.Status, page)
	}
	// The streams of a repetition have the same problems.
	_, body := get(t, base+"studies/one/compare?a="+m.Cells[0].ID+"&b="+m.Cells[3].ID+"&format=json")
	var c streamview.Comparison
	if json.Unmarshal([]byte(body), &c) != nil || c.Difference.N != 12 || c.Count[streamview.OnlyA]+c.Count[streamview.OnlyB] != 0 {
		t.Errorf("%.500s", body)
	}
	if err := os.WriteFile(study.StreamFile(filepath.Join(dir, "one"), m.Cells[0].ID), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if resp, _ := get(t, base+"studies/one/compare?a="+m.Cells[0].ID+"&b="+m.Cells[3].ID); resp.StatusCode == http.StatusOK {
		t.Errorf("a stream that is no JSON: %s", resp.Status)
	}
}
