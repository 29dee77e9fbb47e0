package metagraph

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
)

// A savedNode is a node's line in an export.
type savedNode struct {
	V int `json:"v"`
	Ref
	Model     string       `json:"model,omitempty"`
	Slots     int          `json:"slots,omitempty"`
	Problem   savedProblem `json:"problem"`
	Candidate string       `json:"candidate"`
	Work      string       `json:"work,omitempty"`
	distilled string       // made again in an import
	Stats
	Created  time.Time `json:"created"`
	SeenAt   time.Time `json:"seen_at"`
	UsedAt   time.Time `json:"used_at,omitzero"`
	SolvedAt time.Time `json:"solved_at"`
	Space    string    `json:"space,omitempty"`
	Vector   []float32 `json:"vector,omitempty"`
}

// A savedEdge is an edge's line in an export.
type savedEdge struct {
	V    int    `json:"v"`
	Kind string `json:"kind"` // used_for
	Edge
}

const (
	usedFor       = "used_for"
	exportVersion = 1 // of a line
)

// Export writes the graph as JSON Lines: the nodes by task, kind and key, then the
// edges. The same graph gives the same bytes.
func (g *Graph) Export(ctx context.Context, w io.Writer) error {
	if err := g.refresh(ctx); err != nil {
		return err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	entries := g.seen.sorted("")
	var err error
	for _, e := range entries {
		err = cmp.Or(err, enc.Encode(savedNode{
			V: exportVersion, Ref: e.Ref, Model: e.Model, Slots: e.Slots, Problem: saved(e.Problem), Candidate: e.Candidate, Work: e.Work, Stats: e.Stats,
			Created: e.Created, SeenAt: e.SeenAt, UsedAt: e.UsedAt, SolvedAt: e.SolvedAt, Space: e.Space, Vector: e.Vector,
		}))
	}
	for _, e := range entries {
		for edge := range e.sortedEdges() {
			err = cmp.Or(err, enc.Encode(savedEdge{exportVersion, usedFor, edge}))
		}
	}
	if err = cmp.Or(err, out.Flush()); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// An ImportError says which line cannot be imported, and why. Nothing of the file
// was imported.
type ImportError struct {
	Line int
	Err  error
}

func (e *ImportError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the reason.
func (e *ImportError) Unwrap() error { return e.Err }

var (
	// ErrRefused is in the error of an import if the task's validator does not
	// accept a node, or if the node differs from what its problem and solution
	// make.
	ErrRefused = errors.New("the node was not accepted")

	errNoLine = errors.New(`want a node ("kind":"trace" or "template") or an edge ("used_for")`)
)

// An Imported counts what an import added.
type Imported struct {
	Nodes, Edges int // new ones
	Known        int // nodes that were there already; they stay as they are
}

// maxLine bounds the length of an import's line.
const maxLine = 16 << 20

// Import reads what Export wrote and adds all of it or nothing. It trusts nothing.
// taskNamed finds the task of each node; the task judges the node again, and the
// node is rebuilt from its problem and its solution. Only the statistics, times,
// embedding and model come from the file. An import into an empty graph gives the
// same graph. Nodes that are already there do not change.
//
// The whole input is read and judged before the graph is locked, so that a slow
// input keeps no other process waiting. It is held in memory.
func (g *Graph) Import(ctx context.Context, r io.Reader, taskNamed func(string) (answer.Task, error)) (n Imported, err error) {
	if g.o.ReadOnly {
		return Imported{}, fmt.Errorf("import: %w", ErrReadOnly)
	}
	items, err := readExport(ctx, r, taskNamed)
	if err == nil && len(items) > 0 {
		err = g.change(ctx, func(x *change) error {
			fresh := map[Ref]int64{}
			for _, it := range items {
				if err := x.importItem(it, fresh, &n); err != nil {
					return &ImportError{it.line, err}
				}
				point("imported")
			}
			return nil
		})
	}
	if err != nil {
		return Imported{}, fmt.Errorf("import: %w", err)
	}
	return n, nil
}

// An item is a line of an import that passed: a node or an edge.
type item struct {
	line int
	node *savedNode
	edge *savedEdge
}

// readExport reads and judges the lines of an import.
func readExport(ctx context.Context, r io.Reader, taskNamed func(string) (answer.Task, error)) (items []item, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	number := 0
	for lines.Scan() {
		number++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		it, err := readItem(line, taskNamed)
		if err != nil {
			return nil, &ImportError{number, err}
		}
		it.line = number
		items = append(items, it)
	}
	if err := lines.Err(); err != nil {
		return nil, &ImportError{number + 1, err}
	}
	return items, nil
}

func readItem(line []byte, taskNamed func(string) (answer.Task, error)) (it item, err error) {
	var kind struct {
		V    int    `json:"v"`
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return it, err
	}
	switch {
	case kind.V != exportVersion:
		return it, fmt.Errorf("version %d: %w", kind.V, ErrFormat)
	case kind.Kind == usedFor:
		it.edge, err = readEdge(line)
		return it, err
	case kind.Kind != string(Trace) && kind.Kind != string(Template):
		return it, errNoLine
	}
	it.node = new(savedNode)
	if err := json.Unmarshal(line, it.node); err != nil {
		return it, err
	}
	task, err := taskNamed(it.node.Task)
	if err != nil {
		return it, err
	}
	return it, it.node.judge(task)
}

func readEdge(line []byte) (*savedEdge, error) {
	s := new(savedEdge)
	if err := json.Unmarshal(line, s); err != nil {
		return nil, err
	}
	if s.Query == "" || len(s.Query) > MaxQuery {
		return nil, errors.New("the query of the edge is missing or too long")
	}
	if !s.sane() {
		return nil, errors.New("the statistics of the edge are impossible")
	}
	return s, nil
}

func (x *change) importItem(it item, fresh map[Ref]int64, n *Imported) error {
	if it.edge != nil {
		return x.importEdge(it.edge, fresh, n)
	}
	s := it.node
	id, _, err := x.node(s.Ref)
	if id != 0 || err != nil {
		n.Known++
		return err
	}
	id, err = x.putNode(0, Node{
		Ref: s.Ref, Model: s.Model, Slots: s.Slots, Problem: s.Problem.problem(), Candidate: s.Candidate, Work: s.Work, Distilled: s.distilled, Stats: s.Stats,
		Created: s.Created, SeenAt: s.SeenAt, UsedAt: s.UsedAt, SolvedAt: s.SolvedAt, Space: s.Space, Vector: s.Vector,
	})
	fresh[s.Ref] = id
	n.Nodes++
	x.count(s.Kind, 1)
	return err
}

// judge reports whether the line's problem and solution pass and make this node.
func (s *savedNode) judge(t answer.Task) error {
	passed, v := Judge(t, s.Problem.problem(), s.Candidate, "")
	if !passed.OK() {
		return fmt.Errorf("%w: %s %s", ErrRefused, v.Reason, v.Detail)
	}
	switch {
	case t.Name() != s.Task:
		return fmt.Errorf("%w: it was judged for task %q", ErrRefused, t.Name())
	case !s.sane():
		return fmt.Errorf("%w: its statistics are impossible: want no negative number, used = solved + failed, and success of at most 1", ErrRefused)
	case len(s.Candidate) > maxCandidate:
		return fmt.Errorf("%w: its candidate has more than %d bytes", ErrRefused, maxCandidate)
	case len(s.Model) > maxModel:
		return fmt.Errorf("%w: the name of its model has more than %d bytes", ErrRefused, maxModel)
	case len(s.Work) > maxWork || s.Work != shorttext.OneLine(s.Work):
		return fmt.Errorf("%w: its work is not a single line of at most %d bytes", ErrRefused, maxWork)
	}
	switch s.Kind {
	case Trace:
		s.distilled = answer.Trace(t, s.Problem.problem(), s.Candidate, s.Work)
		if _, trace := t.Distil(s.Problem.problem(), s.Candidate); s.Key != passed.query || s.Slots != 0 || trace != "" && s.Work != "" {
			return fmt.Errorf("%w: the key is not the query of its problem, %q", ErrRefused, passed.query)
		}
	case Template:
		x, err := symbolic.Parse(s.Key)
		if err != nil || x.Key() != s.Key || x.Slots() != s.Slots || s.Work != "" {
			return fmt.Errorf("%w: the key is not a template", ErrRefused)
		}
		if passed.template.Key() != s.Key {
			return fmt.Errorf("%w: its solution is of template %q", ErrRefused, passed.template.Key())
		}
	}
	return nil
}

// sane reports whether statistics are possible as counts.
func (s *Stats) sane() bool {
	return s.Seen >= 0 && s.Solved >= 0 && s.Failed >= 0 && s.Used == s.Solved+s.Failed &&
		s.Success >= 0 && s.Success <= 1 && s.Tokens >= 0 && s.Millis >= 0 && s.Cost >= 0
}

func (x *change) importEdge(s *savedEdge, fresh map[Ref]int64, n *Imported) error {
	id, ok := fresh[s.From]
	if !ok {
		var err error
		if id, _, err = x.node(s.From); err != nil {
			return err
		}
		if id == 0 {
			return fmt.Errorf("the edge belongs to a node that does not exist: %q", s.From.Key)
		}
		return nil // the node stays as it is
	}
	n.Edges++
	return x.putEdge(id, s.Edge)
}
