package house

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// neighbourhoods are the folders of internal, from the lowest to the highest: a package imports none of
// a higher one. What each holds is said in docs/explanation/architecture.md.
var neighbourhoods = []string{"base", "data", "net", "reply", "recorded", "agents", "check", "serve", "console", "lab", "cli", "testing"}

// programs are the neighbourhoods that no public package imports: they are parts of programs.
var programs = []string{"serve", "console", "lab", "cli", "testing"}

// TestNeighbourhoods: every internal package stands in a neighbourhood, and imports go one way.
func TestNeighbourhoods(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, architecture))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range neighbourhoods {
		if !strings.Contains(string(page), "\n| `internal/"+n+"` |") {
			t.Errorf("%s does not say what is in internal/%s", architecture, n)
		}
	}
	place := func(path string) (string, int) {
		rest, ok := strings.CutPrefix(path, "internal/")
		if !ok {
			return "", -1
		}
		name, _, _ := strings.Cut(rest, "/")
		return name, slices.Index(neighbourhoods, name)
	}
	for path, p := range packages(t) {
		from, level := place(path)
		switch {
		case from != "" && level < 0:
			t.Errorf("%s stands in no neighbourhood", path)
		case strings.HasSuffix(path, "test"): // it helps tests, and may know all that they know
			continue
		}
		for _, i := range p.Imports {
			to, ok := strings.CutPrefix(i, module+"/")
			name, above := place(to)
			switch {
			case !ok || name == "":
			case from != "" && above > level:
				t.Errorf("%s imports %s, which is above it", path, to)
			case from == "" && !strings.HasPrefix(path, "cmd/") && slices.Contains(programs, name):
				t.Errorf("%s imports %s: that is a part of a program", path, to)
			}
		}
	}
}
