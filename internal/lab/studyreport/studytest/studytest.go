// Package studytest writes studies for tests: manifests, states and outputs as
// sotto study leaves them, of scripted results.
package studytest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/record"
)

// A Grid says which cells a study has.
type Grid struct {
	Models, Modes []string
	Repetitions   int
	// Size is how many problems a stream has, or how many cycles a run.
	Size int
}

var began = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

// Streams writes a study of streams of problems, all done. Later modes solve more; the
// mode "template" solves ever more problems without a call.
func Streams(t testing.TB, dir string, g Grid) *study.Manifest {
	t.Helper()
	m := manifest(study.Streams, "mode", g)
	for i := range m.Cells {
		c := &m.Cells[i]
		random := rand.New(rand.NewPCG(uint64(i), 1))
		var b strings.Builder
		fmt.Fprintf(&b, `{"v":1,"type":"run","run":%q,"task":"game24","mode":%q,"model":%q}`+"\n", c.ID, c.Value("mode"), c.Value("model"))
		measures := map[string]float64{}
		level := index(g.Modes, c.Value("mode"))
		order := rand.New(rand.NewPCG(uint64(c.Repetition), 2)).Perm(g.Size)
		for n, problem := range order {
			r := solve.Result{V: 1, Type: "problem", Run: c.ID, N: n + 1, ID: fmt.Sprintf("p%d", problem), Task: "game24", Mode: solve.Mode(c.Value("mode")), Model: c.Value("model"), Input: 200 + random.Int64N(80), Output: 100 + random.Int64N(200), Priced: true, Millis: float64(random.IntN(900))}
			r.Solved = random.Float64() < 0.15+0.2*float64(level)+0.1*float64(problem%3)
			if c.Value("mode") == "template" {
				r.Memory = &metagraph.Learned{Size: metagraph.Size{Traces: n / 2, Templates: n / 5}}
				if random.Float64() < float64(n)/float64(2*g.Size) {
					r.Solved, r.Hit, r.Input, r.Output = true, solve.HitTemplate, 0, 0
					measures["by_template"]++
				}
			}
			r.Cost = float64(r.Input+r.Output) / 1e6
			measures["problems"]++
			measures["tokens"] += float64(r.Input + r.Output)
			measures["cost"] += r.Cost
			measures["ms"] += r.Millis
			if r.Solved {
				measures["solved"]++
			}
			line, err := r.Line()
			if err != nil {
				t.Fatal(err)
			}
			b.Write(line)
		}
		measures["solved_share"] = measures["solved"] / max(1, measures["problems"])
		write(t, study.StreamFile(dir, c.ID), b.String())
		State(t, dir, c, study.Done, measures)
	}
	check(t, study.WriteManifest(dir, m))
	return m
}

// Runs writes a study of runs, all done, with the record of one worker.
func Runs(t testing.TB, dir string, g Grid) *study.Manifest {
	t.Helper()
	m := manifest(study.Runs, "thoughts.policy", g)
	check(t, os.MkdirAll(study.RecordsFolder(dir), 0o700))
	w, err := record.Open(study.RecordFolder(dir, "worker-1"), record.Options{})
	check(t, err)
	for i := range m.Cells {
		c := &m.Cells[i]
		random := rand.New(rand.NewPCG(uint64(i), 3))
		level := float64(index(g.Modes, c.Value("thoughts.policy")))
		var repeated float64
		for n := range g.Size {
			x := record.Metrics{Invocations: 2, InputTokens: int64(400 + n*int(50+100*level) + random.IntN(90)), OutputTokens: 300, ReplyBytes: 1000, ThoughtBytes: 300 + random.IntN(400), SavedTokens: n * (100 - int(30*level)), Policy: c.Value("thoughts.policy")}
			if n > 0 {
				x.Method, x.Similarity, x.SimilarTo = "lexical", min(1, 0.2+float64(n)/float64(g.Size)*0.3*level+0.1*random.Float64()), n
			}
			if x.Similarity > 0.5 {
				repeated++
			}
			_, err := w.Append(t.Context(), record.Event{Time: began.Add(time.Duration(i*g.Size+n) * time.Minute), Run: c.ID, Cycle: n + 1, Payload: record.CycleEnd{Status: "answered", Metrics: &x}})
			check(t, err)
		}
		State(t, dir, c, study.Done, map[string]float64{"cycles": float64(g.Size), "answered_share": 1, "repeated_share": repeated / float64(g.Size), "invocations": float64(2 * g.Size)})
	}
	check(t, w.Close())
	check(t, study.WriteManifest(dir, m))
	return m
}

// manifest makes a manifest. The first mode is the baseline.
func manifest(kind study.Kind, by string, g Grid) *study.Manifest {
	m := &study.Manifest{
		V: 1, Name: "scripted", Kind: kind, Question: "Which is better?", Began: began, Sotto: "v1.0.0", Go: "go1.26", File: "v: 1\nname: scripted\n",
		Inputs: []study.Input{{Name: "problems.jsonl", SHA256: strings.Repeat("0a", 32), Bytes: 4096}}, Keys: []string{"model", by},
		Compare: &study.Comparison{By: by, Baseline: g.Modes[0]},
	}
	for a, model := range g.Models {
		for b, mode := range g.Modes {
			for n := range g.Repetitions {
				m.Cells = append(m.Cells, study.Cell{
					ID: fmt.Sprintf("m%d-v%d-r%d", a, b, n+1), Values: []study.Value{{Key: "model", Label: model}, {Key: by, Label: mode}},
					Repetition: n + 1, Settings: "s", Command: []string{"sotto", string(kind)},
				})
			}
		}
	}
	return m
}

// State writes the state of a cell.
func State(t testing.TB, dir string, c *study.Cell, status study.Status, measures map[string]float64) {
	t.Helper()
	check(t, study.WriteState(dir, &study.State{V: 1, Cell: c.ID, Status: status, Settings: c.Settings, Worker: 1, Attempts: 1, Began: began, Ended: began.Add(time.Hour), Measures: measures}))
}

func index(list []string, name string) int {
	for i, s := range list {
		if s == name {
			return i
		}
	}
	return 0
}

func write(t testing.TB, name, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(name), 0o700))
	check(t, os.WriteFile(name, []byte(text), 0o600))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
