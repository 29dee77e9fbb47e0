package console

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
)

// policies runs the study of the examples with one worker, so that the console of its
// folder also shows its record, and returns the address of that console.
func policies(t *testing.T) (base string) {
	t.Helper()
	sotto, dir := program(t), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/studies")); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "policies.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(text), "workers: 2", "workers: 1", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(sotto, "study", "policies.yaml", "--quiet")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return announced(t, sotto, dir, "the console is at", "console", "policies", "--listen", "127.0.0.1:0")["the console is at"] + "/"
}

// shelf is a folder of studies: one with a cell of each status at which a page does not
// come again, with labels that are long; streams of problems; and one that cannot be read.
func shelf(t *testing.T) (base string) {
	t.Helper()
	dir := t.TempDir()
	long := "registry.example.org/models/" + strings.Repeat("distilled-", 12) + "q4_K_M"
	unfinished := filepath.Join(dir, "unfinished")
	m := studytest.Runs(t, unfinished, studytest.Grid{Models: []string{"a", long}, Modes: []string{"strip", "keep"}, Repetitions: 12, Size: 5})
	m.Question = strings.Repeat("Which of them repeats itself? ", 12) + long
	if err := study.WriteManifest(unfinished, m); err != nil {
		t.Fatal(err)
	}
	for i, status := range []study.Status{study.Waiting, study.Failed, study.Bounded, study.Changed} {
		studytest.State(t, unfinished, &m.Cells[i], status, nil)
	}
	studytest.Streams(t, filepath.Join(dir, "streams"), studytest.Grid{Models: []string{"a", "b"}, Modes: []string{"io", "template"}, Repetitions: 3, Size: 24})
	if err := os.MkdirAll(filepath.Join(dir, "unreadable"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(study.ManifestFile(filepath.Join(dir, "unreadable")), []byte(`{"v":7,"`+long+`":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return serveStudies(t, dir)
}

// serveStudies serves the console of a folder of studies, without a record.
func serveStudies(t *testing.T, dir string) (base string) {
	t.Helper()
	c := newConsole(console.Config{Name: filepath.Base(dir)}, screens.Config{Studies: &screens.Studies{Dir: dir}})
	s := httptest.NewServer(c)
	t.Cleanup(func() { c.Close(); s.CloseClientConnections(); s.Close() })
	return s.URL + "/"
}

// TestStudyLooks looks at the pages of studies as TestLooks does. A status is a word on
// one line, and a narrow window shows the first cells beside labels that are long.
func TestStudyLooks(t *testing.T) {
	b := open(t, shelf(t))
	b.looks(map[string]string{"studies": "studies", "study-unfinished": "studies/unfinished", "study-streams": "studies/streams"})
	b.look(390, "light")
	b.visit("studies/unfinished")
	if n := js[int](b, `[...document.querySelectorAll(".cells .cell")].filter(e => e.getBoundingClientRect().height > 24).length`); n > 0 {
		t.Errorf("%d statuses have more than a line", n)
	}
	if right := js[float64](b, `document.querySelector(".cells .cell").getBoundingClientRect().right`); right > 390 {
		t.Errorf("the first cell ends at %v of 390", right)
	}
}

// TestStudy looks at a study that the program ran, and goes by the keyboard from the list
// to the study, and from a cell to its run. Back returns to the study.
func TestStudy(t *testing.T) {
	b := open(t, policies(t))
	b.looks(map[string]string{"study": "studies/policies"})
	b.look(1440, "light")
	b.visit("runs")
	b.press("g", "t")
	b.until(`location.pathname === "/studies" && document.readyState === "complete"`)
	b.press("j", "\r")
	b.until(`location.pathname === "/studies/policies" && document.readyState === "complete"`)
	if n := js[int](b, `document.querySelectorAll(".cell.done a").length`); n != 18 {
		t.Errorf("%d cells lead to their runs", n)
	}
	_ = js[bool](b, `document.querySelector(".cell.done a").focus(), true`)
	b.press("\r")
	b.until(`location.pathname.startsWith("/runs/brief-strip-1-") && document.readyState === "complete"`)
	if text := js[string](b, "document.body.innerText"); !strings.Contains(text, "Plan a garden of herbs") {
		t.Errorf("the run says\n%s", text)
	}
	_ = js[bool](b, "setTimeout(() => history.back()), true")
	b.until(`location.pathname === "/studies/policies" && document.readyState === "complete"`)
	// Any two cells, by their names.
	cells := js[[]string](b, `[...document.querySelectorAll("#pairs option")].map(o => o.value)`)
	if len(cells) != 18 {
		t.Fatalf("the cells are %q", cells)
	}
	_ = js[bool](b, `(() => { const f = document.querySelector("form.cells-form").elements; f.a.value = "`+cells[2]+`"; f.b.value = "`+cells[15]+`"; return true })()`)
	b.click("form.cells-form button")
	b.until(`location.pathname.startsWith("/runs/` + cells[2] + `") && location.pathname.endsWith("/compare") && location.search.startsWith("?with=` + cells[15] + `") && document.readyState === "complete"`)
	if found := js[[]string](b, "violations"); len(found) > 0 {
		t.Errorf("%v", found)
	}
	b.looks(map[string]string{"study-cells": strings.TrimPrefix(js[string](b, "location.pathname + location.search"), "/")})
}

// TestHostileStudies shows every hostile text in every place of a study.
func TestHostileStudies(t *testing.T) {
	dir := t.TempDir()
	text := strings.Join(consoletest.Hostile(), " ")
	m := studytest.Runs(t, dir, studytest.Grid{Models: consoletest.Hostile(), Modes: []string{"strip", text}, Repetitions: 1, Size: 2})
	m.Name, m.Question = text, text
	if err := study.WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	if err := study.WriteState(dir, &study.State{V: 1, Cell: m.Cells[0].ID, Status: study.Status(text), Settings: "s", Reason: text}); err != nil {
		t.Fatal(err)
	}
	b := open(t, serveStudies(t, dir))
	b.look(900, "light")
	b.inert([]string{"studies", "studies/" + filepath.Base(dir)})
}
