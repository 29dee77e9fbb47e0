package metagraph

import (
	"time"

	"github.com/sotto-llm/sotto/answer"
)

// A Kind says what a node is.
type Kind string

const (
	// Trace is the kind of one problem and its solution, distilled. Its key is the
	// canonical query of the problem.
	Trace Kind = "trace"
	// Template is the kind of an expression over slots that solves games; see
	// package symbolic. Its key is the template's.
	Template Kind = "template"
)

// A Ref names a node.
type Ref struct {
	Task string `json:"task"`
	Kind Kind   `json:"kind"`
	Key  string `json:"key"`
}

// Stats are the statistics of a node or an edge. Averages are moving averages, over
// about the last 10 uses.
type Stats struct {
	// Seen is how often the node was found as the solution of a problem that
	// passed, including the first time.
	Seen int64 `json:"seen,omitempty"`
	// Used is how often the node was offered for a problem: put into a prompt, or
	// filled with numbers. Solved and Failed count the outcomes of those problems.
	Used   int64 `json:"used,omitempty"`
	Solved int64 `json:"solved,omitempty"`
	Failed int64 `json:"failed,omitempty"`

	Success float64 `json:"success,omitempty"` // share of uses, 0 … 1
	Tokens  float64 `json:"tokens,omitempty"`  // per problem that it was used for
	Millis  float64 `json:"ms,omitempty"`      // the same
	Cost    float64 `json:"cost,omitempty"`    // the same, in the unit of the caller's prices
}

// A Node is a trace or a template, with the proof that it passed: the problem, and
// the candidate that the validator accepted.
type Node struct {
	Ref
	// Model names the model whose solution the node was first. It is empty if that
	// is not known, as in files of version 1.
	Model     string
	Slots     int            // of a template
	Problem   answer.Problem // the problem that the node was first found for
	Candidate string         // its solution
	Work      string         // of a trace: steps from the visible text, on one line
	Distilled string         // of a trace: what goes into a prompt; empty in a node of version 2 or earlier
	Stats
	Created time.Time
	SeenAt  time.Time
	UsedAt  time.Time // zero if never
	// SolvedAt is the last time that the node was seen, or was used for a problem
	// that was solved. A node's age is counted from it.
	SolvedAt time.Time
	// Space names the model that made Vector, the embedding of the query.
	Space  string
	Vector []float32
}

// Text returns the node in the form that goes into a prompt.
func (n Node) Text() string {
	switch {
	case n.Kind == Template:
		return "Template: " + n.Key + "\n"
	case n.Distilled != "":
		return n.Distilled + "\n"
	}
	t, err := answer.TaskNamed(n.Task)
	if err != nil {
		t = unknownTask{name: n.Task, query: n.Key}
	}
	return answer.Trace(t, n.Problem, n.Candidate, n.Work) + "\n"
}

// An unknownTask distils an old node of a task that package answer does not have.
type unknownTask struct {
	answer.Task
	name, query string
}

func (t unknownTask) Name() string { return t.name }

func (t unknownTask) Distil(answer.Problem, string) (query, trace string) { return t.query, "" }

// An Edge says what a node was used for: a query, and the outcome.
type Edge struct {
	From  Ref    `json:"from"`
	Query string `json:"query"`
	Stats
	Created time.Time `json:"created"`
	UsedAt  time.Time `json:"used_at,omitzero"`
}

// A Spent is the cost of a problem.
type Spent struct {
	Tokens  int64
	Latency time.Duration
	Money   float64
}

// recent is the number of uses that an average covers.
const recent = 10

// use counts one use.
func (s *Stats) use(solved bool, spent Spent) {
	s.Used++
	success := 0.0
	if solved {
		s.Solved++
		success = 1
	} else {
		s.Failed++
	}
	weight := 1 / float64(min(s.Used, recent))
	move := func(average *float64, x float64) { *average += (x - *average) * weight }
	move(&s.Success, success)
	move(&s.Tokens, float64(spent.Tokens))
	move(&s.Millis, float64(spent.Latency)/float64(time.Millisecond))
	move(&s.Cost, spent.Money)
}
