package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// The check of a study asks a server once for each model, and lists all that would
// stop a cell: a model that is not there, one without tools, a small context window.
func TestStudyPreflight(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	models := map[string]string{
		"good":  `{"capabilities":["completion","tools"],"parameters":"num_ctx 8192"}`,
		"mute":  `{"capabilities":["completion"],"parameters":"num_ctx 8192"}`,
		"small": `{"capabilities":["completion","tools"],"parameters":"num_ctx 512"}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/api/show" {
			http.Error(w, `{"error":"not here"}`, http.StatusNotFound)
			return
		}
		for name, answer := range models {
			if strings.Contains(string(body), `"`+name+`"`) {
				mu.Lock()
				asked[name]++
				mu.Unlock()
				fmt.Fprint(w, answer)
				return
			}
		}
		http.Error(w, `{"error":"model not found"}`, http.StatusNotFound)
	}))
	defer server.Close()
	dir := t.TempDir()
	put := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	put("x.yaml", "v: 1\nname: x\ngoal: A goal.\nmodel: {provider: ollama, name: good, max-tokens: 1000, url: '"+server.URL+"'}\n")
	text := "v: 1\nname: s\nbase: {run: x.yaml}\ngrid: {model.name: [%s], thoughts.policy: [strip, keep]}\nrepetitions: 3\n"
	status, out, errs := runWith(nil, "study", put("good.yaml", fmt.Sprintf(text, "good")), "--check")
	if status != 0 || !strings.Contains(out, "6 cells (6 left), at most 960 calls, 1 server; nothing wrong") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	clear(asked)
	status, out, errs = runWith(nil, "study", put("bad.yaml", fmt.Sprintf(text, "good, mute, small, gone")), "--check")
	if status != 1 || strings.Count(errs, "error:") != 4 {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	for _, want := range []string{
		"mute, strip, repetition 1: the server says that mute cannot call tools",
		"small, strip, repetition 1: the system prompt, the goal and a reply need about 1001 tokens, and the context window has 512",
		"gone, strip, repetition 1: ", "3 things would stop cells",
	} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in\n%s", want, errs)
		}
	}
	for name, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked about %d times", name, n)
		}
	}
}

// Every key of a study's file is in the guide.
func TestStudyKeysInGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/study.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../lab/study/file.go")
	if err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile("yaml:\"([a-z-]+)\"").FindAllSubmatch(source, -1)
	for _, m := range keys {
		if !regexp.MustCompile("[`{ ]" + string(m[1]) + "[`:]").Match(guide) {
			t.Errorf("%s is not in docs/study.md", m[1])
		}
	}
	if len(keys) < 20 {
		t.Errorf("%d keys: does the test see them?", len(keys))
	}
}
