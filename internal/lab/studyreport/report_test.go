package studyreport

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
)

var small = studytest.Grid{Models: []string{"a", "b"}, Modes: []string{"io", "cot", "template"}, Repetitions: 3, Size: 30}

func build(t *testing.T, dir string) *Report {
	t.Helper()
	r, err := Build(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDifferencesBySolvedProblems compares the paired difference of problems with that
// of a loop over the outputs, as another program would read them.
func TestDifferencesBySolvedProblems(t *testing.T) {
	dir := t.TempDir()
	m := studytest.Streams(t, dir, small)
	solved := map[string]map[string]bool{}
	for _, c := range m.Cells {
		data, err := os.ReadFile(study.StreamFile(dir, c.ID))
		if err != nil {
			t.Fatal(err)
		}
		solved[c.ID] = map[string]bool{}
		for line := range bytes.Lines(data) {
			var p struct {
				Type, ID string
				Solved   bool
			}
			if json.Unmarshal(line, &p) == nil && p.Type == "problem" {
				solved[c.ID][p.ID] = p.Solved
			}
		}
	}
	seen := 0
	for _, d := range build(t, dir).Differences {
		if d.Measure != solvedShare {
			continue
		}
		seen++
		model, mode := strings.Index("ab", d.Others[0].Label), map[string]string{"cot": "1", "template": "2"}[d.Value]
		total := map[string]int{}
		for _, repetition := range []string{"1", "2", "3"} {
			of, base := solved["m"+string('0'+rune(model))+"-v"+mode+"-r"+repetition], solved["m"+string('0'+rune(model))+"-v0-r"+repetition]
			for id := range of {
				if of[id] && !base[id] {
					total[id]++
				}
				if !of[id] && base[id] {
					total[id]--
				}
			}
		}
		sum, more := 0, 0
		for _, n := range total {
			sum += n
			if n > 0 {
				more++
			}
		}
		if want := float64(sum) / 90; math.Abs(d.Mean-want) > 1e-12 {
			t.Errorf("%s %s of %s: %v, want %v", d.Others[0].Label, d.Value, d.Pairs, d.Mean, want)
		}
		if d.Pairs == PairsOfProblems && (d.N != 30 || d.More != more) {
			t.Errorf("%d pairs with %d more, want 30 with %d", d.N, d.More, more)
		}
		if d.Pairs == PairsOfCells && (d.N != 3 || d.Least != 0.25 || d.Tests != 4 || *d.Holm < *d.P) {
			t.Errorf("pairs of cells: %+v", d)
		}
	}
	if seen != 8 {
		t.Errorf("%d differences, want 8", seen)
	}
}

// Cells without a result have no part in the figures, and are named: in the text, the
// page, the CSV and the JSON. Their partners in pairs are named too.
func TestMissingCellsAreNamed(t *testing.T) {
	dir := t.TempDir()
	m := studytest.Streams(t, dir, small)
	for i, status := range []study.Status{study.Failed, study.Running, study.Bounded, study.Changed} {
		c := m.Cells[i]
		state := &study.State{V: 1, Cell: c.ID, Status: status, Settings: c.Settings, Reason: "because " + string(status), Measures: map[string]float64{"solved_share": 99}}
		if status == study.Changed {
			state.Settings, state.Status = "others", study.Done
		}
		if err := study.WriteState(dir, state); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(study.StateFile(dir, m.Cells[5].ID)); err != nil {
		t.Fatal(err)
	}
	r := build(t, dir)
	if len(r.Missing) != 4 {
		t.Fatalf("%d missing cells, want 4: %+v", len(r.Missing), r.Missing)
	}
	if g := r.Groups[0]; g.Counted != 1 || g.Bounded != 1 || len(g.Missing) != 2 || g.Figure(solvedShare).Mean != 99 || g.Figure(solvedShare).Low != nil {
		t.Errorf("the group with one cell that a bound ended: %+v", g)
	}
	var text bytes.Buffer
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	page, err := r.Page()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Missing {
		for where, in := range map[string]string{"text": text.String(), "page": string(page)} {
			if !strings.Contains(in, x.Cell) || x.Reason != "" && !strings.Contains(in, x.Reason) {
				t.Errorf("the %s does not name cell %s (%s) with its reason", where, x.Cell, x.Status)
			}
		}
	}
	for _, d := range r.Differences {
		if d.Others[0].Label == "a" && d.Pairs == PairsOfCells && d.N+len(d.Unpaired) != 3 {
			t.Errorf("%s: %d pairs, without %q: want 3 in all", d.Value, d.N, d.Unpaired)
		}
	}
}

// An output that cannot be read is a fault of one cell.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	m := studytest.Streams(t, dir, small)
	name := study.StreamFile(dir, m.Cells[0].ID)
	if err := os.WriteFile(name, []byte("{\"type\":\"run\"}\n{\"type\":\"problem\",\"n\":1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(study.StreamFile(dir, m.Cells[1].ID)); err != nil {
		t.Fatal(err)
	}
	r := build(t, dir)
	if len(r.Faults) != 2 || !strings.Contains(r.Faults[0], "line 2") || r.Groups[0].Solved.Of != 30 {
		t.Errorf("faults %q, problems %d", r.Faults, r.Groups[0].Solved.Of)
	}
	for _, name := range []string{"", "nothing"} {
		if _, err := Build(t.Context(), filepath.Join(t.TempDir(), name), Options{}); !errors.Is(err, study.ErrNone) {
			t.Errorf("a folder without a study: %v", err)
		}
	}
}

// The same folder gives the same bytes, and time enters only as the study has it.
func TestReportIsDeterministic(t *testing.T) {
	dir := t.TempDir()
	studytest.Streams(t, dir, small)
	render := func() string {
		r := build(t, dir)
		page, err := r.Page()
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := r.Print(&text); err != nil {
			t.Fatal(err)
		}
		object, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(page) + text.String() + string(object)
	}
	if first, second := render(), render(); first != second {
		t.Error("two reports of one study differ")
	}
}

// TestCurvesOfRuns reads the curves out of a record, and compares a point with what
// was recorded.
func TestCurvesOfRuns(t *testing.T) {
	dir := t.TempDir()
	studytest.Runs(t, dir, studytest.Grid{Models: []string{"a"}, Modes: []string{"strip", "all"}, Repetitions: 4, Size: 12})
	r := build(t, dir)
	names := map[string]*Curve{}
	for i := range r.Curves {
		names[r.Curves[i].Name] = &r.Curves[i]
	}
	saved := names["saved_tokens"]
	if len(names) != 4 || saved == nil || len(r.Faults) > 0 {
		t.Fatalf("curves %v, faults %q", names, r.Faults)
	}
	if p := saved.Lines[1].Points[11]; p.X != 12 || p.N != 4 || p.Mean != 11*70 || p.Low != p.High {
		t.Errorf("tokens saved in cycle 12: %+v, want 770 in all four", p)
	}
	if p := names["similarity"].Lines[0].Points[0]; p.X != 2 {
		t.Errorf("the similarity begins at cycle %d, want 2: the first has none before it", p.X)
	}
	if p := names["similarity"].Lines[0].Points[5]; p.Low > p.Mean || p.High < p.Mean || p.Low == p.High {
		t.Errorf("a band that does not surround its mean: %+v", p)
	}
}

func TestWindowedCurve(t *testing.T) {
	dir := t.TempDir()
	studytest.Streams(t, dir, studytest.Grid{Models: []string{"a"}, Modes: []string{"io", "template"}, Repetitions: 2, Size: 1500})
	r := build(t, dir)
	for _, c := range r.Curves {
		for _, l := range c.Lines {
			if n := len(l.Points); n != mostPoints {
				t.Errorf("%s: %d points, want %d", c.Name, n, mostPoints)
			}
			if last := l.Points[len(l.Points)-1]; last.X != 1500 {
				t.Errorf("%s ends at %d", c.Name, last.X)
			}
		}
		if c.Name == "memory" && (c.Window != 150 || len(c.Lines) != 1 || c.Lines[0].Points[0].X != 150) {
			t.Errorf("the memory curve: window %d, %d lines", c.Window, len(c.Lines))
		}
	}
	streams := &stream{problems: []problem{{tokens: 1}, {tokens: 3}, {tokens: 8}}}
	at := streams.track(&streamCurveKinds[2], 2)
	if !math.IsNaN(at(1)) || at(2) != 2 || at(3) != 5.5 || !math.IsNaN(at(4)) {
		t.Errorf("a window of 2: %v %v %v %v", at(1), at(2), at(3), at(4))
	}
}

// hostile labels end up in pages, pictures, tables and files.
const hostileLabel = "</text><script>alert(1)</script>\" onload=\"x\x1b[31m\u202e{{.}}"

func TestHostileStudy(t *testing.T) {
	dir := t.TempDir()
	g := studytest.Grid{Models: []string{hostileLabel, strings.Repeat("long ", 5000)}, Modes: []string{"io", hostileLabel}, Repetitions: 2, Size: 8}
	m := studytest.Streams(t, dir, g)
	m.Name, m.Question, m.File = hostileLabel, hostileLabel, hostileLabel
	m.Inputs = []study.Input{{Name: hostileLabel, SHA256: hostileLabel}}
	if err := study.WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	if err := study.WriteState(dir, &study.State{V: 1, Cell: m.Cells[0].ID, Status: study.Failed, Settings: "s", Reason: hostileLabel}); err != nil {
		t.Fatal(err)
	}
	r := build(t, dir)
	page, err := r.Page()
	if err != nil {
		t.Fatal(err)
	}
	attack := regexp.MustCompile("<script|\" onload|\x1b|\u202e|" + strings.Repeat("long ", 60))
	if at := attack.Find(page); at != nil {
		t.Errorf("the page has %q", at)
	}
	if strings.Contains(string(page), "src=") || strings.Contains(string(page), "http://") && !strings.Contains(string(page), "http://www.w3.org/2000/svg") {
		t.Error("the page refers to something outside it")
	}
	for _, p := range r.Pictures() {
		svg := p.Drawing.SVG()
		if at := attack.Find(svg); at != nil {
			t.Errorf("%s has %q", p.Name, at)
		}
		if !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(p.Name) {
			t.Errorf("a file's name: %q", p.Name)
		}
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s is not XML: %v", p.Name, err)
			}
		}
	}
	var text bytes.Buffer
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	if at := regexp.MustCompile("\x1b|\u202e").Find(text.Bytes()); at != nil {
		t.Errorf("the text has %q", at)
	}
	files, err := r.CSV()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		rows, err := csv.NewReader(bytes.NewReader(f.Data)).ReadAll()
		if err != nil || len(rows) < 2 {
			t.Errorf("%s: %d rows, %v", f.Name, len(rows), err)
		}
	}
}

