package metagraph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// spread returns n vectors around centers. With none, their directions are random. noise is
// the length of what is added to a center.
func spread(r *rand.Rand, n, long, centers int, noise float64) [][]float32 {
	random := func(scale float64) []float32 {
		v := make([]float32, long)
		for i := range v {
			v[i] = float32(r.NormFloat64() * scale / math.Sqrt(float64(long)))
		}
		return v
	}
	var middle [][]float32
	for range centers {
		middle = append(middle, random(1))
	}
	list := make([][]float32, n)
	for i := range list {
		list[i] = random(noise)
		if centers > 0 {
			for j, x := range middle[i%centers] {
				list[i][j] += x
			}
		}
	}
	return list
}

// indexOf returns an index of vectors with all sketches.
func indexOf(list [][]float32) (*index, *vectors) {
	x := &index{vectors: map[string]*vectors{}}
	for _, v := range list {
		x.embed(&entry{Node: Node{Space: "m", Vector: v}})
	}
	v := x.vectors["m"]
	for len(v.list) < len(list) {
		v.upTo(v, list[0])
	}
	return x, v
}

// TestSketchesRecall: of the traces that comparing every vector finds, at least 99 in 100 are
// found by sketches, whatever the floor, and nothing else. A floor that rises loses none
// above it.
func TestSketchesRecall(t *testing.T) {
	const n = leastSketched + 100
	for _, c := range []struct {
		name    string
		long    int
		centers int
		noise   float64
		floor   float64
	}{
		{"random, a floor of 0.1", 384, 0, 1, 0.1},
		{"clusters", 384, 60, 0.5, 0.8},
		{"clusters at the floor", 384, 60, 0.5, 0.79},
		{"wide clusters", 384, 6, 1, 0.5},
		{"one cluster", 384, 1, 0.6, 0.7},
		{"few numbers", 8, 40, 0.3, 0.9},
		{"many numbers", 1536, 60, 0.5, 0.8},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(c.long)))
			list := spread(r, n, c.long, c.centers, c.noise)
			x, v := indexOf(list)
			all, missed := 0, 0
			for q := range 12 {
				query := spread(r, 1, c.long, 0, 0.1)[0]
				for j, a := range list[(q*151)%n] {
					query[j] += a
				}
				found := map[*entry]float64{}
				x.dense("m", query, c.floor, func(f find) float64 {
					found[f.entry] = f.similarity
					return c.floor
				})
				unit, above := normal(query), 0
				for i, e := range v.entries {
					cosine := float64(dot(unit, v.flat[i*v.long:(i+1)*v.long]))
					got, ok := found[e]
					switch {
					case cosine >= c.floor && ok && got == min(1, cosine):
						above++
						all++
					case cosine >= c.floor && !ok:
						missed++
						all++
					case cosine < c.floor && ok, ok && got != min(1, cosine):
						t.Fatalf("found a cosine of %v as %v", cosine, got)
					}
				}
				if above != len(found) {
					t.Fatalf("%d found, %d are above the floor", len(found), above)
				}
			}
			if all < 12 || float64(missed) > 0.01*float64(all) {
				t.Errorf("%d of %d were missed", missed, all)
			}
			t.Logf("%d of %d were missed", missed, all)
		})
	}
}

// TestSketchesInOrder: the most similar traces are visited first, so that a floor that rises
// to them leaves out most others, and the list stays right when a trace loses its vector.
func TestSketchesInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	list := spread(r, 6000, 384, 6, 0.4)
	x, v := indexOf(list)
	visit := func(keep int) (visited int, best *entry, floor float64) {
		top := 0.0
		x.dense("m", list[4242], 0.5, func(f find) float64 {
			if visited++; f.similarity > top {
				top, best = f.similarity, f.entry
			}
			if visited >= keep {
				floor = 0.98
			}
			return max(0.5, floor)
		})
		return visited, best, top
	}
	want := v.entries[4242]
	if n, best, top := visit(32); best != want || top < 0.999 || n > 100 {
		t.Errorf("%d visited, the best has %v, is it: %v", n, top, best == want)
	}
	x.forget(v.entries[17], "m")
	if _, best, _ := visit(32); best != want || len(v.list) != 5999 {
		t.Errorf("after one was forgotten, another is the best; %d sketches", len(v.list))
	}
	if n, _, _ := visit(6000); n < 900 {
		t.Errorf("only %d of a cluster of 1,000 were visited", n)
	}
}

