package thoughts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// A Cluster row is a set of thoughts that are alike.
type Cluster struct {
	Number int `json:"number"`
	// Thoughts is how many of the thoughts that were clustered are in it, and Cohesion
	// their mean similarity to its centre, 0 to 1.
	Thoughts int     `json:"thoughts"`
	Of       int     `json:"of"`
	Cohesion float64 `json:"cohesion"`
	// Words are those that part its thoughts most from the others: the highest z-scores
	// of the log-odds, above 1.96.
	Words []string `json:"words"`
	// Right is how many of its thoughts with a verdict belong to right replies.
	Right Rate `json:"right"`
	// Groups are how many of its thoughts are of which group.
	Groups []Count `json:"groups"`
	// Exemplars are the thoughts nearest to its centre.
	Exemplars []Exemplar `json:"exemplars"`
}

// A Count is how many thoughts a group has.
type Count struct {
	Group    string `json:"group"`
	Thoughts int    `json:"thoughts"`
}

// An Exemplar is a thought that stands for others. Its text is the beginning.
type Exemplar struct {
	Run        string  `json:"run"`
	Cycle      int     `json:"cycle"`
	Seq        uint64  `json:"seq"`
	Choice     int     `json:"choice"`
	Similarity float64 `json:"similarity"`
	Text       string  `json:"text"`
}

const (
	maxClustered = 1000 // thoughts
	mostClusters = 8    // if their number is chosen
	rounds       = 30
	hashed       = 2048 // components of a centre
	exemplars    = 3
	exemplarText = 400 // bytes
	wordsShown   = 6
)

var clustersMethod = fmt.Sprintf("Spherical k-means over the thoughts held as texts, at most %d of them by rank, by their groups of four letters, hashed into %d components and weighted by how few thoughts have them. "+
	"The first centre is the thought most like all, each further one the thought least like those chosen, so nothing is random. "+
	"If it is not given, their number is that with the highest simplified silhouette, from 2 to the root of half the number of thoughts, at most %d. The clusters describe this sample: there is no interval, and no test that they exist", maxClustered, hashed, mostClusters)

// A dense vector has length 1, or 0.
type dense []float32

func (v dense) dot(w dense) float64 {
	sum := 0.0
	for i := range v {
		sum += float64(v[i]) * float64(w[i])
	}
	return sum
}

