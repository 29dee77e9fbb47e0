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

// A Problem is one of a stream. Its ID must be no other's of the stream.
type Problem struct {
	ID string
	answer.Problem
}

// Games returns the 1,362 solvable games of four numbers from 1 to 13, found by
// exact search, in an order that the seed decides; of seed 0 they stand in order.
func Games(seed uint64) []Problem {
	games := symbolic.Games(4, 1, 13, 24)
	if seed != 0 {
		r := rand.New(rand.NewPCG(seed, 24))
		r.Shuffle(len(games), func(i, j int) { games[i], games[j] = games[j], games[i] })
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

func sortWords(list []string) { slices.Sort(list) }

// A Replier is a model that must be told which problem a request is about, as one
// is that plays logged replies.
type Replier interface {
	model.Model
	// Reply answers an attempt at a problem, the first being 1.
	Reply(ctx context.Context, p Problem, attempt int, q model.Request) (model.Reply, error)
	// Skip says that an earlier run made so many attempts at a problem.
	Skip(p Problem, attempts int)
}
