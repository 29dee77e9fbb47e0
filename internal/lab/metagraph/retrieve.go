package metagraph

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"
)

// A Search asks a graph for what may help with a problem.
type Search struct {
	Task, Query string // see [Query]
	// Floor is the minimum similarity of a trace to the query, 0 … 1. If zero, 0.3.
	// A dissimilar path is worse than none.
	Floor float64
	// Vector is the query's embedding by the model that Space names, or nil. Only
	// embeddings of one model are compared.
	Vector []float32
	Space  string
	// DenseFloor is the minimum cosine of embeddings. If zero, 0.8. Embeddings of
	// unrelated texts often have a cosine over a half.
	DenseFloor float64
	// Limit is the maximum number of paths. If zero, 4.
	Limit int
	// Tokens is the token budget for the texts of all paths. If zero, 1000.
	Tokens int
}

// A Path is a trace similar to the query and, in games of numbers, the template
// that solved it. It goes into a prompt.
type Path struct {
	Trace    Node
	Template *Node
	// Similarity is the similarity of the trace's query and the requested query, 0
	// … 1.
	Similarity float64
	// Score is the rank of a path: its similarity, reduced if the trace is old, and
	// reduced if it failed at this query.
	Score float64
}

// Text returns the path in the form that goes into a prompt.
func (p Path) Text() string {
	if p.Template == nil {
		return p.Trace.Text()
	}
	return p.Template.Text() + p.Trace.Text()
}

// Tokens returns the approximate number of tokens in the text: a quarter of its
// bytes.
func (p Path) Tokens() int { return Tokens(p.Text()) }

// Refs names the nodes of the path.
func (p Path) Refs() []Ref {
	if p.Template == nil {
		return []Ref{p.Trace.Ref}
	}
	return []Ref{p.Template.Ref, p.Trace.Ref}
}

// Tokens returns the approximate number of tokens in a text, for use if no server
// has counted them.
func Tokens(text string) int { return (len(text) + 3) / 4 }

