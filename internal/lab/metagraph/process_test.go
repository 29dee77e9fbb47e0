package metagraph

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
)

func TestMain(m *testing.M) {
	if file := os.Getenv("METAGRAPH_TEST_FILE"); file != "" {
		if os.Getenv("METAGRAPH_KILL") != "" {
			os.Exit(killable(file))
		}
		os.Exit(learner(file))
	}
	os.Exit(m.Run())
}

// learner learns games, starting from one of them, and reports each game once it is
// learned.
func learner(file string) int {
	g, err := Open(file, Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer g.Close()
	from, _ := strconv.Atoi(os.Getenv("METAGRAPH_TEST_FROM"))
	to, _ := strconv.Atoi(os.Getenv("METAGRAPH_TEST_TO"))
	for i := from; i < to; i++ {
		game := games()[i]
		solution, _ := symbolic.Solve(game, 24)
		p := posed(nil, game)
		query := Query(answer.Game24, p)
		if _, err := g.Retrieve(context.Background(), Search{Task: "game24", Query: query}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		passed, _ := Judge(answer.Game24, p, solution, "")
		if _, err := g.Learn(context.Background(), Attempt{ID: query, Task: "game24", Query: query, Passed: passed}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(query)
	}
	return 0
}

func process(file string, from, to int) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "METAGRAPH_TEST_FILE="+file, fmt.Sprint("METAGRAPH_TEST_FROM=", from), fmt.Sprint("METAGRAPH_TEST_TO=", to))
	c.Stderr = os.Stderr
	return c
}

// Processes that learn at the same time lose nothing and leave no partial change. A
// reader beside them sees only complete changes.
func TestProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.db")
	g, err := Open(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	const each, shared, n = 120, 20, 3
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			// The last games of one process are the first games of the next.
			if err := process(file, i*(each-shared), i*(each-shared)+each).Run(); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			nodes, err := g.Nodes(context.Background(), "game24")
			if err != nil {
				t.Error(err)
				return
			}
			templates := 0
			for _, node := range nodes {
				if node.Kind == Template {
					templates++
				}
			}
			if templates == 0 && len(nodes) > 0 {
				t.Error("a trace without its template: half of a change")
			}
		}
	})
	wg.Wait()
	close(stop)
	reader.Wait()
	size, err := g.Size(context.Background())
	if err != nil || size.Traces != n*(each-shared)+shared {
		t.Errorf("%v, %v; want %d traces", size, err, n*(each-shared)+shared)
	}
	nodes, _ := g.Nodes(context.Background(), "game24")
	for _, node := range nodes {
		if node.Kind == Trace && node.Seen != 1 {
			t.Errorf("%s was learned %d times", node.Key, node.Seen)
		}
	}
}

// What was reported as learned is still there after kill -9 at any moment.
func TestKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.db")
	r := rand.New(rand.NewPCG(1, 1))
	said, from := map[string]bool{}, 0
	for range 5 {
		c := process(file, from, len(games()))
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for i := r.IntN(60); lines.Scan(); i-- {
			said[lines.Text()] = true
			from++
			if i == 0 {
				if err := c.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		c.Wait()
	}
	g, err := Open(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	nodes, err := g.Nodes(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, n := range nodes {
		have[n.Key] = true
	}
	for query := range said {
		if !have[query] {
			t.Errorf("%s is lost", query)
		}
	}
	if len(said) == 0 {
		t.Error("nothing was said")
	}
	var problem string
	if err := g.write.QueryRow("PRAGMA integrity_check").Scan(&problem); err != nil || problem != "ok" {
		t.Errorf("%q, %v", problem, err)
	}
}

// Goroutines of one graph may read and write at the same time.
func TestConcurrent(t *testing.T) {
	g := open(t, Options{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 40 {
				game := games()[(40*i+j)%100]
				solution, _ := symbolic.Solve(game, 24)
				learn(t, g, posed(nil, game), solution)
				retrieve(t, g, Search{Task: "game24", Query: "Solve 24 with 1 2 3 4"})
			}
		})
	}
	wg.Wait()
	if size, _ := g.Size(context.Background()); size.Traces != 100 {
		t.Errorf("%v", size)
	}
}

// big returns a graph of n traces of games of four to six numbers.
func big(b *testing.B, n int, long int) *Graph {
	g := open(b, Options{})
	r := rand.New(rand.NewPCG(8, 8))
	now := time.Now()
	err := g.change(context.Background(), func(x *change) error {
		for i := range n {
			numbers := make([]string, 4+r.IntN(3))
			for j := range numbers {
				numbers[j] = strconv.Itoa(1 + r.IntN(13))
			}
			node := Node{Ref: Ref{"game24", Trace, fmt.Sprintf("Solve 24 with %s %d", strings.Join(numbers, " "), 1000+i/10)}, Candidate: "1*2*3*4", Created: now, SeenAt: now, SolvedAt: now.Add(-time.Duration(r.IntN(1e6)) * time.Second)}
			node.Seen = 1
			if long > 0 {
				node.Space, node.Vector = "m", make([]float32, long)
				for j := range node.Vector {
					node.Vector[j] = float32(r.NormFloat64())
				}
			}
			if _, err := x.putNode(0, node); err != nil {
				return err
			}
		}
		x.count(Trace, n)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := g.refresh(context.Background()); err != nil {
		b.Fatal(err)
	}
	return g
}

func BenchmarkRetrieve(b *testing.B) {
	games() // they are found only once
	for _, bench := range []struct {
		name string
		n    int
		long int
	}{{"nodes=1000", 1000, 0}, {"nodes=100000", 100_000, 0}, {"nodes=100000/dense=384", 100_000, 384}} {
		b.Run(bench.name, func(b *testing.B) {
			g := big(b, bench.n, bench.long)
			r := rand.New(rand.NewPCG(9, 9))
			b.ReportAllocs()
			found := 0
			for b.Loop() {
				q := Search{Task: "game24", Query: Query(answer.Game24, posed(r, games()[r.IntN(len(games()))]))}
				if bench.long > 0 {
					q.Space, q.Vector = "m", make([]float32, bench.long)
					for j := range q.Vector {
						q.Vector[j] = float32(r.NormFloat64())
					}
				}
				found += len(retrieve(b, g, q))
			}
			if found == 0 {
				b.Error("nothing was found")
			}
		})
	}
}

func BenchmarkLearn(b *testing.B) {
	games()
	g := open(b, Options{})
	r := rand.New(rand.NewPCG(9, 9))
	var last []Ref
	for b.Loop() {
		game := games()[r.IntN(len(games()))]
		solution, _ := symbolic.Solve(game, 24)
		l := learn(b, g, posed(r, game), solution, last...)
		last = []Ref{*l.Trace, *l.Template}
	}
}