func (v dense) unit() {
	length := math.Sqrt(v.dot(v))
	if length == 0 {
		return
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
}

// A point is a thought to cluster.
type point struct {
	reply *reply
	at    []int32 // components that are not 0
	share []float32
}

func (p *point) similarity(centre dense) float64 {
	sum := 0.0
	for i, at := range p.at {
		sum += float64(p.share[i]) * float64(centre[at])
	}
	return sum
}

func (p *point) addTo(v dense) {
	for i, at := range p.at {
		v[at] += p.share[i]
	}
}

// points returns the thoughts to cluster, weighted.
func points(replies []*reply, lex lexicalVectors) []point {
	var list []point
	with := make([]float64, hashed) // thoughts that have a component
	for _, r := range replies {
		if r.text == "" || len(list) == maxClustered {
			continue
		}
		v := make(dense, hashed)
		lex.of(r).All(func(group uint64, share float64) { v[group%hashed] += float32(share) })
		p := point{reply: r}
		for i, x := range v {
			if x > 0 {
				with[i]++
				p.at, p.share = append(p.at, int32(i)), append(p.share, x)
			}
		}
		if len(p.at) > 0 {
			list = append(list, p)
		}
	}
	for _, p := range list {
		length := 0.0
		for i, at := range p.at {
			p.share[i] *= float32(math.Log(1 + float64(len(list))/with[at]))
			length += float64(p.share[i]) * float64(p.share[i])
		}
		for i := range p.share {
			p.share[i] /= float32(math.Sqrt(length))
		}
	}
	return list
}

// clusters returns the clusters of the thoughts, largest first.
func clusters(replies []*reply, lex lexicalVectors, k int) Figure[Cluster] {
	f := Figure[Cluster]{Method: clustersMethod, Rows: []Cluster{}}
	list := points(replies, lex)
	if len(list) < 3 {
		f.Note = "fewer than three thoughts have a text"
		return f
	}
	var best partition
	if k > 0 {
		best = divide(list, min(k, len(list)))
	} else {
		silhouette := math.Inf(-1)
		for k := 2; k <= min(mostClusters, max(2, int(math.Sqrt(float64(len(list))/2)))); k++ {
			if p := divide(list, k); p.silhouette(list) > silhouette {
				best, silhouette = p, p.silhouette(list)
			}
		}
		f.Note = fmt.Sprintf("%d clusters have the highest simplified silhouette: %.3f", len(best.centres), silhouette)
	}
	f.Rows = best.rows(list)
	return f
}

// A partition assigns points to centres.
type partition struct {
	centres []dense
	of      []int
}

// divide finds k clusters.
func divide(list []point, k int) partition {
	p := partition{centres: seeds(list, k), of: make([]int, len(list))}
	for range rounds {
		changed := false
		for i := range list {
			best, most := 0, math.Inf(-1)
			for c, centre := range p.centres {
				if s := list[i].similarity(centre); s > most {
					best, most = c, s
				}
			}
			changed = changed || p.of[i] != best
			p.of[i] = best
		}
		sums := make([]dense, len(p.centres))
		for c := range sums {
			sums[c] = make(dense, hashed)
		}
		for i := range list {
			list[i].addTo(sums[p.of[i]])
		}
		for c, s := range sums {
			if s.dot(s) > 0 { // a centre that lost all its points stays
				s.unit()
				p.centres[c] = s
			}
		}
		if !changed {
			break
		}
	}
	return p
}

// seeds returns the centres to begin with.
func seeds(list []point, k int) []dense {
	middle := make(dense, hashed)
	for i := range list {
		list[i].addTo(middle)
	}
	middle.unit()
	next, most := 0, math.Inf(-1)
	for i := range list {
		if s := list[i].similarity(middle); s > most {
			next, most = i, s
		}
	}
	nearest := make([]float64, len(list)) // similarity to the nearest centre
	var centres []dense
	for {
		c := make(dense, hashed)
		list[next].addTo(c)
		centres = append(centres, c)
		if len(centres) == k {
			return centres
		}
		least := math.Inf(1)
		for i := range list {
			if s := list[i].similarity(c); len(centres) == 1 || s > nearest[i] {
				nearest[i] = s
			}
			if nearest[i] < least {
				next, least = i, nearest[i]
			}
		}
	}
}

// silhouette is the mean over the points of how much nearer they are to their own
// centre than to the next one.
func (p *partition) silhouette(list []point) float64 {
	sum := 0.0
	for i := range list {
		own, other := 1-list[i].similarity(p.centres[p.of[i]]), math.Inf(1)
		for c, centre := range p.centres {
			if c != p.of[i] {
				other = min(other, 1-list[i].similarity(centre))
			}
		}
		if m := max(own, other); m > 0 {
			sum += (other - own) / m
		}
	}
	return sum / float64(len(list))
}

func (p *partition) rows(list []point) []Cluster {
	vocabulary, numbers, draw := make([][]string, len(list)), make([]uint64, len(list)), numbersOfThoughts()
	for i := range list {
		vocabulary[i] = phrasesOf(list[i].reply.text, 1)
		numbers[i] = draw.Uint64()
	}
	var rows []Cluster
	for c := range p.centres {
		var own []int
		in, out := newTally(), newTally()
		for i := range list {
			if p.of[i] == c {
				own = append(own, i)
				in.count(numbers[i], vocabulary[i])
			} else {
				out.count(numbers[i], vocabulary[i])
			}
		}
		if len(own) > 0 {
			rows = append(rows, p.row(c, own, list, in, out))
		}
	}
	slices.SortStableFunc(rows, func(a, b Cluster) int { return cmp.Compare(b.Thoughts, a.Thoughts) })
	for i := range rows {
		rows[i].Number = i + 1
	}
	return rows
}

func (p *partition) row(c int, own []int, list []point, in, out *tally) Cluster {
	row := Cluster{Thoughts: len(own), Of: len(list), Words: []string{}, Exemplars: []Exemplar{}}
	var replies []*reply
	of := map[string]int{}
	sum := 0.0
	for _, i := range own {
		r := list[i].reply
		s := list[i].similarity(p.centres[c])
		sum += s
		replies = append(replies, r)
		of[r.label]++
		row.Exemplars = append(row.Exemplars, Exemplar{r.place.run, r.cycle, r.place.seq, r.place.choice, min(s, 1), ""})
	}
	row.Cohesion = min(1, sum/float64(len(own)))
	row.Right = rate("", judged(replies), isRight)
	for name, n := range of {
		row.Groups = append(row.Groups, Count{name, n})
	}
	slices.SortFunc(row.Groups, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Thoughts, a.Thoughts), strings.Compare(a.Group, b.Group))
	})
	order := make([]int, len(own))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(row.Exemplars[b].Similarity, row.Exemplars[a].Similarity) })
	all := row.Exemplars
	row.Exemplars = nil
	for _, i := range order[:min(exemplars, len(order))] {
		e := all[i]
		e.Text = shorttext.Ellipsis(strings.ToValidUTF8(replies[i].text, "\uFFFD"), exemplarText)
		row.Exemplars = append(row.Exemplars, e)
	}
	words, _ := contrasted(in, out)
	for _, w := range strongest(words, 1) {
		if len(row.Words) < wordsShown && w.Low > 0 {
			row.Words = append(row.Words, w.Phrase)
		}
	}
	return row
}
