package consoletest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/record"
)

// Names of the runs that [Runs] records.
const (
	First  = "first-a" // the run of ten cycles that comes with sotto
	Second = "first-b" // the same in six cycles
	Solved = "games"   // a stream of problems that a memory helps with
)

// Runs records three runs as their commands do. It returns the record's folder, and
// the file of the memory of the third.
func Runs(t testing.TB) (dir, memory string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "audit")
	RunCycles(t, dir, First, 10)
	RunCycles(t, dir, Second, 6)
	memory = filepath.Join(t.TempDir(), "memory.db")
	w, err := record.Open(dir, record.Options{Policy: record.None})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	g, err := metagraph.Open(memory, metagraph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	task := solve.TaskOf(answer.Game24)
	s, err := solve.New(solve.Options{Task: task, Mode: solve.Template, Model: solve.Scripted{Task: task}, Memory: g, Record: w, Run: Solved})
	if err != nil {
		t.Fatal(err)
	}
	problems := func(yield func(solve.Problem, error) bool) {
		for i, input := range []string{"2 5 8 10", "4 4 8 11", "1 2 3 4", "3 3 8 8", "1 5 5 5", "2 3 4 4", "6 6 6 6", "1 2 4 6", "3 4 5 6", "2 2 6 6", "1 1 4 6", "2 4 6 8"} {
			if !yield(solve.Problem{ID: fmt.Sprint(i + 1), Problem: answer.Problem{Input: input}}, nil) {
				return
			}
		}
	}
	if err := s.Stream(context.Background(), problems, nil, solve.Budget{}, func(solve.Result) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return dir, memory
}

// RunCycles records or extends the run that comes with sotto.
func RunCycles(t testing.TB, dir, name string, cycles int) {
	t.Helper()
	config := agent.Example()
	config.Name, config.Cycles = name, cycles
	x, err := config.Experiment(agent.Dependencies{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	r, err := agent.Run(context.Background(), x, agent.Options{
		Record: dir, Memory: filepath.Join(filepath.Dir(dir), "memories"), RecordOptions: record.Options{Policy: record.None}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil || r.Status != agent.Done {
		t.Fatalf("run %s: %+v, %v", name, r.Status, err)
	}
}

// AttackedRuns records the hostile texts in every place of a run that is shown. It
// returns the record's folder and the names of the runs.
func AttackedRuns(t testing.TB) (dir string, names []string) {
	t.Helper()
	w, dir := Open(t)
	put := func(run string, cycle int, p record.Payload) {
		if _, err := w.Append(context.Background(), record.Event{Run: run, Cycle: cycle, Payload: p}); err != nil {
			t.Fatal(err)
		}
	}
	for n, texts := range slices.Collect(slices.Chunk(Hostile(), 40)) {
		run := fmt.Sprintf("hostile-%d", n)
		names = append(names, run)
		for i, text := range texts {
			name, cycle := shorttext.Cut(text, 200), i+1
			if i == 0 {
				put(run, 0, record.RunStart{Agent: name, Model: name, Parent: text, Caller: name, IDs: map[string]string{text: text, "context": text}, Config: map[string]string{text: text, "experiment": text}, Goal: record.Say(text)})
			}
			put(run, cycle, record.CycleStart{Goal: record.Say(text)})
			x := Exchange(name, text, "<think>"+text+"</think>\n"+text)
			x.Replies[0].ToolCalls = []record.Call{{Name: text, ID: text, Arguments: record.Say(text)}}
			inv := record.Invocation{Model: name, Provider: name, Purpose: text, Millis: 5, Replies: x.Replies, Messages: x.Messages}
			if i%5 == 4 {
				inv.Error = text
			}
			put(run, cycle, inv)
			key := record.Say(fmt.Sprintf(`{"key":%q,"value":%q}`, name, text))
			put(run, cycle, record.ToolCall{Name: text, Number: 2 * i, Phase: "end", Child: &record.Child{Run: text}, Arguments: key, Result: record.Say(text), Error: text})
			put(run, cycle, record.ToolCall{Name: "write", Number: 2*i + 1, Phase: "end", Arguments: key, Result: record.Say(fmt.Sprintf("wrote %q, 1 bytes", name))})
			put(run, cycle, record.Memory{Task: text, Query: record.Say(text), Used: []record.MemoryNode{{Kind: text, Key: record.Say(text)}}, Template: &record.MemoryNode{Kind: "template", Key: record.Say(text), New: true}, Templates: i})
			put(run, cycle, record.CycleEnd{Status: text, Bound: text, Summary: record.Say(text)})
		}
		put(run, 0, record.RunEnd{Status: texts[0], Bound: texts[0], Result: record.Say(texts[0])})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, names
}
