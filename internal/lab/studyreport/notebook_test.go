package studyreport

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
)

const notebook = "../../../examples/studies/report.ipynb"

// The notebook in the repository holds no outputs.
func TestNotebookHasNoOutputs(t *testing.T) {
	data, err := os.ReadFile(notebook)
	if err != nil {
		t.Fatal(err)
	}
	var n struct {
		Cells []struct {
			Type    string `json:"cell_type"`
			Count   *int   `json:"execution_count"`
			Outputs []any
		}
	}
	if err := json.Unmarshal(data, &n); err != nil {
		t.Fatal(err)
	}
	for i, c := range n.Cells {
		if len(c.Outputs) > 0 || c.Count != nil {
			t.Errorf("cell %d was executed", i)
		}
	}
	if len(n.Cells) < 8 {
		t.Errorf("%d cells", len(n.Cells))
	}
}

// execute runs a notebook and counts its figures.
const execute = `
import sys, nbformat, pandas, matplotlib
from nbclient import NotebookClient
n = nbformat.read(sys.argv[1], 4)
NotebookClient(n, timeout=300, kernel_name="python3").execute()
print(sum("image/png" in o.get("data", {}) for c in n.cells for o in c.get("outputs", [])))
`

// TestNotebook runs the notebook on the CSV of a study of each kind, with labels that
// look like numbers and like NA. It needs Python with pandas, matplotlib and nbclient:
// in Debian, python3-pandas python3-matplotlib python3-nbclient python3-ipykernel.
func TestNotebook(t *testing.T) {
	if effort.Brief() {
		t.Skip("starts Jupyter: SOTTO_EFFORT=1 runs it")
	}
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import nbclient, nbformat, ipykernel, pandas, matplotlib").Run() == nil {
			python = name
		}
	}
	if python == "" {
		t.Skip("no Python with nbclient, ipykernel, pandas and matplotlib")
	}
	// Streams: two means, two forests, three curves. Runs: two means, one forest (all
	// answer), four curves.
	const want = "7\n"
	for _, write := range []func(testing.TB, string, studytest.Grid) *study.Manifest{studytest.Streams, studytest.Runs} {
		dir, out := t.TempDir(), t.TempDir()
		write(t, dir, studytest.Grid{Models: []string{"0.10", "NA"}, Modes: []string{"io", "007"}, Repetitions: 3, Size: 20})
		files, err := build(t, dir).CSV()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(out, f.Name), f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(python, "-c", execute, notebook)
		cmd.Env = append(os.Environ(), "SOTTO_STUDY_CSV="+out, "PYDEVD_DISABLE_FILE_VALIDATION=1")
		var problems strings.Builder
		cmd.Stderr = &problems
		figures, err := cmd.Output()
		if err != nil || string(figures) != want {
			t.Errorf("%q figures, want %q: %v\n%s", figures, want, err, problems.String())
		}
	}
}
