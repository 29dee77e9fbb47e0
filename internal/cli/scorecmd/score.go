// Package scorecmd has the commands that extract answers from replies: extract, and
// score, which also judges them.
package scorecmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/columns"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// Command holds the commands about scores.
type Command struct {
	Judge Score `cmd:"" default:"withargs" help:"Judge the answers of replies; the default."`
	Merge Merge `cmd:"" help:"Add up the scores of the shards of a batch."`
}

// Help shows examples.
func (Command) Help() string {
	return `Without a command, the flags are those of "sotto score judge"; see its --help. A FILE with the name judge or merge is ./judge or ./merge.

Examples:

    sotto score --task math --jsonl --html report.html replies.jsonl > scored.jsonl
    sotto score --task math --jsonl --shard 0/400 -o scored/ replies-*.jsonl
    sotto score merge scored/`
}

// Score judges the answers of replies.
type Score struct {
	common
	gate
	JSONL       bool     `name:"jsonl" help:"Judge one reply per record: JSON line, element of a JSON array, or row of a CSV or Parquet file."`
	K           bool     `help:"Report how many problems are solved by the best of k replies, and by majority vote."`
	GroupField  string   `name:"group-field" placeholder:"PATH" help:"The field that is the same in all replies to one problem (that of --input-field)."`
	Vote        string   `enum:"candidate,reply" default:"candidate" placeholder:"WHAT" help:"What a majority vote counts: candidate, or reply (the whole reply)."`
	ByField     string   `name:"by-field" placeholder:"PATH" help:"Also summarize by each value of a field, such as the model."`
	LoggedField string   `name:"logged-field" placeholder:"PATH" help:"Compare the verdicts with those of a field: true or 1, false or 0."`
	Compare     string   `placeholder:"WHAT" help:"Print only differences from FILE, which score or extract wrote, joined by id in any order, or from other settings, such as start=outside,from-reasoning=true."`
	MaxLost     *int     `name:"max-lost" placeholder:"N" help:"With --compare: exit with status 5 if more than N lines that were right are not right now."`
	HTML        string   `name:"html" placeholder:"FILE" help:"Write a page with the summary, plots, and failures to browse."`
	JSON        bool     `name:"json" help:"Print the summary as one JSON object on standard output, and nothing else there. The objects need --output."`
	Files       []string `arg:"" optional:"" name:"file" placeholder:"FILE" help:"The reply, or with --jsonl the lines. Several files are read one after another."`
}

// Help shows examples.
func (Score) Help() string {
	return `The object is that of sotto extract, with the verdict on the candidate added: "ok", its "reason" and "detail", and "by", which says how the candidate equals the right answer: string, rational, element or none. The summary goes to standard error, with 95 % intervals (Wilson's; for best of k, the normal interval over problems). It does not depend on the order of the lines. If several replies answer one problem (--k), they are not independent, and the interval of "solved" counts them by problem. With --json, the summary is alone on standard output.

A right answer may be a text, a number, a list of texts that are all right, an object with text or aliases, or a solution: what follows "####" or stands in \boxed{}. Of a choice it may be a letter, a label, the text of an option or an index from 0; a list, and letters such as ABD, are right together. Options may be a list, a list of objects, or an object of texts by label. With --gold-file, right answers come from another file by id. An id that is missing or double there is an error, and so is a gold that no reply has asked for.

Best of k is the unbiased estimate 1 - C(n-c,k)/C(n,k), where c of the n replies to a problem are right, over all problems with at least k replies. In a majority vote, a reply without a candidate has no vote. A tie counts as the fraction of the tied answers that are right.

A change of --compare is {"v","id","change","from","to"}: gained, lost, candidate, method, span, status or reason. Lines are joined by id; those of one id, and those without, in their order. Lines that only one of the runs has are counted as added and missing. The summary has the p-value of McNemar's exact test: how likely a split into gained and lost is that is at least as uneven, if nothing has changed.

A line whose gold cannot be read fails. Of the errors of one kind the first three are printed, and the others are counted. Other faults are handled as in sotto extract. With --min-solved and --max-lost, a run that is too bad ends with exit status 5.

Tasks: ` + scoring.TaskNames() + `.

Examples:

    printf 'Answer: 3*8 = 24' | sotto score --task game24 --input '3 8 1 1'
    sotto score --task math --jsonl --html report.html replies.jsonl > scored.jsonl
    sotto score --task math --jsonl --compare scored.jsonl --from-reasoning replies.jsonl
    sotto score --task math --jsonl --compare scored.jsonl --max-lost 0 --min-solved 80% replies.jsonl
    sotto score --task game24 --jsonl --input-field gold --k --by-field arm -o scored.jsonl --resume replies.jsonl`
}

