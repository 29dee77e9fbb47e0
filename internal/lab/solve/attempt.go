package solve

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/replyjson"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// An attempt is the work on one problem.
type attempt struct {
	s       *Solver
	problem Problem
	query   string
	began   time.Time

	paths  []metagraph.Path
	known  []game // the solved problems in memory, for Options.Verify; nil until they are read
	vector []float32
	plan   string // what the calls before the answer found, for its prompt
	judged int    // how many tries there are up to the last one that was judged
	passed metagraph.Passed
	of     *record.Ref // the reply that passed
	last   *record.Ref // the last reply that was judged
	result Result
	room   int // how many bytes of replies the result may still carry
}

// id names the work for memory.
func (a *attempt) id() string { return a.result.Run + "/" + a.problem.ID }

// solve tries the templates, and then the model, until a solution passes.
func (a *attempt) solve(ctx context.Context) error {
	if a.query == "" {
		a.result.Reason = string(answer.BadGold)
		return nil
	}
	if a.s.o.Mode == Template {
		if ok, err := a.fill(ctx); ok || err != nil {
			return err
		}
	}
	if a.s.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.s.o.Timeout, errTimeout)
		defer cancel()
	}
	err := a.retrieve(ctx)
	for i := 0; err == nil && i < len(a.s.o.Temperatures) && !a.result.Solved; i++ {
		err = a.ask(ctx, i)
	}
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errTimeout):
		a.result.Reason, err = "timeout", nil
	case errors.Is(err, ErrNoReply):
		err = nil
		if len(a.result.Attempts) == 0 {
			a.result.Reason = "no_reply"
		}
	case err != nil && ofThisProblem(err):
		a.result.Reason, err = "model_error", nil
	}
	return err
}

var errTimeout = errors.New("the problem took too long")

// ofThisProblem reports whether a model's error concerns only this problem and not
// the next.
func ofThisProblem(err error) bool {
	var e *model.Error
	if errors.Is(err, model.ErrBrokenOff) {
		return true
	}
	return errors.As(err, &e) && (e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusUnprocessableEntity)
}

// fill tries every known template.
func (a *attempt) fill(ctx context.Context) (ok bool, err error) {
	numbers, target, is := metagraph.Numbers(a.s.o.Task, a.problem.Problem)
	if !is {
		return false, nil
	}
	nodes, err := a.s.o.Memory.Templates(ctx, a.s.o.Task.Name())
	if err != nil {
		return false, err
	}
	for _, n := range nodes {
		if n.Slots != len(numbers) {
			continue
		}
		t, known := a.s.parsed[n.Key]
		if !known {
			if t, err = symbolic.Parse(n.Key); err != nil {
				continue // of another version
			}
			a.s.parsed[n.Key] = t
		}
		if !t.Makes(numbers, target) {
			continue
		}
		if sure, err := a.verified(ctx, t); !sure || err != nil {
			if err != nil {
				return false, err
			}
			continue
		}
		passed, v := metagraph.Judge(a.s.o.Task, a.problem.Problem, t.Fill(numbers), "")
		if v.OK {
			a.passed = passed
			a.result.Solved, a.result.Hit, a.result.Method = true, HitTemplate, "template"
			a.result.Candidate, a.result.Reason = t.Fill(numbers), string(v.Reason)
			a.result.Used, a.result.TemplateBy = []metagraph.Ref{n.Ref}, n.Model
			return true, nil
		}
	}
	return false, nil
}

// verified reports whether a template may be used: always, unless Options.Verify is set.
// Then at least two of the solved problems in memory must be solved by it.
func (a *attempt) verified(ctx context.Context, t symbolic.Template) (bool, error) {
	o := &a.s.o
	if !o.Verify {
		return true, nil
	}
	if a.known == nil {
		nodes, err := o.Memory.Nodes(ctx, o.Task.Name())
		if err != nil {
			return false, err
		}
		a.known = []game{}
		for _, n := range nodes {
			if numbers, target, is := metagraph.Numbers(o.Task, n.Problem); is && n.Kind == metagraph.Trace {
				a.known = append(a.known, game{numbers, target})
			}
		}
	}
	solves := 0
	for _, g := range a.known {
		if len(g.numbers) == t.Slots() && t.Makes(g.numbers, g.target) {
			if solves++; solves == 2 {
				return true, nil
			}
		}
	}
	return false, nil
}

