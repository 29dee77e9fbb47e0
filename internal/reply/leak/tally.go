package leak

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// A Tally counts the replies of logs and their leaks, in bounded memory. It is safe
// for concurrent use, and does not depend on the order of the replies, except where
// there are more models or routes than it has groups for.
type Tally struct {
	mu       sync.Mutex
	replies  int
	leaked   int
	kinds    map[place]int
	groups   map[group]*Group
	examples map[place][]Example
	hints    int // replies that may be thoughts by their wording
	each     int // examples of each kind and place
	columns  map[string]*Column
	clean    map[unread]int // rows without a leak
}

// An unread is the texts of rows that do not leak, by their names, with NULs between them.
type unread struct {
	group
	named, others string
}

// maxGroups bounds the pairs of models and routes that have a group of their own, and how
// many columns and kinds of rows are counted.
const maxGroups = 1000

// other is the model of the groups beyond.
const other = "other"

type place struct {
	where Where
	kind  Kind
}

type group struct{ model, route string }

// A Group is the replies of one model on one route.
type Group struct {
	Model   string `json:"model"`
	Route   string `json:"route,omitempty"`
	Replies int    `json:"replies"`
	Leaked  int    `json:"leaked"`
}

// A Count is how many replies leak in one way.
type Count struct {
	Where   Where `json:"where"`
	Kind    Kind  `json:"kind"`
	Replies int   `json:"replies"`
}

// An Example is one leak. Its texts are those of the log: escape them where they are
// shown.
type Example struct {
	File    string `json:"file"`
	Record  int    `json:"record,omitempty"` // 1 is the first; 0 for a text
	Model   string `json:"model,omitempty"`
	Route   string `json:"route,omitempty"`
	Where   Where  `json:"where"`
	Kind    Kind   `json:"kind"`
	Dialect string `json:"dialect,omitempty"`
	Sample  string `json:"sample"`
}

// A Column is a member of records that replies were read from, or one that could have been.
type Column struct {
	Name    string `json:"column"`
	Replies int    `json:"replies"`
	Leaked  int    `json:"leaked"`
	named   bool   // its name says that it holds replies
}

// A Report is what a tally has counted.
type Report struct {
	V        int       `json:"v"` // 1
	Replies  int       `json:"replies"`
	Leaked   int       `json:"leaked"` // replies with a leak
	Read     []Column  `json:"read"`
	Kinds    []Count   `json:"kinds"`
	Groups   []Group   `json:"models"`
	Examples []Example `json:"examples"`
	// Hints are the replies without a leak that may begin with a thought, by their wording.
	// They count nowhere else.
	Hints   int       `json:"hints,omitempty"`
	Hinting []Example `json:"hinting,omitempty"`
}

// NewTally returns a tally that keeps some examples of each kind.
func NewTally(examples int) *Tally {
	return &Tally{
		kinds: map[place]int{}, groups: map[group]*Group{}, examples: map[place][]Example{}, each: examples,
		columns: map[string]*Column{}, clean: map[unread]int{},
	}
}

// Replies returns how many replies were counted.
func (t *Tally) Replies() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replies
}

// A Record is a record of a file, whose replies a tally counts.
type Record struct {
	Tally  *Tally
	File   string
	Number int // 1 is the first; 0 for a text
}

// Reply counts a reply.
func (r *Record) Reply(one Reply) {
	r.Tally.count(r.File, r.Number, one)
	if len(one.Leaks) == 0 {
		r.Tally.hint(r.File, r.Number, one.Model, one.Route, one.Hint)
	}
}

// Unread notes what was not read.
func (r *Record) Unread(rest Texts) {
	r.Tally.unread(rest)
	r.Tally.hint(r.File, r.Number, rest.Model, rest.Route, rest.Hint)
}

// wording is the kind of the examples of hints. It is not among [Kinds].
const wording Kind = "wording"

// hint counts a reply that may be a thought by its wording.
func (t *Tally) hint(file string, record int, model, route, sample string) {
	if sample == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hints++
	t.keep(place{InAnswer, wording}, Example{file, record, model, route, InAnswer, wording, "", sample})
}

// column returns the counts of a column, or nil if there are too many.
func (t *Tally) column(name string) *Column {
	c := t.columns[name]
	if c == nil && len(t.columns) < maxGroups {
		c = &Column{Name: name}
		t.columns[name] = c
	}
	return c
}

