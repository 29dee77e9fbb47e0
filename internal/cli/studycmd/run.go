package studycmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// Streams makes the planner of a study whose base is a stream. The family of
// sotto solve has it.
type Streams func(*shell.Shell, *dialectset.Set, *study.File) study.Planner

// runCommand runs a study.
type runCommand struct {
	File         string   `arg:"" name:"file" help:"The study's file (YAML)."`
	Output       string   `short:"o" placeholder:"DIR" help:"The study's folder. Without it, the folder beside FILE that has the name of the study."`
	Set          []string `sep:"none" placeholder:"KEY=VALUE" help:"Set a key of the base for all cells, such as model.url=URL; repeatable."`
	Check        bool     `help:"Check the file, the servers, the models and the disk, and exit."`
	DryRun       bool     `name:"dry-run" help:"List the cells and their commands, and exit."`
	RerunChanged bool     `name:"rerun-changed" help:"Run finished cells again whose settings have changed. What they left is moved to DIR/old."`
	SkipCheck    bool     `name:"skip-check" help:"Do not ask the servers before the first cell."`
	JSON         bool     `name:"json" help:"Print the status of the study as JSON at the end."`
	Quiet        bool     `short:"q" help:"Print no progress."`
	Identity     []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Resume the interrupted cells of a sealed study with the age identities in FILE; repeatable. Without one they begin again, except streams without a memory."`
}

// Help shows examples.
func (runCommand) Help() string {
	return `Runs each cell of the grid as a command of its own, such as sotto run --config BASE --set KEY=VALUE. Before the first cell, every server is asked for its models, and all that is wrong is listed. Progress goes to standard error, the table of the cells to standard output.

To resume a study that was interrupted or killed, give the same command again. Finished cells stay. Cells that are new in the file are run, and finished cells whose settings have changed are named. Exit status 1: a cell failed or is left, or the file has faults (FILE:LINE:COLUMN). The guide is docs/study.md.

Examples:

    sotto study policies.yaml --check
    sotto study policies.yaml --dry-run
    sotto study policies.yaml
    sotto study policies.yaml --rerun-changed
    sotto study status policies --watch`
}

// Run runs the study, or checks it.
func (x *runCommand) Run(sh *shell.Shell, names *dialectset.Set, streams Streams) error {
	f, err := x.load()
	if err != nil {
		return faulty(sh, x.File, err)
	}
	if err := f.SealFor(sh.Getenv("SOTTO_RECORD_RECIPIENT")); err != nil {
		return err
	}
	ids, err := recording.ReadIdentities(x.Identity)
	if err != nil {
		return fmt.Errorf("--identity: %w", err)
	}
	planner := streams(sh, names, f)
	if f.Kind == study.Runs {
		if planner, err = runPlanner(sh, names, f); err != nil {
			return faulty(sh, x.File, err)
		}
	}
	plans, err := f.Plan(planner)
	if err != nil {
		return faulty(sh, x.File, err)
	}
	plans.Manifest.Sotto, plans.Manifest.Go = version(), runtime.Version()
	if plans.Manifest.Made.Dialects, err = dialectsDigest(names); err != nil {
		return err
	}
	if err := f.CheckVersions(plans.Manifest); err != nil {
		return faulty(sh, x.File, err)
	}
	dir := x.Output
	if dir == "" {
		dir = f.Path(f.Name)
	}
	if x.DryRun {
		plans.Commands(dir)
		return list(sh, plans.Manifest)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if x.Check || !x.SkipCheck {
		if err := x.preflight(ctx, sh, f, plans, dir); err != nil || x.Check {
			return err
		}
	}
	return x.run(ctx, sh, f, plans, dir, ids)
}

// load reads the file, and sets the keys of --set.
func (x *runCommand) load() (*study.File, error) {
	f, err := study.ReadFile(x.File)
	if err != nil {
		return nil, err
	}
	for _, text := range x.Set {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, errorhint.Usage(fmt.Errorf("--set %q: want KEY=VALUE", text), "such as --set model.url=http://localhost:11434")
		}
		if err := f.Set(key, value); err != nil {
			return nil, errorhint.Usage(err, "")
		}
	}
	return f, nil
}

