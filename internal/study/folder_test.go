package study

import (
	"errors"
	"os"
	"path/filepath"
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
	left, err := filepath.Glob(filepath.Join(dir, "*", ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, manifest := range map[string]string{
		"a newer version":        `{"v":2}`,
		"a cell with a path":     `{"v":1,"cells":[{"id":"../../x"}]}`,
		"a cell without a name":  `{"v":1,"cells":[{"id":""}]}`,
		"not an object":          `[]`,
		"JSON that is cut short": `{"v":1,`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(ManifestFile(dir), []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
