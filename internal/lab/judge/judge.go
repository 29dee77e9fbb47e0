package judge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A Judge scores texts.
type Judge struct {
	Agent    string // what works, for the record; "sotto thoughts" if empty
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
	// Order, if not nil, is a seed: the subjects are taken in an order of chance, and each
	// request has the criteria in an order of its own. Both depend on the seed alone, which
	// is a setting like the others: another seed asks for everything again.
	Order *uint64
	// Outages, if not nil, says how a server that is away is waited for. A request that it
	// cannot process is then a failed attempt at its score, and does not stop the judge.
	// Without it, the first error of a request does.
	Outages *retry.Policy
	// Waits, if not nil, is called before each wait for a server.
	Waits func(err error, wait time.Duration)
	// Done, if not nil, is called after each score that was asked for.
	Done func()
}

// A Subject is a text to score.
type Subject struct {
	Text string
	Cut  bool // the text is only the beginning
	// Where it comes from, for the record. ID is the name of a reply that is not in a record.
	ID     string
	Run    string
	Cycle  int
	Seq    uint64
	Choice int
	Reply  record.Digest
}

// An Outcome is the scores of texts.
type Outcome struct {
	// Scores are those of each subject, in the rubric's order of criteria: a list for
	// each time that it was to be scored. The list is nil if the judge did not give scores,
	// or if the work stopped before.
	Scores [][][]float64
	// Asked is how many calls were made, Recalled how many scores the record already
	// had, Failed how many could not be had in two attempts, and Left how many were not
	// asked for because the budget was spent. Wanted is how many different scores there were
	// to be had: those that are neither given nor failed are missing.
	Asked, Recalled, Failed, Left, Wanted int
	// Faults count the failed scores by what was wrong with the last attempt.
	Faults map[string]int
	// Tokens are those of all calls in the record, and Estimated says that the server did
	// not count all of them.
	Tokens    int64
	Estimated bool
	Run       string // in the record
}

// attempts is how often a score is asked for before it counts as failed.
const attempts = 2

// A task is one score of one text.
type task struct {
	key     string
	subject *Subject
	repeat  int // from 1
}

// Run returns the name of the judge's run in the record.
func (j *Judge) Run() string { return "judge-" + j.Rubric.Name + "-" + j.identity()[:16] }

// identity identifies the judge: the rubric with its settings, the model and the seed.
func (j *Judge) identity() string {
	text := j.Rubric.Digest() + "\n" + j.Provider + "\n" + j.Settings + "\n" + j.Model.Name()
	if j.Order != nil {
		text += fmt.Sprintf("\nseed %d", *j.Order)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// keyOf identifies a score: the judge, the text and the repetition.
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
	x := &working{Judge: j, past: p, scores: map[string][]float64{}, out: &Outcome{Run: j.Run(), Tokens: p.tokens, Estimated: p.estimated, Faults: map[string]int{}}}
	var open []task
	seen := map[string]bool{}
	for i := range subjects {
		for repeat := range j.Rubric.Repeat {
			t := task{j.keyOf(&subjects[i], repeat+1), &subjects[i], repeat + 1}
			if seen[t.key] {
				continue
			}
			seen[t.key] = true
			x.out.Wanted++
			switch s := p.of[t.key]; {
			case s != nil && s.scores != nil:
				x.scores[t.key] = s.scores
				x.out.Recalled++
			case s != nil && len(s.tries) >= attempts && s.judged():
				x.out.Failed++
				x.out.Faults[s.tries[len(s.tries)-1].fault]++
			default:
				open = append(open, t)
			}
		}
	}
	if len(open) > 0 {
		j.shuffle(open)
		err = x.work(ctx, open)
	}
	x.out.Scores = make([][][]float64, len(subjects))
	for i := range subjects {
		for repeat := range j.Rubric.Repeat {
			x.out.Scores[i] = append(x.out.Scores[i], x.scores[j.keyOf(&subjects[i], repeat+1)])
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
	start := record.RunStart{Agent: cmp.Or(x.Agent, "sotto thoughts"), Model: x.Model.Name(), Resumed: x.past.begun, Config: map[string]string{
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

// score has a text scored: by a reply that is recorded but was not read, or by
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
			if r, err = x.ask(ctx, t, number, fault); errors.Is(err, errRequest) {
				fault = requestFailed
				continue
			} else if err != nil {
				return err
			}
		}
		found := x.Rubric.verdict(r.raw, r.start, r.end, x.Grammar)
		if err := x.append(found.payload(r.of, x.Rubric.Name, t.key)); err != nil {
			return err
		}
		if fault = string(found.verdict.Reason); found.verdict.OK {
			x.settle(t.key, found.scores, "")
			return nil
		}
	}
	x.settle(t.key, nil, fault)
	return nil
}

// requestFailed is the fault of an attempt whose request the server did not process.
const requestFailed = "request_failed"

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

func (x *working) settle(key string, scores []float64, fault string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if scores == nil {
		x.out.Failed++
		x.out.Faults[fault]++
	} else {
		x.scores[key] = scores
	}
	if x.Done != nil {
		x.Done()
	}
}

// recorded are the messages as they are recorded: the text is in another record or file,
// and its digest stands for it.
func (x *working) recorded(t task, fault string) []record.Message {
	s, noun := t.subject, x.Rubric.words().noun
	quoted := fmt.Sprintf("[the %s of event %d, choice %d, of run %q: SHA-256 %s]", noun, s.Seq, s.Choice, s.Run, record.DigestOf(s.Text))
	if s.ID != "" {
		quoted = fmt.Sprintf("[the %s of %q: SHA-256 %s]", noun, s.ID, record.DigestOf(s.Text))
	}
	var list []record.Message
	for _, m := range x.Rubric.request(x.Rubric.user(quoted, s.Cut), x.order(t.key), fault) {
		list = append(list, record.Message{Role: string(m.Role), Text: record.Say(m.Text)})
	}
	return list
}

// parameters are the settings of a call, and what it is about.
func (t task) parameters(r *Rubric) string {
	about := map[string]any{
		"key": t.key, "rubric": r.Digest(), "repeat": t.repeat,
		"run": t.subject.Run, "cycle": t.subject.Cycle, "seq": t.subject.Seq, "choice": t.subject.Choice, "reply": t.subject.Reply,
		r.words().noun: record.DigestOf(t.subject.Text), "cut": t.subject.Cut,
	}
	if t.subject.ID != "" {
		about["id"] = t.subject.ID
	}
	return string(marshalled(map[string]any{
		"max_tokens": r.MaxTokens, "temperature": r.Temperature, "seed": t.repeat, "think": r.Think, "judge": about,
	}))
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
		if len(c.Labels) > 0 {
			label, _ := members[c.Name].(string)
			v = float64(slices.Index(c.Labels, label) + 1) // 0 for another word
			ok = true
		}
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
