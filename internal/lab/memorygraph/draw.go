package memorygraph

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/lab/report"
)

// The measures of a drawing, in its own units.
const (
	drawnColumns = 3
	columnWide   = 300
	hubWide      = 132
	leafFrom     = 172 // where the leaves of a group begin
	rowHigh      = 17
	groupGap     = 11
	hubLetters   = 17
	leafLetters  = 15
)

const (
	// MaxDrawn is how many nodes a drawing should have at most.
	MaxDrawn = 300
	// maxLeaves is how many leaves of one group are drawn.
	maxLeaves = 24
)

// A group is a node with those that it leads to.
type group struct {
	hub    int
	leaves []leaf
	more   int // leaves that are not drawn
	x, y   int
}

type leaf struct {
	node     int
	relation Relation
}

func (g *group) high() int {
	rows := max(1, len(g.leaves))
	if g.more > 0 {
		rows++
	}
	return rows*rowHigh + groupGap
}

// groups divides the graph: every node is a hub, or a leaf of one hub. Templates are
// hubs; a solution or a problem is a leaf of the template that it belongs to, and
// else of the node that was used for most of those that are left. left counts the
// edges that are not drawn.
func (g *Graph) groups() (list []*group, left int) {
	byNode := make([]*group, len(g.Nodes))
	leafOf := make([]bool, len(g.Nodes))
	take := func(e Edge) {
		if byNode[e.From] == nil {
			byNode[e.From] = &group{hub: e.From}
		}
		leafOf[e.To] = true
		byNode[e.From].leaves = append(byNode[e.From].leaves, leaf{e.To, e.Relation})
	}
	drawn := 0
	for _, relation := range []Relation{LearnedFrom, TemplateOf, Solved} {
		for _, e := range g.Edges {
			if e.Relation == relation && !leafOf[e.To] {
				take(e)
				drawn++
			}
		}
	}
	uses := map[int][]Edge{}
	for _, e := range g.Edges {
		if e.Relation == UsedFor && e.From != e.To {
			uses[e.From] = append(uses[e.From], e)
		}
	}
	hubs := make([]int, 0, len(uses))
	for from := range uses {
		hubs = append(hubs, from)
	}
	slices.SortFunc(hubs, func(a, b int) int { return cmp.Or(cmp.Compare(len(uses[b]), len(uses[a])), cmp.Compare(a, b)) })
	for _, from := range hubs {
		for _, e := range uses[from] {
			if !leafOf[from] && !leafOf[e.To] && byNode[e.To] == nil {
				take(e)
				drawn++
			}
		}
	}
	for i := range g.Nodes {
		switch {
		case byNode[i] == nil && !leafOf[i]:
			byNode[i] = &group{hub: i}
		case byNode[i] == nil:
			continue
		}
		list = append(list, byNode[i].cut())
	}
	return list, len(g.Edges) - drawn
}

// cut orders the leaves by when they were learned, and leaves out the last ones.
func (s *group) cut() *group {
	slices.SortStableFunc(s.leaves, func(a, b leaf) int { return cmp.Compare(a.node, b.node) })
	if len(s.leaves) > maxLeaves {
		s.more = len(s.leaves) - maxLeaves
		s.leaves = s.leaves[:maxLeaves]
	}
	return s
}

// place puts each group below the shortest column, and returns the height of all.
func place(list []*group) int {
	var high [drawnColumns]int
	for _, s := range list {
		at := 0
		for c := range high {
			if high[c] < high[at] {
				at = c
			}
		}
		s.x, s.y = at*columnWide, high[at]
		high[at] += s.high()
	}
	return slices.Max(high[:])
}

// commonWords is what the queries of all solutions begin with, such as "Solve 24
// with ". It is left out of labels.
func (g *Graph) commonWords() string {
	common, some := "", false
	for _, n := range g.Nodes {
		if n.Kind == Template {
			continue
		}
		if !some {
			common, some = n.Key, true
		}
		for !strings.HasPrefix(n.Key, common) || common != "" && (common[len(common)-1] != ' ' || len(common) == len(n.Key)) {
			common = common[:strings.LastIndexByte(strings.TrimSuffix(common, " "), ' ')+1]
		}
	}
	return common
}

// maxTip bounds the text that a pointer on a node shows.
const maxTip = 300

func (n *Node) tip() string {
	text := fmt.Sprintf("%s %s", n.Kind, n.Key)
	if n.Kind != Problem {
		text += fmt.Sprintf(" = %s; seen %d, used %d, solved %d, failed %d", n.Candidate, n.Seen, n.Used, n.Solved, n.Failed)
	}
	if n.Model != "" {
		text += "; by " + n.Model
	}
	return report.Short(text, maxTip)
}

// Drawing draws the graph as SVG: each template beside the solutions that belong to it,
// in the order in which they were learned. Its classes are those of package report.
func (g *Graph) Drawing() template.HTML {
	list, _ := g.groups()
	high := place(list)
	common := g.commonWords()
	to := report.NewSVG(drawnColumns*columnWide, high)
	for _, s := range list {
		g.draw(to, s, common)
	}
	return to.HTML()
}

func (g *Graph) draw(to *report.SVG, s *group, common string) {
	hub := &g.Nodes[s.hub]
	middle := s.y + (s.high()-groupGap)/2
	x := s.x + leafFrom
	for i, l := range s.leaves {
		y := s.y + i*rowHigh + rowHigh/2
		to.Add(`<path class="link %s" d="M%d %dC%d %d %d %d %d %d"/>`, l.relation, s.x+hubWide, middle, s.x+hubWide+22, middle, x-26, y, x-5, y)
		n := &g.Nodes[l.node]
		to.Add(`<g><title>%s</title><circle class="dot %s %s" cx="%d" cy="%d" r="4"/><text class="leaf" x="%d" y="%d">%s`,
			n.tip(), n.Kind, l.relation, x, y, x+9, y+4, report.Short(strings.TrimPrefix(n.Key, common), leafLetters))
		if n.Order != 0 { // when it was learned
			to.Add(` <tspan class="order">#%d</tspan>`, n.Order)
		}
		to.Add("</text></g>")
	}
	if s.more > 0 {
		to.Add(`<text class="more" x="%d" y="%d">and %d more</text>`, x+9, s.y+len(s.leaves)*rowHigh+rowHigh/2+4, s.more)
	}
	label := report.Short(strings.TrimPrefix(hub.Key, common), hubLetters)
	to.Add(`<g><title>%s</title><rect class="hub %s" x="%d" y="%d" width="%d" height="16" rx="5"/><text class="hubname" x="%d" y="%d">%s</text></g>`,
		hub.tip(), hub.Kind, s.x+1, middle-8, hubWide-1, s.x+hubWide/2, middle+4, label)
}