// TestSketchesGrow: a search makes a bounded number of sketches, and vectors without one are
// found all the same.
func TestSketchesGrow(t *testing.T) {
	list := spread(rand.New(rand.NewPCG(7, 8)), leastSketched+mostSketched+10, 16, 0, 1)
	x := &index{vectors: map[string]*vectors{}}
	for _, v := range list {
		x.embed(&entry{Node: Node{Space: "m", Vector: v}})
	}
	for search, want := range []int{mostSketched, 2 * mostSketched, len(list), len(list)} {
		for _, i := range []int{0, len(list) - 1} {
			found := false
			x.dense("m", list[i], 0.99, func(f find) float64 {
				found = found || f.entry == x.vectors["m"].entries[i]
				return 0.99
			})
			if !found {
				t.Errorf("search %d does not find vector %d", search, i)
			}
			if i == 0 && len(x.vectors["m"].list) != min(want+search*mostSketched, len(list)) {
				t.Errorf("search %d: %d sketches", search, len(x.vectors["m"].list))
			}
		}
	}
}

// TestRankIsExact: the best traces by words and by embedding, old and new, are those of a
// search that leaves out none. A trace that both find counts once.
func TestRankIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	now := time.Now()
	g := open(t, Options{Now: func() time.Time { return now }})
	list := make([][]float32, 600)
	s := &shelf{}
	for i := range list {
		v := make([]float32, 15) // like the words below, and so both find nearly the same
		v[i%7], v[7+i%5], v[12+i%3] = 1+r.Float32()/8, 1, 1
		list[i] = v
		e := &entry{Node: Node{Space: "m", Vector: v, SolvedAt: now.Add(-time.Duration(r.IntN(1000)) * time.Hour)}}
		e.Key = fmt.Sprintf("Solve 24 with %d %d %d, problem %d", i%7, i%5, i%3, i)
		s.traces.insert(e)
	}
	for i := range 60 {
		q := Search{Query: s.traces.docs[i].Key, Space: "m", Vector: list[i], Floor: 0.1 + 0.01*float64(i%40), DenseFloor: 0.3 + 0.01*float64(i), Limit: 1 + i%3}
		best := map[string]find{}
		both := func(f find) {
			if f.similarity > best[f.Key].similarity {
				best[f.Key] = f
			}
		}
		s.traces.lexical(q.Query, q.Floor, func(f find) float64 { both(f); return q.Floor })
		s.traces.dense(q.Space, q.Vector, q.DenseFloor, func(f find) float64 { both(f); return q.DenseFloor })
		var want []scored
		for _, f := range best {
			want = append(want, scored{f, f.similarity * g.freshness(f.SolvedAt, now)})
		}
		slices.SortFunc(want, better)
		want = want[:min(len(want), spare*q.Limit)]
		got := g.rank(s, &q)
		if !slices.EqualFunc(got, want, func(a, b scored) bool { return a.Key == b.Key && a.score == b.score }) {
			t.Fatalf("query %d: %d finds, want %d", i, len(got), len(want))
		}
	}
}

// BenchmarkDense compares a search by sketches among 100,000 embeddings with one that
// compares every vector. Of ten queries, nine are like a hundred of the vectors.
func BenchmarkDense(b *testing.B) {
	const n, long = 100_000, 384
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name    string
		centers int
	}{{"random", 0}, {"clusters", 1000}} {
		list := spread(r, n, long, c.centers, 0.4)
		x, v := indexOf(list)
		exact := func(query []float32, found *int) {
			unit := normal(query)
			for i := range v.entries {
				if dot(unit, v.flat[i*long:(i+1)*long]) >= 0.8 {
					*found++
				}
			}
		}
		sketched := func(query []float32, found *int) {
			x.dense("m", query, 0.8, func(find) float64 { *found++; return 0.8 })
		}
		for how, search := range map[string]func([]float32, *int){"exact": exact, "sketches": sketched} {
			b.Run(fmt.Sprintf("%s/%s", c.name, how), func(b *testing.B) {
				found, i := 0, 0
				for b.Loop() {
					search(list[i*7919%n], &found)
					i++
				}
				b.ReportMetric(float64(found)/float64(i), "found/op")
			})
		}
	}
}
