// Package memorygraph shows a memory of solved problems as a graph: for Graphviz (DOT),
// for other programs (GraphML), and as a page with drawings.
package memorygraph

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
	"github.com/sotto-llm/sotto/internal/lab/solve"
)

// A Kind says what a node is.
type Kind string

// The kinds. A problem is one for which nodes were used, and that is not solved.
const (
	Template Kind = "template"
	Solution Kind = "solution"
	Problem  Kind = "problem"
)

// A Relation says what an edge is. All but UsedFor begin at a template.
type Relation string

// The relations.
const (
	LearnedFrom Relation = "learned_from" // the solution that the template was first made from
	TemplateOf  Relation = "template_of"  // another solution of a model that has this form
	Solved      Relation = "solved"       // the template, filled with its numbers, is the solution
	UsedFor     Relation = "used_for"     // the node was offered for the problem
)

// A Node is a node of a memory, or a problem that is not solved.
type Node struct {
	Kind      Kind
	Task, Key string
	Candidate string // the solution; of a template that of its first problem
	Model     string // whose solution it was first
	Seen      int64
	Used      int64
	Solved    int64
	Failed    int64
	Created   time.Time // zero if it is not known
	// Order is its place among all that was learned, from 1: the number of the node, or
	// in a stream that of the problem. 0 is for what was there before the stream, and
	// for problems.
	Order int

	input string // of the problem that it was first found for
}

// An Edge leads from a template or a solution to a solution or a problem.
type Edge struct {
	From, To int // in Graph.Nodes
	Relation Relation
	Used     int64
	Solved   int64
	Failed   int64
}

// A Graph is a memory, or the part of it that solved most.
type Graph struct {
	Nodes []Node // in the order in which they were learned
	Edges []Edge
	// All counts the nodes of the memory, with those that are not in the graph.
	All int
	// Growth are the counts of solutions and templates after each step.
	Growth [2][]float64
}

// A builder makes a graph.
type builder struct {
	Graph
	at map[metagraph.Ref]int
}

func (b *builder) add(r metagraph.Ref, n Node) int {
	if at, ok := b.at[r]; ok {
		return at
	}
	n.Task, n.Key = r.Task, r.Key
	if n.Kind == "" {
		n.Kind = Solution
		if r.Kind == metagraph.Template {
			n.Kind = Template
		}
	}
	b.at[r] = len(b.Nodes)
	b.Nodes = append(b.Nodes, n)
	return len(b.Nodes) - 1
}

// Of returns the graph of a memory. If task is empty, it has all tasks. If most is more
// than zero, it has at most so many nodes: those that solved most.
func Of(ctx context.Context, m *metagraph.Graph, task string, most int) (*Graph, error) {
	nodes, err := m.Nodes(ctx, task)
	if err != nil {
		return nil, err
	}
	b := &builder{at: map[metagraph.Ref]int{}}
	b.All = len(nodes)
	slices.SortStableFunc(nodes, func(x, y metagraph.Node) int { return x.Created.Compare(y.Created) })
	order := make(map[metagraph.Ref]int, len(nodes))
	for i, n := range nodes {
		order[n.Ref] = i + 1
		b.grow(n.Kind)
	}
	if most > 0 && len(nodes) > most {
		slices.SortStableFunc(nodes, func(x, y metagraph.Node) int { return cmp.Compare(y.Solved+y.Seen, x.Solved+x.Seen) })
		nodes = nodes[:most]
		slices.SortStableFunc(nodes, func(x, y metagraph.Node) int { return cmp.Compare(order[x.Ref], order[y.Ref]) })
	}
	for _, n := range nodes {
		b.add(n.Ref, Node{
			Candidate: n.Candidate, Model: n.Model, Seen: n.Seen, Used: n.Used, Solved: n.Solved, Failed: n.Failed,
			Created: n.Created, Order: order[n.Ref], input: n.Problem.Input,
		})
	}
	for _, n := range nodes {
		edges, err := m.Edges(ctx, n.Ref)
		if err != nil {
			return nil, err
		}
		b.link(n.Ref, edges, order, most)
	}
	return &b.Graph, nil
}

// grow notes that there is one node more.
func (b *builder) grow(k metagraph.Kind) {
	at := 0
	if k == metagraph.Template {
		at = 1
	}
	for i := range b.Growth {
		last := 0.0
		if n := len(b.Growth[i]); n > 0 {
			last = b.Growth[i][n-1]
		}
		if i == at {
			last++
		}
		b.Growth[i] = append(b.Growth[i], last)
	}
}

