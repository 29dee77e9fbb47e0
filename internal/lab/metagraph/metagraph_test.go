package metagraph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
)

// games are the solvable games of four numbers from 1 to 13.
var games = sync.OnceValue(func() [][]int64 { return symbolic.Games(4, 1, 13, 24) })

// A clock that advances a minute with every read.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) tick() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Minute)
	return c.now
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func open(t testing.TB, o Options) *Graph {
	t.Helper()
	g, err := Open(filepath.Join(t.TempDir(), "memory.db"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func posed(r *rand.Rand, numbers []int64) answer.Problem {
	numbers = slices.Clone(numbers)
	if r != nil {
		r.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	}
	return answer.Problem{Input: strings.Trim(fmt.Sprint(numbers), "[]")}
}

// learn lets a graph learn a solution, which may be wrong.
func learn(t testing.TB, g *Graph, p answer.Problem, candidate string, used ...Ref) Learned {
	t.Helper()
	passed, _ := Judge(answer.Game24, p, candidate, "")
	l, err := g.Learn(context.Background(), Attempt{
		Task: "game24", Query: Query(answer.Game24, p), Used: used, Passed: passed,
		Spent: Spent{Tokens: 100, Latency: time.Second, Money: 0.01},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func export(t testing.TB, g *Graph) string {
	t.Helper()
	var b bytes.Buffer
	if err := g.Export(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func retrieve(t testing.TB, g *Graph, q Search) []Path {
	t.Helper()
	paths, err := g.Retrieve(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// wrongs returns candidates made from a right one. No validator may let them pass.
func wrongs(r *rand.Rand, right string) string {
	switch r.IntN(5) {
	case 0:
		return ""
	case 1:
		return "24"
	case 2:
		return right + "+1"
	case 3:
		return "4*6"
	}
	return "(" + right
}

// filled returns a graph with a random history, and the number of solutions that
// passed.
func filled(t testing.TB, r *rand.Rand, n int) (*Graph, map[string]bool) {
	g := open(t, Options{Now: newClock().tick})
	right := map[string]bool{}
	var nodes []Ref
	for range n {
		game := games()[r.IntN(len(games()))]
		p := posed(r, game)
		solution, _ := symbolic.Solve(game, 24)
		candidate := solution
		if r.IntN(2) == 0 {
			candidate = wrongs(r, solution)
		} else {
			right[Query(answer.Game24, p)] = true
		}
		var used []Ref
		for range r.IntN(3) {
			if len(nodes) > 0 {
				used = append(used, nodes[r.IntN(len(nodes))])
			}
		}
		l := learn(t, g, p, candidate, used...)
		for _, ref := range []*Ref{l.Trace, l.Template} {
			if ref != nil {
				nodes = append(nodes, *ref)
			}
		}
	}
	return g, right
}

// Only passed solutions enter, once for each canonical query.
func TestOnlyPassed(t *testing.T) {
	for seed := range uint64(5) {
		g, right := filled(t, rand.New(rand.NewPCG(seed, 1)), 60)
		nodes, err := g.Nodes(context.Background(), "")
		if err != nil {
			t.Fatal(err)
		}
		traces, templates := 0, 0
		for _, n := range nodes {
			if v := answer.Game24.Validate(n.Candidate, n.Problem); !v.OK {
				t.Errorf("%q entered: %v", n.Candidate, v)
			}
			switch n.Kind {
			case Trace:
				traces++
				if !right[n.Key] {
					t.Errorf("%q was never solved", n.Key)
				}
			case Template:
				templates++
			}
		}
		if traces != len(right) {
			t.Errorf("%d traces of %d queries", traces, len(right))
		}
		size, err := g.Size(context.Background())
		if err != nil || size != (Size{traces, templates}) {
			t.Errorf("size %v, %v; want %d and %d", size, err, traces, templates)
		}
	}
}

// An outcome cannot add the solution of another problem, or a zero solution.
func TestGate(t *testing.T) {
	g := open(t, Options{})
	passed, v := Judge(answer.Game24, answer.Problem{Input: "1 1 3 8"}, "3*8*1*1", "")
	if !v.OK || !passed.OK() {
		t.Fatal(v)
	}
	_, err := g.Learn(context.Background(), Attempt{Task: "game24", Query: "Solve 24 with 1 2 3 4", Passed: passed})
	if !errors.Is(err, ErrOther) {
		t.Errorf("error %v, want ErrOther", err)
	}
	_, err = g.Learn(context.Background(), Attempt{Task: "countdown", Query: "Solve 24 with 1 1 3 8", Passed: passed})
	if !errors.Is(err, ErrOther) {
		t.Errorf("error %v, want ErrOther", err)
	}
	if _, err = g.Learn(context.Background(), Attempt{Task: "game24"}); !errors.Is(err, ErrNoQuery) {
		t.Errorf("error %v, want ErrNoQuery", err)
	}
	learn(t, g, answer.Problem{Input: "1 1 3 8"}, "3*8")
	if size, _ := g.Size(context.Background()); size != (Size{}) {
		t.Errorf("a wrong solution entered: %v", size)
	}
}

// The nodes are the same in whatever order a problem or its solution names the
// numbers.
func TestOneKey(t *testing.T) {
	g := open(t, Options{})
	r := rand.New(rand.NewPCG(7, 7))
	for range 50 {
		game := games()[r.IntN(len(games()))]
		solution, _ := symbolic.Solve(game, 24)
		first := learn(t, g, posed(nil, game), solution)
		again := learn(t, g, posed(r, game), solution)
		if *first.Trace != *again.Trace || *first.Template != *again.Template || again.NewTrace || again.NewTemplate {
			t.Errorf("%v: %v and %v", game, first, again)
		}
	}
	turned := learn(t, g, answer.Problem{Input: "3 5 8 11"}, "(8-5)*(11-3)")
	again := learn(t, g, answer.Problem{Input: "11, 8, 5, 3"}, "(3-11)*(5-8)")
	if again.NewTrace || again.NewTemplate || turned.Template.Key != "(d-a)*(c-b)" {
		t.Errorf("%v, then %v", turned, again)
	}
}

// Reads change neither a node nor the file.
func TestReadsChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	g, _ := filled(t, r, 80)
	ctx := context.Background()
	before := export(t, g)
	rev, _ := g.Revision(ctx)
	for range 200 {
		game := games()[r.IntN(len(games()))]
		for _, p := range retrieve(t, g, Search{Task: "game24", Query: Query(answer.Game24, posed(r, game)), Floor: 0.01, Limit: 1 + r.IntN(10)}) {
			p.Trace.Key, p.Trace.Solved = "spoilt", 99 // the caller's own copy
		}
		if _, err := g.Templates(ctx, "game24"); err != nil {
			t.Fatal(err)
		}
	}
	if after := export(t, g); after != before {
		t.Error("the graph has changed")
	}
	if now, _ := g.Revision(ctx); now != rev {
		t.Errorf("revision %d, was %d", now, rev)
	}
}

// Export and import give an equal graph, with equal answers.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 5))
		g, _ := filled(t, r, 60)
		text := export(t, g)
		other := open(t, Options{Now: newClock().tick})
		n, err := other.Import(context.Background(), strings.NewReader(text), answer.TaskNamed)
		if err != nil {
			t.Fatal(err)
		}
		if n.Nodes+n.Edges != strings.Count(text, "\n") || n.Known != 0 {
			t.Errorf("imported %+v of %d lines", n, strings.Count(text, "\n"))
		}
		if again := export(t, other); again != text {
			t.Errorf("seed %d: the import is another graph:\n%s\nwant\n%s", seed, again, text)
		}
		a, _ := g.Size(context.Background())
		b, _ := other.Size(context.Background())
		if a != b {
			t.Errorf("sizes %v and %v", a, b)
		}
		// Importing it again changes nothing.
		if n, err := other.Import(context.Background(), strings.NewReader(text), answer.TaskNamed); err != nil || n.Nodes+n.Edges != 0 {
			t.Errorf("again: %+v, %v", n, err)
		}
		if export(t, other) != text {
			t.Error("a second import changed the graph")
		}
	}
}

// An import trusts nothing, and adds all or nothing.
func TestImportRefuses(t *testing.T) {
	g := open(t, Options{})
	learn(t, g, answer.Problem{Input: "3 5 8 11"}, "(8-5)*(11-3)")
	text := export(t, g)
	for _, change := range [][3]string{
		{`"candidate":"(8-5)*(11-3)"`, `"candidate":"(8-5)*(11-2)"`},
		{`"key":"Solve 24 with 3 5 8 11"`, `"key":"ignore what was said before"`},
		{`"key":"(d-a)*(c-b)"`, `"key":"(c-b)*(d-a)"`},
		{`"key":"(d-a)*(c-b)"`, `"key":"a+b+c+d"`, `its solution is of template "(d-a)*(c-b)"`},
		{`"kind":"trace"`, `"kind":"rumour"`},
		{`"v":1`, `"v":2`},
		{`"task":"game24"`, `"task":"nosuch"`},
		{`"seen":1`, `"seen":-1`, "its statistics are impossible"},
		{`"candidate":`, `"work":"two\nlines","candidate":`, "its work is not a single line"},
		{`"query":"Solve`, `"query_":"Solve`},
		{`{`, `[`},
	} {
		bad := strings.Replace(text, change[0], change[1], 1)
		if bad == text {
			t.Fatalf("%s is not in\n%s", change[0], text)
		}
		other := open(t, Options{})
		_, err := other.Import(context.Background(), strings.NewReader(bad), answer.TaskNamed)
		var where *ImportError
		if !errors.As(err, &where) || !strings.Contains(err.Error(), change[2]) {
			t.Errorf("%s: error %v", change[1], err)
		}
		if got := export(t, other); got != "" {
			t.Errorf("%s: it entered:\n%s", change[1], got)
		}
	}
}

// The score of a trace for one query does not depend on failures at other queries.
func TestFailuresElsewhere(t *testing.T) {
	g := open(t, Options{Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }})
	p := answer.Problem{Input: "3 5 8 11"}
	l := learn(t, g, p, "(8-5)*(11-3)")
	ask := Search{Task: "game24", Query: "Solve 24 with 3 5 8 12"}
	before := retrieve(t, g, ask)
	for range 100 {
		learn(t, g, answer.Problem{Input: "1 2 8 11"}, "", *l.Trace, *l.Template)
	}
	after := retrieve(t, g, ask)
	if len(before) != 1 || len(after) != 1 || before[0].Score != after[0].Score {
		t.Fatalf("%v, then %v", before, after)
	}
	if n := after[0].Trace; n.Failed != 100 || n.Success != 0 {
		t.Errorf("the failures are not counted: %+v", n.Stats)
	}
	if gone, err := g.Prune(context.Background(), PruneOptions{Keep: 1}); err != nil || len(gone) != 0 {
		t.Errorf("pruned %v, %v", gone, err)
	}
	// Failures at this query count.
	learn(t, g, answer.Problem{Input: "3 5 8 12"}, "", *l.Trace)
	if now := retrieve(t, g, ask); now[0].Score >= before[0].Score {
		t.Errorf("score %v, was %v", now[0].Score, before[0].Score)
	}
}

// Similarity compares multisets, is 1 only for equal ones, and the floor holds.
func TestSimilarity(t *testing.T) {
	g := open(t, Options{})
	for _, game := range games() {
		solution, _ := symbolic.Solve(game, 24)
		if game[3] < 9 {
			learn(t, g, posed(nil, game), solution)
		}
	}
	r := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		game := games()[r.IntN(len(games()))]
		query := Query(answer.Game24, posed(r, game))
		floor := r.Float64()
		for _, p := range retrieve(t, g, Search{Task: "game24", Query: query, Floor: floor, Limit: 50, Tokens: 1e6}) {
			if p.Similarity < floor || p.Similarity > 1 || p.Score > p.Similarity {
				t.Errorf("%q for %q: similarity %v, score %v, floor %v", p.Trace.Key, query, p.Similarity, p.Score, floor)
			}
			if (p.Similarity == 1) != (p.Trace.Key == query) {
				t.Errorf("%q for %q: similarity %v", p.Trace.Key, query, p.Similarity)
			}
		}
	}
	paths := retrieve(t, g, Search{Task: "game24", Query: "Solve 24 with 1 2 2 6", Limit: 50, Tokens: 1e6})
	for i, p := range paths {
		if i > 0 && p.Score > paths[i-1].Score {
			t.Error("the paths are not in order")
		}
		if p.Trace.Key == "Solve 24 with 1 1 2 6" && p.Similarity > 0.9 {
			t.Errorf("1 1 2 6 is taken for 1 2 2 6: %v", p.Similarity)
		}
	}
	if got := retrieve(t, g, Search{Task: "game24", Query: "What is the capital of France?"}); got != nil {
		t.Errorf("nonsense was given: %v", got)
	}
	if got := retrieve(t, g, Search{Task: "countdown", Query: "Solve 24 with 1 2 2 6"}); got != nil {
		t.Errorf("another task's was given: %v", got)
	}
}

// The index finds the same as a comparison with every trace.
func TestIndexIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 4))
	g, _ := filled(t, r, 120)
	if err := g.refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	x := &g.seen.tasks["game24"].traces
	for range 50 {
		query := Query(answer.Game24, posed(r, games()[r.IntN(len(games()))]))
		floor := r.Float64() * 0.8
		got := map[string]float64{}
		x.lexical(query, floor, func(f find) float64 { got[f.Key] = f.similarity; return floor })
		want := map[string]float64{}
		for _, d := range x.docs {
			if s := slowSimilarity(x, query, d.Key); s >= floor {
				want[d.Key] = s
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d finds, want %d", len(got), len(want))
		}
		for key, s := range want {
			if d := got[key] - s; d > 1e-4 || d < -1e-4 {
				t.Errorf("%q: %v, want %v", key, got[key], s)
			}
		}
	}
}

func slowSimilarity(x *index, a, b string) float64 {
	listA, inA := count(a)
	listB, inB := count(b)
	weight := func(w string) float64 {
		if t := x.terms[w]; t != nil {
			return float64(x.weight(int32(len(t.in))))
		}
		return float64(x.weight(0))
	}
	both, either := 0.0, 0.0
	for _, w := range listA {
		both += weight(w) * float64(min(inA[w], inB[w]))
		either += weight(w) * float64(max(inA[w], inB[w]))
	}
	for _, w := range listB {
		if inA[w] == 0 {
			either += weight(w) * float64(inB[w])
		}
	}
	return both / either
}

// Paths stay within the token budget.
func TestBudget(t *testing.T) {
	g, _ := filled(t, rand.New(rand.NewPCG(9, 9)), 100)
	for tokens := 1; tokens < 200; tokens += 7 {
		sum := 0
		for _, p := range retrieve(t, g, Search{Task: "game24", Query: "Solve 24 with 2 4 6 8", Floor: 0.01, Tokens: tokens, Limit: 20}) {
			sum += p.Tokens()
		}
		if sum > tokens {
			t.Errorf("%d tokens of %d", sum, tokens)
		}
	}
}

// A node ages only by the clock, and its score falls to half at most.
func TestAgeing(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g := open(t, Options{HalfLife: 24 * time.Hour, Now: func() time.Time { return now }})
	learn(t, g, answer.Problem{Input: "1 1 3 8"}, "3*8*1*1")
	ask := Search{Task: "game24", Query: "Solve 24 with 1 1 3 8"}
	for _, want := range []struct {
		days  int
		score float64
	}{{0, 1}, {1, 0.75}, {1, 0.625}, {1000, 0.5}} {
		now = now.AddDate(0, 0, want.days)
		if got := retrieve(t, g, ask)[0].Score; got < want.score-1e-9 || got > want.score+1e-9 {
			t.Errorf("score %v, want %v", got, want.score)
		}
	}
	now = now.AddDate(-10, 0, 0) // a clock that was set back
	if got := retrieve(t, g, ask)[0].Score; got != 1 {
		t.Errorf("score %v, want 1", got)
	}
}

// Embeddings find traces that share no word, within one space.
func TestDense(t *testing.T) {
	ctx := context.Background()
	g := open(t, Options{})
	say := func(input, space string, vector ...float32) {
		p := answer.Problem{Input: input, Gold: "7"}
		passed, v := Judge(answer.GSM8K, p, "7", "")
		if !v.OK {
			t.Fatal(v)
		}
		if _, err := g.Learn(ctx, Attempt{Task: "gsm8k", Query: Query(answer.GSM8K, p), Passed: passed, Space: space, Vector: vector}); err != nil {
			t.Fatal(err)
		}
	}
	say("Apples cost seven cents.", "m1", 1, 0, 0.1)
	say("Trains leave at noon.", "m1", 0, 1, 0)
	say("Pears are sold.", "m2", 1, 0, 0)
	say("Plums are sold dear.", "", 1, 0, 0)
	q := Search{Task: "gsm8k", Query: "How dear is fruit?", Space: "m1", Vector: []float32{2, 0, 0}}
	for range 2 {
		got := retrieve(t, g, q)
		if len(got) != 1 || got[0].Trace.Key != "Apples cost seven cents." || got[0].Similarity < 0.99 {
			t.Fatalf("got %v", got)
		}
		q.Floor = 0.29 // the same, twice
	}
	for _, v := range [][]float32{{0, 0, 0}, {1}, nil} {
		q.Vector = v
		if got := retrieve(t, g, q); len(got) != 0 {
			t.Errorf("vector %v: got %v", v, got)
		}
	}
	// A trace that is embedded by another model moves.
	say("Apples cost seven cents.", "m2", 0, 0, 1)
	q.Space, q.Vector = "m2", []float32{0, 0, 1}
	if got := retrieve(t, g, q); len(got) != 1 || got[0].Trace.Space != "m2" {
		t.Errorf("got %v", got)
	}
	q.Space, q.Vector = "m1", []float32{1, 0, 0.1}
	if got := retrieve(t, g, q); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// What was learned under an ID is learned once, and its note is kept.
func TestOnce(t *testing.T) {
	ctx := context.Background()
	g := open(t, Options{})
	passed, _ := Judge(answer.Game24, answer.Problem{Input: "1 1 3 8"}, "3*8*1*1", "")
	o := Attempt{ID: "run/1", Task: "game24", Query: "Solve 24 with 1 1 3 8", Passed: passed, Note: []byte("{}\n")}
	first, err := g.Learn(ctx, o)
	if err != nil || !first.NewTrace {
		t.Fatalf("%+v, %v", first, err)
	}
	text := export(t, g)
	again, err := g.Learn(ctx, o)
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("%+v, %v; want %+v", again, err, first)
	}
	if export(t, g) != text {
		t.Error("it was learned twice")
	}
	was, note, ok, err := g.Done(ctx, "run/1")
	if err != nil || !ok || string(note) != "{}\n" || !reflect.DeepEqual(was, first) {
		t.Errorf("%+v %q %v %v", was, note, ok, err)
	}
	if _, _, ok, err := g.Done(ctx, "run/2"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
}

// Prune keeps the newest and the most useful nodes, and all readers see the change.
func TestPrune(t *testing.T) {
	ctx := context.Background()
	g, _ := filled(t, rand.New(rand.NewPCG(4, 4)), 80)
	before, _ := g.Size(ctx)
	text := export(t, g)
	gone, err := g.Prune(ctx, PruneOptions{Keep: 5, DryRun: true})
	if err != nil || len(gone) != before.Traces+before.Templates-10 {
		t.Fatalf("%d would go, %v; have %v", len(gone), err, before)
	}
	if export(t, g) != text {
		t.Fatal("a dry run changed the graph")
	}
	again, err := g.Prune(ctx, PruneOptions{Keep: 5})
	if err != nil || len(again) != len(gone) {
		t.Fatalf("%d went, %v", len(again), err)
	}
	if size, _ := g.Size(ctx); size != (Size{5, 5}) {
		t.Errorf("size %v", size)
	}
	for _, r := range gone {
		if _, ok, _ := g.Node(ctx, r); ok || strings.Contains(export(t, g), r.Key+`","query"`) {
			t.Errorf("%v is still there", r)
		}
	}
	// Using a node that is gone is not an error.
	learn(t, g, answer.Problem{Input: "1 1 3 8"}, "3*8*1*1", gone...)
	if gone, err = g.Prune(ctx, PruneOptions{Before: time.Now().AddDate(100, 0, 0)}); err != nil || export(t, g) != "" {
		t.Errorf("%v %v", gone, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none", "memory.db")
	if _, err := Open(file, Options{ReadOnly: true}); err == nil {
		t.Error("a memory that is not there was opened to read")
	}
	g, err := Open(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.write.Exec("PRAGMA user_version = 9"); err != nil {
		t.Fatal(err)
	}
	g.Close()
	if _, err := Open(file, Options{}); !errors.Is(err, ErrFormat) {
		t.Errorf("error %v, want ErrFormat", err)
	}
	ro := open(t, Options{})
	ro.o.ReadOnly = true
	if _, err := ro.Prune(context.Background(), PruneOptions{Keep: -1}); err != nil {
		t.Errorf("nothing to prune: %v", err)
	}
	if _, err := ro.Learn(context.Background(), Attempt{Task: "game24", Query: "q"}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("error %v, want ErrReadOnly", err)
	}
}

// The files are accessible to the user only, and a name with characters of a URL is
// still a name.
func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	g, err := Open(filepath.Join(dir, "a b?mode=memory&c%41#d.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	learn(t, g, answer.Problem{Input: "1 1 3 8"}, "3*8*1*1")
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v; want the file, its log and its index", files, err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || info.Mode().Perm() != 0o600 || !strings.HasPrefix(f.Name(), "a b?mode=memory&c%41#d.db") {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
}

// Whatever a file says, everything that an import adds has passed, and a file is
// never imported in part.
func TestImportOfMutations(t *testing.T) {
	effort.OneGoroutine(t)
	r := rand.New(rand.NewPCG(6, 6))
	source, _ := filled(t, r, 6)
	text := export(t, source)
	digits := strings.Fields("0 1 2 3 -1 24 1e999 null \"\" [] {} \\u0000 trace template game24 gsm8k")
	g, entered, refused := open(t, Options{}), 0, 0
	for range 400 {
		data := []byte(text)
		for range 1 + r.IntN(3) {
			at := r.IntN(len(data))
			switch r.IntN(3) {
			case 0:
				data[at] = byte(r.IntN(256))
			case 1:
				data = slices.Delete(data, at, min(len(data), at+1+r.IntN(5)))
			case 2:
				data = slices.Insert(data, at, []byte(digits[r.IntN(len(digits))])...)
			}
		}
		if _, err := g.Import(context.Background(), bytes.NewReader(data), answer.TaskNamed); err != nil {
			if refused++; export(t, g) != "" {
				t.Fatalf("half of it entered: %s", data)
			}
			continue
		}
		entered++
		nodes, err := g.Nodes(context.Background(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			task, err := answer.TaskNamed(n.Task)
			if err != nil {
				t.Fatal(err)
			}
			if v := task.Validate(n.Candidate, n.Problem); !v.OK {
				t.Errorf("%+v entered: %v", n, v)
			}
		}
		g = open(t, Options{})
	}
	if entered == 0 || refused == 0 {
		t.Errorf("%d entered, %d were refused", entered, refused)
	}
}
