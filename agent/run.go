package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/record"
)

// A run is an experiment that is running: the state that outlasts a cycle.
type run struct {
	x        *Experiment
	name     string
	how      strategy
	proto    *turn // settings of each cycle's turn
	journal  *journal
	observer Observer
	log      *slog.Logger

	cycle    int
	planned  int // cycles, so far
	window   window
	memories []memory
	carried  carried
	thoughts thoughts // that can be recalled
	recall   *recallTool
	failed   int // cycles in a row
	like     likeness
	vectors  map[string][]float32
	budget   budget
	used     int
	totals   record.Metrics
	turn     *turn
	summary  Result
}

// A Result says how a run ended.
type Result struct {
	Run     string
	Status  Status // Done, Bounded or Suspended
	Bound   Bound
	Cycles  int
	Last    string // the last reflection
	Metrics record.Metrics
	Usage   Usage
	Took    time.Duration // in invocations and calls
	Window  int           // the model's context window in tokens; 0 if it is not known
	// Passed is how many events were in the record already.
	Passed int
}

// A CycleReport tells an observer how a cycle ended.
type CycleReport struct {
	Cycle      int
	Status     Status
	Bound      Bound
	Reflection string
	Failure    string // why the model could not be asked, if the cycle failed
	Advice     bool   // it repeats an earlier one
	Metrics    record.Metrics
	Replayed   bool // it was in the record already
}

// A ChangedError is the error of a run that was recorded with other settings.
type ChangedError struct {
	Run, What string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("run %s was started with other settings: %s", e.Run, e.What)
}

// An UnservedError is the error of a run that was not begun or resumed, since its
// models cannot be invoked. Nothing was recorded of it.
type UnservedError struct {
	Run string
	Err error // what the servers say
}

func (e *UnservedError) Error() string {
	return fmt.Sprintf("run %s cannot begin: %v", e.Run, e.Err)
}

func (e *UnservedError) Unwrap() error { return e.Err }

// ErrNoRun is in the error of a replay of a run that is not in the record.
var ErrNoRun = errors.New("the record has no such run")

// Run runs an experiment, or resumes it if the record has its beginning. What is
// recorded is not done again: no reply is asked for twice, and no call is made
// twice. The exception is a call that a crash left open, if its tool is a
// [Repeater] that allows it. A run that was suspended is resumed, in the middle of
// its cycle. A run that has ended is only read, unless Cycles is higher than it was:
// then it is extended. While it runs, no other process can write the record;
// otherwise the error is [record.ErrLocked].
func Run(ctx context.Context, x Experiment, o Options) (s Result, err error) {
	if err := x.check(); err != nil {
		return Result{}, err
	}
	if o.Record == "" || o.Memory == "" {
		return Result{}, errors.New("Options.Record and Options.Memory must be set")
	}
	if o.RecordOptions.Reasoning != record.Full || o.RecordOptions.Answer != record.Full {
		return Result{}, errors.New("a run is resumed from its record: its levels must be full")
	}
	keep := o.RecordOptions
	o.RecordOptions.KeepFor, o.RecordOptions.KeepSize = 0, 0
	if o.RecordOptions.Secrets == nil {
		o.RecordOptions.Secrets = record.NewSecrets()
	}
	o.RecordOptions.Secrets.Add(x.Secrets...)
	w, err := record.Open(o.Record, o.RecordOptions)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	past, err := readPast(o.Record, x.Name, record.ReadOptions{Identities: o.Identities})
	if err != nil {
		return Result{}, err
	}
	first := w.Head().Seq + 1
	if len(past) > 0 {
		first = past[0].Seq
	}
	retain(w, keep, first)
	defer retain(w, keep, first)
	memory, err := openMemory(o.Memory, x.Name, o.RecordOptions.Recipients, o.Identities)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	r, err := newRun(x, memory, &journal{past: past, w: w}, o)
	if err != nil {
		return Result{}, err
	}
	r.summary.Passed = len(past)
	if r.recall != nil {
		r.recall.dir, r.recall.before, r.recall.opts = o.Record, first, record.ReadOptions{Identities: o.Identities, NoPrompts: true}
	}
	return r.all(ctx)
}

