package solve

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/metagraph/symbolic"
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

func sortWords(list []string) { slices.Sort(list) }

// A Replier is a model that must know which problem a request is about, such as one
// that plays logged replies.
type Replier interface {
	model.Model
	// Reply answers an attempt at a problem. The first attempt is 1.
	Reply(ctx context.Context, p Problem, attempt int, q model.Request) (model.Reply, error)
	// Skip says how many attempts an earlier run made at a problem.
	Skip(p Problem, attempts int)
}
