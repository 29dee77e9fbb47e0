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
		"runs": "runs", "run": "runs/" + consoletest.First, "zoomed": "runs/" + consoletest.First + "?from=5&to=6", "run-solve": "runs/" + consoletest.Solved,
	})
}

// TestHostileRuns shows every hostile text in every place of a run.
func TestHostileRuns(t *testing.T) {
	dir, names := consoletest.AttackedRuns(t)
	b := open(t, serve(t, dir))
	b.look(900, "light")
	paths := []string{"runs", "runs?below=1"}
	for _, name := range names {
		paths = append(paths, "runs/"+name)
	}
	b.inert(paths)
}
