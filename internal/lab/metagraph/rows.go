package metagraph

import (
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/answer"
)

// A scanner is a row.
type scanner interface{ Scan(...any) error }

const nodeColumns = "id, task, kind, key, model, slots, problem, candidate, work, distilled, seen, used, solved, failed, success, tokens, millis, cost, created, seen_at, used_at, solved_at, space, vector"

// columnsOf returns the columns of a node, to be read from a file of a version.
func columnsOf(v int) string {
	columns := nodeColumns
	if v < 2 {
		columns = strings.Replace(columns, "model", "''", 1)
	}
	if v < 3 {
		columns = strings.Replace(columns, "distilled", "''", 1)
	}
	return columns
}

func scanNode(row scanner) (id int64, n Node, err error) {
	var problem string
	var vector []byte
	err = row.Scan(&id, &n.Task, &n.Kind, &n.Key, &n.Model, &n.Slots, &problem, &n.Candidate, &n.Work, &n.Distilled,
		&n.Seen, &n.Used, &n.Solved, &n.Failed, &n.Success, &n.Tokens, &n.Millis, &n.Cost,
		(*instant)(&n.Created), (*instant)(&n.SeenAt), (*instant)(&n.UsedAt), (*instant)(&n.SolvedAt), &n.Space, &vector)
	if err != nil {
		return 0, Node{}, err
	}
	if n.Problem, err = readProblem(problem); err != nil {
		return 0, Node{}, fmt.Errorf("node %q: %w", n.Key, err)
	}
	n.Vector = readVector(vector)
	return id, n, nil
}

// node returns a node and its number, which is 0 if the node does not exist.
func (x *change) node(r Ref) (id int64, n Node, err error) {
	row := x.row("SELECT "+nodeColumns+" FROM node WHERE task = ? AND kind = ? AND key = ?", r.Task, r.Kind, r.Key)
	id, n, err = scanNode(row)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, Node{}, nil
	}
	return id, n, err
}

// putNode writes a node. id is 0 for a new one.
func (x *change) putNode(id int64, n Node) (int64, error) {
	var key any
	if id != 0 {
		key = id
	}
	result, err := x.exec("INSERT OR REPLACE INTO node ("+nodeColumns+", rev) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		key, n.Task, n.Kind, n.Key, n.Model, n.Slots, writeProblem(n.Problem), n.Candidate, n.Work, n.Distilled,
		n.Seen, n.Used, n.Solved, n.Failed, n.Success, n.Tokens, n.Millis, n.Cost,
		micros(n.Created), micros(n.SeenAt), micros(n.UsedAt), micros(n.SolvedAt), n.Space, writeVector(n.Vector), x.rev)
	if err != nil {
		return 0, err
	}
	if id, err = result.LastInsertId(); err == nil {
		n.Vector = slices.Clone(n.Vector)
		x.wrote = append(x.wrote, wrote{id: id, node: &n})
	}
	return id, err
}

const edgeColumns = "query, seen, used, solved, failed, success, tokens, millis, cost, created, used_at"

func scanEdge(row scanner, more ...any) (e Edge, err error) {
	err = row.Scan(append(more, &e.Query, &e.Seen, &e.Used, &e.Solved, &e.Failed, &e.Success, &e.Tokens, &e.Millis, &e.Cost,
		(*instant)(&e.Created), (*instant)(&e.UsedAt))...)
	return e, err
}

// edge returns an edge, which is new if it does not exist yet.
func (x *change) edge(id int64, query string) (Edge, error) {
	e, err := scanEdge(x.row("SELECT "+edgeColumns+" FROM edge WHERE node = ? AND query = ?", id, query))
	if errors.Is(err, sql.ErrNoRows) {
		return Edge{Query: query, Created: x.now}, nil
	}
	return e, err
}

func (x *change) putEdge(id int64, e Edge) error {
	_, err := x.exec("INSERT OR REPLACE INTO edge (node, "+edgeColumns+", rev) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
		id, e.Query, e.Seen, e.Used, e.Solved, e.Failed, e.Success, e.Tokens, e.Millis, e.Cost, micros(e.Created), micros(e.UsedAt), x.rev)
	x.wrote = append(x.wrote, wrote{id: id, edge: &e})
	return err
}

// An instant reads a time stored in microseconds. 0 means no time.
type instant time.Time

// Scan reads the column.
func (t *instant) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("%w: a time is %T", ErrFormat, v)
	}
	*t = instant{}
	if n != 0 {
		*t = instant(time.UnixMicro(n).UTC())
	}
	return nil
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// A savedProblem is a problem as spelled in the file and in an export.
type savedProblem struct {
	Input   string   `json:"input,omitempty"`
	Gold    string   `json:"gold,omitempty"`
	Options []string `json:"options,omitempty"`
	Schema  string   `json:"schema,omitempty"`
	Lang    string   `json:"lang,omitempty"`
}

func saved(p answer.Problem) savedProblem {
	return savedProblem{p.Input, p.Gold, p.Options, string(p.Schema), p.Lang}
}

func (s savedProblem) problem() answer.Problem {
	p := answer.Problem{Input: s.Input, Gold: s.Gold, Options: s.Options, Lang: s.Lang}
	if s.Schema != "" {
		p.Schema = []byte(s.Schema)
	}
	return p
}

func writeProblem(p answer.Problem) string {
	text, _ := json.Marshal(saved(p)) // strings always marshal
	return string(text)
}

func readProblem(text string) (answer.Problem, error) {
	var s savedProblem
	err := json.Unmarshal([]byte(text), &s)
	return s.problem(), err
}

func writeVector(v []float32) []byte {
	if v == nil {
		return nil
	}
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func readVector(b []byte) []float32 {
	if len(b) < 4 {
		return nil
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}
