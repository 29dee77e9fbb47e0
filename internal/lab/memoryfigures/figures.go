// Package memoryfigures computes from scratch how much memory is worth in the Game of 24:
// the figures of docs/memory.md.
package memoryfigures

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
)

// Figures are the computed figures. Shares are 0 … 1.
type Figures struct {
	V         int `json:"v"`
	Games     int `json:"games"`     // solvable, of four numbers from 1 to 13
	Trees     int `json:"trees"`     // over four sorted slots
	Functions int `json:"functions"` // distinct functions among the trees
	Useful    int `json:"useful"`    // functions that solve a game
	// Needed counts the useful functions that are the only one to solve some game.
	Needed int     `json:"needed"`
	Cover  []Cover `json:"cover"`
	// CoverAll is how many functions a greedy cover of all games needs: the least
	// and the most over 100 ways to break ties.
	CoverAll [2]int `json:"cover_all"`

	Seeds int    `json:"seeds"`
	One   Stream `json:"one"` // one random template is kept of each missed game
	All   Stream `json:"all"` // all of its templates are kept
	// Verified is One with templates that are used only if they solve two of the games
	// that came before.
	Verified Stream   `json:"verified"`
	Random   int      `json:"random"`
	Memories []Memory `json:"memories"`
}

// A Cover says how many games the first templates of a greedy cover solve.
type Cover struct {
	Templates int     `json:"templates"`
	Share     float64 `json:"share"`
}

// A Stream is a stream of all games in random order. A game is a hit if a template
// known by then solves it.
type Stream struct {
	Hits      []Mean  `json:"hits"` // cumulative share after a number of games
	Templates float64 `json:"templates"`
}

// A Mean is a mean over the seeds.
type Mean struct {
	After     int     `json:"after"`
	Share     float64 `json:"share"`
	Deviation float64 `json:"deviation"` // standard deviation, of one seed
}

// A Memory holds one random template of each of some random games.
type Memory struct {
	Games     int     `json:"games"`
	Share     float64 `json:"share"` // share of the other games that it solves
	Deviation float64 `json:"deviation"`
}

// The number of seeds of the streams, and of the memories, whose single draws
// differ more.
const (
	streams  = 20
	memories = 1000
	ties     = 100
)

// Compute computes the figures. The same version gives the same figures.
func Compute() Figures {
	w := newWorld()
	f := Figures{V: 1, Games: len(w.solvedBy), Functions: w.functions, Useful: len(w.solves), Seeds: streams, Random: memories}
	for range symbolic.Trees(4) {
		f.Trees++
	}
	only := map[int]bool{}
	for _, by := range w.solvedBy {
		if len(by) == 1 {
			only[by[0]] = true
		}
	}
	f.Needed = len(only)
	w.cover(&f)
	f.One, f.All, f.Verified = w.streams(false, 1), w.streams(true, 1), w.streams(false, 2)
	for _, n := range []int{10, 50, 100, 500} {
		f.Memories = append(f.Memories, w.memory(n))
	}
	return f
}

// A world holds the games, and which templates solve which game.
type world struct {
	functions int
	solves    [][]int // the games of each useful template
	solvedBy  [][]int // the templates of each game
}

func newWorld() *world {
	games := symbolic.Games(4, 1, 13, 24)
	w := &world{solvedBy: make([][]int, len(games))}
	for _, t := range symbolic.Functions(4) {
		w.functions++
		var solves []int
		for g, numbers := range games {
			if t.Makes(numbers, 24) {
				solves = append(solves, g)
				w.solvedBy[g] = append(w.solvedBy[g], len(w.solves))
			}
		}
		if solves != nil {
			w.solves = append(w.solves, solves)
		}
	}
	return w
}

