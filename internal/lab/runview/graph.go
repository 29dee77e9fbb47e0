package runview

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/record"
)

const (
	// maxEarned is how many nodes the table of a memory has.
	maxEarned = 100
	// maxLeft and maxRight bound the templates and the problems that are drawn, and
	// maxLinks the lines from one template.
	maxLeft  = 12
	maxRight = 36
	maxLinks = 8
	// maxTasks and maxRuns bound what can be chosen.
	maxTasks = 50
	maxRuns  = 20
)

// A Memory is a memory as a file has it, or as the events of a record show it.
type Memory struct {
	V int `json:"v"`
	// File is the file's name; "" if the memory is that of the record, of which Run
	// names the run.
	File string `json:"file,omitempty"`
	Run  string `json:"run,omitempty"`
	// Tasks and Runs are what can be chosen.
	Tasks []string `json:"tasks,omitempty"`
	Runs  []string `json:"runs,omitempty"`
	Task  string   `json:"task,omitempty"`

	Traces    int `json:"traces"`
	Templates int `json:"templates"`
	// Earned are the nodes, those first that solved most.
	Earned []Earned `json:"earned"`
	More   int      `json:"more,omitempty"`

	Graph Graph `json:"graph"`
	// Curve is the number of templates and traces, and the share of problems that a
	// known template solved, after each problem.
	Curve []report.Line `json:"-"`
	Hits  []report.Line `json:"-"`

	Partial    bool   `json:"partial,omitempty"`
	Unreadable int    `json:"unreadable,omitempty"`
	Sealed     bool   `json:"sealed,omitempty"`
	Head       uint64 `json:"head"`
}

// Earned is what a node of a memory was worth.
type Earned struct {
	Kind  string `json:"kind"`
	Key   Text   `json:"key"`
	Task  string `json:"task,omitempty"`
	Model string `json:"model,omitempty"`
	// Seen is how often it was the solution of a problem. Used is how often it was
	// offered for one; Solved and Failed are the outcomes.
	Seen    int64     `json:"seen"`
	Used    int64     `json:"used"`
	Solved  int64     `json:"solved"`
	Failed  int64     `json:"failed"`
	Tokens  float64   `json:"tokens,omitempty"` // per problem that it was used for
	Created time.Time `json:"created,omitzero"`
	key     string
}

// A Graph is a drawing of nodes and the problems that they were used for.
type Graph struct {
	Left  []Dot  `json:"templates,omitempty"`
	Right []Dot  `json:"problems,omitempty"`
	Links []Link `json:"links,omitempty"`
	// MoreLeft and MoreLinks count what is not drawn.
	MoreLeft  int `json:"more_templates,omitempty"`
	MoreLinks int `json:"more_links,omitempty"`
	High      int `json:"-"` // of the drawing
}

// A Dot is a node in a drawing.
type Dot struct {
	Label string `json:"label"`
	Title Text   `json:"title"`
	Y     int    `json:"-"`
}

// A Link leads from a template to a problem.
type Link struct {
	From   int  `json:"from"` // indexes of the dots
	To     int  `json:"to"`
	Failed bool `json:"failed,omitempty"` // the problem was not solved
	Y1     int  `json:"-"`
	Y2     int  `json:"-"`
}

// maxLabel is how many characters a label in a drawing has.
const maxLabel = 22

func dotOf(key string) Dot {
	label := []rune(shorttext.OneLine(shorttext.Cut(key, maxName)))
	if len(label) > maxLabel {
		label = append(label[:maxLabel-1], '…')
	}
	return Dot{Label: string(label), Title: textOf(key, maxGlance)}
}

// A use is an edge of the graph before it is drawn.
type use struct {
	key, query string
	failed     bool
}

