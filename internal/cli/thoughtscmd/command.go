// Package thoughtscmd has the command that analyses what models think in a record.
package thoughtscmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/modelflags"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/internal/lab/thoughts"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/record"
)

// Command analyses the thoughts of a record.
type Command struct {
	Dir      string   `arg:"" name:"dir" help:"The folder of a record, or a folder that holds several, which are read as one."`
	Identity []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Decrypt with the age identities in FILE; repeatable."`

	filter

	By       string   `default:"model" placeholder:"WHAT" help:"What the groups are: model, run, purpose, verdict, a key of the configuration of the runs, or for a study a key of its grid, cell or repetition (${default})."`
	Between  []string `placeholder:"A,B" help:"Compare the phrases of these two groups. Without it, each group is compared with all others."`
	Figure   []string `short:"f" placeholder:"NAME" help:"Print only this figure: size, cycles, repetition, announced, verdicts, longer, reading, phrases, clusters, scores; repeatable."`
	Clusters int      `short:"k" placeholder:"K" help:"The number of clusters. Without it, one from 2 to 8 is chosen."`
	Texts    int      `default:"2000" placeholder:"N" help:"How many thoughts are compared as texts at most (${default})."`
	Embed    string   `placeholder:"NAME" help:"Also compare thoughts by the embeddings of this model."`
	judgeFlags
	modelflags.Server

	JSON bool   `name:"json" help:"Print one JSON object."`
	CSV  string `name:"csv" placeholder:"DIR" help:"Write each figure as a CSV file into the folder DIR."`

	keys []string // what the runs of a study can be grouped by
}

// A filter holds the flags that select replies.
type filter struct {
	Run        string `placeholder:"RUN" help:"Only replies of this run."`
	Cycle      *int   `placeholder:"N" help:"Only replies of this cycle."`
	Model      string `short:"m" placeholder:"NAME" help:"Only replies of this model."`
	Diagnostic string `short:"d" placeholder:"CODE" help:"Only replies with this diagnostic."`
	From       string `placeholder:"TIME" help:"Only replies at TIME or later: 2026-11-21, 2026-11-21T10:00:00Z, or 2h (ago)."`
	To         string `placeholder:"TIME" help:"Only replies before TIME."`
	After      uint64 `placeholder:"SEQ" help:"Only replies of events with a number above SEQ."`
}

// Help explains the figures.
func (Command) Help() string {
	return `Reads the replies of a record and says how much models think, over cycles too; how thoughts repeat; which tools they name and do not call; whether replies with more thought are right more often; which thoughts were cut or rescued; which phrases part two groups; and which clusters thoughts fall into. Every figure says its method, how many replies it rests on, and an interval if it has one. Nothing is sent anywhere, unless you give --embed or --judge.

A thought is all reasoning of one reply. If a level of the record withheld its text, its bytes still count in the sizes. docs/thoughts.md explains each figure, and how a judge model scores thoughts by a rubric.

Examples:

    sotto thoughts audit
    sotto thoughts audit --by temperature --figure verdicts --figure longer
    sotto thoughts audit --json > thoughts.json
    sotto thoughts audit --csv tables
    sotto thoughts audit --rubric care.yaml --judge qwen3:8b`
}

// figureNames are the values of --figure.
var figureNames = []string{"size", "cycles", "repetition", "announced", "verdicts", "longer", "reading", "phrases", "clusters", "scores"}

// Validate refuses flags that cannot be combined.
func (x *Command) Validate() error {
	for _, name := range x.Figure {
		if !slices.Contains(figureNames, name) {
			return fmt.Errorf("--figure %s: want one of %s", name, strings.Join(figureNames, ", "))
		}
	}
	switch {
	case x.Between != nil && (len(x.Between) != 2 || x.Between[0] == x.Between[1]):
		return errors.New("--between: want two different groups, such as --between qwen3:8b,gpt-oss:20b")
	case x.Clusters < 0 || x.Clusters > 100:
		return fmt.Errorf("--clusters %d: want 1 to 100, or nothing", x.Clusters)
	case x.Texts < 1 || x.Texts > maxTexts:
		return fmt.Errorf("--texts %d: want 1 to %d", x.Texts, maxTexts)
	}
	return x.judgeFlags.validate()
}

