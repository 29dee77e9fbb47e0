package answer_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// Replies that are cut, joined and shuffled from pieces of endings give a candidate that
// is written in them, or none, and nothing panics.
func TestShuffledEndings(t *testing.T) {
	list := readEndings(t)
	random := rand.New(rand.NewPCG(1, 2))
	piece := func() string {
		r := list[random.IntN(len(list))].Reply
		from := random.IntN(len(r) + 1)
		return r[from : from+random.IntN(len(r)-from+1)]
	}
	tasks := answer.Tasks()
	for range 20_000 {
		var b strings.Builder
		for range 1 + random.IntN(4) {
			b.WriteString(piece())
			b.WriteString([]string{"", " ", "\n", ". ", "。", "$", "**"}[random.IntN(7)])
		}
		reply := b.String()
		task := tasks[random.IntN(len(tasks))]
		x := answer.Extract(task, reply, answer.Problem{Options: []string{"x", "Paris", "z"}}, answer.Options{})
		if x.Span != nil && reply[x.Span.Start:x.Span.End] != x.Written {
			t.Fatalf("%s: %q is not written at %v in %q", task.Name(), x.Written, *x.Span, reply)
		}
	}
}