// draw lays the graph out: templates on the left, in the order of the table, and
// problems on the right, each near the templates that it was used for.
func (m *Memory) draw(uses []use) {
	g := &m.Graph
	left := map[string]int{}
	for _, e := range m.Earned {
		if e.Kind != string(metagraph.Template) {
			continue
		}
		if len(left) == maxLeft {
			g.MoreLeft++
			continue
		}
		left[e.key] = len(g.Left)
		g.Left = append(g.Left, dotOf(e.key))
	}
	type right struct {
		query string
		from  []int
		links []Link
	}
	var rights []*right
	byQuery := map[string]*right{}
	perLeft := make([]int, len(g.Left))
	for _, u := range uses {
		i, drawn := left[u.key]
		if !drawn {
			continue
		}
		r := byQuery[u.query]
		if perLeft[i] == maxLinks || r == nil && len(rights) == maxRight {
			g.MoreLinks++
			continue
		}
		perLeft[i]++
		if r == nil {
			r = &right{query: u.query}
			byQuery[u.query], rights = r, append(rights, r)
		}
		r.from = append(r.from, i)
		r.links = append(r.links, Link{From: i, Failed: u.failed})
	}
	middle := func(r *right) float64 {
		sum := 0
		for _, i := range r.from {
			sum += i
		}
		return float64(sum) / float64(len(r.from))
	}
	slices.SortStableFunc(rights, func(a, b *right) int { return cmp.Compare(middle(a), middle(b)) })
	const row = 22
	g.High = row * max(len(g.Left), len(rights), 1)
	place := func(i, n int) int { return g.High * (2*i + 1) / (2 * max(1, n)) }
	for i := range g.Left {
		g.Left[i].Y = place(i, len(g.Left))
	}
	for i, r := range rights {
		d := dotOf(r.query)
		d.Y = place(i, len(rights))
		g.Right = append(g.Right, d)
		for _, l := range r.links {
			l.To, l.Y1, l.Y2 = i, g.Left[l.From].Y, d.Y
			g.Links = append(g.Links, l)
		}
	}
}

// keepEarned takes the nodes, those first that solved most.
func (m *Memory) keepEarned(all []Earned) {
	slices.SortStableFunc(all, func(a, b Earned) int {
		return cmp.Or(cmp.Compare(b.Solved, a.Solved), cmp.Compare(b.Seen, a.Seen), cmp.Compare(b.Used, a.Used), cmp.Compare(b.Kind, a.Kind), cmp.Compare(a.key, b.key))
	})
	slices.SortStableFunc(all, func(a, b Earned) int { // templates first
		template := func(e Earned) int { return map[bool]int{false: 1}[e.Kind == string(metagraph.Template)] }
		return template(a) - template(b)
	})
	m.Earned, m.More = all[:min(len(all), maxEarned)], max(0, len(all)-maxEarned)
}

