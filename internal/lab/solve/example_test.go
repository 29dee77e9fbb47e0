package solve_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/solve"
)

// A known solution makes the next problem cheaper: the second game needs no model.
func Example() {
	dir, err := os.MkdirTemp("", "sotto-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	memory, err := metagraph.Open(filepath.Join(dir, "memory.db"), metagraph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()
	task := solve.TaskOf(answer.Game24)
	s, err := solve.New(solve.Options{Task: task, Mode: solve.Template, Model: solve.Scripted{Task: task}, Memory: memory})
	if err != nil {
		log.Fatal(err)
	}
	for n, input := range []string{"2 5 8 10", "4 4 8 11"} {
		p := solve.Problem{ID: fmt.Sprint(n), Problem: answer.Problem{Input: input}}
		r, err := s.Solve(context.Background(), n+1, p)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s, %d calls of the model\n", input, r.Candidate, len(r.Attempts))
	}
	// Output:
	// 2 5 8 10: (10-2-5)*8, 1 calls of the model
	// 4 4 8 11: (11-4-4)*8, 0 calls of the model
}