// A game is the numbers of a problem, and what they must make.
type game struct {
	numbers []int64
	target  int64
}

// retrieve asks memory for paths.
func (a *attempt) retrieve(ctx context.Context) error {
	o := &a.s.o
	if o.Memory == nil {
		return nil
	}
	if o.Embedder != nil {
		began := time.Now()
		vectors, err := o.Embedder.Embed(ctx, []string{a.query})
		a.result.ModelMillis += millis(time.Since(began))
		if err != nil {
			return err
		}
		if len(vectors) == 1 {
			a.vector = vectors[0]
		}
	}
	var err error
	a.paths, err = o.Memory.Retrieve(ctx, metagraph.Search{
		Task: o.Task.Name(), Query: a.query, Floor: o.Floor, Vector: a.vector, Space: o.Space, Limit: o.Paths, Tokens: o.PathTokens,
	})
	if len(a.paths) > 0 {
		a.result.Hit = HitPaths
	}
	for i := range a.paths {
		p := &a.paths[i]
		if p.Template != nil {
			t, parseErr := symbolic.Parse(p.Template.Key)
			sure, knownErr := a.verified(ctx, t)
			if err = cmp.Or(err, knownErr); parseErr != nil || !sure {
				p.Template = nil
			}
		}
		a.result.Used = append(a.result.Used, p.Refs()...)
	}
	return err
}

// ask makes one attempt: a call of the model whose reply is judged, after the calls that
// the mode makes before it.
func (a *attempt) ask(ctx context.Context, i int) error {
	o := &a.s.o
	if err := a.prepare(ctx, i); err != nil {
		return err
	}
	c, err := a.call(ctx, i, answers, a.messages())
	if err != nil {
		return err
	}
	try := &a.result.Attempts[len(a.result.Attempts)-1]
	x := answer.Extract(o.Task, c.reply.Raw, a.problem.Problem, answer.Options{Grammar: o.Grammar, Start: o.Start, End: c.reply.End})
	passed, v := metagraph.Judge(o.Task, a.problem.Problem, x.Candidate, c.reading.Visible())
	try.Candidate, try.Method, try.Reason, try.Detail = shorttext.Ellipsis(x.Candidate, maxShown), x.Method, string(v.Reason), shorttext.Ellipsis(v.Detail, maxShown)
	try.shown = shorttext.Ellipsis(c.reading.Visible(), maxShown)
	a.judged = len(a.result.Attempts)
	if v.OK {
		a.passed, a.of = passed, c.ref
		a.result.Solved = true
	}
	a.last = c.ref
	a.result.Candidate, a.result.Method, a.result.Reason = try.Candidate, try.Method, try.Reason
	return a.recordExtraction(ctx, c.ref, x, v)
}

// A called is a call of the model to which a reply came.
type called struct {
	reply   model.Reply
	reading *sotto.Reply
	ref     *record.Ref
}

// call makes one call of the model for a step of the attempt i. It is a try of the result,
// also if it fails.
func (a *attempt) call(ctx context.Context, i int, step string, messages []model.Message) (c called, err error) {
	o := &a.s.o
	if err := a.s.afford(&a.result); err != nil {
		return c, err
	}
	q := model.Request{Messages: messages, MaxTokens: o.MaxTokens, Temperature: &o.Temperatures[i], Seed: o.Seed, Think: o.Think}
	began := time.Now()
	number := i + 1
	c.reply, err = a.invoke(ctx, number, q)
	if errors.Is(err, ErrNoReply) {
		return c, err // no request was made: no attempt and no tokens
	}
	try := Try{Step: step, Temperature: o.Temperatures[i], Millis: millis(time.Since(began))}
	try.count(q, c.reply, err)
	a.result.ModelMillis += try.Millis
	a.result.MemoryTokens += int64(a.pathTokens())
	if o.Price != nil {
		try.Cost = o.Price.Of(try.Input, try.Output)
	}
	var readErr error
	c.reading, readErr = o.Grammar.ParseWith(c.reply.Raw, sotto.Options{Start: o.Start, Tools: []string{}}, c.reply.End)
	if readErr != nil {
		return c, readErr
	}
	if err == nil || c.reply.Raw != "" {
		a.carry(&try, c.reply, c.reading)
	}
	var recErr error
	c.ref, recErr = a.recordCall(ctx, number, q, c.reply, c.reading, try, err)
	if recErr != nil {
		return c, recErr
	}
	if err != nil {
		try.Reason, try.Error = "model_error", err.Error()
	}
	a.result.Attempts = append(a.result.Attempts, try)
	return c, err
}

