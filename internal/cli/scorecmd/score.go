// Package scorecmd has the commands that extract answers from replies: extract, and
// score, which also judges them.
package scorecmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sotto-llm/sotto/internal/batch"
	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/scoring"
)

// Score judges the answers of replies.
type Score struct {
	common
	JSONL       bool     `name:"jsonl" help:"Judge one reply per JSON line, or per element of a JSON array."`
	K           bool     `help:"Report how many problems are solved by the best of k replies, and by majority vote."`
	GroupField  string   `name:"group-field" placeholder:"PATH" help:"The field that is the same in all replies to one problem (that of --input-field)."`
	Vote        string   `enum:"candidate,reply" default:"candidate" placeholder:"WHAT" help:"What a majority vote counts: candidate, or reply (the whole reply)."`
	ByField     string   `name:"by-field" placeholder:"PATH" help:"Also summarize by each value of a field, such as the model."`
	LoggedField string   `name:"logged-field" placeholder:"PATH" help:"Compare the verdicts with those of a field: true or 1, false or 0."`
	Compare     string   `placeholder:"WHAT" help:"Print only differences from FILE, which score or extract wrote for the same lines, or from other settings, such as start=outside,from-reasoning=true."`
	HTML        string   `name:"html" placeholder:"FILE" help:"Write a page with the summary, plots, and failures to browse."`
	JSON        bool     `name:"json" help:"Print the summary as one JSON object."`
	Files       []string `arg:"" optional:"" name:"file" placeholder:"FILE" help:"The reply, or with --jsonl the lines. Several files are read one after another."`
}

// Help shows examples.
func (Score) Help() string {
	return `The object is that of sotto extract, with the verdict on the candidate added: "ok", its "reason" and "detail", and "by", which says how the candidate equals the right answer: string, rational, element or none. The summary goes to standard error, with 95 % intervals (Wilson's; for best of k, the normal interval over problems). It does not depend on the order of the lines.

Best of k is the unbiased estimate 1 - C(n-c,k)/C(n,k), where c of the n replies to a problem are right, over all problems with at least k replies. In a majority vote, a reply without a candidate has no vote. A tie counts as the fraction of the tied answers that are right.

A change of --compare is {"v","id","change","from","to"}: gained, lost, candidate, method, span, status or reason. A line whose gold cannot be parsed fails. Other faults are handled as in sotto extract.

Tasks: ` + scoring.TaskNames() + `.

Examples:

    printf 'Answer: 3*8 = 24' | sotto score --task game24 --input '3 8 1 1'
    sotto score --task math --jsonl --html report.html replies.jsonl > scored.jsonl
    sotto score --task math --jsonl --compare scored.jsonl --from-reasoning replies.jsonl
    sotto score --task game24 --jsonl --input-field gold --k --by-field arm -o scored.jsonl --resume replies.jsonl`
}

// Validate refuses flags that cannot be combined.
func (x *Score) Validate() error {
	if !x.JSONL && (x.K || x.GroupField+x.ByField+x.LoggedField+x.Compare+x.HTML != "" || x.JSON) {
		return errors.New("a summary needs --jsonl")
	}
	if x.Compare != "" && x.Resume {
		return errors.New("--compare cannot be combined with --resume")
	}
	if x.Compare != "" && x.Record != "" {
		return errors.New("--compare cannot be combined with --record")
	}
	return cmp.Or(x.output.validate(x.JSONL, len(x.Files)), checkResume(&x.Settings, &x.output))
}

// Run judges one reply, or the reply of every line.
func (x *Score) Run(sh *shell.Shell, c *catalogue.Catalogue) error {
	e, v, err := x.prepare(sh, c, "score")
	if err != nil {
		return err
	}
	return v.end(x.run(sh, c, e, v))
}

func (x *Score) run(sh *shell.Shell, c *catalogue.Catalogue, e *scoring.Extractor, v *evidence) (err error) {
	if !x.JSONL {
		return x.one(sh, e, v)
	}
	s := scoring.NewScorer(e, x.Vote == "reply", x.HTML != "")
	s.Record = v.line
	b := &batchRun{sh: sh, files: x.Files, extractor: e, judge: s.Judge, seen: s.Note, lost: s.Lost, evidence: v}
	if b.reader, err = x.places(c); err != nil {
		return err
	}
	versus, err := x.comparison(sh, c, s, b)
	if err != nil {
		return err
	}
	defer versus.close()
	err = b.run(&x.output)
	if err == nil || errors.Is(err, batch.ErrFailed) {
		err = worst(err, versus.spent(), x.conclude(sh, s, versus))
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
func (x *Score) places(c *catalogue.Catalogue) (*scoring.LineReader, error) {
	r, err := x.reader(c)
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
func (x *Score) one(sh *shell.Shell, e *scoring.Extractor, v *evidence) error {
	p, err := readOne(sh, e, x.Files)
	if err != nil {
		return err
	}
	was := e.Judge(p)
	if err := v.line(p, was.Extraction, &was.Verdict); err != nil {
		return err
	}
	if err := sh.Print(append(scoring.AppendResult(nil, nil, was), '\n')); err != nil {
		return err
	}
	return cmp.Or(scoring.BadGold(was), noAnswer(was.Extraction))
}

// conclude prints the summary and writes the page.
func (x *Score) conclude(sh *shell.Shell, s *scoring.Scorer, versus *comparison) error {
	sum := s.Total().Summary()
	sum.V, sum.Task, sum.Compared = 1, s.Extractor.Task.Name(), versus.counts()
	if x.JSON {
		text, err := json.Marshal(sum)
		if err != nil {
			return fmt.Errorf("summary: %w", err)
		}
		fmt.Fprintf(sh.Err.Data(), "%s\n", text)
	} else {
		sum.Print(sh.Err)
	}
	if x.HTML == "" {
		return nil
	}
	page, err := scoring.Page(sum, s.Total().Failures)
	if err != nil {
		return err
	}
	return sh.WriteFile(x.HTML, page)
}
