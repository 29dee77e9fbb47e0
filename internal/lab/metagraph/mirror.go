package metagraph

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// A mirror is the graph in memory, as of a revision. Every change by any process
// numbers the rows that it writes with a new revision. A change that removes rows
// begins a new epoch, and the mirror is rebuilt.
type mirror struct {
	rev, epoch int64
	nodes      map[int64]*entry
	tasks      map[string]*shelf
}

// An entry is a node and its edges, by their queries.
type entry struct {
	Node
	edges map[string]Edge
}

// A shelf holds everything of one task.
type shelf struct {
	nodes     map[Ref]*entry
	templates []*entry
	traces    index
	// uses are the templates with an edge to a query.
	uses map[string][]*entry
}

// refresh brings the mirror up to date with the file.
func (g *Graph) refresh(ctx context.Context) error {
	var rev, epoch int64
	if err := g.changed.QueryRowContext(ctx).Scan(&rev, &epoch); err != nil {
		return fmt.Errorf("read memory: %w", err)
	}
	g.mu.RLock()
	same := rev == g.seen.rev && epoch == g.seen.epoch && g.seen.nodes != nil
	g.mu.RUnlock()
	if same {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.load(ctx); err != nil {
		g.seen = mirror{} // drop a change that is only half loaded
		return fmt.Errorf("read memory: %w", err)
	}
	return nil
}

// load reads, in one transaction, what has changed.
func (g *Graph) load(ctx context.Context) error {
	tx, err := g.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var rev, epoch int64
	if err := tx.QueryRowContext(ctx, "SELECT rev, epoch FROM meta").Scan(&rev, &epoch); err != nil {
		return err
	}
	m := &g.seen
	if m.nodes == nil || epoch != m.epoch {
		*m = mirror{rev: -1, epoch: epoch, nodes: map[int64]*entry{}, tasks: map[string]*shelf{}}
	}
	err = each(ctx, tx, "SELECT "+g.columns+" FROM node WHERE rev > ? ORDER BY id", m.rev, func(row scanner) error {
		id, n, err := scanNode(row)
		if err == nil {
			m.putNode(id, n)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = each(ctx, tx, "SELECT node, "+edgeColumns+" FROM edge WHERE rev > ? ORDER BY node, query", m.rev, func(row scanner) error {
		var id int64
		e, err := scanEdge(row, &id)
		if err == nil {
			m.putEdge(id, e)
		}
		return err
	})
	if err != nil {
		return err
	}
	m.rev = rev
	return nil
}

// each calls visit for every row of a query.
func each(ctx context.Context, tx *sql.Tx, query string, arg any, visit func(scanner) error) error {
	rows, err := tx.QueryContext(ctx, query, arg)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (m *mirror) putNode(id int64, n Node) {
	if e := m.nodes[id]; e != nil {
		space := e.Space
		e.Node = n
		if n.Kind == Trace && n.Space != space {
			m.tasks[n.Task].traces.forget(e, space)
			m.tasks[n.Task].traces.embed(e)
		}
		return
	}
	e := &entry{Node: n, edges: map[string]Edge{}}
	m.nodes[id] = e
	s := m.tasks[n.Task]
	if s == nil {
		s = &shelf{nodes: map[Ref]*entry{}, uses: map[string][]*entry{}}
		m.tasks[n.Task] = s
	}
	s.nodes[n.Ref] = e
	if n.Kind == Trace {
		s.traces.insert(e)
	} else {
		s.templates = append(s.templates, e)
	}
}

func (m *mirror) putEdge(id int64, edge Edge) {
	e := m.nodes[id]
	if e == nil {
		return // of a node that is gone
	}
	edge.From = e.Ref
	if _, ok := e.edges[edge.Query]; !ok && e.Kind == Template {
		uses := m.tasks[e.Task].uses
		uses[edge.Query] = append(uses[edge.Query], e)
	}
	e.edges[edge.Query] = edge
}

// sorted returns the entries of a task, or of all, by name.
func (m *mirror) sorted(task string) []*entry {
	var list []*entry
	for name, s := range m.tasks {
		if task == "" || name == task {
			list = slices.AppendSeq(list, maps.Values(s.nodes))
		}
	}
	slices.SortFunc(list, func(a, b *entry) int { return compareRefs(a.Ref, b.Ref) })
	return list
}

func compareRefs(a, b Ref) int {
	return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key))
}

// shown returns a deep copy of the node.
func (e *entry) shown() Node {
	n := e.Node
	n.Vector = slices.Clone(n.Vector)
	n.Problem.Options = slices.Clone(n.Problem.Options)
	n.Problem.Schema = slices.Clone(n.Problem.Schema)
	return n
}

// Nodes returns the nodes of a task, by task, kind and key. If task is empty, it
// returns the nodes of all tasks.
func (g *Graph) Nodes(ctx context.Context, task string) ([]Node, error) {
	if err := g.refresh(ctx); err != nil {
		return nil, err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	entries := g.seen.sorted(task)
	nodes := make([]Node, len(entries))
	for i, e := range entries {
		nodes[i] = e.shown()
	}
	return nodes, nil
}

// Node returns one node. ok is false if it does not exist.
func (g *Graph) Node(ctx context.Context, r Ref) (n Node, ok bool, err error) {
	if err := g.refresh(ctx); err != nil {
		return Node{}, false, err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	if s := g.seen.tasks[r.Task]; s != nil && s.nodes[r] != nil {
		return s.nodes[r].shown(), true, nil
	}
	return Node{}, false, nil
}

// Edges returns the edges of a node, by query.
func (g *Graph) Edges(ctx context.Context, r Ref) ([]Edge, error) {
	if err := g.refresh(ctx); err != nil {
		return nil, err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	if s := g.seen.tasks[r.Task]; s != nil && s.nodes[r] != nil {
		return slices.Collect(s.nodes[r].sortedEdges()), nil
	}
	return nil, nil
}

func (e *entry) sortedEdges() iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		for _, query := range slices.Sorted(maps.Keys(e.edges)) {
			if !yield(e.edges[query]) {
				return
			}
		}
	}
}

// Size returns the size of the graph.
func (g *Graph) Size(ctx context.Context) (s Size, err error) {
	err = g.read.QueryRowContext(ctx, "SELECT traces, templates FROM meta").Scan(&s.Traces, &s.Templates)
	return s, err
}

// Revision returns a number that grows with every change of any process.
func (g *Graph) Revision(ctx context.Context) (rev int64, err error) {
	var epoch int64
	err = g.changed.QueryRowContext(ctx).Scan(&rev, &epoch)
	return rev, err
}
