package solve

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
	"github.com/sotto-llm/sotto/model"
)

// A Problem is one problem of a stream. Its ID must be unique in the stream.
type Problem struct {
	ID string
	answer.Problem
}

// Games returns the 1,362 solvable games of four numbers from 1 to 13, found by
// exact search. The seed decides their order; with seed 0 they are sorted.
func Games(seed uint64) []Problem {
	games := symbolic.Games(4, 1, 13, 24)
	if seed != 0 {
		Shuffle(games, seed)
	}
	problems := make([]Problem, len(games))
	for i, g := range games {
		var numbers []string
		for _, n := range g {
			numbers = append(numbers, strconv.FormatInt(n, 10))
		}
		problems[i] = Problem{strings.Join(numbers, "-"), answer.Problem{Input: strings.Join(numbers, " ")}}
	}
	return problems
}

// Shuffle puts a list, such as the problems of a stream, into an order that depends
// on the seed alone.
func Shuffle[T any](list []T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 24))
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

//go:embed problems
var shipped embed.FS

// Shipped returns the problems that come with the package for a task: the games of
// [Games] for game24, and some 20 written by hand for mgsm, wordsort and checkmate. They
// are for a first try, not for measurements. It returns nil for other tasks.
func Shipped(task string, seed uint64) []Problem {
	if task == answer.Game24.Name() {
		return Games(seed)
	}
	data, err := shipped.ReadFile("problems/" + task + ".jsonl")
	if err != nil {
		return nil
	}
	var problems []Problem
	for line := range bytes.Lines(data) {
		var p struct{ ID, Input, Gold string }
		if err := json.Unmarshal(line, &p); err != nil {
			panic("unreachable: the problems come with the package: " + err.Error())
		}
		problems = append(problems, Problem{p.ID, answer.Problem{Input: p.Input, Gold: p.Gold}})
	}
	return problems
}

// A Replier is a model that must know which problem a request is about, such as one
// that plays logged replies.
type Replier interface {
	model.Model
	// Reply answers an attempt at a problem. The first attempt is 1.
	Reply(ctx context.Context, p Problem, attempt int, q model.Request) (model.Reply, error)
	// Skip says how many attempts an earlier run made at a problem.
	Skip(p Problem, attempts int)
}
