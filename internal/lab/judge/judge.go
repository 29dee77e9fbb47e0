package judge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A Judge scores thoughts.
type Judge struct {
	Rubric   *Rubric
	Model    model.Model
	Provider string         // the model's API
	Settings string         // what else the model's replies depend on, such as the digest of a script
	Grammar  *sotto.Grammar // reads the judge's replies
	// Past are the events of the record so far; nil if there is none. Open opens the
	// record, if anything must be asked.
	Past func(yield func(record.Event, error) bool)
	Open func() (*record.Writer, error)
	// Workers is how many calls are made at a time; if zero, 1.
	Workers int
	// Budget is how many tokens may be spent on this rubric by this judge, those in the
	// record included; 0 means no bound. Calls that are under way when it is reached
	// are finished.
	Budget int64
	// Done, if not nil, is called after each score that was asked for.
	Done func()
}

// A Subject is a thought to score.
type Subject struct {
	Text string
	Cut  bool // the text is only the beginning
	// Where it comes from, for the record.
	Run    string
	Cycle  int
	Seq    uint64
	Choice int
	Reply  record.Digest
}

// An Outcome is the scores of thoughts.
type Outcome struct {
	// Scores are those of each subject, in the rubric's order of criteria: a list for
	// each time that it was scored. It is shorter than the rubric's repeat if the judge
	// did not give scores, or if the work stopped.
	Scores [][][]float64
	// Asked is how many calls were made, Recalled how many scores the record already
	// had, Failed how many could not be had in two attempts, and Left how many were not
	// asked for because the budget was spent.
	Asked, Recalled, Failed, Left int
	// Tokens are those of all calls in the record, and Estimated says that the server did
	// not count all of them.
	Tokens    int64
	Estimated bool
	Run       string // in the record
}

// attempts is how often a score is asked for before it counts as failed.
const attempts = 2

// A task is one score of one thought.
type task struct {
	key     string
	subject *Subject
	repeat  int // from 1
}

// Run returns the name of the judge's run in the record.
func (j *Judge) Run() string { return "judge-" + j.Rubric.Name + "-" + j.identity()[:16] }

// identity identifies the judge: the rubric with its settings, and the model.
func (j *Judge) identity() string {
	sum := sha256.Sum256([]byte(j.Rubric.Digest() + "\n" + j.Provider + "\n" + j.Settings + "\n" + j.Model.Name()))
	return hex.EncodeToString(sum[:])
}

// keyOf identifies a score: the judge, the thought and the repetition.
func (j *Judge) keyOf(s *Subject, repeat int) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n%t\n", j.identity(), repeat, s.Cut)
	h.Write([]byte(s.Text))
	return hex.EncodeToString(h.Sum(nil))
}

// A working is a judge at work.
type working struct {
	*Judge
	w    *record.Writer
	past *past

	mu     sync.Mutex
	out    *Outcome
	scores map[string][]float64
}

// Score scores the subjects. With an error, the outcome has what was scored before.
func (j *Judge) Score(ctx context.Context, subjects []Subject) (*Outcome, error) {
	p, err := j.recall()
	if err != nil {
		return nil, err
	}
	x := &working{Judge: j, past: p, scores: map[string][]float64{}, out: &Outcome{Run: j.Run(), Tokens: p.tokens, Estimated: p.estimated}}
	var open []task
	seen := map[string]bool{}
	for i := range subjects {
		for repeat := range j.Rubric.Repeat {
			t := task{j.keyOf(&subjects[i], repeat+1), &subjects[i], repeat + 1}
			if seen[t.key] {
				continue
			}
			seen[t.key] = true
			switch s := p.of[t.key]; {
			case s != nil && s.scores != nil:
				x.scores[t.key] = s.scores
				x.out.Recalled++
			case s != nil && len(s.tries) >= attempts && s.judged():
				x.out.Failed++
			default:
				open = append(open, t)
			}
		}
	}
	if len(open) > 0 {
		err = x.work(ctx, open)
	}
	x.out.Scores = make([][][]float64, len(subjects))
	for i := range subjects {
		for repeat := range j.Rubric.Repeat {
			if s := x.scores[j.keyOf(&subjects[i], repeat+1)]; s != nil {
				x.out.Scores[i] = append(x.out.Scores[i], s)
			}
		}
	}
	return x.out, err
}