// RecordMemory returns the memory that the events of a run show: the newest run
// with a memory, if none is named.
func (s *Source) RecordMemory(ctx context.Context, run string) (*Memory, error) {
	m := &Memory{V: 1, Run: run, Earned: []Earned{}}
	if last, err := s.store.Last(); err == nil {
		m.Head = last
	}
	var read reading
	var events []Learned
	cut, err := s.back(ctx, record.Query{Types: []record.Type{record.TypeMemory}}, &read, func(g *record.Glimpse) bool {
		if len(m.Runs) < maxRuns && g.Run != "" && len(g.Run) <= maxName && !slices.Contains(m.Runs, g.Run) {
			m.Runs = append(m.Runs, g.Run)
		}
		if m.Run == "" {
			m.Run = g.Run
		}
		if x, ok := g.Event.Payload.(record.Memory); ok && g.Run == m.Run {
			events = append(events, learnedOf(&g.Event, &x))
		}
		return true
	})
	if errors.Is(err, record.ErrSealed) {
		m.Sealed = true
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	slices.Reverse(events)
	m.Partial, m.Unreadable = cut, read.unreadable
	m.learned(events)
	return m, nil
}

// learned sums up what a run learned.
func (m *Memory) learned(events []Learned) {
	all := map[Node]*Earned{}
	node := func(n *Node, e *Learned) *Earned {
		key := Node{Kind: n.Kind, Key: n.Key}
		one := all[key]
		if one == nil {
			one = &Earned{Kind: n.Kind, Key: n.Key, Task: e.Task, key: string(n.Key.Text)}
			all[key] = one
		}
		return one
	}
	var uses []use
	templates, traces, hits := report.Line{Name: "templates"}, report.Line{Name: "traces", Colour: 1}, report.Line{Name: "solved by a template"}
	hit := 0
	for i := range events {
		e := &events[i]
		known := false
		for j := range e.Used {
			one := node(&e.Used[j], e)
			one.Used++
			if e.Solved {
				one.Solved++
			} else {
				one.Failed++
			}
			if one.Kind == string(metagraph.Template) {
				uses = append(uses, use{one.key, string(e.Query.Text), !e.Solved})
				known = known || e.Solved
			}
		}
		for _, n := range []*Node{e.Trace, e.Template} {
			if n != nil {
				one := node(n, e)
				one.Seen++
				if n == e.Template && !slices.ContainsFunc(e.Used, func(u Node) bool { return u.Kind == n.Kind && u.Key == n.Key }) {
					uses = append(uses, use{one.key, string(e.Query.Text), !e.Solved})
				}
			}
		}
		if known {
			hit++
		}
		m.Traces, m.Templates = e.Traces, e.Templates
		templates.Points = append(templates.Points, float64(e.Templates))
		traces.Points = append(traces.Points, float64(e.Traces))
		hits.Points = append(hits.Points, float64(hit)/float64(i+1))
	}
	list := make([]Earned, 0, len(all))
	for _, e := range all {
		list = append(list, *e)
	}
	m.keepEarned(list)
	m.draw(uses)
	if len(events) > 0 {
		m.Curve, m.Hits = []report.Line{templates, traces}, []report.Line{hits}
	}
}

// A File is a memory in a file that was named on the command line.
type File struct {
	graph *metagraph.Graph
	name  string

	mu   sync.Mutex
	rev  int64
	task string
	kept *Memory
}

// NewFile returns the memory in a graph, which a file of that name holds.
func NewFile(g *metagraph.Graph, name string) *File { return &File{graph: g, name: name} }

// Memory returns what the file holds of a task, or of all tasks.
func (f *File) Memory(ctx context.Context, task string) (*Memory, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rev, err := f.graph.Revision(ctx)
	if err != nil {
		return nil, err
	}
	if f.kept != nil && f.rev == rev && f.task == task {
		return f.kept, nil
	}
	nodes, err := f.graph.Nodes(ctx, "")
	if err != nil {
		return nil, err
	}
	m := &Memory{V: 1, File: f.name, Task: task, Earned: []Earned{}}
	var all []Earned
	var created []metagraph.Node
	refs := map[string]metagraph.Ref{}
	for _, n := range nodes {
		if len(m.Tasks) < maxTasks && !slices.Contains(m.Tasks, n.Task) {
			m.Tasks = append(m.Tasks, n.Task)
		}
		if task != "" && n.Task != task {
			continue
		}
		if n.Kind == metagraph.Template {
			m.Templates++
			refs[n.Key] = n.Ref
		} else {
			m.Traces++
		}
		all = append(all, Earned{
			Kind: string(n.Kind), Key: textOf(n.Key, maxGlance), Task: n.Task, Model: shorttext.Cut(n.Model, maxName), Seen: n.Seen, Used: n.Used, Solved: n.Solved, Failed: n.Failed,
			Tokens: n.Tokens, Created: n.Created, key: n.Key,
		})
		created = append(created, metagraph.Node{Ref: metagraph.Ref{Kind: n.Kind}, Created: n.Created})
	}
	m.keepEarned(all)
	uses, err := f.uses(ctx, m, refs)
	if err != nil {
		return nil, err
	}
	m.draw(uses)
	m.grown(created)
	f.kept, f.rev, f.task = m, rev, task
	return m, nil
}

// uses are the edges of the templates that are drawn.
func (f *File) uses(ctx context.Context, m *Memory, refs map[string]metagraph.Ref) (uses []use, err error) {
	drawn := 0
	for _, e := range m.Earned {
		if e.Kind != string(metagraph.Template) || drawn == maxLeft {
			continue
		}
		drawn++
		edges, err := f.graph.Edges(ctx, refs[e.key])
		if err != nil {
			return nil, err
		}
		for _, x := range edges {
			uses = append(uses, use{e.key, x.Query, x.Solved == 0 && x.Seen == 0})
		}
	}
	return uses, nil
}

// grown makes the curve of a memory from the times of its nodes.
func (m *Memory) grown(nodes []metagraph.Node) {
	if len(nodes) == 0 {
		return
	}
	slices.SortStableFunc(nodes, func(a, b metagraph.Node) int { return a.Created.Compare(b.Created) })
	templates, traces := report.Line{Name: "templates"}, report.Line{Name: "traces", Colour: 1}
	a, b := 0, 0
	for _, n := range nodes {
		if n.Kind == metagraph.Template {
			a++
		} else {
			b++
		}
		templates.Points, traces.Points = append(templates.Points, float64(a)), append(traces.Points, float64(b))
	}
	m.Curve = []report.Line{templates, traces}
}
