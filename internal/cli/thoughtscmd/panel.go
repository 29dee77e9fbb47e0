package thoughtscmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/judge"
	"github.com/sotto-llm/sotto/internal/lab/panel"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// Panel has several models rate texts, and says how far they agree.
type Panel struct {
	Source   string   `arg:"" name:"source" placeholder:"DIR|FILE" help:"What is rated: the cycles and replies of a record, by its folder, or the replies of a file, one in each record."`
	Rubric   string   `required:"" placeholder:"FILE" help:"The rubric (YAML): what is rated, and on which scales."`
	Raters   string   `required:"" placeholder:"FILE" help:"The raters (YAML): a name and a model for each."`
	OnlyRun  string   `name:"run" placeholder:"RUN" help:"Of a record: only the cycles of this run."`
	Identity []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Decrypt with the age identities in FILE; repeatable."`

	manner.Lines
	reading.Records
	Field        string `name:"field" placeholder:"PATH" help:"Of a file: the field of the reply (raw)."`
	IDField      string `name:"id-field" default:"id" placeholder:"PATH" help:"Of a file: the field of the reply's id (${default})."`
	AuthorField  string `name:"author-field" default:"model" placeholder:"PATH" help:"Of a file: the field of who wrote the reply, which no rater learns (${default})."`
	ThoughtField string `name:"thought-field" placeholder:"PATH" help:"Of a file: the field of the thought, if the log has it apart from the reply."`

	Seed          uint64        `default:"1" placeholder:"N" help:"The seed of the orders of texts and criteria (${default})."`
	Limit         int           `short:"n" default:"200" placeholder:"N" help:"The maximum number of replies that are rated (${default})."`
	Workers       int           `default:"1" placeholder:"N" help:"How many calls of each rater are made at a time (${default}). Raters work at the same time."`
	BudgetTokens  int64         `name:"budget-tokens" placeholder:"N" help:"Stop asking a rater when it has spent this many tokens on this rubric, those in its record included."`
	OutageRetries int           `name:"outage-retries" default:"5" placeholder:"N" help:"How often a rater whose server is away is asked again (${default})."`
	OutageWait    time.Duration `name:"outage-wait" default:"1m" placeholder:"TIME" help:"The longest wait before it is asked again, at first; each further one is twice as long, up to an hour (${default})."`

	JSON bool   `name:"json" help:"Print one JSON object."`
	CSV  string `name:"csv" placeholder:"DIR" help:"Write ratings.csv, means.csv, agreement.csv, cycles.csv and raters.csv into the folder DIR."`
	HTML string `name:"html" placeholder:"FILE" help:"Write the result as one page that stands alone."`
	recording.Settings
}

// Help shows examples.
func (Panel) Help() string {
	return `Several models rate the same texts by the criteria of a rubric, blind to one another and to who wrote what: a rater gets a text, the criteria in an order of chance, and nothing else. The result has the means of the ratings by author and by cycle, and says how far raters agree: Krippendorff's alpha, Cohen's kappa of each two, unweighted or with linear and quadratic weights, and the intraclass correlations ICC(2,1) and ICC(2,k), with 95 % intervals.

What a rater thinks is separated from its rating, and stays in its record, DIR/NAME below --record (SOURCE.panel). A rating must fit its scale: if it does not, the rater is asked once more, and then the rating counts as failed; it is never guessed. A rater whose server is away is waited for. Every reply is recorded before it counts, so the same command goes on where one was killed, and asks for nothing twice. The last line says how many ratings there are, and how many failed or are missing. Docs: docs/thoughts.md.

Examples:

    sotto panel --rubric inventory.yaml --raters raters.yaml audit --run garden
    sotto panel --rubric care.yaml --raters raters.yaml replies.jsonl --csv tables --html page.html`
}

// Validate refuses flags that cannot be combined.
func (x *Panel) Validate() error {
	switch {
	case x.Limit < 1 || x.Limit > panel.MaxReplies:
		return fmt.Errorf("--limit %d: want 1 to %d", x.Limit, panel.MaxReplies)
	case x.Workers < 1 || x.Workers > 256:
		return fmt.Errorf("--workers %d: want 1 to 256", x.Workers)
	case x.BudgetTokens < 0 || x.OutageRetries < 0 || x.OutageWait <= 0:
		return errors.New("--budget-tokens, --outage-retries and --outage-wait: a bound is negative")
	case x.JSON && (x.CSV == "-" || x.HTML == "-"):
		return errors.New("--json: only one result can be on standard output")
	}
	return nil
}

// Run has the raters rate.
func (x *Panel) Run(sh *shell.Shell, names *dialectset.Set) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	rubric, raters, err := x.read(sh)
	if err != nil {
		return err
	}
	replies := &panel.Collector{Of: rubric.Of, Run: x.OnlyRun, Limit: x.Limit}
	if err := x.collect(sh, names, replies); err != nil {
		return err
	}
	list, err := replies.Replies()
	if err != nil {
		return fmt.Errorf("%s: %w", x.Source, err)
	}
	subjects, of := panel.Subjects(list)
	work, err := x.prepare(sh, names, rubric, raters)
	if err != nil {
		return err
	}
	x.rate(ctx, sh, work, subjects)
	done := make([]panel.Work, len(work))
	for i, w := range work {
		done[i] = w.Work
	}
	r := panel.NewResult(rubric, x.Seed, list, of, done)
	r.Record, r.Found, r.Withheld = x.Record, replies.Found, replies.Withheld
	return x.conclude(ctx, sh, r)
}