// Retrieve returns the paths that may help with a query, best first. Of the paths
// with one template, it returns only the best. It skips a path that does not fit
// into the rest of the budget. It writes nothing.
func (g *Graph) Retrieve(ctx context.Context, q Search) ([]Path, error) {
	q.Floor, q.DenseFloor = cmp.Or(q.Floor, 0.3), cmp.Or(q.DenseFloor, 0.8)
	q.Limit, q.Tokens = cmp.Or(q.Limit, 4), cmp.Or(q.Tokens, 1000)
	if err := g.refresh(ctx); err != nil {
		return nil, err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := g.seen.tasks[q.Task]
	if s == nil {
		return nil, nil
	}
	ranked := g.rank(s, &q)
	var paths []Path
	for _, f := range ranked {
		p := Path{Similarity: f.similarity, Score: f.score}
		if t := s.template(f.Key); t != nil {
			if slices.ContainsFunc(paths, func(o Path) bool { return o.Template != nil && o.Template.Key == t.Key }) {
				continue
			}
			shown := t.shown()
			p.Template = &shown
		}
		p.Trace = f.shown()
		if n := p.Tokens(); n <= q.Tokens {
			q.Tokens -= n
			paths = append(paths, p)
		}
		if len(paths) == q.Limit {
			break
		}
	}
	return paths, nil
}

// spare is how many ranked traces are kept per path. Some have the same template as
// another, or do not fit.
const spare = 8

// A scored is a find with its rank.
type scored struct {
	find
	score float64
}

// rank returns the best finds, in order.
func (g *Graph) rank(s *shelf, q *Search) []scored {
	most := spare * q.Limit
	now := g.o.Now()
	best := map[*entry]scored{}
	var list []scored
	floor := 0.0 // of scores, once there are enough
	shrink := func(to int) {
		slices.SortFunc(list, better)
		if len(list) > to {
			list = list[:to]
			floor = list[to-1].score
		}
	}
	score := func(f find) float64 { return f.similarity * g.freshness(f.SolvedAt, now) * f.trust(q.Query) }
	note := func(f find) {
		if f.similarity < floor { // a score is never higher than this
			return
		}
		list = append(list, scored{f, score(f)})
		if len(list) >= 2*most {
			shrink(most)
		}
	}
	if q.Vector == nil {
		s.traces.lexical(q.Query, q.Floor, func(f find) float64 { note(f); return max(q.Floor, floor) })
		shrink(most)
		return list
	}
	both := func(f find) {
		if was, ok := best[f.entry]; !ok || f.similarity > was.similarity {
			best[f.entry] = scored{find: f}
		}
	}
	byWords, byVector := bar{most: most, floor: q.Floor}, bar{most: most, floor: q.DenseFloor}
	s.traces.lexical(q.Query, q.Floor, func(f find) float64 { both(f); return byWords.add(score(f)) })
	if byWords.floor > q.Floor { // there are enough by their words alone
		byVector.floor = max(q.DenseFloor, byWords.floor)
	}
	s.traces.dense(q.Space, q.Vector, byVector.floor, func(f find) float64 { both(f); return byVector.add(score(f)) })
	for _, f := range best {
		note(f.find)
	}
	shrink(most)
	return list
}

// A bar rises with the scores of traces: once most of them have a score, one that is less
// similar than the last of these cannot have a better one.
type bar struct {
	most   int
	scores []float64
	floor  float64
}

// add takes the score of a trace, which it has not had before, and returns the floor.
func (b *bar) add(score float64) float64 {
	if b.scores = append(b.scores, score); len(b.scores) >= 2*b.most {
		slices.SortFunc(b.scores, func(x, y float64) int { return cmp.Compare(y, x) })
		b.scores = b.scores[:b.most]
		b.floor = max(b.floor, b.scores[b.most-1])
	}
	return b.floor
}

// better orders finds: by score, then by how many problems they solved, then newer
// first, then by key.
func better(a, b scored) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.Solved+b.Seen, a.Solved+a.Seen), b.SolvedAt.Compare(a.SolvedAt), cmp.Compare(a.Key, b.Key))
}

// stale is the share of its score that a node keeps in the end, however old it is.
const stale = 0.5

// freshness falls from 1 to stale. In each half-life since the last success it
// covers half of the remaining way. It is computed on each read, and never stored.
func (g *Graph) freshness(solved, now time.Time) float64 {
	age := max(0, now.Sub(solved))
	return stale + (1-stale)*math.Exp2(-float64(age)/float64(g.o.HalfLife))
}

// trust is 1, and less if the trace failed at this query. Outcomes at other queries
// do not matter.
func (e *entry) trust(query string) float64 {
	edge, ok := e.edges[query]
	if !ok {
		return 1
	}
	return float64(1+edge.Solved) / float64(1+edge.Solved+edge.Failed)
}

// template returns the template that solved a query most often, or nil.
func (s *shelf) template(query string) *entry {
	var best *entry
	worth := func(e *entry) int64 { edge := e.edges[query]; return edge.Solved + edge.Seen }
	for _, e := range s.uses[query] {
		n := worth(e)
		if n > 0 && (best == nil || cmp.Or(cmp.Compare(n, worth(best)), cmp.Compare(e.Solved+e.Seen, best.Solved+best.Seen), cmp.Compare(best.Key, e.Key)) > 0) {
			best = e
		}
	}
	return best
}

// Templates returns the templates of a task. Those that solved most come first.
func (g *Graph) Templates(ctx context.Context, task string) ([]Node, error) {
	if err := g.refresh(ctx); err != nil {
		return nil, err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := g.seen.tasks[task]
	if s == nil {
		return nil, nil
	}
	sorted := slices.Clone(s.templates)
	slices.SortFunc(sorted, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(b.Solved+b.Seen, a.Solved+a.Seen), cmp.Compare(a.Key, b.Key))
	})
	list := make([]Node, len(sorted))
	for i, e := range sorted {
		list[i] = e.shown()
	}
	return list, nil
}