// carry adds to a try what it carries of its reply.
func (a *attempt) carry(t *Try, r model.Reply, reading *sotto.Reply) {
	var native strings.Builder
	for _, thought := range r.Thoughts {
		native.WriteString(thought.Text)
	}
	with := replyjson.With{Raw: a.s.o.Raw, Reading: a.s.o.Reading}
	c, size, _ := with.Carry(r.Raw, native.String(), a.room, func() (*sotto.Reply, error) { return reading, nil })
	a.room -= size
	t.carry(c)
}

// maxShown is how many bytes are kept of a candidate, or of a reply that is fed
// back.
const maxShown = 2 << 10

func (a *attempt) invoke(ctx context.Context, number int, q model.Request) (model.Reply, error) {
	if r, ok := a.s.o.Model.(Replier); ok {
		return r.Reply(ctx, a.problem, number, q)
	}
	return a.s.o.Model.Invoke(ctx, q, nil)
}

// finish computes the totals.
func (a *attempt) finish() {
	r := &a.result
	for _, t := range r.Attempts {
		r.Input += t.Input
		r.Output += t.Output
		r.Estimated = r.Estimated || t.Estimated
		r.Cost += t.Cost
	}
	r.Priced = a.s.o.Price != nil
	if r.Solved && a.s.o.Audit != nil {
		r.Wrong = !a.s.o.Audit.Validate(a.s.o.Audit.Normalise(r.Candidate), a.problem.Problem).OK
	}
	r.Millis, r.ModelMillis = millis(time.Since(a.began)), math.Round(1000*r.ModelMillis)/1000
}

// learn passes the outcome to memory.
func (a *attempt) learn(ctx context.Context) error {
	o := &a.s.o
	if o.Memory == nil || a.query == "" || len(a.query) > metagraph.MaxQuery {
		return nil
	}
	if o.Draft != nil {
		if err := o.Draft(a.result); err != nil {
			return err
		}
	}
	note, err := a.result.Bare().Line() // no reasoning enters the memory
	if err != nil {
		return err
	}
	learned, err := o.Memory.Learn(context.WithoutCancel(ctx), metagraph.Attempt{
		ID: a.id(), Task: o.Task.Name(), Query: a.query, Used: a.result.Used, Passed: a.passed, Model: a.earner(),
		Spent:  metagraph.Spent{Tokens: a.result.Input + a.result.Output, Latency: time.Duration(a.result.Millis * float64(time.Millisecond)), Money: a.result.Cost},
		Vector: a.vector, Space: o.Space, Note: note,
	})
	if err != nil {
		return err
	}
	a.result.Memory = &learned
	return a.recordMemory(ctx, learned)
}

// earner names the model that found the solution. What a template solved is the
// merit of the model that earned the template.
func (a *attempt) earner() string {
	if a.result.Hit == HitTemplate {
		return a.result.TemplateBy
	}
	return a.result.Model
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// count adds the server's token counts, or estimates. Where nothing came, no token
// is known to have been read.
func (t *Try) count(q model.Request, r model.Reply, failed error) {
	t.Input, t.Output = r.Usage.Input, r.Usage.Output
	if failed != nil && r.Raw == "" && len(r.Thoughts) == 0 {
		return
	}
	if t.Input == 0 {
		for _, m := range q.Messages {
			t.Input += int64(metagraph.Tokens(m.Text))
		}
		t.Estimated = true
	}
	if t.Output == 0 && (r.Raw != "" || len(r.Thoughts) > 0) {
		t.Output, t.Estimated = int64(metagraph.Tokens(r.Raw)), true
		for _, thought := range r.Thoughts {
			t.Output += int64(metagraph.Tokens(thought.Text))
		}
	}
}

// Instruction returns the default of [Options.Instruction]: the text that teaches
// the protocol for answers.
func Instruction(g *sotto.Grammar) string {
	if prompt := g.Dialect().Prompt; prompt != "" && g.Dialect().Name != sotto.Default().Dialect().Name {
		return prompt
	}
	g, err := sotto.Named("answer")
	if err != nil {
		panic("unreachable: the dialect comes with the package")
	}
	return g.Dialect().Prompt
}
