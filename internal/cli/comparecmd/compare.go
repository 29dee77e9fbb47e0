// Package comparecmd has the command that compares what exists: logs, arms, shards and
// studies.
package comparecmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/sealing"
	"github.com/sotto-llm/sotto/internal/lab/compare"
	"github.com/sotto-llm/sotto/internal/lab/inputfiles"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/internal/lab/shards"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
)

// Command compares what exists.
type Command struct {
	ByField      string   `name:"by-field" placeholder:"PATH" help:"The field of the arm. If missing, each FILE is an arm."`
	TaskField    string   `name:"task-field" placeholder:"PATH" help:"The field of the task. If missing, task, or what the names of lm-eval's files say."`
	GroupField   string   `name:"group-field" placeholder:"PATH" help:"The field that is the same in all replies to one problem, of all arms. If missing, the id."`
	ClusterField string   `name:"cluster-field" placeholder:"PATH" help:"The field that is the same in problems that are alike, such as the questions about one text: intervals count clusters."`
	VerdictField []string `name:"verdict-field" sep:"none" placeholder:"[NAME=]PATH" help:"The field of the verdict: true or false, right or wrong, C or I, or a number from 0 to 1. Several are those of several judges, each an arm. If missing, where the usual logs have it."`
	Metric       string   `placeholder:"NAME" help:"The metric of logs of lm-eval and HELM, or the scorer of Inspect, if there are several."`
	Filter       string   `placeholder:"NAME" help:"The filter of lm-eval whose samples count. If missing, the first."`
	Key          string   `placeholder:"KEY" help:"Of the folder of a study: the key of the grid whose values are the arms. If missing, all keys."`
	Baseline     string   `placeholder:"ARM" help:"Compare the other arms with this one. If missing, all are compared with each other."`
	Points       float64  `default:"2" placeholder:"N" help:"Say how many problems tell a difference of N percentage points (${default})."`
	Agreement    string   `enum:"nominal,linear,quadratic," default:"" placeholder:"WEIGHTS" help:"The arms are judges of the same replies: say how far they agree, by Cohen's kappa with nominal, linear or quadratic weights."`
	InputFormat  string   `name:"input-format" enum:"auto,jsonl,json,csv,parquet" default:"auto" placeholder:"FORMAT" help:"The format of the logs: jsonl, json (one array), csv (with a header row), parquet, or auto, which finds out."`
	Identity     []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Decrypt sealed outputs and studies with the age identities in FILE; repeatable."`
	JSON         bool     `name:"json" help:"Print the comparison as one JSON object."`
	CSV          string   `name:"csv" placeholder:"DIR" help:"Write rates.csv, at_k.csv, differences.csv and agreement.csv into the folder DIR."`
	HTML         string   `name:"html" placeholder:"FILE" help:"Write the comparison as one page that stands alone."`
	Files        []string `arg:"" optional:"" name:"file" placeholder:"[ARM=]FILE" help:"What is compared: outputs of sotto score and sotto solve, logs of lm-eval, Inspect, HELM, ZeroEval and OpenAI evals, JSON Lines, CSV and Parquet files; the folder of a study of streams, or of the shards of a batch."`

	ids []age.Identity
}

// Help shows examples.
func (Command) Help() string {
	return `Compares arms on the problems that they share: how many each solves, with 95 % intervals; paired differences with McNemar's test or, if problems have several replies, a test of flips of signs; p-values corrected by Holm's method; pass@k and pass^k; and how many problems would tell a difference. A reply without a verdict, because its request failed, has no part in any figure and is counted. The replies of all arms to a problem need the same id. With --by-field, an arm at the end or the beginning of an id, after a mark such as "-", is not a part of it. Docs: docs/compare.md.

Examples:

    sotto compare qwen=a/scored.jsonl gpt=b/scored.jsonl
    sotto compare --by-field arm --verdict-field logged_verdict replies.jsonl
    sotto compare logs/2026-11-29_gsm8k_a.eval logs/2026-11-29_gsm8k_b.eval --html page.html
    sotto compare memory-study --key model.name --csv data
    sotto compare --agreement nominal --verdict-field judge=scores.judge --verdict-field people=label judged.csv`
}

// Validate refuses flags that cannot be combined.
func (x *Command) Validate() error {
	if x.Points <= 0 || x.Points > 100 {
		return errors.New("--points: want a number above 0, up to 100")
	}
	if x.JSON && (x.CSV == "-" || x.HTML == "-") {
		return errors.New("--json: only one result can be on standard output")
	}
	return nil
}