// cover repeatedly takes the template that solves most of the remaining games.
func (w *world) cover(f *Figures) {
	order := make([]int, len(w.solves))
	for i := range order {
		order[i] = i
	}
	for seed := range uint64(ties) {
		if seed > 0 {
			r := rand.New(rand.NewPCG(seed, 24))
			r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		covered := make([]bool, len(w.solvedBy))
		done := 0
		for n := 1; done < len(covered); n++ {
			best, most := 0, 0
			for _, t := range order {
				if left := w.left(t, covered); left > most {
					best, most = t, left
				}
			}
			for _, g := range w.solves[best] {
				covered[g] = true
			}
			done += most
			if seed == 0 && (n == 10 || n == 50) {
				f.Cover = append(f.Cover, Cover{n, float64(done) / float64(len(covered))})
			}
			if done == len(covered) {
				f.CoverAll = [2]int{min(n, cmp.Or(f.CoverAll[0], n)), max(n, f.CoverAll[1])}
			}
		}
	}
}

func (w *world) left(t int, covered []bool) (n int) {
	for _, g := range w.solves[t] {
		if !covered[g] {
			n++
		}
	}
	return n
}

func (w *world) hit(g int, known map[int]bool) bool {
	return slices.ContainsFunc(w.solvedBy[g], func(t int) bool { return known[t] })
}

// streams are streams with the templates of all solutions, or of one. A template is used
// once it solves so many of the games that came before.
func (w *world) streams(all bool, solves int) Stream {
	after := []int{25, 100, 200, 400, len(w.solvedBy)}
	samples := make([][]float64, len(after))
	var s Stream
	for seed := uint64(1); seed <= streams; seed++ {
		r := rand.New(rand.NewPCG(seed, 24))
		known := map[int]bool{}
		solved := make([]int, len(w.solves)) // games that came before, by each template
		hits := 0
		for i, g := range r.Perm(len(w.solvedBy)) {
			by := w.solvedBy[g]
			switch {
			case slices.ContainsFunc(by, func(t int) bool { return known[t] && solved[t] >= solves }):
				hits++
			case all:
				for _, t := range by {
					known[t] = true
				}
			default:
				known[by[r.IntN(len(by))]] = true
			}
			for _, t := range by {
				solved[t]++
			}
			if k := slices.Index(after, i+1); k >= 0 {
				samples[k] = append(samples[k], float64(hits)/float64(i+1))
			}
		}
		s.Templates += float64(len(known)) / streams
	}
	for k, n := range after {
		mean, deviation := meanOf(samples[k])
		s.Hits = append(s.Hits, Mean{n, mean, deviation})
	}
	return s
}

func (w *world) memory(n int) Memory {
	var shares []float64
	for seed := uint64(1); seed <= memories; seed++ {
		r := rand.New(rand.NewPCG(seed, 24))
		order := r.Perm(len(w.solvedBy))
		known := map[int]bool{}
		for _, g := range order[:n] {
			known[w.solvedBy[g][r.IntN(len(w.solvedBy[g]))]] = true
		}
		hits := 0
		for _, g := range order[n:] {
			if w.hit(g, known) {
				hits++
			}
		}
		shares = append(shares, float64(hits)/float64(len(order)-n))
	}
	mean, deviation := meanOf(shares)
	return Memory{n, mean, deviation}
}

func meanOf(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(deviation)
}

// Print writes the figures for people, as docs/memory.md has them.
func (f Figures) Print(w io.Writer) error {
	var b strings.Builder
	percent := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
	fmt.Fprintf(&b, "solvable games of four numbers from 1 to 13   %d\n", f.Games)
	fmt.Fprintf(&b, "expression trees over four sorted slots       %d\n", f.Trees)
	fmt.Fprintf(&b, "distinct functions                            %d\n", f.Functions)
	fmt.Fprintf(&b, "that solve a game                             %d\n", f.Useful)
	fmt.Fprintf(&b, "without which some game is not solved         %d\n", f.Needed)
	for _, c := range f.Cover {
		fmt.Fprintf(&b, "greedy cover by %-3d                           %s\n", c.Templates, percent(c.Share))
	}
	fmt.Fprintf(&b, "greedy cover of all games                     %d … %d, by how ties are broken\n", f.CoverAll[0], f.CoverAll[1])
	for _, s := range []struct {
		name string
		Stream
	}{{"one template kept", f.One}, {"all templates kept", f.All}, {"one template kept, and verified", f.Verified}} {
		fmt.Fprintf(&b, "\nall games in random order, %s (%d seeds)\n", s.name, f.Seeds)
		for _, h := range s.Hits {
			fmt.Fprintf(&b, "  hits after %-4d games                       %s ± %s\n", h.After, percent(h.Share), percent(h.Deviation))
		}
		fmt.Fprintf(&b, "  templates                                   %.1f\n", s.Templates)
	}
	fmt.Fprintf(&b, "\nmemory of random games, one template of each (%d seeds)\n", f.Random)
	for _, m := range f.Memories {
		fmt.Fprintf(&b, "  %-3d games solve of the others               %s ± %s\n", m.Games, percent(m.Share), percent(m.Deviation))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