func (t *Tally) unread(rest Texts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range rest.Named {
		if c := t.column(name); c != nil {
			c.named = true
		}
	}
	if rest.Answered {
		return
	}
	if len(rest.Named) > 0 {
		t.replies++
		groupOf(t.groups, group{rest.Model, rest.Route}).Replies++
	}
	slices.Sort(rest.Others)
	row := unread{group{rest.Model, rest.Route}, strings.Join(rest.Named, "\x00"), strings.Join(rest.Others, "\x00")}
	if _, known := t.clean[row]; known || len(t.clean) < maxGroups {
		t.clean[row]++
	}
}

// groupOf returns the counts of a model and a route.
func groupOf(groups map[group]*Group, at group) *Group {
	g := groups[at]
	if g == nil && len(groups) >= maxGroups {
		at = group{other, ""}
		g = groups[at]
	}
	if g == nil {
		g = &Group{Model: at.model, Route: at.route}
		groups[at] = g
	}
	return g
}

func (t *Tally) count(file string, record int, r Reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replies++
	g := groupOf(t.groups, group{r.Model, r.Route})
	g.Replies++
	for _, p := range r.Parts {
		if c := t.column(p.Column); c != nil {
			c.Replies++
			if p.Leaks {
				c.Leaked++
			}
		}
	}
	if len(r.Leaks) == 0 {
		return
	}
	t.leaked++
	g.Leaked++
	for _, l := range r.Leaks {
		p := place{l.Where, l.Kind}
		t.kinds[p]++
		t.keep(p, Example{file, record, r.Model, r.Route, l.Where, l.Kind, l.Dialect, l.Sample})
	}
}

// keep keeps the examples with the longest samples, and of equal ones the first.
func (t *Tally) keep(p place, e Example) {
	list := t.examples[p]
	i, _ := slices.BinarySearchFunc(list, e, compareExamples)
	if i == t.each {
		return
	}
	list = slices.Insert(list, i, e)
	t.examples[p] = list[:min(len(list), t.each)]
}

func compareExamples(a, b Example) int {
	return cmp.Or(cmp.Compare(len(b.Sample), len(a.Sample)), cmp.Compare(a.File, b.File), cmp.Compare(a.Record, b.Record), cmp.Compare(a.Sample, b.Sample))
}

// Report returns the counts, the largest first.
func (t *Tally) Report() *Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &Report{V: 1, Replies: t.replies, Leaked: t.leaked, Read: []Column{}, Kinds: []Count{}, Groups: []Group{}, Examples: []Example{}}
	groups, columns := map[group]*Group{}, map[string]*Column{}
	for at, g := range t.groups {
		one := *g
		groups[at] = &one
	}
	for name, c := range t.columns {
		one := *c
		columns[name] = &one
	}
	for row, n := range t.clean {
		var from *Column // where replies were found in other rows, most often
		take := func(names string, leaked bool) {
			for name := range strings.SplitSeq(names, "\x00") {
				if c := t.columns[name]; c != nil && (c.Leaked > 0 || !leaked) && (from == nil || c.Replies > t.columns[from.Name].Replies) {
					from = columns[name]
				}
			}
		}
		if take(row.named, false); from == nil { // others hold replies if one of them leaked
			if take(row.others, true); from == nil {
				continue
			}
			r.Replies += n
			groupOf(groups, row.group).Replies += n
		} else {
			take(row.others, true)
		}
		from.Replies += n
	}
	for _, c := range columns {
		if c.Replies > 0 || c.named {
			r.Read = append(r.Read, *c)
		}
	}
	slices.SortFunc(r.Read, func(a, b Column) int {
		return cmp.Or(cmp.Compare(b.Replies, a.Replies), cmp.Compare(a.Name, b.Name))
	})
	for p, n := range t.kinds {
		r.Kinds = append(r.Kinds, Count{p.where, p.kind, n})
	}
	slices.SortFunc(r.Kinds, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Replies, a.Replies), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Kind, b.Kind))
	})
	for _, g := range groups {
		r.Groups = append(r.Groups, *g)
	}
	slices.SortFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Leaked, a.Leaked), cmp.Compare(b.Replies, a.Replies), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Route, b.Route))
	})
	r.Hints, r.Hinting = t.hints, t.examples[place{InAnswer, wording}]
	for _, k := range r.Kinds {
		r.Examples = append(r.Examples, t.examples[place{k.Where, k.Kind}]...)
	}
	return r
}
