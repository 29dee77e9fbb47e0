package console_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	"github.com/sotto-llm/sotto/internal/lab/scoreview"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
)

// A request that makes no sense, and one for what is not there, is answered as it was when
// somebody last read the answers: with its status, and with what to ask for instead.
func TestRefusals(t *testing.T) {
	long := strings.Repeat("x", 513)
	asJSON := func(paths ...string) (list []string) {
		for _, path := range paths {
			mark := "?"
			if strings.Contains(path, "?") {
				mark = "&"
			}
			list = append(list, path+mark+"format=json")
		}
		return list
	}
	towers := console.Config{Record: consoletest.Store(t, towersRecord(t)), Name: "towers", Dialects: []string{"default", "qwen3"}}
	pagesAre(t, "refused", towers, asJSON(
		"nothing", "exchanges?before=x", "exchanges?after=x", "exchanges?outcome=x", "exchanges?from=x", "exchanges/x", "exchanges/99", "exchanges/1?before=x", "exchanges/1?view=none", "exchanges/1?dialect=nosuch", "exchanges/1?start=middle", "exchanges/99?dialect=qwen3",
		"exchanges/x/bytes", "exchanges/99/bytes", "exchanges/1/bytes?choice=x", "exchanges/1/bytes?choice=-1", "exchanges/1/bytes?choice=9", "exchanges/1/bytes?at=x", "exchanges/1/bytes?at=-1", "exchanges/1/bytes?at=9999", "exchanges/1/bytes?before=x", "exchanges/1/bytes?dialect=nosuch",
		"exchanges/x/raw", "exchanges/99/raw", "exchanges/x/export", "exchanges/99/export", "exchanges/1/export?dialect=nosuch", "exchanges/find", "exchanges/find?id="+long, "exchanges/find?id="+long[1:], "exchanges/find?id=resp-1",
		"sessions?before=x", "sessions?id="+long, "search?q=x&before=x", "search/stream", "search/stream?q=x&in=nowhere", "memory?run="+long, "memory?task="+long, "health/verify", "evaluation/0", "studies", "chat", "playground?example=none",
		"runs?before=x", "runs/none", "runs/~!", "runs/~bm9uZQ", "runs/none/compare", "runs/~!/compare?with=a", "sessions?run=none",
	)...)
	dir, file := consoletest.Runs(t)
	g, err := metagraph.Open(file, metagraph.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	one := "runs/" + consoletest.First
	pagesAre(t, "refused-runs", withLab(console.Config{Record: consoletest.Store(t, dir)}, screens.Config{Memory: runview.NewFile(g, "memory.db")}), append([]string{one + "/compare", one + "/compare?with=none", one + "/compare?from=4&with=" + consoletest.Second}, asJSON(
		one+"?view=none", one+"?from=x", one+"?at=x", one+"?at=999", one+"?view=memory&cycle=x", one+"?view=reflections&from=x", "runs/none?view=memory", "runs/none?view=reflections", "runs/none?view=again",
		one+"/compare", one+"/compare?with="+long, one+"/compare?with=none", one+"/compare?with="+consoletest.Second+"&from=x",
	)...)...)
	studies := t.TempDir()
	studytest.Streams(t, filepath.Join(studies, "one"), studytest.Grid{Models: []string{"a"}, Modes: []string{"io"}, Repetitions: 1, Size: 2})
	pagesAre(t, "refused-files", withLab(console.Config{}, screens.Config{Studies: &screens.Studies{Dir: studies}, Scores: &scoreview.Files{Scores: scored(t, scoredLines(4, 2))}}), asJSON(
		"studies/two", "studies/two/report", "evaluation?file=1", "evaluation?file=x", "evaluation?at=x", "evaluation?verdict=x", "evaluation/4", "evaluation/x", "evaluation/0?with=x", "evaluation/-1", "exchanges", "runs", "search",
	)...)
	gone := serve(t, withLab(console.Config{}, screens.Config{Studies: &screens.Studies{Dir: filepath.Join(studies, "gone")}}), "/")
	for _, path := range []string{"studies", "studies/one"} {
		if resp, body := get(t, gone+path); resp.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "gone") {
			t.Errorf("%s of a folder that is gone: %s %s", path, resp.Status, body)
		}
	}
}