// retain prunes a record as its options say, but nothing from event first on, with
// which the run begins: it is resumed from there. A failure is logged, as that of a
// writer that prunes by itself.
func retain(w *record.Writer, o record.Options, first uint64) {
	if o.KeepFor <= 0 && o.KeepSize <= 0 {
		return
	}
	p := record.PruneOptions{Keep: o.KeepSize, Until: first}
	if o.KeepFor > 0 {
		p.Before = time.Now().Add(-o.KeepFor)
	}
	if _, err := w.Prune(p); err != nil && o.Log != nil {
		o.Log.Error("the record is not pruned", "error", err)
	}
}

// A Report says what a replay found.
type Report struct {
	Result
	Events int // events that the replay repeated identically
	// Difference is where the run departs from the record; nil if it does not.
	Difference *Difference
	// Unfinished says that the record ends before the run does.
	Unfinished bool
}

// Replay runs an experiment again, with the replies and the results of a record,
// and compares each event. It asks no model, calls no tool, and writes nothing.
func Replay(ctx context.Context, x Experiment, dir string, o Options) (Report, error) {
	if err := x.check(); err != nil {
		return Report{}, err
	}
	past, err := readPast(dir, x.Name, record.ReadOptions{NoIndex: true, Identities: o.Identities})
	if err != nil {
		return Report{}, err
	}
	if len(past) == 0 {
		return Report{}, fmt.Errorf("run %s: %w", x.Name, ErrNoRun)
	}
	j := &journal{past: past}
	r, err := newRun(x, NewMemory(), j, o)
	if err != nil {
		return Report{}, err
	}
	s, err := r.all(ctx)
	p := Report{Result: s, Events: len(past) - len(j.past)}
	p.Passed = p.Events
	var d *Difference
	switch {
	case errors.As(err, &d):
		p.Difference = d
		return p, nil
	case errors.Is(err, errEnd):
		p.Unfinished = true
		return p, nil
	case err == nil && len(j.past) > 0:
		e := j.past[0]
		p.Difference = &Difference{Seq: e.Seq, Run: e.Run, Cycle: e.Cycle, Type: e.Type, Field: "type", Recorded: string(e.Type), Now: ""}
	}
	return p, err
}

func newRun(x Experiment, memory *Memory, j *journal, o Options) (*run, error) {
	var err error
	if x.Tools, err = withForeign(x.Tools, j.tools()); err != nil {
		return nil, err
	}
	r := &run{x: x.filled(), name: x.Name, journal: j, observer: o.Observer, log: o.Log}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.planned = r.x.Cycles
	if r.how, err = r.x.Policy.strategy(r.x); err != nil {
		return nil, err
	}
	r.budget.limits, r.carried.budget = r.x.Limits, r.x.CarryBudget
	tools, err := memory.named(x.Memory)
	if err != nil {
		return nil, err
	}
	if x.Operator != nil {
		tools = append(tools, OperatorTool(x.Operator, x.Wait))
	}
	tools = append(tools, x.Tools...)
	id := rand.Text()
	if !j.live() {
		id = j.id()
	}
	t := Turn{
		Model: x.Model, Grammar: x.Grammar, Start: x.Start, Tools: tools, Agents: x.Agents, Calls: x.Calls, API: x.API,
		Limits: r.x.Limits, Request: x.Request, Observer: o.Observer, Run: x.Name, Price: x.Price, Currency: x.Currency,
		Secrets: record.NewSecrets(x.Secrets...), Confirm: x.Confirm, Confirmer: byOperator(x.Operator, x.Wait), Subject: OperatorName, ConsentTime: x.Wait,
	}
	if x.Recall.On {
		r.recall = &recallTool{run: r}
		t.private = []Tool{r.recall}
	}
	if r.proto, err = t.prepare(); err != nil {
		return nil, err
	}
	r.proto.id = id
	return r, nil
}

func toolNamed(list []Tool, name string) Tool {
	for _, t := range list {
		if t.Spec().Name == name {
			return t
		}
	}
	return nil
}

// all runs the machine from beginning to end.
func (r *run) all(ctx context.Context) (Result, error) {
	if err := r.unchanged(); err != nil {
		return r.summary, err
	}
	ctx = r.tracedAs(ctx)
	if err := r.begin(ctx, false); err != nil {
		return r.summary, err
	}
	m := machine{run: r}
	err := m.from(ctx, load, ended)
	if errors.Is(err, errSuspended) {
		err = nil
	}
	return r.summary, err
}

