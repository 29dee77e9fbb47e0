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
	"github.com/sotto-llm/sotto/metagraph/symbolic"
)

// A savedNode is a node's line in an export.
type savedNode struct {
	V int `json:"v"`
	Ref
	Slots     int          `json:"slots,omitempty"`
	Problem   savedProblem `json:"problem"`
	Candidate string       `json:"candidate"`
	Work      string       `json:"work,omitempty"`
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

const usedFor = "used_for"

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
			V: version, Ref: e.Ref, Slots: e.Slots, Problem: saved(e.Problem), Candidate: e.Candidate, Work: e.Work, Stats: e.Stats,
			Created: e.Created, SeenAt: e.SeenAt, UsedAt: e.UsedAt, SolvedAt: e.SolvedAt, Space: e.Space, Vector: e.Vector,
		}))
	}
	for _, e := range entries {
		for edge := range e.sortedEdges() {
			err = cmp.Or(err, enc.Encode(savedEdge{version, usedFor, edge}))
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
	ErrRefused = errors.New("the node does not pass")

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
// node is rebuilt from its problem and its solution. Only the statistics, times and
// embedding come from the file. An import into an empty graph gives the same graph.
// Nodes that are already there do not change.
func (g *Graph) Import(ctx context.Context, r io.Reader, taskNamed func(string) (answer.Task, error)) (Imported, error) {
	var n Imported
	err := g.change(ctx, func(x *change) error {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 64<<10), maxLine)
		fresh := map[Ref]int64{}
		number := 0
		for lines.Scan() {
			number++
			if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
				if err := x.importLine(line, taskNamed, fresh, &n); err != nil {
					return &ImportError{number, err}
				}
			}
		}
		if err := lines.Err(); err != nil {
			return &ImportError{number + 1, err}
		}
		return nil
	})
	if err != nil {
		return Imported{}, fmt.Errorf("import: %w", err)
	}
	return n, nil
}

func (x *change) importLine(line []byte, taskNamed func(string) (answer.Task, error), fresh map[Ref]int64, n *Imported) error {
	var kind struct {
		V    int    `json:"v"`
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	switch {
	case kind.V != version:
		return fmt.Errorf("version %d: %w", kind.V, ErrFormat)
	case kind.Kind == usedFor:
		return x.importEdge(line, fresh, n)
	case kind.Kind != string(Trace) && kind.Kind != string(Template):
		return errNoLine
	}
	var s savedNode
	if err := json.Unmarshal(line, &s); err != nil {
		return err
	}
	task, err := taskNamed(s.Task)
	if err != nil {
		return err
	}
	if err := s.judge(task); err != nil {
		return err
	}
	id, _, err := x.node(s.Ref)
	if id != 0 || err != nil {
		n.Known++
		return err
	}
	id, err = x.putNode(0, Node{
		Ref: s.Ref, Slots: s.Slots, Problem: s.Problem.problem(), Candidate: s.Candidate, Work: s.Work, Stats: s.Stats,
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
		return fmt.Errorf("%w: it was judged as of task %q", ErrRefused, t.Name())
	case !s.sane():
		return fmt.Errorf("%w: its statistics cannot be: none is below 0, used is solved + failed, success at most 1", ErrRefused)
	case len(s.Candidate) > maxCandidate:
		return fmt.Errorf("%w: its candidate has more than %d bytes", ErrRefused, maxCandidate)
	case len(s.Work) > maxWork || s.Work != oneLine(s.Work):
		return fmt.Errorf("%w: its work is not one line of %d bytes at most", ErrRefused, maxWork)
	}
	switch s.Kind {
	case Trace:
		if _, trace := t.Distil(s.Problem.problem(), s.Candidate); s.Key != passed.query || s.Slots != 0 || trace != "" && s.Work != "" {
			return fmt.Errorf("%w: the key is not the query of its problem, %q", ErrRefused, passed.query)
		}
	case Template:
		x, err := symbolic.Parse(s.Key)
		if err != nil || x.Key() != s.Key || x.Slots() != s.Slots || s.Work != "" {
			return fmt.Errorf("%w: the key is no template", ErrRefused)
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

func (x *change) importEdge(line []byte, fresh map[Ref]int64, n *Imported) error {
	var s savedEdge
	if err := json.Unmarshal(line, &s); err != nil {
		return err
	}
	if s.Query == "" || len(s.Query) > MaxQuery {
		return errors.New("the edge has no query, or a very long one")
	}
	id, ok := fresh[s.From]
	if !ok {
		var err error
		if id, _, err = x.node(s.From); err != nil {
			return err
		}
		if id == 0 {
			return fmt.Errorf("the edge is of a node that is not there: %q", s.From.Key)
		}
		return nil // the node stays as it is
	}
	if !s.sane() {
		return errors.New("the statistics of the edge cannot be")
	}
	n.Edges++
	return x.putEdge(id, s.Edge)
}