// read reads the rubric and the raters.
func (x *Panel) read(sh *shell.Shell) (*judge.Rubric, []panel.Rater, error) {
	data, err := files.Read("rubric", x.Rubric, files.MaxSettings)
	if err != nil {
		return nil, nil, err
	}
	rubric, err := judge.ReadRubric(x.Rubric, data)
	if err != nil {
		return nil, nil, errorhint.Usage(err, "")
	}
	if rubric.Of == "" {
		rubric.Of = judge.OfReply
	}
	if data, err = files.Read("raters", x.Raters, files.MaxSettings); err != nil {
		return nil, nil, err
	}
	raters, err := panel.ReadRaters(x.Raters, data, sh.Getenv)
	if err != nil {
		return nil, nil, errorhint.Usage(err, "")
	}
	return rubric, raters, nil
}

// A rating is a rater at work.
type rating struct {
	panel.Work
	judge *judge.Judge
}

// prepare makes the judges of the raters, each with a record of its own.
func (x *Panel) prepare(sh *shell.Shell, names *dialectset.Set, rubric *judge.Rubric, raters []panel.Rater) ([]*rating, error) {
	var err error
	if x.Record, err = placeRecord(x.Record, x.Source, ".panel"); err != nil {
		return nil, err
	}
	o, err := checkRecord(&x.Settings, x.Identity)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(x.Record, 0o700); err != nil {
		return nil, err
	}
	log := &sync.Mutex{}
	var list []*rating
	for _, r := range raters {
		j := &judge.Judge{
			Agent: "sotto panel", Rubric: r.Rubric(rubric), Provider: r.Model.Provider, Workers: x.Workers, Budget: x.BudgetTokens, Grammar: sotto.Default(), Order: &x.Seed,
			Outages: &retry.Policy{Attempts: x.OutageRetries + 1, First: x.OutageWait, Longest: max(time.Hour, x.OutageWait)},
		}
		if r.Model.Script != "" {
			script, err := files.Read("script", r.Model.Script, files.MaxReply)
			if err != nil {
				return nil, err
			}
			j.Settings = record.DigestOf(string(script)).String()
		}
		if j.Model, err = model.Open(r.Model); err != nil {
			return nil, errorhint.Usage(fmt.Errorf("%s: rater %s: %w", x.Raters, r.Name, err), "")
		}
		if g, known := names.ForModel(j.Model.Name()); known {
			j.Grammar = g
		}
		if r.Dialect != "" {
			if j.Grammar, err = names.Named(r.Dialect); err != nil {
				return nil, dialectset.UnknownDialect(err)
			}
		}
		j.Waits = func(err error, wait time.Duration) {
			log.Lock()
			defer log.Unlock()
			sh.Hintf("rater %s waits %v: %v", r.Name, wait.Round(time.Millisecond), err)
		}
		set := x.Settings
		set.Record = filepath.Join(x.Record, r.Name)
		if err := keepScores(sh, j, set, o); err != nil {
			return nil, err
		}
		r.Model.Model = j.Model.Name()
		list = append(list, &rating{panel.Work{Rater: r, Provider: j.Provider, Record: set.Record}, j})
	}
	return list, nil
}

// rate has all raters rate at the same time.
func (x *Panel) rate(ctx context.Context, sh *shell.Shell, list []*rating, subjects []judge.Subject) {
	n := 0
	for _, w := range list {
		n += len(subjects) * w.judge.Rubric.Repeat
	}
	bar := shell.NewCountProgress(sh, "ratings", n, 0)
	var mu sync.Mutex
	var work sync.WaitGroup
	for _, w := range list {
		w.judge.Done = func() {
			mu.Lock()
			defer mu.Unlock()
			bar.Advance(1)
		}
		work.Go(func() { w.Outcome, w.Err = w.judge.Score(ctx, subjects) })
	}
	work.Wait()
	bar.Clear()
}

// conclude prints and writes the result. Ratings that are missing are an error.
func (x *Panel) conclude(ctx context.Context, sh *shell.Shell, r *panel.Result) error {
	err := report.Write(r, x.CSV, x.HTML, sh.WriteFile)
	if err == nil && x.JSON {
		if err = shell.PrintJSON(sh.Out, r); err == nil {
			fmt.Fprintln(sh.Err, r.Last())
		}
	} else if err == nil {
		err = r.Print(sh.Text)
	}
	if err != nil || r.Missing == 0 {
		return err
	}
	for _, rater := range r.Raters {
		if rater.Error != "" && ctx.Err() == nil {
			sh.Errorf("rater %s stopped: %s", rater.Name, rater.Error)
		}
	}
	why := "some raters stopped"
	if ctx.Err() != nil {
		why = "interrupted"
	} else if x.BudgetTokens > 0 {
		why = fmt.Sprintf("some raters stopped, or spent the budget of %d tokens", x.BudgetTokens)
	}
	return errorhint.Add(fmt.Errorf("%s: %d of %d ratings are missing", why, r.Missing, r.Ratings), "the ratings so far are in "+x.Record+": the same command continues from there")
}