// maxTexts bounds --texts: each takes up to 16 KiB.
const maxTexts = 100_000

// Run analyses the record.
func (x *Command) Run(sh *shell.Shell, names *dialectset.Set) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := x.options(ctx)
	if err != nil {
		return err
	}
	bad := 0
	events, err := x.events(sh, &bad)
	if err != nil {
		return err
	}
	found, err := thoughts.AnalyseSet(events, o)
	if err != nil {
		return readHint(err)
	}
	if found.Source.Replies == 0 {
		sh.Hintf("the flags select no reply of a model in %s", x.Dir)
	}
	if err := cmp.Or(x.checkBy(found), checkBetween(found, x.Between)); err != nil {
		return err
	}
	var stopped error // the scores so far are reported
	if x.Rubric != "" {
		if stopped = x.score(ctx, sh, names, found); found.Judge == nil {
			return stopped
		}
	}
	if x.CSV != "" {
		tables, err := report.Files(found.Tables())
		if err != nil {
			return err
		}
		if err := report.WriteFiles(x.CSV, tables, sh.WriteFile); err != nil {
			return err
		}
	}
	if x.JSON {
		err = shell.PrintJSON(sh.Out, found)
	} else {
		err = printReport(sh.Text, found, x.Figure)
	}
	if err == nil && bad > 0 {
		sh.Hintf("run sotto record verify to check whether the record was changed")
		err = batch.ErrFailed
	}
	return cmp.Or(stopped, err)
}

// options reads the flags.
func (x *Command) options(ctx context.Context) (o thoughts.Options, err error) {
	o = thoughts.Options{By: x.By, Clusters: x.Clusters, Texts: x.Texts, Context: ctx}
	o.Filter = thoughts.Filter{Run: x.filter.Run, Cycle: x.Cycle, Model: x.Model, Diagnostic: x.Diagnostic, After: x.After}
	if x.Between != nil {
		o.Between = [2]string(x.Between)
	}
	if o.Filter.From, err = recording.ParseTime(x.From); err != nil {
		return o, errorhint.Usage(fmt.Errorf("--from: %w", err), "")
	}
	if o.Filter.To, err = recording.ParseTime(x.To); err != nil {
		return o, errorhint.Usage(fmt.Errorf("--to: %w", err), "")
	}
	if o.Label, x.keys, err = studyLabels(x.Dir, x.By, x.Identity); err != nil {
		return o, err
	}
	if x.Embed != "" {
		embedder, err := x.Embedder(x.Embed)
		if err != nil {
			return o, err
		}
		o.Embed, o.Space = embedder.Embed, x.Embed
	}
	return o, nil
}

// checkBy refuses a setting that no run has.
func (x *Command) checkBy(r *thoughts.Report) error {
	builtin := []string{thoughts.ByModel, thoughts.ByRun, thoughts.ByPurpose, thoughts.ByVerdict}
	known := slices.Concat(builtin, x.keys, r.Source.Settings)
	if r.Source.Replies == 0 || slices.Contains(known, x.By) {
		return nil
	}
	return errorhint.Usage(fmt.Errorf("--by %s: no run has a setting of this name", x.By), "want one of "+strings.Join(known, ", "))
}

// checkBetween refuses groups that are not there.
func checkBetween(r *thoughts.Report, between []string) error {
	var known []string
	for _, row := range r.Size.Rows {
		known = append(known, row.Group)
	}
	for _, name := range between {
		if !slices.Contains(known, name) {
			return errorhint.Usage(fmt.Errorf("--between: there is no group %q", name), "the groups are "+strings.Join(known[:min(len(known), 20)], ", "))
		}
	}
	return nil
}

// readHint adds a hint to a reading error.
func readHint(err error) error {
	switch {
	case errors.Is(err, record.ErrSealed):
		return errorhint.Add(err, "give an identity with --identity FILE")
	case errors.Is(err, fs.ErrPermission):
		return errorhint.Add(err, "only its owner can read a record")
	}
	return err
}
