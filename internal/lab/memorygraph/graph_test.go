package memorygraph

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/solve"
)

// stream solves some games, and returns the memory and the results.
func stream(t *testing.T, n int) (*metagraph.Graph, []solve.Result) {
	t.Helper()
	m, err := metagraph.Open(filepath.Join(t.TempDir(), "memory.db"), metagraph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	task := solve.TaskOf(answer.Game24)
	s, err := solve.New(solve.Options{Task: task, Mode: solve.Template, Model: solve.Scripted{Task: task}, Memory: m})
	if err != nil {
		t.Fatal(err)
	}
	var results []solve.Result
	problems := func(yield func(solve.Problem, error) bool) {
		for _, p := range solve.Games(1)[:n] {
			if !yield(p, nil) {
				return
			}
		}
	}
	err = s.Stream(context.Background(), problems, nil, solve.Budget{}, func(r solve.Result) error {
		results = append(results, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, results
}

func graphOf(t *testing.T, m *metagraph.Graph, most int) *Graph {
	t.Helper()
	g, err := Of(context.Background(), m, "", most)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// count counts the edges by their relation.
func count(g *Graph) map[Relation]int {
	n := map[Relation]int{}
	for _, e := range g.Edges {
		n[e.Relation]++
	}
	return n
}

// The graph of a memory says what the stream said: which template solved what, and
// what each was learned from. The graph of the stream says the same.
func TestGraph(t *testing.T) {
	m, results := stream(t, 80)
	hits, templates := 0, 0
	for _, r := range results {
		if r.Hit == solve.HitTemplate {
			hits++
		}
		if r.Memory.NewTemplate {
			templates++
		}
	}
	g := graphOf(t, m, 0)
	if n := count(g); n[LearnedFrom] != templates || n[Solved] != hits || hits == 0 {
		t.Errorf("%v, want %d templates and %d hits", n, templates, hits)
	}
	of := OfResults(results)
	if n, want := count(of), count(g); n[LearnedFrom] != want[LearnedFrom] || n[Solved] != want[Solved] || n[TemplateOf] != want[TemplateOf] || len(of.Nodes) != len(g.Nodes) {
		t.Errorf("of the stream %v and %d nodes, of the memory %v and %d", n, len(of.Nodes), want, len(g.Nodes))
	}
	for _, e := range g.Edges {
		from, to := g.Nodes[e.From], g.Nodes[e.To]
		if e.Relation != UsedFor && (from.Kind != Template || to.Kind != Solution) || e.Relation == LearnedFrom && from.Candidate != to.Candidate {
			t.Errorf("%s from %+v to %+v", e.Relation, from, to)
		}
	}
	last := func(x []float64) int { return int(x[len(x)-1]) }
	if last(g.Growth[0])+last(g.Growth[1]) != g.All || last(of.Growth[1]) != last(g.Growth[1]) {
		t.Errorf("growth to %v and %v of %d", g.Growth[0], g.Growth[1], g.All)
	}
}

// Every node is drawn once, in a place of its own, and the same graph gives the same
// bytes.
func TestDrawing(t *testing.T) {
	m, _ := stream(t, 60)
	g := graphOf(t, m, 0)
	list, left := g.groups()
	high := place(list)
	drawn, links := map[int]bool{}, 0
	type spot struct{ x, y int }
	taken := map[spot]bool{}
	for _, s := range list {
		nodes := []int{s.hub}
		for i, l := range s.leaves {
			nodes = append(nodes, l.node)
			links++
			at := spot{s.x, s.y + i*rowHigh}
			if taken[at] {
				t.Errorf("two leaves at %v", at)
			}
			taken[at] = true
		}
		for _, n := range nodes {
			if drawn[n] {
				t.Errorf("node %d is drawn twice", n)
			}
			drawn[n] = true
		}
		if s.y+s.high() > high {
			t.Errorf("a group ends at %d of %d", s.y+s.high(), high)
		}
	}
	if len(drawn) != len(g.Nodes) || links+left != len(g.Edges) {
		t.Errorf("%d of %d nodes, %d+%d of %d edges", len(drawn), len(g.Nodes), links, left, len(g.Edges))
	}
	first, second := writeAll(t, g), writeAll(t, graphOf(t, m, 0))
	for i := range first {
		if first[i] != second[i] {
			t.Errorf("form %d is not the same twice", i)
		}
	}
}

// writeAll returns the graph as DOT, GraphML and a page.
func writeAll(t *testing.T, g *Graph) (forms [3]string) {
	t.Helper()
	var dot, ml bytes.Buffer
	page, err := g.Page("memory")
	if err := errors.Join(err, g.DOT(&dot), g.GraphML(&ml)); err != nil {
		t.Fatal(err)
	}
	return [3]string{dot.String(), ml.String(), string(page)}
}

// A part of a memory is that which solved most, and the graph says that it is a part.
func TestCut(t *testing.T) {
	m, _ := stream(t, 60)
	whole, g := graphOf(t, m, 0), graphOf(t, m, 20)
	if len(g.Nodes) != 20 || g.All != whole.All {
		t.Errorf("%d nodes of %d", len(g.Nodes), g.All)
	}
	note := fmt.Sprintf("20 of %d nodes", whole.All)
	for i, text := range writeAll(t, g) {
		if !strings.Contains(text, note) {
			t.Errorf("form %d does not say %q", i, note)
		}
	}
	least, best := int64(1<<62), int64(0)
	for _, n := range g.Nodes {
		least = min(least, n.Solved+n.Seen)
	}
	for _, n := range whole.Nodes {
		best = max(best, n.Solved+n.Seen)
	}
	if least < 2 || best < least {
		t.Errorf("a node that solved %d is among the best", least)
	}
}

// attacks are keys that must not end where they stand.
var attacks = []string{
	`"]; n9 [label="x`, `\`, `\"`, "</data></node><node id=\"x\"/>", "<script>alert(1)</script>", "]]>", "a\x00b\x1b[2J\nc\ufffe", "\xff\xfe", "\u202ereversed",
	`"><img src=x onerror=alert(1)>`, strings.Repeat("long ", 10_000), "", "<<b>bold</b>>", `\N\G`,
}

func hostile() *Graph {
	g := &Graph{All: 99}
	for i, key := range attacks {
		g.Nodes = append(g.Nodes, Node{Kind: []Kind{Template, Solution, Problem}[i%3], Key: key, Task: key, Model: key, Candidate: key})
		g.Edges = append(g.Edges, Edge{From: 0, To: i, Relation: UsedFor})
	}
	return g
}

// Whatever a model or a file called a node stays text, in every form.
func TestHostileKeys(t *testing.T) {
	forms := writeAll(t, hostile())
	d := xml.NewDecoder(strings.NewReader(forms[1]))
	nodes, keys := 0, 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("GraphML: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if e.Name.Local == "node" {
				nodes++
			}
		case xml.CharData:
			if strings.Contains(string(e), "</data></node>") {
				keys++
			}
		}
	}
	if nodes != len(attacks) || keys == 0 {
		t.Errorf("GraphML has %d nodes, want %d", nodes, len(attacks))
	}
	for _, bad := range []string{"<script", "<img", "<b>", "\x1b", "\x00", "\u202e"} {
		if strings.Contains(forms[2], bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if len(forms[2]) > 100_000 {
		t.Errorf("the page has %d bytes", len(forms[2]))
	}
	for _, line := range strings.Split(strings.TrimSpace(forms[0]), "\n") {
		if quotes := strings.Count(strings.NewReplacer(`\\`, "", `\"`, "").Replace(line), `"`); quotes%2 != 0 || len(line) > 1000 {
			t.Errorf("DOT: %s", line)
		}
	}
}

// The labels leave out what all queries begin with, whole words only.
func TestCommonWords(t *testing.T) {
	for _, test := range []struct{ a, b, want string }{
		{"Solve 24 with 1 2", "Solve 24 with 3 4", "Solve 24 with "}, {"Solve 24", "Solve 25", "Solve "}, {"same", "same", ""}, {"a b", "a b", "a "}, {"", "a b", ""}, {"x", "", ""},
	} {
		g := &Graph{Nodes: []Node{{Kind: Solution, Key: test.a}, {Kind: Template, Key: "zz"}, {Kind: Solution, Key: test.b}}}
		if got := g.commonWords(); got != test.want {
			t.Errorf("%q and %q: %q, want %q", test.a, test.b, got, test.want)
		}
	}
}
