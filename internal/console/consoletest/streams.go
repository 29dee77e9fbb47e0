package consoletest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/record"
)

// Names of the streams that [Streams] records.
const (
	WithMemory    = "with-memory"
	WithoutMemory = "without-memory"
)

// Streams records two streams of problems as sotto solve does, one with a memory and one without.
// The second has its problems in another order, lacks one, and has one of its own. It returns
// the record's folder and the outputs.
func Streams(t testing.TB) (dir string, outputs [2]string) {
	t.Helper()
	folder := t.TempDir()
	dir = filepath.Join(folder, "audit")
	w, err := record.Open(dir, record.Options{Policy: record.None})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	g, err := metagraph.Open(filepath.Join(folder, "memory.db"), metagraph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	games := []string{"2 5 8 10", "4 4 8 11", "1 2 3 4", "3 3 8 8", "1 5 5 5", "2 3 4 4", "6 6 6 6", "1 2 4 6", "3 4 5 6", "2 2 6 6", "1 1 4 6", "2 4 6 8", "1 1 1 8", "2 2 2 3"}
	outputs[0] = stream(t, folder, w, solve.Options{Mode: solve.Template, Memory: g, Run: WithMemory}, games[:13])
	outputs[1] = stream(t, folder, w, solve.Options{Mode: solve.CoT, Run: WithoutMemory}, append(append([]string{}, games[6:]...), games[:5]...))
	return dir, outputs
}

// stream solves a stream with the scripted model, and writes its output.
func stream(t testing.TB, folder string, w *record.Writer, o solve.Options, games []string) (output string) {
	t.Helper()
	task := solve.TaskOf(answer.Game24)
	o.Task, o.Model, o.Record, o.Temperatures = task, solve.Scripted{Task: task}, w, []float64{0, 0.5}
	s, err := solve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	lines := fmt.Appendf(nil, `{"v":1,"type":"run","run":%q,"task":"game24","mode":%q,"model":"scripted"}`+"\n", o.Run, o.Mode)
	problems := func(yield func(solve.Problem, error) bool) {
		for _, game := range games {
			if !yield(solve.Problem{ID: game, Problem: answer.Problem{Input: game}}, nil) {
				return
			}
		}
	}
	err = s.Stream(context.Background(), problems, nil, solve.Budget{}, func(r solve.Result) error {
		line, err := r.Line()
		lines = append(lines, line...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	output = filepath.Join(folder, o.Run+".jsonl")
	if err := os.WriteFile(output, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	return output
}
