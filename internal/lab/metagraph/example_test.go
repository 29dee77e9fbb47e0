package metagraph_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
)

func Example() {
	dir, err := os.MkdirTemp("", "sotto-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	g, err := metagraph.Open(filepath.Join(dir, "memory.db"), metagraph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	p := answer.Problem{Input: "3 5 8 11"}
	query := metagraph.Query(answer.Game24, p)
	for _, candidate := range []string{"3*8", "(8-5)*(11-3)"} {
		passed, verdict := metagraph.Judge(answer.Game24, p, candidate, "")
		l, err := g.Learn(ctx, metagraph.Attempt{Task: "game24", Query: query, Passed: passed})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(candidate, verdict.Reason, l.Size)
	}

	paths, err := g.Retrieve(ctx, metagraph.Search{Task: "game24", Query: "Solve 24 with 3 5 9 11"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(paths[0].Text())
	// Output:
	// 3*8 wrong_numbers {0 0}
	// (8-5)*(11-3) ok {1 1}
	// Template: (d-a)*(c-b)
	// Task: Game24
	// Input: 3 5 8 11
	// Solution: (8-5)*(11-3)
}
