package study

import (
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); !errors.Is(err, ErrNone) {
		t.Fatalf("an empty folder: %v", err)
	}
	m := &Manifest{V: 1, Name: "policies", Kind: Runs, Keys: []string{"thoughts.policy"}, Cells: []Cell{
		{ID: "a1", Values: []Value{{"thoughts.policy", "strip"}}, Repetition: 1, Settings: "s1"},
		{ID: "b2", Values: []Value{{"thoughts.policy", "keep"}}, Repetition: 1, Settings: "s2"},
		{ID: "c3", Values: []Value{{"thoughts.policy", "retrieve"}}, Repetition: 1, Settings: "s3"},
	}}
	if err := WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	for _, state := range []State{
		{V: 1, Cell: "a1", Status: Done, Settings: "s1", Measures: map[string]float64{"cycles": 10}},
		{V: 1, Cell: "b2", Status: Done, Settings: "of an older grid"},
	} {
		if err := WriteState(dir, &state); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Status{Done, Changed, Waiting} {
		if got := s.State(&s.Cells[i]).Status; got != want {
			t.Errorf("cell %s: %s, want %s", s.Cells[i].ID, got, want)
		}
	}
	if got := s.State(&s.Cells[0]).Measures["cycles"]; got != 10 {
		t.Errorf("cycles %v, want 10", got)
	}
	if got := s.Cells[1].Value("thoughts.policy"); got != "keep" {
		t.Errorf("value %q, want keep", got)
	}
	if s.IsDone("b2") || s.IsDone("c3") || s.IsDone("d4") || !s.IsDone("a1") {
		t.Error("one cell is done, a1, and seems not to be, or others seem to be")
	}
	if got, want := s.Counts(), (map[Status]int{Done: 1, Changed: 1, Waiting: 1}); !maps.Equal(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
	if got := s.Cells[1].Value("thoughts"); got != "" {
		t.Errorf("the value of a key that the grid does not have: %q", got)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	const cell = `{"v":1,"cells":[{"id":"a"}]}`
	for name, c := range map[string]struct{ manifest, state, want string }{
		"a newer version":           {`{"v":2}`, "", "study.json: version 2 of a study; this program reads version 1"},
		"a cell with a path":        {`{"v":1,"cells":[{"id":"../../x"}]}`, "", `study.json: cell "../../x": want 1 to 64`},
		"a cell without a name":     {`{"v":1,"cells":[{"id":""}]}`, "", `study.json: cell "": want 1 to 64`},
		"a cell with a hyphen":      {`{"v":1,"cells":[{"id":"-a"}]}`, "", `study.json: cell "-a": want 1 to 64`},
		"a cell with a long name":   {`{"v":1,"cells":[{"id":"` + strings.Repeat("a", 65) + `"}]}`, "", "want 1 to 64"},
		"too many cells":            {`{"v":1,"cells":[{}` + strings.Repeat(",{}", MaxCells) + `]}`, "", "study.json: 10001 cells; at most 10000 are read"},
		"not an object":             {`[]`, "", "study.json: json: "},
		"JSON that is cut short":    {`{"v":1,`, "", "study.json: "},
		"a state that is not JSON":  {cell, `{`, "a.json: "},
		"a newer state":             {cell, `{"v":2,"cell":"a"}`, "a.json: not the state of cell a"},
		"the state of another cell": {cell, `{"v":1,"cell":"b"}`, "a.json: not the state of cell a"},
	} {
		dir := t.TempDir()
		write := func(name, text string) {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(ManifestFile(dir), c.manifest)
		if c.state != "" {
			write(StateFile(dir, "a"), c.state)
		}
		if _, err := Open(dir); err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A file that cannot be replaced is left as it was, and nothing beside it.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	state := &State{V: 1, Cell: "a", Status: Done}
	if err := os.MkdirAll(StateFile(dir, "a"), 0o700); err != nil { // a folder in its place
		t.Fatal(err)
	}
	if err := WriteState(dir, state); err == nil {
		t.Error("a folder is replaced")
	}
	if left, err := os.ReadDir(filepath.Join(dir, "cells")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	state.Measures = map[string]float64{"share": math.NaN()}
	if err := WriteState(t.TempDir(), state); err == nil {
		t.Error("a figure that JSON does not have is written")
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteManifest(filepath.Join(dir, "file"), &Manifest{V: 1}); err == nil {
		t.Error("a file holds a folder")
	}
	if _, err := lock(filepath.Join(dir, "file")); err == nil {
		t.Error("a file is locked as a folder")
	}
	if Busy(dir) || Busy(filepath.Join(dir, "nothing")) {
		t.Error("a process seems to run a study that there is not")
	}
}
