package thoughtscmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/judge"
	"github.com/sotto-llm/sotto/internal/lab/thoughts"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// judgeFlags are the flags of a judge model.
type judgeFlags struct {
	Rubric       string `placeholder:"FILE" help:"Have a judge model score thoughts by the rubric in FILE (YAML)."`
	Judge        string `placeholder:"NAME" help:"The judge model."`
	JudgeScript  string `name:"judge-script" placeholder:"FILE" help:"Play the scripted replies of FILE as the judge."`
	JudgeDialect string `name:"judge-dialect" placeholder:"NAME" help:"Read the judge's replies in this dialect. Without it, that of its name."`
	Limit        int    `short:"n" default:"200" placeholder:"N" help:"The maximum number of thoughts that are scored (${default})."`
	Workers      int    `default:"1" placeholder:"N" help:"How many calls of the judge are made at a time (${default})."`
	BudgetTokens int64  `name:"budget-tokens" placeholder:"N" help:"Stop asking the judge when this many tokens are spent on this rubric, those in its record included."`
	recording.Settings
}

// validate refuses flags that cannot be combined.
func (j *judgeFlags) validate() error {
	switch {
	case j.Rubric == "" && (j.Judge != "" || j.JudgeScript != "" || j.BudgetTokens != 0):
		return errors.New("--judge, --judge-script and --budget-tokens need --rubric")
	case j.Rubric != "" && (j.Judge == "") == (j.JudgeScript == ""):
		return errors.New("--rubric needs one of --judge and --judge-script")
	case j.Limit < 1 || j.Limit > maxTexts:
		return fmt.Errorf("--limit %d: want 1 to %d", j.Limit, maxTexts)
	case j.Workers < 1 || j.Workers > 256:
		return fmt.Errorf("--workers %d: want 1 to 256", j.Workers)
	case j.BudgetTokens < 0:
		return errors.New("--budget-tokens: want more than 0")
	}
	return nil
}

// score has the judge score the thoughts of a report, and adds its scores.
func (x *Command) score(ctx context.Context, sh *shell.Shell, names *dialectset.Set, r *thoughts.Report) error {
	data, err := files.Read("rubric", x.Rubric, files.MaxSettings)
	if err != nil {
		return err
	}
	rubric, err := judge.ReadRubric(x.Rubric, data)
	if err != nil {
		return errorhint.Usage(err, "")
	}
	if rubric.Of != "" && rubric.Of != judge.OfThought {
		return errorhint.Usage(fmt.Errorf("%s: it is a rubric of %s", x.Rubric, rubric.Of), "sotto panel rates replies; sotto thoughts only thoughts")
	}
	j, err := x.judge(sh, names, rubric)
	if err != nil {
		return err
	}
	held := r.Held(x.judgeFlags.Limit)
	subjects := make([]judge.Subject, len(held))
	for i, t := range held {
		subjects[i] = judge.Subject{Text: t.Text, Cut: t.Cut, Run: t.Run, Cycle: t.Cycle, Seq: t.Seq, Choice: t.Choice, Reply: t.Reply}
	}
	bar := shell.NewCountProgress(sh, "scores", len(subjects)*rubric.Repeat, 0)
	j.Done = func() { bar.Advance(1) }
	out, err := j.Score(ctx, subjects)
	bar.Clear()
	if out == nil {
		return err
	}
	r.Judge = &thoughts.Judgement{
		Rubric: rubric.Name, Digest: rubric.Digest(), Model: j.Model.Name(), Record: x.Record, Run: out.Run, Thoughts: len(held), Repeat: rubric.Repeat,
		Asked: out.Asked, Recalled: out.Recalled, Failed: out.Failed, Left: out.Left, Tokens: out.Tokens, Estimated: out.Estimated,
		Each: []thoughts.Scored{},
	}
	var criteria []thoughts.Criterion
	for _, c := range rubric.Criteria {
		criteria = append(criteria, thoughts.Criterion{Name: c.Name, From: c.From, To: c.To})
		r.Judge.Criteria = append(r.Judge.Criteria, c.Name)
	}
	for i, t := range held {
		given := slices.DeleteFunc(out.Scores[i], func(scores []float64) bool { return scores == nil })
		if len(given) > 0 {
			r.Judge.Each = append(r.Judge.Each, thoughts.Scored{Thought: t, Scores: given})
		}
	}
	r.Judge.Scores = r.JudgedFigure(criteria, r.Judge.Each)
	switch {
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	case err == nil && out.Left > 0:
		err = fmt.Errorf("the budget of %d tokens is spent: %d scores are left", x.BudgetTokens, out.Left)
	}
	if err != nil {
		return errorhint.Add(err, "the scores so far are in "+x.Record+": the same command continues from there")
	}
	return nil
}

