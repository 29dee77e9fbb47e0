package thoughts

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lexical"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/record"
)

// An Announced row says how often thoughts write a call of a tool, and whether it is then called.
type Announced struct {
	Group string `json:"group"`
	Tool  string `json:"tool"` // "all" for the sum over all tools
	// Turns are the turns whose thoughts have a text and in which the tool was offered or
	// called. A turn is a cycle of a run, or an exchange.
	Turns int `json:"turns"`
	// Named are the turns in which a thought writes the tool as a call, and NotCalled those
	// of them in which it is not called.
	Named     int  `json:"named"`
	NotCalled Rate `json:"not_called"`
	// Unnamed are the turns in which it is called and no thought writes it as a call.
	Unnamed int `json:"called_unnamed"`
}

const announcedMethod = "Only the syntax of calls counts: a thought names a tool if it writes the tool's name as one writes a call, such as search(, <search>, <function=search>, \"name\": \"search\", Action: search or functions.search. The name as a word of a sentence does not count, and what the thought means by a call (a plan, a doubt, a quotation) is not read. The tool is called if the same turn (a cycle of a run, or one exchange) calls it. The 95 % interval is Wilson's over the turns or, if 5 or more runs name the tool, for as many independent turns as the spread between the runs allows"

const (
	maxTools     = 128    // of one turn
	maxToolCount = 10_000 // rows: groups × tools
	maxToolRuns  = 10_000 // runs of a row that are units of their own
	shortestTool = 2      // bytes of a name
)

// A toolOf is a row of the table.
type toolOf struct{ group, tool string }

// A toolCount counts the turns of a row.
type toolCount struct {
	turns, named, notCalled, unnamed int
	byRun                            map[string]*stats.Cluster // named, and not called
	more                             bool                      // there were too many runs
}

// An openRun is what is held of a run while it is read.
type openRun struct {
	used   int // when it was last used
	number int // thoughts with a text so far
	recent []lexical.Vector

	cycle int
	turn  turn
	tools map[string]bool // offered in the run so far
}

// A turn is what thoughts name and what is called.
type turn struct {
	group         string
	begun, text   bool // it has a reply, and a thought with a text
	unread        bool // a thought in it has no text
	named, callee map[string]bool
}

// run returns what is held of a run. If too many are open, the one that was used the
// longest time ago is closed.
func (c *collector) run(name string) *openRun {
	if o := c.open[name]; o != nil {
		o.used = c.clock
		return o
	}
	if len(c.open) >= maxOpen {
		oldest := ""
		for run, o := range c.open {
			if oldest == "" || cmp.Or(cmp.Compare(o.used, c.open[oldest].used), strings.Compare(run, oldest)) < 0 {
				oldest = run
			}
		}
		c.close(oldest)
		c.src.Reopened++
	}
	o := &openRun{used: c.clock, tools: map[string]bool{}}
	c.open[name] = o
	return o
}

// close ends the last turn of a run, and forgets the run.
func (c *collector) close(name string) {
	if o := c.open[name]; o != nil {
		c.endTurn(name, &o.turn, o.tools)
		delete(c.open, name)
	}
}

// called notes a call.
func (o *openRun) called(cycle int, tool string) {
	if o.cycle == cycle && o.turn.begun && len(o.turn.callee) < maxTools {
		o.turn.callee[strings.Clone(tool)] = true
	}
	o.offer(tool)
}

func (o *openRun) offer(tool string) {
	if len(tool) >= shortestTool && (len(o.tools) < maxTools || o.tools[tool]) {
		o.tools[strings.Clone(tool)] = true
	}
}

// announce notes which tools a thought names, and which the reply calls.
func (c *collector) announce(q *asked, r *reply, t *thinking, of *record.Reply) {
	if q.alone { // a turn of its own
		o := openRun{tools: map[string]bool{}}
		c.turn(&o, q, r, t, of)
		c.endTurn(r.series, &o.turn, o.tools)
		return
	}
	o := c.run(q.run)
	if o.turn.begun && o.cycle != r.cycle {
		c.endTurn(q.run, &o.turn, o.tools)
		o.turn = turn{}
	}
	o.cycle = r.cycle
	c.turn(o, q, r, t, of)
}

func (c *collector) turn(o *openRun, q *asked, r *reply, t *thinking, of *record.Reply) {
	n := &o.turn
	if !n.begun {
		*n = turn{begun: true, group: r.label, named: map[string]bool{}, callee: map[string]bool{}}
	}
	for i := range q.tools {
		o.offer(q.tools[i].Name)
	}
	for i := range of.ToolCalls {
		o.called(o.cycle, of.ToolCalls[i].Name)
	}
	n.text = n.text || t.text != ""
	n.unread = n.unread || t.withheld > 0 || t.sealed > 0 || t.more
	for tool := range o.tools {
		if !n.named[tool] && writesCall(t.text, tool) {
			n.named[tool] = true
		}
	}
}

// endTurn counts a turn.
func (c *collector) endTurn(run string, n *turn, tools map[string]bool) {
	if !n.begun || !n.text {
		return
	}
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		for _, group := range []string{n.group, allGroup} {
			for _, name := range []string{tool, allGroup} {
				c.countTurn(toolOf{group, name}, run, n.named[tool], n.callee[tool], n.unread)
			}
		}
	}
}

func (c *collector) countTurn(row toolOf, run string, named, called, unread bool) {
	k := c.tools[row]
	if k == nil {
		if len(c.tools) >= maxToolCount {
			c.lostTools = true
			return
		}
		k = &toolCount{byRun: map[string]*stats.Cluster{}}
		c.tools[row] = k
	}
	k.turns++
	if called && !named && !unread {
		k.unnamed++
	}
	if !named {
		return
	}
	k.named++
	if !called {
		k.notCalled++
	}
	if k.byRun[run] == nil {
		if len(k.byRun) >= maxToolRuns {
			k.more = true
			return
		}
		k.byRun[run] = &stats.Cluster{}
	}
	k.byRun[run].N++
	if !called {
		k.byRun[run].Right++
	}
}

// rate returns the share of the turns with a named tool in which it is not called.
func (k *toolCount) rate() Rate {
	r := Rate{stats.NewRate("", k.notCalled, k.named), k.named, "turn"}
	if len(k.byRun) >= fewRuns && !k.more && k.byRun[""] == nil {
		list := make([]stats.Cluster, 0, len(k.byRun))
		for _, n := range k.byRun {
			list = append(list, *n)
		}
		r = Rate{stats.Clustered(r.Rate, list), len(list), "run"}
	}
	return r
}

// announcements returns the rows of tools that are named or called.
func (c *collector) announcements() Figure[Announced] {
	f := Figure[Announced]{Method: announcedMethod, Rows: []Announced{}}
	for row, k := range c.tools {
		if k.named+k.unnamed > 0 {
			f.Rows = append(f.Rows, Announced{row.group, row.tool, k.turns, k.named, k.rate(), k.unnamed})
		}
	}
	last := func(name string) int { // "all" comes after the others
		if name == allGroup {
			return 1
		}
		return 0
	}
	slices.SortFunc(f.Rows, func(a, b Announced) int {
		return cmp.Or(last(a.Group)-last(b.Group), strings.Compare(a.Group, b.Group), last(a.Tool)-last(b.Tool),
			cmp.Compare(b.Named, a.Named), strings.Compare(a.Tool, b.Tool))
	})
	switch {
	case len(c.tools) == 0:
		f.Note = "no reply with a thought was offered a tool"
	case c.lostTools:
		f.Note = "there are more tools than are counted"
	}
	return f
}
