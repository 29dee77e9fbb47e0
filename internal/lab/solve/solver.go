package solve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/data/prices"
	"github.com/sotto-llm/sotto/internal/data/replyjson"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A Mode says how a problem is solved; see the table in the package documentation.
type Mode string

// The modes.
const (
	IO       Mode = "io"
	CoT      Mode = "cot"
	Graph    Mode = "graph"
	Template Mode = "template"
	BoT      Mode = "bot"
	ToT      Mode = "tot"
	GoT      Mode = "got"
)

// Modes lists the modes.
func Modes() []Mode { return []Mode{IO, CoT, Graph, Template, BoT, ToT, GoT} }

// Remembers reports whether streams of the mode read and write a memory unless they are
// told otherwise.
func (m Mode) Remembers() bool { return m == Graph || m == Template || m == BoT }

// searches reports whether an attempt is several calls, which must see their prompts.
func (m Mode) searches() bool { return m == ToT || m == GoT }

// Options say how to solve problems. Task and Model are required. The modes graph
// and template also require Memory. Every other mode uses it if it is there.
type Options struct {
	Task   Task
	Mode   Mode // if empty, cot
	Model  model.Model
	Memory *metagraph.Graph

	// Grammar reads the replies. If nil, the grammar of the default dialect.
	Grammar *sotto.Grammar
	// Start is where replies begin. If empty, auto.
	Start sotto.Beginning
	// Instruction is the system message. If empty, it is the prompt of Grammar's
	// dialect. If that dialect has none, it is the prompt of the dialect "answer".
	Instruction string

	// Temperatures are the temperatures of the attempts; there is one attempt for
	// each. If empty, 0, 0.4 and 0.8.
	Temperatures []float64
	// MaxTokens is the token limit of a reply. If zero, the server's.
	MaxTokens int
	Seed      *int64
	Think     string // see model.Request
	// Timeout is the time limit for one problem, with all of its attempts. If zero,
	// none.
	Timeout time.Duration

	// Floor, Paths and PathTokens bound what memory puts into a prompt; see
	// metagraph.Search.
	Floor      float64
	Paths      int
	PathTokens int
	// Verify uses a template only if it is verified: it solves at least two of the
	// problems in memory with as many numbers, so another one than that which it was
	// learned from. A template that is not is neither filled nor shown.
	Verify bool
	// Embedder makes the embeddings of queries. Space names its model. If nil,
	// memory compares words only.
	Embedder model.Embedder
	Space    string

	// Audit judges each passed solution again, to measure how much of memory is
	// wrong. If nil, every passed solution counts as right.
	Audit answer.Task
	// Price is the price of the model's tokens. If nil, costs are not known.
	Price *prices.Price

	// Raw and Reading say what the tries of a result carry of the replies: the raw
	// reply, and how it was read. The memory never gets either.
	Raw, Reading bool
	// Draft, if not nil, gets each result before memory learns it. A run that is
	// killed after that returns the result again when the problem comes again, but
	// without the replies; the draft has them.
	Draft func(Result) error

	// Run names the run, in the record and for memory. If empty, the name is made
	// from the time.
	Run    string
	Record *record.Writer
	Log    *slog.Logger // if nil, nothing is logged
}

// A Solver solves problems one after another. It is not safe for concurrent use;
// any number of solvers may share a memory.
type Solver struct {
	o      Options
	parsed map[string]symbolic.Template // by key
	spent  *spending                    // of a stream
}

// New returns a new solver.
func New(o Options) (*Solver, error) {
	if o.Mode == "" {
		o.Mode = CoT
	}
	switch {
	case o.Task == nil:
		return nil, errors.New("solve: no task")
	case o.Model == nil:
		return nil, errors.New("solve: no model")
	case (o.Mode == Graph || o.Mode == Template) && o.Memory == nil:
		return nil, fmt.Errorf("solve: mode %s needs a memory", o.Mode)
	case !slices.Contains(Modes(), o.Mode):
		return nil, fmt.Errorf("solve: no mode %q; want one of %v", o.Mode, Modes())
	}
	if _, is := o.Model.(Replier); is && o.Mode.searches() {
		return nil, fmt.Errorf("solve: mode %s needs a model that reads its prompt", o.Mode)
	}
	if o.Mode == BoT {
		o.Paths = 1
	}
	if o.Grammar == nil {
		o.Grammar = sotto.Default()
	}
	if o.Start == "" {
		o.Start = sotto.BeginAuto
	}
	if o.Instruction == "" {
		o.Instruction = Instruction(o.Grammar)
	}
	if len(o.Temperatures) == 0 {
		o.Temperatures = []float64{0, 0.4, 0.8}
	}
	if o.Run == "" {
		o.Run = "solve-" + time.Now().UTC().Format("20060102T150405.000000")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Solver{o: o, parsed: map[string]symbolic.Template{}}, nil
}

// Run returns the name of the run.
func (s *Solver) Run() string { return s.o.Run }

// Solve solves one problem, the n-th of the run, and learns from it. An error means
// that the problem is not finished: the context ended, the model cannot be reached,
// or the memory or the record cannot be written.
func (s *Solver) Solve(ctx context.Context, n int, p Problem) (Result, error) {
	a := &attempt{s: s, problem: p, query: metagraph.Query(s.o.Task, p.Problem), began: time.Now(), room: replyjson.MaxCarried}
	a.result = Result{V: 1, Type: "problem", Run: s.o.Run, N: n, ID: p.ID, Task: s.o.Task.Name(), Mode: s.o.Mode, Model: s.o.Model.Name()}
	if r, ok, err := s.done(ctx, a); ok || err != nil {
		return r, err
	}
	if err := a.note(ctx, record.CycleStart{Goal: record.Say(a.query)}); err != nil {
		return Result{}, err
	}
	if err := a.solve(ctx); err != nil {
		return Result{}, fmt.Errorf("problem %s: %w", p.ID, err)
	}
	a.finish()
	if err := a.learn(ctx); err != nil {
		return Result{}, fmt.Errorf("problem %s: %w", p.ID, err)
	}
	status := "failed"
	if a.result.Solved {
		status = "solved"
	}
	err := a.note(ctx, record.CycleEnd{Status: status, Millis: int64(a.result.Millis), Of: a.last, Summary: record.Say(a.result.Candidate)})
	return a.result, err
}

// done returns the result of a problem that memory has already learned, in a run
// that was killed before it could report the result.
func (s *Solver) done(ctx context.Context, a *attempt) (Result, bool, error) {
	if s.o.Memory == nil {
		return Result{}, false, nil
	}
	learned, note, ok, err := s.o.Memory.Done(ctx, a.id())
	if !ok || err != nil {
		return Result{}, false, err
	}
	r, err := ReadResult(note)
	r.Memory = &learned
	if replier, is := s.o.Model.(Replier); is {
		replier.Skip(a.problem, len(r.Attempts))
	}
	return r, true, err
}
