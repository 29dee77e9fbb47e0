package metagraph

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
)

// An Attempt is the result of trying to solve one problem.
type Attempt struct {
	// ID names the problem and its run. An attempt with a known ID is not learned
	// again, so that work interrupted by a crash can be submitted again. If empty,
	// the attempt is always learned.
	ID string
	// Task and Query say what the problem was; see [Query].
	Task, Query string
	// Used are the nodes that were offered for the problem.
	Used []Ref
	// Passed is the solution. It is zero if there is none.
	Passed Passed
	// Model names the model that found the solution. A new node keeps it.
	Model string
	Spent Spent
	// Vector is the query's embedding, by the model that Space names.
	Vector []float32
	Space  string
	// Note is kept with the ID, for [Graph.Done].
	Note []byte
}

// A Learned says what an attempt changed.
type Learned struct {
	// Trace and Template name the nodes of the solution. Each is nil if there is
	// none.
	Trace    *Ref `json:"trace,omitempty"`
	Template *Ref `json:"template,omitempty"`
	// NewTrace and NewTemplate say that the node is new.
	NewTrace    bool `json:"new_trace,omitempty"`
	NewTemplate bool `json:"new_template,omitempty"`
	// Size is the size of the whole graph afterwards.
	Size Size `json:"size"`
}

// A Size counts what a graph holds.
type Size struct {
	Traces    int `json:"traces"`
	Templates int `json:"templates"`
}

var (
	// ErrNoQuery is the error of an attempt without a task or a query, or with a
	// query longer than MaxQuery.
	ErrNoQuery = errors.New("the attempt has no task or no query")
	// ErrOther is the error of an attempt whose solution belongs to another
	// problem.
	ErrOther = errors.New("the solution and the attempt are of different problems")
)

// Learn adds an attempt at a problem, in full or not at all. It adds the
// statistics of the nodes that were used, their edges to the query, and the
// solution. The solution becomes a trace and, in games of numbers, a template. A
// solution whose key is already in the graph is the same node.
func (g *Graph) Learn(ctx context.Context, o Attempt) (Learned, error) {
	if o.Task == "" || o.Query == "" || len(o.Query) > MaxQuery {
		return Learned{}, ErrNoQuery
	}
	if o.Passed.OK() && (o.Passed.task != o.Task || o.Passed.query != o.Query) {
		return Learned{}, ErrOther
	}
	var learned Learned
	err := g.change(ctx, func(x *change) (err error) {
		if again, _, err := done(x.row(doneQuery, o.ID)); again != nil || err != nil {
			if again != nil {
				learned = *again
			}
			return err
		}
		learned, err = x.learn(&o)
		return err
	})
	if err != nil {
		return Learned{}, fmt.Errorf("learn: %w", err)
	}
	return learned, nil
}

func (x *change) learn(o *Attempt) (l Learned, err error) {
	for _, r := range unique(o.Used) {
		if err := x.used(r, o); err != nil {
			return l, err
		}
		point("used")
	}
	if o.Passed.OK() {
		if err := x.insert(o, &l); err != nil {
			return l, err
		}
	}
	point("learned")
	if l.Size = x.size; o.ID == "" {
		return l, nil
	}
	text, err := json.Marshal(l)
	if err != nil {
		return l, err
	}
	_, err = x.exec("INSERT INTO done (id, time, learned, note, task) VALUES (?, ?, ?, ?, ?)", o.ID, micros(x.now), string(text), o.Note, o.Task)
	return l, err
}

func unique(refs []Ref) []Ref {
	var list []Ref
	for _, r := range refs {
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}

// used counts one use of a node. A node that was pruned in the meantime is skipped.
func (x *change) used(r Ref, o *Attempt) error {
	id, n, err := x.node(r)
	if id == 0 || err != nil {
		return err
	}
	n.use(o.Passed.OK(), o.Spent)
	n.UsedAt = x.now
	if o.Passed.OK() {
		n.SolvedAt = x.now
	}
	if _, err := x.putNode(id, n); err != nil {
		return err
	}
	e, err := x.edge(id, o.Query)
	if err != nil {
		return err
	}
	e.use(o.Passed.OK(), o.Spent)
	e.UsedAt = x.now
	return x.putEdge(id, e)
}

// insert adds the solution.
func (x *change) insert(o *Attempt, l *Learned) error {
	p := o.Passed
	if len(p.candidate) > maxCandidate {
		return nil
	}
	base := Node{Model: shorttext.Cut(o.Model, maxModel), Problem: p.problem, Candidate: p.candidate}
	trace := base
	trace.Ref, trace.Work, trace.Distilled, trace.Space, trace.Vector = Ref{o.Task, Trace, o.Query}, p.work, p.text, o.Space, o.Vector
	_, fresh, err := x.merge(trace)
	if err != nil {
		return err
	}
	l.Trace, l.NewTrace = &trace.Ref, fresh
	if p.template.Key() == "" {
		return nil
	}
	if r := o.filled(); r != nil {
		l.Template = r // it was the solution already
		return nil
	}
	template := base
	template.Ref, template.Slots = Ref{o.Task, Template, p.template.Key()}, p.template.Slots()
	id, fresh, err := x.merge(template)
	if err != nil {
		return err
	}
	l.Template, l.NewTemplate = &template.Ref, fresh
	if slices.Contains(o.Used, template.Ref) {
		return nil
	}
	e, err := x.edge(id, o.Query)
	if err != nil {
		return err
	}
	e.Seen++
	return x.putEdge(id, e)
}

// merge adds a node, or notes that it was seen again.
func (x *change) merge(n Node) (id int64, fresh bool, err error) {
	id, old, err := x.node(n.Ref)
	if err != nil {
		return 0, false, err
	}
	if fresh = id == 0; fresh {
		n.Created = x.now
	} else {
		if old.Space != n.Space && n.Space != "" {
			old.Space, old.Vector = n.Space, n.Vector
		}
		n = old
	}
	n.Seen++
	n.SeenAt, n.SolvedAt = x.now, x.now
	if id, err = x.putNode(id, n); err == nil && fresh {
		x.count(n.Kind, 1)
	}
	return id, fresh, err
}

// filled returns the template, among those used, that gives the solution when it is
// filled.
func (o *Attempt) filled() *Ref {
	for _, r := range o.Used {
		if r.Kind != Template {
			continue
		}
		if t, err := symbolic.Parse(r.Key); err == nil && t.Fill(o.Passed.numbers) == o.Passed.candidate {
			return &r
		}
	}
	return nil
}

// count adds to the counts of nodes.
func (x *change) count(k Kind, n int) {
	if k == Template {
		x.size.Templates += n
	} else {
		x.size.Traces += n
	}
}

const doneQuery = "SELECT learned, note FROM done WHERE id = ?"

// done reads what was learned under an ID. It returns nil if nothing was.
func done(row scanner) (*Learned, []byte, error) {
	var text string
	var note []byte
	err := row.Scan(&text, &note)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	l := new(Learned)
	return l, note, json.Unmarshal([]byte(text), l)
}

// Done returns what was learned under an ID, and its note. ok is false if nothing
// was.
func (g *Graph) Done(ctx context.Context, id string) (l Learned, note []byte, ok bool, err error) {
	was, note, err := done(g.read.QueryRowContext(ctx, doneQuery, id))
	if was == nil || err != nil {
		return Learned{}, nil, false, err
	}
	return *was, note, true, nil
}