// begin begins the run, or resumes it after its end. What the earlier end decided no
// longer holds.
func (r *run) begin(ctx context.Context, resumed bool) error {
	x, size, cuts := *r.x, 0, true
	if start := r.journal.start(r.name); start != nil {
		x.planAs(start)
		size, cuts = start.Window, start.Config["overflow"] == "cut"
	} else if r.journal.live() {
		info, err := x.Probe(ctx)
		if err != nil {
			return &UnservedError{r.name, err}
		}
		size = info.Window
	}
	start := record.RunStart{
		ID: r.proto.id, IDs: TraceIDs(ctx, nil), Window: size, Resumed: resumed, Extended: r.summary.Status == Done, Agent: "sotto", Model: r.x.Model.Name(), Config: x.config(), Goal: record.Say(r.x.Goal),
	}
	if _, err := r.journal.put(ctx, r.name, r.cycle, start); err != nil {
		return err
	}
	r.planned, r.failed, r.window.size, r.window.cuts = x.Cycles, 0, size, cuts
	r.summary.Status, r.summary.Bound = "", ""
	return nil
}

// unchanged compares the settings with the recorded ones, to say which one differs.
// The number of cycles may be higher than it was when the run was last begun; in a
// replay it must be the same.
func (r *run) unchanged() error {
	if r.journal.live() {
		return nil
	}
	e := &r.journal.past[0]
	was, ok := e.Payload.(record.RunStart)
	if !ok {
		return nil
	}
	x := *r.x
	x.planAs(&was)
	now := record.RunStart{Agent: "sotto", Model: r.x.Model.Name(), Config: x.config(), Goal: record.Say(r.x.Goal)}
	var d *Difference
	if was.Config["sha256"] != now.Config["sha256"] {
		x := changed(was.Config["experiment"], now.Config["experiment"])
		x.Seq, x.Run, x.Cycle, x.Type = e.Seq, e.Run, e.Cycle, e.Type
		d = &x
	} else if err := same(e, r.name, 0, now, whole); err != nil && !errors.As(err, &d) {
		return err
	}
	if d == nil {
		d = r.otherCycles()
	}
	if d == nil {
		return nil
	}
	if r.journal.w == nil {
		return d
	}
	return &ChangedError{r.name, fmt.Sprintf("%s: it was %q, now it is %q", d.Field, d.Recorded, d.Now)}
}

// otherCycles compares the number of cycles with that of the last start of the run.
func (r *run) otherCycles() *Difference {
	for _, e := range slices.Backward(r.journal.past) {
		start, ok := e.Payload.(record.RunStart)
		if !ok || e.Run != r.name {
			continue
		}
		was := *r.x
		was.planAs(&start)
		if r.x.Cycles == was.Cycles || r.x.Cycles > was.Cycles && r.journal.w != nil {
			return nil
		}
		return &Difference{
			Seq: e.Seq, Run: e.Run, Cycle: e.Cycle, Type: e.Type,
			Field: "settings.cycles", Recorded: strconv.Itoa(was.Cycles), Now: strconv.Itoa(r.x.Cycles),
		}
	}
	return nil
}

// resume begins the run again if its record does so here, or if more cycles are
// wanted than it was begun with.
func (r *run) resume(ctx context.Context) error {
	if r.journal.start(r.name) != nil || r.x.Cycles > r.planned && r.journal.live() && r.journal.w != nil {
		return r.begin(ctx, true)
	}
	return nil
}

// over decides whether the run ends, and by which bound.
func (r *run) over() bool {
	s := &r.summary
	switch b := r.budget.hit(&turn{}); {
	case b != "":
		s.Status, s.Bound = Bounded, b
	case r.x.Limits.FailedCycles > 0 && r.failed >= r.x.Limits.FailedCycles:
		s.Status, s.Bound = Suspended, BoundCycles
		if r.journal.endedAs(Failed) { // by an earlier version
			s.Status = Failed
		}
	case r.cycle >= r.planned:
		s.Status = Done
	}
	return s.Status != ""
}

func (r *run) newTurn() *turn {
	t := *r.proto
	t.journal, t.Cycle, t.used, t.left, t.top = r.journal, r.cycle, &r.used, &r.budget, r
	t.window = &r.window
	t.keeps, t.template = r.how.keeps, r.x.Template
	if r.x.CarryCalls.on() {
		t.carried = &carried{budget: r.x.CarryBudget}
	}
	r.turn = &t
	return &t
}

func (r *run) startCycle(ctx context.Context) error {
	_, err := r.journal.put(ctx, r.name, r.cycle, record.CycleStart{})
	return err
}

