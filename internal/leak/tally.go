package leak

import (
	"cmp"
	"slices"
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
	each     int // examples of each kind and place
}

// maxGroups bounds the pairs of models and routes that have a group of their own.
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

// A Report is what a tally has counted.
type Report struct {
	V        int       `json:"v"` // 1
	Replies  int       `json:"replies"`
	Leaked   int       `json:"leaked"` // replies with a leak
	Kinds    []Count   `json:"kinds"`
	Groups   []Group   `json:"models"`
	Examples []Example `json:"examples"`
}

// NewTally returns a tally that keeps some examples of each kind.
func NewTally(examples int) *Tally {
	return &Tally{kinds: map[place]int{}, groups: map[group]*Group{}, examples: map[place][]Example{}, each: examples}
}

// Add counts a reply of a record in a file.
func (t *Tally) Add(file string, record int, r Reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replies++
	at := group{r.Model, r.Route}
	g := t.groups[at]
	if g == nil && len(t.groups) >= maxGroups {
		at = group{other, ""}
		g = t.groups[at]
	}
	if g == nil {
		g = &Group{Model: at.model, Route: at.route}
		t.groups[at] = g
	}
	g.Replies++
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
	r := &Report{V: 1, Replies: t.replies, Leaked: t.leaked, Kinds: []Count{}, Groups: []Group{}, Examples: []Example{}}
	for p, n := range t.kinds {
		r.Kinds = append(r.Kinds, Count{p.where, p.kind, n})
	}
	slices.SortFunc(r.Kinds, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Replies, a.Replies), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Kind, b.Kind))
	})
	for _, g := range t.groups {
		r.Groups = append(r.Groups, *g)
	}
	slices.SortFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Leaked, a.Leaked), cmp.Compare(b.Replies, a.Replies), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Route, b.Route))
	})
	for _, k := range r.Kinds {
		r.Examples = append(r.Examples, t.examples[place{k.Where, k.Kind}]...)
	}
	return r
}