// batch reports whether the input holds records.
func (x *Score) batch() bool { return x.JSONL || x.Given(x.Files...) }

// Validate refuses flags that cannot be combined.
func (x *Score) Validate() error {
	if !x.batch() && (x.K || x.GroupField+x.ByField+x.LoggedField+x.Compare+x.HTML+x.MinSolved != "" || x.JSON || x.MaxLost != nil) {
		return errors.New("a summary needs --jsonl")
	}
	if _, err := x.minSolved(); err != nil {
		return err
	}
	if err := x.ValidateUnread(); err != nil {
		return err
	}
	if x.MaxLost != nil && x.Compare == "" {
		return errors.New("--max-lost needs --compare")
	}
	if x.Compare != "" && x.Resume {
		return errors.New("--compare cannot be combined with --resume")
	}
	if x.Compare != "" && x.Adds(x.Output) {
		return errors.New("--compare cannot be combined with --add-columns or FILE.parquet: it prints only differences")
	}
	if x.Compare != "" && x.Record != "" {
		return errors.New("--compare cannot be combined with --record")
	}
	if x.Compare != "" && len(x.With) > 0 {
		return errors.New("--compare cannot be combined with --with: it prints only differences")
	}
	return x.validate(x.batch(), x.Files, x.whole()...)
}

