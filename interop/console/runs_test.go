package console

import (
	"testing"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
)

// TestRunLooks looks at the pages of runs as TestLooks does.
func TestRunLooks(t *testing.T) {
	dir, _ := consoletest.Runs(t)
	b := open(t, serve(t, dir))
	b.looks(map[string]string{
		"memory": "runs/" + consoletest.First + "?view=memory", "run-learned": "runs/" + consoletest.Solved + "?view=memory&cycle=3", "reflections": "runs/" + consoletest.First + "?view=reflections",
		"again": "runs/" + consoletest.First + "?view=again", "compared": "runs/" + consoletest.First + "/compare?with=" + consoletest.Second,
		"memory-screen": "memory",
		"runs":          "runs", "run": "runs/" + consoletest.First, "zoomed": "runs/" + consoletest.First + "?from=5&to=6", "run-solve": "runs/" + consoletest.Solved,
	})
}

// TestHostileRuns shows every hostile text in every place of a run.
func TestHostileRuns(t *testing.T) {
	dir, names := consoletest.AttackedRuns(t)
	b := open(t, serve(t, dir))
	b.look(900, "light")
	paths := []string{"runs", "runs?below=1"}
	for _, name := range names {
		for _, form := range []string{"", "?view=memory", "?view=reflections", "?view=again", "/compare?with=" + names[0]} {
			paths = append(paths, "runs/"+name+form)
		}
	}
	b.inert(append(paths, "memory"))
}