// judge makes the judge of the flags.
func (x *Command) judge(sh *shell.Shell, names *dialectset.Set, rubric *judge.Rubric) (*judge.Judge, error) {
	j := &judge.Judge{Rubric: rubric, Provider: x.Provider, Workers: x.Workers, Budget: x.BudgetTokens, Grammar: sotto.Default()}
	var err error
	if x.JudgeScript != "" {
		var script []byte
		if script, err = files.Read("script", x.JudgeScript, files.MaxReply); err != nil {
			return nil, err
		}
		j.Provider, j.Settings = "scripted", record.DigestOf(string(script)).String()
		j.Model, err = model.Open(model.Config{Provider: j.Provider, Script: x.JudgeScript})
	} else {
		j.Model, err = x.Open(x.Judge)
	}
	if err != nil {
		return nil, err
	}
	if g, known := names.ForModel(j.Model.Name()); known {
		j.Grammar = g
	}
	if x.JudgeDialect != "" {
		if j.Grammar, err = names.Named(x.JudgeDialect); err != nil {
			return nil, dialectset.UnknownDialect(err)
		}
	}
	if x.Record, err = placeRecord(x.Record, x.Dir, ".judged"); err != nil {
		return nil, err
	}
	o, err := checkRecord(&x.Settings, x.Identity)
	if err != nil {
		return nil, err
	}
	return j, keepScores(sh, j, x.Settings, o)
}

// keepScores gives a judge its record, of which it reads what is there.
func keepScores(sh *shell.Shell, j *judge.Judge, set recording.Settings, o record.ReadOptions) error {
	j.Open = func() (*record.Writer, error) {
		return set.Open(nil, sh.Log(slog.LevelInfo))
	}
	has, err := recording.HasEvents(set.Record)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !has {
		return nil // it is made when it is opened
	}
	if err != nil {
		return err
	}
	past, err := record.OpenReader(set.Record, o)
	if err != nil {
		return err
	}
	j.Past = iter.Seq2[record.Event, error](past.Events(record.Query{Run: j.Run(), NoCheckpoints: true}))
	return nil
}

// placeRecord says where the record of judges is: beside what they judge, unless a flag
// names it. Within it, their replies would be judged too.
func placeRecord(record, of, end string) (string, error) {
	dir, err := filepath.Abs(of)
	if err != nil {
		return "", err
	}
	if record == "" {
		record = filepath.Clean(of) + end
		if base := filepath.Base(filepath.Clean(of)); base == "." || base == ".." {
			record = dir + end
		}
	}
	own, err := filepath.Abs(record)
	if err != nil {
		return "", err
	}
	if within, err := filepath.Rel(dir, own); err == nil && !strings.HasPrefix(within, "..") {
		return "", errorhint.Usage(fmt.Errorf("--record %s: the judge's record cannot be in %s, because its replies would be analysed too", record, of), "")
	}
	return record, nil
}

// checkRecord refuses a record of the judge from which it could not continue, or that
// would hold in clear what another record encrypts. It returns how the record is read.
func checkRecord(set *recording.Settings, identity []string) (read record.ReadOptions, err error) {
	o, faults := set.Options()
	if len(faults) > 0 {
		return read, errorhint.Usage(faults[0], "")
	}
	switch {
	case o.Answer != record.Full:
		return read, errorhint.Usage(errors.New("--record-answer: the scores are read back from the record, so it must hold answers in full"), "")
	case len(identity) > 0 && len(set.RecordRecipient) == 0:
		return read, errorhint.Usage(errors.New("the thoughts come from an encrypted record, and the judge's replies quote them"), "encrypt its record too, with --record-recipient")
	case len(identity) == 0 && len(set.RecordRecipient) > 0:
		return read, errorhint.Usage(errors.New("--record-recipient: the scores are read back from the record"), "give an identity that decrypts it with --identity")
	}
	if read.Identities, err = recording.ReadIdentities(identity); err != nil {
		return read, fmt.Errorf("--identity: %w", err)
	}
	return read, nil
}