// whole returns the names of flags that are set and need the whole batch.
func (x *Score) whole() (names []string) {
	for name, set := range map[string]bool{
		"json": x.JSON, "max-lost": x.MaxLost != nil, "min-solved": x.MinSolved != "",
	} {
		if set {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Run judges one reply, or the reply of every line.
func (x *Score) Run(sh *shell.Shell, c *dialectset.Set, as *reading.Invocation) error {
	if err := manner.CheckField(sh, x.Field, x.batch()); err != nil {
		return err
	}
	e, v, err := x.prepare(sh, c, "score")
	if err != nil {
		return err
	}
	return v.end(x.run(sh, c, as, e, v))
}

func (x *Score) run(sh *shell.Shell, c *dialectset.Set, as *reading.Invocation, e *scoring.Extractor, v *evidence) (err error) {
	if !x.batch() {
		return x.one(sh, c, e, v)
	}
	s := scoring.NewScorer(e, x.Vote == "reply", x.HTML != "")
	s.Record = v.line
	b := &batchRun{sh: sh, records: x.Records, files: x.Files, extractor: e, judge: s.Judge, watch: reading.NewWatch(c), seen: s.Note, lost: s.Lost, evidence: v}
	if b.reader, err = x.places(sh, c); err != nil {
		return err
	}
	if b.added, err = x.added(new(columns.Score)); err != nil {
		return err
	}
	versus, err := x.comparison(sh, c, s, b)
	if err != nil {
		return err
	}
	defer versus.close()
	if x.Shard != "" {
		return cmp.Or(b.shard(&x.common, c, as, s.Total, versus), x.page(sh, s))
	}
	objects := *sh
	if x.JSON && cmp.Or(x.Output, "-") == "-" {
		objects.Into(io.Discard) // the summary is alone on standard output
		b.sh = &objects
	}
	err = b.run(&x.output)
	if err == nil || errors.Is(err, batch.ErrFailed) {
		err = worst(err, x.conclude(sh, s, versus, b.watch.Tally()))
	}
	return err
}

// worst returns the first error that was not reported yet. If there is none, it
// returns the first error.
func worst(errs ...error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, batch.ErrFailed) {
			return err
		}
	}
	return cmp.Or(errs...)
}

// places returns the reader of lines, with the fields of the summary.
func (x *Score) places(sh *shell.Shell, c *dialectset.Set) (*scoring.LineReader, error) {
	r, err := x.reader(sh, c)
	if err != nil {
		return nil, err
	}
	if x.K || x.HTML != "" {
		group := scoring.Placed(x.GroupField, r.Places[scoring.PlaceInput].Name)
		group.Required = x.K
		err = r.Look(scoring.PlaceGroup, group)
	}
	return r, cmp.Or(err, r.Look(scoring.PlaceBy, scoring.LineField{Name: x.ByField, Required: x.ByField != ""}), r.Look(scoring.PlaceLogged, scoring.LineField{Name: x.LoggedField}))
}

// one judges a reply in plain text.
func (x *Score) one(sh *shell.Shell, c *dialectset.Set, e *scoring.Extractor, v *evidence) error {
	p, err := readOne(sh, c, e, x.Files, int(x.MaxLine))
	if err != nil {
		return err
	}
	was := e.Judge(p)
	if err := v.line(p, was.Extraction, &was.Verdict); err != nil {
		return err
	}
	object, err := e.AppendJudged(nil, nil, p, was)
	if err != nil {
		return err
	}
	if err := sh.Print(append(object, '\n')); err != nil {
		return err
	}
	return cmp.Or(scoring.BadGold(was), noAnswer(was.Extraction))
}

// conclude prints the summary and writes the page.
func (x *Score) conclude(sh *shell.Shell, s *scoring.Scorer, versus *comparison, read *dialectset.Tally) error {
	sum := s.Total().Summary()
	sum.V, sum.Task, sum.Dialects = 1, s.Extractor.Task.Name(), read
	if err := versus.conclude(sum); err != nil {
		return err
	}
	if err := printSummary(sh, sum, x.JSON); err != nil {
		return err
	}
	if err := x.write(sh, sum, s); err != nil {
		return err
	}
	return x.gates(sum)
}

// write writes the page.
func (x *Score) write(sh *shell.Shell, sum *scoring.Summary, s *scoring.Scorer) error {
	if x.HTML == "" {
		return nil
	}
	page, err := scoring.Page(sum, s.Total().Failures)
	if err != nil {
		return err
	}
	return sh.WriteFile(x.HTML, page)
}

// page writes the page of a shard, unless an earlier run has done the shard.
func (x *Score) page(sh *shell.Shell, s *scoring.Scorer) error {
	sum := s.Total().Summary()
	sum.V, sum.Task = 1, s.Extractor.Task.Name()
	if x.HTML != "" && sum.Lines+sum.Failed == 0 {
		sh.Hintf("no page: an earlier run has done the shard; sotto score merge --html writes one of all shards")
		return nil
	}
	return x.write(sh, sum, s)
}

// printSummary prints a summary for people, or for programs.
func printSummary(sh *shell.Shell, sum *scoring.Summary, asJSON bool) error {
	if !asJSON {
		sum.Print(sh.Err)
		return nil
	}
	text, err := json.Marshal(sum)
	if err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	return sh.Print(append(text, '\n'))
}

// gates returns an error if the run is worse than --min-solved or --max-lost allow.
func (x *Score) gates(sum *scoring.Summary) error {
	if err := x.check(sum); err != nil {
		return err
	}
	if p := sum.Paired; x.MaxLost != nil && p != nil && p.Lost+p.Missing > *x.MaxLost {
		return shell.GateFailed(fmt.Errorf("%d lines that were right are wrong now and %d are missing, which is more than --max-lost %d", p.Lost, p.Missing, *x.MaxLost))
	}
	return nil
}