// Run compares.
func (x *Command) Run(sh *shell.Shell) error {
	fields, err := compare.NewFields(compare.Fields{
		Arm: x.ByField, Task: x.TaskField, Problem: x.GroupField, Cluster: x.ClusterField, Verdicts: x.VerdictField, Metric: x.Metric, Filter: x.Filter,
	})
	if err != nil {
		return errorhint.Usage(err, "want a path such as arm or scores.judge")
	}
	if x.ids, err = recording.ReadIdentities(x.Identity); err != nil {
		return fmt.Errorf("--identity: %w", err)
	}
	set := new(compare.Set)
	names := x.Files
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		if err := x.read(sh, set, fields, name); err != nil {
			return err
		}
	}
	r, err := set.Result(compare.Options{Baseline: x.Baseline, Points: x.Points / 100, Agreement: compare.Weights(x.Agreement)})
	if err != nil {
		return errorhint.Usage(err, "")
	}
	if len(r.Differences)+len(r.Agreement) == 0 {
		sh.Hintf("there is nothing to compare: give several files, or --by-field")
	}
	if x.JSON {
		err = shell.PrintJSON(sh.Out, r)
	} else {
		err = r.Print(sh.Text)
	}
	return errors.Join(err, report.Write(r, x.CSV, x.HTML, sh.WriteFile))
}

// read reads a file or a folder.
func (x *Command) read(sh *shell.Shell, set *compare.Set, f *compare.Fields, name string) error {
	arm := ""
	if _, err := os.Stat(name); err != nil { // a file may have an = in its name
		if own, file, ok := strings.Cut(name, "="); ok {
			arm, name = own, file
		}
	}
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return x.log(sh, set, f, name, arm)
	}
	s, err := study.OpenWhole(name, x.ids...)
	switch {
	case err == nil:
		return x.study(sh, set, f, s)
	case !errors.Is(err, study.ErrNone):
		return err
	}
	parts, err := filepath.Glob(filepath.Join(name, "part-*"+shards.OutputEnd))
	if err != nil || len(parts) == 0 {
		return errorhint.Usage(fmt.Errorf("%s: it is neither the folder of a study nor of shards", name), "give files")
	}
	if arm == "" {
		arm = filepath.Base(filepath.Clean(name))
	}
	for _, part := range parts {
		if strings.HasSuffix(part, shards.GroupsEnd) {
			continue
		}
		if err := x.log(sh, set, f, part, arm); err != nil {
			return err
		}
	}
	return nil
}

func (x *Command) log(sh *shell.Shell, set *compare.Set, f *compare.Fields, name, arm string) error {
	in, err := sh.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	rows, err := compare.Open(inputfiles.Input{Reader: sealing.NewReader(in, x.ids), Name: in.Name, File: in.File()}, inputfiles.Format(x.InputFormat))
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	defer rows.Close()
	return sealing.Hint(set.Read(compare.Log{Name: in.Name, Arm: arm, Source: rows}, f))
}

// study reads the streams of a study. Cells that did not end have no part in the comparison.
func (x *Command) study(sh *shell.Shell, set *compare.Set, f *compare.Fields, s *study.Study) error {
	if s.Kind != study.Streams {
		return errorhint.Usage(fmt.Errorf("%s: the runs of agents have no verdicts on problems", s.Dir), "sotto study report compares their measures")
	}
	if x.Key != "" && !slices.Contains(s.Keys, x.Key) {
		return errorhint.Usage(fmt.Errorf("--key %s: the keys of the study are %s", x.Key, strings.Join(s.Keys, ", ")), "")
	}
	for i := range s.Cells {
		c := &s.Cells[i]
		if status := s.State(c).Status; status != study.Done && status != study.Bounded {
			sh.Hintf("cell %s is %s, and has no part in the comparison", c.ID, status)
			continue
		}
		if err := x.log(sh, set, f, study.StreamFile(s.Dir, c.ID), x.armOf(c)); err != nil {
			return err
		}
	}
	return nil
}

// armOf names the arm of a cell by its values.
func (x *Command) armOf(c *study.Cell) string {
	if x.Key != "" {
		return c.Value(x.Key)
	}
	var labels []string
	for _, v := range c.Values {
		labels = append(labels, v.Label)
	}
	if len(labels) == 0 {
		return c.ID
	}
	return strings.Join(labels, " ")
}