// endCycle keeps what the cycle said, and records it.
func (r *run) endCycle(ctx context.Context, t *turn) error {
	o := t.outcome()
	c := memory{cycle: r.cycle, reflection: strings.TrimSpace(o.Answer), thoughts: t.thoughts}
	var err error
	if c.note, err = r.how.note(ctx, t); err != nil {
		return err
	}
	t.metrics.Policy = string(r.x.Policy)
	end := record.CycleEnd{Status: string(t.status), Bound: string(t.bound), Millis: t.took.Time.Milliseconds(), Of: t.ref, Summary: record.Say(c.reflection), Reasoning: CycleThoughts(t.thoughts)}
	end.Metrics = r.metrics(t)
	open, err := t.passOutages(ctx)
	if err != nil {
		return err
	}
	past, _, err := r.journal.recall(r.name, r.cycle, end)
	if err != nil {
		return err
	}
	replayed := past != nil
	if replayed {
		m := past.(record.CycleEnd).Metrics
		if m == nil {
			m = end.Metrics
		}
		r.like = likeness{m.Similarity, m.SimilarTo, m.Method}
		end.Metrics = m
	} else {
		if r.like, err = r.alike(ctx, t, open, c.reflection); err != nil {
			return err
		}
		end.Metrics.Similarity, end.Metrics.SimilarTo, end.Metrics.Method = r.like.score, r.like.cycle, r.like.method
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := r.journal.put(ctx, r.name, r.cycle, end); err != nil {
			return err
		}
	}
	r.remember(c, t)
	if f := r.observer.OnCycle; f != nil {
		c := CycleReport{r.cycle, t.status, t.bound, c.reflection, "", r.advice() != "", *end.Metrics, replayed}
		if t.status == Failed {
			c.Failure = t.failure
		}
		f(c)
	}
	return nil
}

// metrics returns the metrics of a turn, as the record has them.
func (r *run) metrics(t *turn) *record.Metrics {
	m := t.metrics
	m.SavedTokens = int(about(max(m.SavedBytes, 0)))
	m.Policy = string(r.x.Policy)
	return &m
}

func (r *run) remember(c memory, t *turn) {
	if c.reflection != "" {
		r.memories = append(r.memories, c)
		r.summary.Last = c.reflection
	}
	if r.recall != nil {
		r.keepThoughts(t)
	}
	switch r.x.CarryCalls {
	case CarryLast:
		r.carried = *t.carried
	case CarryAll:
		r.carried.then(t.carried)
	}
	if t.status == Answered {
		r.failed = 0
	} else {
		r.failed++
	}
	r.budget.take(t)
	addMetrics(&r.totals, r.metrics(t))
	r.summary.Cycles = r.cycle
}

// keepThoughts keeps the thoughts of a cycle that the policy lets the agent recall.
func (r *run) keepThoughts(t *turn) {
	list := t.thoughts
	if r.x.Policy == Selective {
		list = t.marked
	}
	for _, text := range list {
		r.thoughts.remember(r.name, r.cycle, text)
	}
}

func addMetrics(sum, m *record.Metrics) {
	sum.Invocations += m.Invocations
	sum.Unanswered += m.Unanswered
	sum.Retries += m.Retries
	sum.ToolCalls += m.ToolCalls
	sum.ToolErrors += m.ToolErrors
	sum.TextCalls += m.TextCalls
	sum.InputTokens += m.InputTokens
	sum.OutputTokens += m.OutputTokens
	sum.ReplyBytes += m.ReplyBytes
	sum.VisibleBytes += m.VisibleBytes
	sum.ThoughtBytes += m.ThoughtBytes
	sum.PromptBytes += m.PromptBytes
	sum.LargestPrompt = max(sum.LargestPrompt, m.LargestPrompt)
	sum.SavedBytes += m.SavedBytes
	sum.SavedTokens += m.SavedTokens
	sum.Policy = m.Policy
}

// end records how the run ended.
func (r *run) end(ctx context.Context) error {
	s := &r.summary
	s.Usage = r.budget.took
	s.Run, s.Metrics, s.Took, s.Window = r.name, r.totals, r.budget.took.Time, r.window.size
	_, err := r.journal.put(ctx, r.name, r.cycle, record.RunEnd{
		Status: string(s.Status), Bound: string(s.Bound), Cycles: s.Cycles, Millis: s.Took.Milliseconds(), Metrics: &r.totals, Result: record.Say(s.Last),
	})
	return err
}
