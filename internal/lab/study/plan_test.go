package study

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// planIn plans a study of two cells in a folder. Each has the settings and files that
// plan gives it.
func planIn(t *testing.T, dir, more string, planner Planner) (*Plans, error) {
	t.Helper()
	f, err := ParseFile(filepath.Join(dir, "s.yaml"), []byte("v: 1\nname: s\nquestion: why\nbase: {run: x}\ngrid: {k: [a, b]}\ncompare: {by: k, baseline: a}\n"+more))
	if err != nil {
		t.Fatal(err)
	}
	return f.Plan(planner)
}

// The digest of a cell's settings changes with its settings, and with the contents of the
// files that it depends on. That of files that are only read is noted, and decides nothing.
func TestPlanSettings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	settings := "set"
	digests := func() (list []string, m *Manifest) {
		p, err := planIn(t, dir, "prices: prices\n", func(c Case) (*Plan, error) {
			return &Plan{Settings: settings + c.Values[0].Label, Files: []string{filepath.Join(dir, "file")}, Read: []string{filepath.Join(dir, "read")}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Manifest.Cells {
			list = append(list, c.Settings)
			if p.Of[c.ID] == nil {
				t.Errorf("cell %s has no plan", c.ID)
			}
		}
		return list, p.Manifest
	}
	write("file", "one")
	write("read", "two")
	write("prices", "three")
	first, m := digests()
	if first[0] == first[1] {
		t.Error("cells with other settings have the same digest")
	}
	var inputs []string
	for _, in := range m.Inputs {
		inputs = append(inputs, fmt.Sprintf("%s %d %.8s", filepath.Base(in.Name), in.Bytes, in.SHA256))
	}
	if want := []string{"file 3 7692c3ad", "prices 5 8b5b9db0", "read 3 3fc4ccfe"}; !slices.Equal(inputs, want) {
		t.Errorf("inputs %q, want %q", inputs, want)
	}
	if m.V != 1 || m.Name != "s" || m.Kind != Runs || m.Question != "why" || !strings.Contains(m.File, "name: s") || !slices.Equal(m.Keys, []string{"k"}) || m.Compare.Baseline != "a" {
		t.Errorf("the manifest: %+v", m)
	}
	write("read", "changed")
	write("prices", "changed")
	if now, _ := digests(); !slices.Equal(now, first) {
		t.Error("a file that is only read changes the settings")
	}
	write("file", "changed")
	if now, _ := digests(); now[0] == first[0] || now[1] == first[1] {
		t.Error("a file that the cells depend on does not change the settings")
	}
	write("file", "one")
	settings = "other"
	if now, _ := digests(); now[0] == first[0] || now[1] == first[1] {
		t.Error("settings do not change the settings")
	}
}

func TestPlanFails(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	for name, c := range map[string]struct {
		more    string
		planner Planner
		want    string
	}{
		"a planner":                {"", func(Case) (*Plan, error) { return nil, errors.New("no") }, "cell a-1-.*: no"},
		"a file":                   {"", func(Case) (*Plan, error) { return &Plan{Files: []string{missing}}, nil }, "open " + missing + ": no such file"},
		"a file to read":           {"", func(Case) (*Plan, error) { return &Plan{Read: []string{missing}}, nil }, "open " + missing + ": no such file"},
		"a folder as a file":       {"", func(Case) (*Plan, error) { return &Plan{Files: []string{dir}}, nil }, "read " + dir + ": is a directory"},
		"prices":                   {"prices: missing\n", func(Case) (*Plan, error) { return &Plan{}, nil }, "open " + missing + ": no such file"},
		"settings that no JSON is": {"", func(Case) (*Plan, error) { return &Plan{Settings: func() {}}, nil }, "settings: json: "},
	} {
		p, err := planIn(t, dir, c.more, c.planner)
		before, after, _ := strings.Cut(c.want, ".*")
		if p != nil || err == nil || !strings.HasPrefix(err.Error(), before) || !strings.Contains(err.Error(), after) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// The faults of all cells are reported, each once, and not without end.
func TestPlanFaults(t *testing.T) {
	for each, want := range map[int]int{1: 3, 98: 100, 200: 100} {
		_, err := planIn(t, t.TempDir(), "", func(c Case) (*Plan, error) {
			list := []yamlfile.Fault{{Key: "shared", Err: errors.New("wrong")}}
			for i := range each {
				list = append(list, yamlfile.Fault{Key: c.Values[0].Label, Err: fmt.Errorf("wrong in way %d", i)})
			}
			return nil, &Faulty{list}
		})
		var faulty *Faulty
		if !errors.As(err, &faulty) || len(faulty.Faults) != want {
			t.Errorf("%d faults in each cell, and a shared one: %v", each, err)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if lines[0] != "shared: wrong" || lines[1] != "a: wrong in way 0" || each == 1 && lines[2] != "b: wrong in way 0" {
			t.Errorf("faults %q", lines)
		}
	}
}
