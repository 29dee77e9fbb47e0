package scorecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/compare"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
	"github.com/sotto-llm/sotto/internal/lab/shards"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// A Merge adds up the scores of shards.
type Merge struct {
	gate
	GoldFile    string   `name:"gold-file" placeholder:"FILE" help:"The right answers that the shards had: those that no reply has asked for are printed."`
	GoldIDField string   `name:"gold-id-field" placeholder:"PATH" help:"With --gold-file: the field of the id there (id)."`
	GoldField   string   `name:"gold-field" placeholder:"PATH" help:"With --gold-file: the field of the right answer there (gold)."`
	HTML        string   `name:"html" placeholder:"FILE" help:"Write a page with the summary and plots."`
	JSON        bool     `name:"json" help:"Print the summary as one JSON object on standard output."`
	Manifests   []string `arg:"" name:"manifest" placeholder:"MANIFEST" help:"The manifests of all shards, or the folder or s3://BUCKET/PREFIX that holds them."`
}

// Help shows examples.
func (Merge) Help() string {
	return `The summary is the one that sotto score prints for all inputs in one process: the same counts, intervals, best of k and majority votes, also of problems whose replies are in several shards. Shards that are missing, that come twice, or that are parts of different batches are named, and nothing is printed. Exit status 1 says that lines failed.

If the shards had --gold-file, give it again, with its fields, to see which of its answers no reply has asked for.

Examples:

    sotto score merge scored/
    sotto score merge --json --min-solved 80% s3://bucket/scored/`
}

// Run prints the summary.
func (x *Merge) Run(sh *shell.Shell) error {
	ctx := context.Background()
	from := &shards.Sources{Getenv: sh.Getenv}
	list, err := x.load(ctx, from)
	if err != nil {
		return err
	}
	scores := scoring.NewScores()
	golds, err := x.goldsOf(sh, list[0])
	if err != nil {
		return err
	}
	read := new(dialectset.Tally)
	for _, m := range list {
		if err := cmp.Or(m.addTo(ctx, scores, golds), read.Add(m.Read)); err != nil {
			return fmt.Errorf("%s: %w", m.where, err)
		}
	}
	sum := scores.Summary()
	sum.V, sum.Task, sum.Dialects = 1, list[0].Task, read
	if err := comparedParts(sh, sum, list); err != nil {
		return err
	}
	if err := printSummary(sh, sum, x.JSON); err != nil {
		return err
	}
	if x.HTML != "" {
		page, err := scoring.Page(sum, nil)
		if err != nil {
			return err
		}
		if err := sh.WriteFile(x.HTML, page); err != nil {
			return err
		}
	}
	var failed error
	if reportUnasked(sh, golds) || sum.Failed > 0 {
		failed = batch.ErrFailed
	}
	return worst(failed, x.check(sum))
}

// comparedParts adds the comparisons of the shards to the summary.
func comparedParts(sh *shell.Shell, sum *scoring.Summary, list []part) error {
	if list[0].Compared == nil {
		return nil
	}
	all := &shards.Compared{Changes: map[string]int{}}
	for _, m := range list {
		if m.Compared == nil {
			return fmt.Errorf("%s: it has no comparison, and %s has one", m.where, list[0].where)
		}
		all.Add(m.Compared)
	}
	var pairs *compare.Pairs
	if all.Repeats {
		sh.Hintf("replies have the same id: for the difference of the runs, give the folders of both to sotto compare")
	} else {
		pairs = compare.Counted(all.Lines, all.Gained, all.Lost)
	}
	return compared(sum, all, pairs)
}

// A part is the manifest of a shard, and where it is.
type part struct {
	*shards.Manifest
	folder shards.Folder
	where  string
}

// load reads the manifests, and checks that they are those of all shards of one batch.
func (x *Merge) load(ctx context.Context, from *shards.Sources) ([]part, error) {
	names, err := from.Manifests(ctx, x.Manifests)
	if err != nil {
		return nil, err
	}
	byIndex := map[int]part{}
	var first *part
	for _, at := range names {
		m, err := shards.Load(ctx, at.Folder, at.Name)
		if err != nil {
			return nil, err
		}
		p := part{m, at.Folder, at.Folder.Where(at.Name)}
		if len(m.Scores) == 0 {
			return nil, errorhint.Usage(fmt.Errorf("%s is a shard of sotto %.100s, which has no scores", p.where, m.Command), "give the manifests of sotto score --shard")
		}
		if first == nil {
			first = &p
		}
		if err := first.Against(&m.Job); err != nil {
			return nil, fmt.Errorf("%s and %s are not parts of one batch: of the first, %w in the second", first.where, p.where, err)
		}
		if was, twice := byIndex[m.Shard.Index]; twice {
			return nil, fmt.Errorf("%s and %s are both shard %v", was.where, p.where, m.Shard)
		}
		byIndex[m.Shard.Index] = p
	}
	if first == nil {
		return nil, errorhint.Usage(errors.New("there is no manifest"), "sotto score --shard writes FOLDER/part-….manifest.json")
	}
	return inOrder(byIndex, first.Shard.Count)
}

// maxNamed is how many missing shards are named.
const maxNamed = 20

// inOrder returns the parts, or an error that names those that are missing.
func inOrder(byIndex map[int]part, count int) (list []part, err error) {
	var missing []string
	for i := range count {
		if p, ok := byIndex[i]; ok {
			list = append(list, p)
		} else {
			missing = append(missing, strconv.Itoa(i))
		}
	}
	if len(missing) == 0 {
		return list, nil
	}
	names := strings.Join(missing[:min(len(missing), maxNamed)], ", ")
	if len(missing) > maxNamed {
		names += ", …"
	}
	return nil, errorhint.Add(fmt.Errorf("%d of %d shards are missing: %s", len(missing), count, names), "run them, with --shard I/"+strconv.Itoa(count))
}

// addTo adds the scores of the part.
func (p *part) addTo(ctx context.Context, scores *scoring.Scores, golds *scoring.GoldFile) error {
	if golds != nil {
		if err := golds.Ask(p.Asked); err != nil {
			return err
		}
	}
	if p.Groups == nil {
		return scores.AddPart(p.Scores, nil)
	}
	r, err := shards.OpenFile(ctx, p.folder, *p.Groups)
	if err != nil {
		return err
	}
	defer r.Close()
	return scores.AddPart(p.Scores, r)
}

// goldsOf reads the file of right answers, which must be the one that the shards had.
func (x *Merge) goldsOf(sh *shell.Shell, p part) (*scoring.GoldFile, error) {
	if x.GoldFile == "" {
		if p.Asked != nil {
			sh.Hintf("the shards had --gold-file: give it again to learn which of its answers no reply has asked for")
		}
		return nil, nil
	}
	if p.Asked == nil {
		return nil, errorhint.Usage(errors.New("the shards had no --gold-file"), "")
	}
	f := fields{GoldFile: x.GoldFile, GoldIDField: x.GoldIDField, GoldField: x.GoldField}
	return f.golds(sh)
}