// faulty reports the faults of a file, line by line.
func faulty(sh *shell.Shell, name string, err error) error {
	var faults *study.Faulty
	var usage errorhint.UsageError
	switch {
	case errors.As(err, &usage):
		return err
	case !errors.As(err, &faults):
		return fmt.Errorf("study %s: %w", name, files.Cause(err))
	}
	for _, f := range faults.Faults {
		fmt.Fprintln(sh.Err, f)
	}
	return errorhint.Add(errors.New(shorttext.Plural(len(faults.Faults), "1 fault in the study", "%d faults in the study")), "docs/study.md lists the keys")
}

// list prints the cells and their commands.
func list(sh *shell.Shell, m *study.Manifest) error {
	for i := range m.Cells {
		c := &m.Cells[i]
		words := make([]string, len(c.Command))
		for j, word := range c.Command {
			words[j] = shell.Quote(word)
		}
		if _, err := fmt.Fprintf(sh.Text, "# %s\n%s\n", nameOf(c), strings.Join(words, " ")); err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns the values and the repetition of a cell, for people.
func nameOf(c *study.Cell) string {
	var words []string
	for _, v := range c.Values {
		words = append(words, v.Label)
	}
	return strings.Join(append(words, fmt.Sprintf("repetition %d", c.Repetition)), ", ")
}

func (x *runCommand) run(ctx context.Context, sh *shell.Shell, f *study.File, plans *study.Plans, dir string, ids []age.Identity) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	p := newProgress(sh, f.Workers, x.Quiet)
	r := &study.Runner{
		Dir: dir, File: f, Plans: plans, Program: program, RerunChanged: x.RerunChanged, Identity: x.Identity, OnChange: p.show, Log: p.say,
		Outcome: func(c *study.Cell, e study.Exit) study.Outcome { return outcome(dir, f.Kind, plans.Of[c.ID], c, e) },
	}
	if r.Cost, err = costs(f, plans); err != nil {
		return err
	}
	err = r.Run(ctx)
	p.clear()
	var stopped *study.StoppedError
	again := "to resume it, give the same command again"
	switch {
	case errors.Is(err, study.ErrBusy):
		return errorhint.Add(err, fmt.Sprintf("wait for it; sotto study status %s shows how far it is", dir))
	case errors.As(err, &stopped):
		err = errorhint.Add(err, "raise the budget in the file, and give the same command again")
	case errors.Is(err, context.Canceled):
		err = errorhint.Add(fmt.Errorf("study %s was interrupted", f.Name), again)
	case err != nil:
		return err
	}
	s, openErr := study.Open(dir, ids...)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	if printErr := printStatus(sh, s, x.JSON); printErr != nil {
		return errors.Join(err, printErr)
	}
	if err != nil {
		return err
	}
	return verdict(s)
}

// verdict is the error of a study with cells that are not done.
func verdict(s *study.Study) error {
	n := s.Counts()
	if n[study.Changed] > 0 && n[study.Failed]+n[study.Bounded] == 0 {
		return errorhint.Add(errors.New(shorttext.Plural(n[study.Changed], "1 finished cell has other settings now", "%d finished cells have other settings now")),
			"--rerun-changed runs them again, and keeps what they left")
	}
	if n[study.Done] == len(s.Cells) {
		return nil
	}
	return errorhint.Add(fmt.Errorf("%d of %d cells are not done", len(s.Cells)-n[study.Done], len(s.Cells)), "what each said is in "+filepath.Join(s.Dir, "logs")+"; the same command tries them again")
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

// dialectsDigest is the digest of the table of dialects, with those of files.
func dialectsDigest(names *dialectset.Set) (string, error) {
	rows, err := json.Marshal(names.Dialects())
	if err != nil {
		return "", fmt.Errorf("dialects: %w", err)
	}
	sum := sha256.Sum256(rows)
	return hex.EncodeToString(sum[:]), nil
}