// work asks for what is open, as a run of the record.
func (x *working) work(ctx context.Context, open []task) (err error) {
	began := time.Now()
	if x.w, err = x.Open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.w.Close()) }()
	start := record.RunStart{Agent: "sotto thoughts", Model: x.Model.Name(), Resumed: x.past.begun, Config: map[string]string{
		"rubric": x.Rubric.Name, "rubric-digest": x.Rubric.Digest(), "provider": x.Provider,
	}}
	if err := x.append(start); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	tasks := make(chan task)
	var workers sync.WaitGroup
	for range max(1, x.Workers) {
		workers.Go(func() {
			for t := range tasks {
				if err := x.score(ctx, t); err != nil {
					stop(err)
				}
			}
		})
	}
	for _, t := range open {
		select {
		case tasks <- t:
		case <-ctx.Done():
		}
	}
	close(tasks)
	workers.Wait()
	end := record.RunEnd{Status: "done", Millis: time.Since(began).Milliseconds()}
	err = context.Cause(ctx)
	switch {
	case err != nil:
		end.Status = "failed"
	case x.out.Left > 0:
		end.Status, end.Bound = "stopped", "tokens"
	}
	return errors.Join(err, x.append(end))
}

// append records an event. It also does so when the work is interrupted.
func (x *working) append(p record.Payload) error {
	_, err := x.w.Append(context.Background(), record.Event{Run: x.out.Run, Payload: p})
	return err
}

// score has a thought scored: by a reply that is recorded but was not read, or by
// asking.
func (x *working) score(ctx context.Context, t task) error {
	if ctx.Err() != nil {
		return nil // the cause is known
	}
	fault := ""
	var tries []try
	if s := x.past.of[t.key]; s != nil {
		tries = s.tries
	}
	for number := 1; number <= attempts; number++ {
		var r try
		switch {
		case number <= len(tries) && tries[number-1].judged:
			fault = tries[number-1].fault
			continue
		case number <= len(tries):
			r = tries[number-1]
		default:
			if !x.affordable() {
				return nil
			}
			var err error
			if r, err = x.ask(ctx, t, number, fault); err != nil {
				return err
			}
		}
		found := x.Rubric.verdict(r.raw, r.start, r.end, x.Grammar)
		if err := x.append(found.payload(r.of, x.Rubric.Name, t.key)); err != nil {
			return err
		}
		if fault = string(found.verdict.Reason); found.verdict.OK {
			x.settle(t.key, found.scores)
			return nil
		}
	}
	x.settle(t.key, nil)
	return nil
}

// affordable reports whether the budget allows a further call, and notes if not.
func (x *working) affordable() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.Budget > 0 && x.out.Tokens >= x.Budget {
		x.out.Left++
		return false
	}
	return true
}

func (x *working) settle(key string, scores []float64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if scores == nil {
		x.out.Failed++
	} else {
		x.scores[key] = scores
	}
	if x.Done != nil {
		x.Done()
	}
}

