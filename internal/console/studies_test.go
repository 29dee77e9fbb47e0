package console_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
)

// Cells are in the grid with their statuses as words, pages come again while the study
// runs, and the report is a page of its own. A study that cannot be read is named.
func TestStudies(t *testing.T) {
	dir := t.TempDir()
	m := studytest.Streams(t, filepath.Join(dir, "one"), studytest.Grid{Models: []string{"a"}, Modes: []string{"io", "template"}, Repetitions: 3, Size: 12})
	studytest.Runs(t, filepath.Join(dir, "two"), studytest.Grid{Models: []string{"a"}, Modes: []string{"strip", "keep"}, Repetitions: 2, Size: 5})
	if err := os.MkdirAll(filepath.Join(dir, "bad"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(study.ManifestFile(filepath.Join(dir, "bad")), []byte(`{"v":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	studytest.State(t, filepath.Join(dir, "one"), &m.Cells[0], study.Failed, nil)
	base := serve(t, withLab(console.Config{}, screens.Config{Studies: &screens.Studies{Dir: dir}}), "/p/")
	if seen, kinds := crawl(t, base, "", ""); seen < 7 || kinds["text/html"] < 5 {
		t.Errorf("%d addresses of the kinds %v", seen, kinds)
	}
	resp, list := get(t, base+"studies")
	if resp.Header.Get("Refresh") != "" || !strings.Contains(list, "version 7 of a study") || !strings.Contains(list, "5 done") || !strings.Contains(list, "1 failed") {
		t.Errorf("refresh %q\n%s", resp.Header.Get("Refresh"), list)
	}
	_, page := get(t, base+"studies/one")
	if n := strings.Count(page, `class="cell done"`); n != 5 || !strings.Contains(page, ">failed</span>") || !strings.Contains(page, `value="5"`) || !strings.Contains(page, `class="curve s0"`) {
		t.Errorf("%d cells are done\n%s", n, page)
	}
	for _, path := range []string{"studies/bad", "studies/three", "studies/..", "studies/%2e%2e", "studies/one%2f..", "studies/three/report"} {
		if resp, _ := get(t, base+path); resp.StatusCode == http.StatusOK {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	resp, report := get(t, base+"studies/one/report")
	if !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") || !strings.Contains(report, "Which is better?") {
		t.Errorf("the report: %v", resp.Header)
	}
	var object struct{ Groups []any }
	if _, body := get(t, base+"studies/one?format=json"); json.Unmarshal([]byte(body), &object) != nil || len(object.Groups) != 2 {
		t.Error(body)
	}
}

// The page of a study with a cell that runs comes again.
func TestStudyThatRuns(t *testing.T) {
	dir := t.TempDir()
	m := studytest.Streams(t, dir, studytest.Grid{Models: []string{"a"}, Modes: []string{"io"}, Repetitions: 2, Size: 5})
	studytest.State(t, dir, &m.Cells[0], study.Running, nil)
	base := serve(t, withLab(console.Config{}, screens.Config{Studies: &screens.Studies{Dir: dir}}), "/")
	name := filepath.Base(dir)
	for _, path := range []string{"studies", "studies/" + name} {
		if resp, page := get(t, base+path); resp.Header.Get("Refresh") != "5" || !strings.Contains(page, "running") {
			t.Errorf("%s comes again after %q s", path, resp.Header.Get("Refresh"))
		}
	}
}

// Whatever the labels of a study hold, a page has only elements of its own.
func TestHostileStudies(t *testing.T) {
	attack := "</text></svg><script>x</script>\" onload=\"x\u202e\x1b[31m{{.}}"
	dir := t.TempDir()
	m := studytest.Runs(t, dir, studytest.Grid{Models: []string{attack}, Modes: []string{"strip", attack}, Repetitions: 2, Size: 5})
	m.Name, m.Question = attack, attack
	if err := study.WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	if err := study.WriteState(dir, &study.State{V: 1, Cell: m.Cells[0].ID, Status: study.Status(attack), Settings: "s", Reason: attack}); err != nil {
		t.Fatal(err)
	}
	base := serve(t, withLab(console.Config{Record: consoletest.Store(t, study.RecordFolder(dir, "worker-1"))}, screens.Config{Studies: &screens.Studies{Dir: dir}}), "/")
	own := slices.Concat(elements, strings.Fields("polyline polygon text progress"))
	for _, path := range []string{"studies", "studies/" + filepath.Base(dir)} {
		_, page := get(t, base+path)
		walk(t, page, func(n *html.Node) {
			if !slices.Contains(own, n.Data) || n.Data == "script" && attr(n, "src") == "" {
				t.Errorf("%s has an element %s", path, n.Data)
			}
			if attr(n, "onload") != "" {
				t.Errorf("%s has an attribute onload", path)
			}
		})
		if strings.ContainsAny(page, "\u202e\x1b") {
			t.Errorf("%s has characters that hide or reorder", path)
		}
	}
}