// link adds the edges of a node. known are all nodes of the memory.
func (b *builder) link(from metagraph.Ref, edges []metagraph.Edge, known map[metagraph.Ref]int, most int) {
	at := b.at[from]
	learned := false
	for _, e := range edges {
		ref := metagraph.Ref{Task: from.Task, Kind: metagraph.Trace, Key: e.Query}
		to, ok := b.at[ref]
		switch {
		case ok:
		case known[ref] > 0 || most > 0 && len(b.Nodes) >= most:
			continue
		default:
			to = b.add(ref, Node{Kind: Problem})
		}
		edge := Edge{From: at, To: to, Relation: UsedFor, Used: e.Used, Solved: e.Solved, Failed: e.Failed}
		n, s := &b.Nodes[at], &b.Nodes[to]
		switch {
		case n.Kind != Template || s.Kind != Solution:
		case e.Seen > 0 && !learned && s.input == n.input && s.Candidate == n.Candidate:
			edge.Relation, learned = LearnedFrom, true
		case e.Seen > 0:
			edge.Relation = TemplateOf
		case e.Solved > 0 && fills(n.Key, s.Candidate):
			edge.Relation = Solved
		}
		b.Edges = append(b.Edges, edge)
	}
}

// fills reports whether a template, filled with the numbers of a solution, is that
// solution.
func fills(key, solution string) bool {
	t, err := symbolic.Parse(key)
	if err != nil {
		return false
	}
	var numbers []int64
	for _, digits := range strings.FieldsFunc(solution, func(r rune) bool { return r < '0' || r > '9' }) {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return false
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return len(numbers) == t.Slots() && t.Fill(numbers) == solution
}

// OfResults returns the graph of what a stream used and learned. What was known before
// the stream is in it only if the stream used it.
func OfResults(results []solve.Result) *Graph {
	results = slices.Clone(results)
	slices.SortStableFunc(results, func(x, y solve.Result) int { return x.N - y.N })
	b := &builder{at: map[metagraph.Ref]int{}}
	for i := range results {
		b.result(&results[i])
	}
	b.All = 0
	for _, n := range b.Nodes {
		if n.Kind != Problem {
			b.All++
		}
	}
	return &b.Graph
}

// result adds what a problem used and taught.
func (b *builder) result(r *solve.Result) {
	if r.Memory == nil {
		return
	}
	b.Growth[0] = append(b.Growth[0], float64(r.Memory.Size.Traces))
	b.Growth[1] = append(b.Growth[1], float64(r.Memory.Size.Templates))
	to := -1
	if t := r.Memory.Trace; t != nil {
		n := Node{Candidate: r.Candidate, Model: r.Model}
		if r.Memory.NewTrace {
			n.Order = r.N
		}
		to = b.add(*t, n)
		b.Nodes[to].Kind, b.Nodes[to].Candidate = Solution, r.Candidate
		b.Nodes[to].Seen++
	} else if len(r.Used) > 0 {
		to = b.add(metagraph.Ref{Task: r.Task, Kind: metagraph.Trace, Key: r.ID}, Node{Kind: Problem})
	}
	for _, u := range r.Used {
		at := b.add(u, Node{})
		relation := UsedFor
		if r.Hit == solve.HitTemplate {
			relation = Solved
		}
		b.used(at, to, relation, r.Solved)
	}
	if t := r.Memory.Template; t != nil && r.Hit != solve.HitTemplate && to >= 0 {
		n, relation := Node{Candidate: r.Candidate, Model: r.Model}, TemplateOf
		if r.Memory.NewTemplate {
			n.Order, relation = r.N, LearnedFrom
		}
		at := b.add(*t, n)
		b.Nodes[at].Seen++
		b.Edges = append(b.Edges, Edge{From: at, To: to, Relation: relation})
	}
}

// used counts one use of a node.
func (b *builder) used(from, to int, relation Relation, solved bool) {
	e := Edge{From: from, To: to, Relation: relation, Used: 1}
	n := &b.Nodes[from]
	n.Used++
	if solved {
		e.Solved = 1
		n.Solved++
	} else {
		e.Failed = 1
		n.Failed++
	}
	if to >= 0 {
		b.Edges = append(b.Edges, e)
	}
}