// TestPageOfEachKind looks for what a page must have.
func TestPageOfEachKind(t *testing.T) {
	for kind, write := range map[study.Kind]func(testing.TB, string, studytest.Grid) *study.Manifest{study.Streams: studytest.Streams, study.Runs: studytest.Runs} {
		dir := t.TempDir()
		m := write(t, dir, studytest.Grid{Models: []string{"a"}, Modes: []string{"x", "y"}, Repetitions: 2, Size: 12})
		page, err := build(t, dir).Page()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Which is better?", m.Inputs[0].SHA256, "v1.0.0", "sotto record show . --run " + m.Cells[1].ID, "id=\"differences\"", "<polygon class=\"band s0\"", "Holm", m.File, "2026-11-23T09:00:00Z"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s: the page lacks %q", kind, want)
			}
		}
	}
}

// The page draws the memory of the first stream of each combination that has one.
func TestMemories(t *testing.T) {
	dir := t.TempDir()
	studytest.Streams(t, dir, small)
	page, err := build(t, dir).Page()
	if err != nil {
		t.Fatal(err)
	}
	for cell, want := range map[string]int{"m0-v2-r1": 1, "m1-v2-r1": 1, "m0-v2-r2": 0, "m0-v0-r1": 0} {
		if n := strings.Count(string(page), ", "+cell+"</summary>"); n != want {
			t.Errorf("%d memories of cell %s, want %d", n, cell, want)
		}
	}
}

// A study of which nothing ran yet has a report too.
func TestEmptyStudy(t *testing.T) {
	dir := t.TempDir()
	if err := study.WriteManifest(dir, &study.Manifest{V: 1, Name: "x", Kind: study.Runs, Keys: []string{"k"}, Compare: &study.Comparison{By: "k", Baseline: "1"}, Cells: []study.Cell{{ID: "a", Repetition: 1, Values: []study.Value{{Key: "k", Label: "1"}}}}}); err != nil {
		t.Fatal(err)
	}
	r := build(t, dir)
	if _, err := r.Page(); err != nil {
		t.Fatal(err)
	}
	if err := r.Print(io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := r.CSV(); err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
}