// ask asks the judge, and records what it replies.
func (x *working) ask(ctx context.Context, t task, number int, fault string) (try, error) {
	seed := int64(t.repeat)
	q := model.Request{
		Messages: x.Rubric.messages(t.subject, fault), MaxTokens: x.Rubric.MaxTokens, Temperature: x.Rubric.Temperature, Seed: &seed, Think: x.Rubric.Think,
	}
	i := agent.Invocation{Model: x.Model, API: x.Provider, Purpose: "judge", Attempt: number, Messages: q.Messages}
	began := time.Now()
	i.Reply, i.Err = x.Model.Invoke(ctx, q, nil)
	i.Took = time.Since(began)
	if i.Err != nil && ctx.Err() != nil {
		return try{}, context.Cause(ctx)
	}
	if i.Err == nil {
		start := sotto.BeginAuto
		if len(i.Reply.Thoughts) > 0 {
			start = sotto.BeginOutside
		}
		var err error
		if i.Reading, err = x.Grammar.ParseWith(i.Reply.Raw, sotto.Options{Start: start, Tools: []string{}}, i.Reply.End); err != nil {
			return try{}, fmt.Errorf("read the reply of the judge: %w", err)
		}
	}
	p := i.Payload()
	p.Messages = x.recorded(t.subject, fault)
	p.Parameters = record.Say(t.parameters(x.Rubric))
	receipt, err := x.w.Append(context.WithoutCancel(ctx), record.Event{Run: x.out.Run, Payload: p})
	if err = cmp.Or(i.Err, err); err != nil {
		return try{}, fmt.Errorf("judge: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.out.Asked++
	x.out.Tokens += p.Usage.Input + p.Usage.Output
	x.out.Estimated = x.out.Estimated || p.Usage.Estimated
	r := &p.Replies[0]
	return try{of: record.Ref{Seq: receipt.Seq, Digest: receipt.Replies[0]}, raw: string(r.Raw.Text), start: r.Start, end: r.End}, nil
}

// recorded are the messages as they are recorded: the thought is in another record, and
// its digest stands for it.
func (x *working) recorded(s *Subject, fault string) []record.Message {
	quoted := fmt.Sprintf("[the thought of event %d, choice %d, of run %q: SHA-256 %s]", s.Seq, s.Choice, s.Run, record.DigestOf(s.Text))
	var list []record.Message
	for _, m := range x.Rubric.request(user(quoted, s.Cut), fault) {
		list = append(list, record.Message{Role: string(m.Role), Text: record.Say(m.Text)})
	}
	return list
}

// parameters are the settings of a call, and what it is about.
func (t task) parameters(r *Rubric) string {
	text, err := json.Marshal(map[string]any{
		"max_tokens": r.MaxTokens, "temperature": r.Temperature, "seed": t.repeat, "think": r.Think,
		"judge": map[string]any{
			"key": t.key, "rubric": r.Digest(), "repeat": t.repeat,
			"run": t.subject.Run, "cycle": t.subject.Cycle, "seq": t.subject.Seq, "choice": t.subject.Choice, "reply": t.subject.Reply,
			"thought": record.DigestOf(t.subject.Text), "cut": t.subject.Cut,
		},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// A finding is what was read in a reply of the judge.
type finding struct {
	answer.Extraction
	verdict answer.Verdict
	scores  []float64
}

// verdict reads the scores in the visible text of a reply.
func (r *Rubric) verdict(raw string, start sotto.Beginning, end sotto.Ending, g *sotto.Grammar) finding {
	p := answer.Problem{Schema: r.Schema()}
	f := finding{Extraction: answer.Extract(answer.JSON, raw, p, answer.Options{Grammar: g, Start: start, End: end})}
	if f.verdict = answer.JSON.Validate(f.Candidate, p); !f.verdict.OK {
		return f
	}
	if f.scores = r.scoresIn(f.Candidate); f.scores == nil {
		f.verdict = answer.Verdict{Reason: answer.NotSchema}
	}
	return f
}

// scoresIn returns the scores of an object that fits the schema, and nil otherwise.
func (r *Rubric) scoresIn(object string) []float64 {
	var members map[string]any
	d := json.NewDecoder(strings.NewReader(object))
	if d.Decode(&members) != nil {
		return nil
	}
	var scores []float64
	for _, c := range r.Criteria {
		v, ok := members[c.Name].(float64)
		if !ok || v < c.From || v > c.To {
			return nil
		}
		scores = append(scores, v)
	}
	return scores
}

// payload is the finding as it is recorded.
func (f *finding) payload(of record.Ref, rubric, key string) record.Extraction {
	x := record.Extraction{
		Of: of, Task: taskPrefix + rubric, Method: f.Method, Status: string(f.Status), Rules: promptVersion + " " + key,
		Candidate: record.Say(f.Candidate), Written: record.Say(f.Written),
		Verdict: &record.Verdict{OK: f.verdict.OK, Reason: string(f.verdict.Reason), By: "schema", Detail: record.Say(f.verdict.Detail)},
	}
	if f.Span != nil {
		x.Span = &record.Span{Start: f.Span.Start, End: f.Span.End}
	}
	return x
}

// taskPrefix begins the task of an extraction of scores.
const taskPrefix = "rubric:"
