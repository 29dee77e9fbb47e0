// Package solvecmd has the commands about streams of problems and their memory.
package solvecmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/prices"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/solvereport"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// Command holds the commands about streams of problems.
type Command struct {
	Stream  streamCommand  `cmd:"" default:"withargs" help:"Solve a stream of problems; the default."`
	Report  reportCommand  `cmd:"" help:"Compare the results of streams side by side."`
	Memory  memoryCommand  `cmd:"" help:"List, show, draw, export, import and prune a memory."`
	Games   gamesCommand   `cmd:"" help:"Print the solvable problems of the Game of 24."`
	Figures figuresCommand `cmd:"" help:"Compute how much memory helps in the Game of 24."`
}

// Help shows examples.
func (Command) Help() string {
	return `Without a command, the flags are those of "sotto solve stream"; see its --help. Without flags, a scripted stand-in for a model gets 1,362 games. It needs nothing installed.

Examples:

    sotto solve -n 200 -o first.jsonl
    sotto solve --task gsm8k --problems gsm8k.jsonl --mode graph --model qwen3:8b -o run.jsonl --resume
    sotto solve report cot.jsonl graph.jsonl --html report.html
    sotto solve memory ls --task game24`
}

// streamCommand solves problems one after another.
type streamCommand struct {
	Task       string   `short:"t" default:"game24" placeholder:"TASK" setting:"SOTTO_TASK" help:"The task (${default}): the same as of sotto extract."`
	TaskFile   string   `name:"task-file" placeholder:"FILE" help:"A task of your own (JSON or YAML)."`
	Problems   string   `short:"p" placeholder:"FILE" help:"The problems, one JSON object per line. Without it, those of --replies, or those that come with the task: the solvable games of 24 in random order, and some 20 of mgsm, wordsort and checkmate."`
	InputField string   `name:"input-field" default:"input" placeholder:"PATH" help:"The field of the question (${default})."`
	GoldField  string   `name:"gold-field" default:"gold" placeholder:"PATH" help:"The field of the right answer (${default})."`
	Where      []string `sep:"none" placeholder:"PATH=VALUE" help:"Only the lines of --replies (or else of --problems) in which this field has this value; repeatable."`
	Shuffle    *uint64  `placeholder:"SEED" help:"Take the problems, and the logged replies to each, in another order; the order depends on SEED alone."`
	Mode       string   `default:"template" enum:"io,cot,graph,template,bot,tot,got" placeholder:"MODE" help:"io (answer only), cot (step by step), graph (with examples from memory), template (known templates first), bot (the kind of problem first, and the best example alone), tot (steps that are proposed and chosen), got (several ways that are chosen and merged)."`
	Remember   *bool    `negatable:"" help:"Read and write the memory, or do not. If missing, graph, template and bot do."`
	modelFlags
	Audit string `placeholder:"TASK" help:"Judge accepted answers again by this task, to measure how much of the memory is wrong."`

	Dialect      string    `short:"d" placeholder:"NAME" setting:"SOTTO_DIALECT" help:"Read replies in this dialect, and teach it to the model. Without it, the model's own dialect."`
	Start        string    `short:"s" placeholder:"START" setting:"SOTTO_START" help:"Where replies begin (auto)."`
	Instruction  string    `placeholder:"FILE" help:"The system message. Without it, the instruction text of the dialect."`
	Temperatures []float64 `default:"0,0.4,0.8" placeholder:"T,…" help:"The temperature of each attempt; their count is the number of attempts (${default})."`
	MaxTokens    int       `name:"max-tokens" placeholder:"N" help:"The maximum number of tokens in a reply."`
	Seed         *int64    `placeholder:"N" help:"The seed for the model, and for the order of the games."`
	Think        string    `placeholder:"HOW" help:"Thinking: true, false, low, medium, high."`

	Data    string        `placeholder:"DIR" setting:"SOTTO_DATA_DIR" help:"The folder of the memory (the XDG state folder)."`
	Memory  string        `placeholder:"FILE" setting:"SOTTO_MEMORY" help:"The memory's file (in --data memory.db; memory-scripted.db for the stand-in and --script, memory-replayed.db for --replies)."`
	Floor   float64       `default:"0.3" placeholder:"S" help:"How similar to the problem an example must be, 0 to 1 (${default})."`
	Paths   int           `default:"4" placeholder:"N" help:"The maximum number of examples (${default})."`
	Tokens  int           `name:"path-tokens" default:"1000" placeholder:"N" help:"The approximate number of tokens that all examples may have (${default})."`
	Verify  bool          `help:"Use a template only when it is known to solve another problem than that which it was learned from."`
	Timeout time.Duration `placeholder:"TIME" help:"The time limit for one problem."`

	Limit        int           `short:"n" placeholder:"N" help:"The maximum number of problems."`
	BudgetTokens int64         `name:"budget-tokens" placeholder:"N" help:"Stop when this many tokens are spent."`
	BudgetCost   float64       `name:"budget-cost" placeholder:"X" help:"Stop when this much money is spent; needs --prices."`
	BudgetTime   time.Duration `name:"budget-time" placeholder:"TIME" help:"Stop when this much time is spent."`
	Prices       string        `placeholder:"FILE" help:"What tokens cost: {MODEL: {input: X, output: Y}} per million, YAML or JSON."`

	recording.Settings
	Output   string   `short:"o" placeholder:"FILE" help:"Write the results to FILE instead of standard output."`
	With     []string `enum:"raw,reading,none" placeholder:"WHAT" help:"What each attempt carries in the results: raw (the reply, byte for byte), reading (the object that sotto split prints for it), both, or none. If missing, raw, and none if the record is encrypted or has no reasoning."`
	Resume   bool     `help:"Continue --output where a run stopped; finished problems are not repeated."`
	CSV      string   `name:"csv" placeholder:"FILE" help:"Write the table as CSV."`
	HTML     string   `name:"html" placeholder:"FILE" help:"Write a page with the table and plots."`
	JSON     bool     `name:"json" help:"Print the summary as one JSON object."`
	Identity []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Resume a stream whose output and memory are encrypted, with the age identities in FILE; repeatable."`
	Quiet    bool     `short:"q" help:"Print no summary."`

	replies string // the digest of --replies
}

// Help shows examples.
func (streamCommand) Help() string {
	return `The model gets each problem with what the memory knows about similar problems. A validator judges the answer. If it is wrong, the model is asked again, with the reason. If it is right, the memory keeps it. The first line of the output is the run, with all of its settings; every other is a problem. --resume refuses to continue with other settings. The summary goes to standard error: the results after 10, 25, 50, 100 … problems.

Without --model, a scripted stand-in answers, which needs nothing installed. It knows the right answers, and is wrong in about half of its replies. --replies FILE plays logged replies instead, and so judges a log as a stream. Each line is {"id","raw","input"}, with the fields of --input-field and --gold-field. Each problem comes once, with its replies as the attempts. With --problems, each problem gets the replies that have its id. The guide is docs/memory.md.

Examples:

    sotto solve -n 200 -o first.jsonl
    sotto solve --task gsm8k --problems gsm8k.jsonl --mode graph --model qwen3:8b -o run.jsonl --resume
    sotto solve --mode cot --problems games.jsonl --model gpt-4o-mini --provider openai --prices prices.yaml --budget-cost 2
    sotto solve report cot.jsonl graph.jsonl --html report.html`
}

// maxTemperature is more than any server accepts.
const maxTemperature = 10

// Validate refuses flags that cannot be combined.
func (x *streamCommand) Validate() error {
	switch {
	case x.Resume && x.Output == "":
		return errors.New("--resume needs --output")
	case x.private() && (slices.Contains(x.With, "raw") || slices.Contains(x.With, "reading")):
		return errors.New("--with raw and --with reading write in plain what the record encrypts or leaves out: want --with none")
	case x.Remember != nil && !*x.Remember && (x.Mode == string(solve.Graph) || x.Mode == string(solve.Template)):
		return fmt.Errorf("--no-remember: mode %s is one with a memory; cot is the same without", x.Mode)
	case len(x.With) > 1 && slices.Contains(x.With, "none"):
		return errors.New("--with none stands alone")
	case x.Replies != "" && x.Script != "" || (x.Replies != "" || x.Script != "") && x.Model != "":
		return errors.New("want one of --model, --replies and --script")
	case math.IsNaN(x.BudgetCost) || math.IsInf(x.BudgetCost, 0):
		return errors.New("--budget-cost: want a number")
	case slices.ContainsFunc(x.Temperatures, func(t float64) bool { return !(t >= 0 && t <= maxTemperature) }):
		return fmt.Errorf("--temperatures: want values of 0 or more, and at most %d of them", maxTemperature)
	case x.BudgetCost > 0 && x.Prices == "":
		return errors.New("--budget-cost needs --prices")
	case !(x.Floor > 0 && x.Floor <= 1):
		return errors.New("--floor: want more than 0 and at most 1")
	case x.Paths < 1 || x.Tokens < 1:
		return errors.New("--paths and --path-tokens: want 1 or more")
	case x.Limit < 0 || x.BudgetTokens < 0 || x.BudgetCost < 0 || x.BudgetTime < 0 || x.Timeout < 0 || x.MaxTokens < 0:
		return errors.New("a limit is negative")
	}
	return nil
}

// remembers reports whether the stream has a memory.
func (x *streamCommand) remembers() bool {
	if x.Remember != nil {
		return *x.Remember
	}
	return solve.Mode(x.Mode).Remembers()
}

// private reports whether the record keeps thoughts from those who read the results.
func (x *streamCommand) private() bool {
	return x.Record != "" && (len(x.RecordRecipient) > 0 || x.RecordReasoning != "" && x.RecordReasoning != "full")
}

// carried returns what attempts carry in the results.
func (x *streamCommand) carried() []string {
	switch {
	case len(x.With) == 0 && !x.private():
		return []string{"raw"}
	case slices.Contains(x.With, "none"):
		return nil
	}
	return x.With
}

// Run solves the stream.
func (x *streamCommand) Run(sh *shell.Shell, names *dialectset.Set) (err error) {
	task, err := findTask(x.Task, x.TaskFile)
	if err != nil {
		return err
	}
	problems, err := x.problems(sh, task)
	if err != nil {
		return err
	}
	o, err := x.options(sh, names, task)
	if err != nil {
		return err
	}
	sealed, err := x.newSeal()
	if err != nil {
		return err
	}
	if x.remembers() {
		if sealed != nil {
			o.Memory, err = sealed.open(sh, x.Memory, x.Data, x.memoryFile())
		} else {
			o.Memory, err = openMemory(sh, x.Memory, x.Data, x.memoryFile(), metagraph.Options{})
		}
		if err != nil {
			return err
		}
		defer o.Memory.Close()
	}
	head, err := x.manifest(o, problems)
	if err != nil {
		return err
	}
	out, err := x.open(sh, head, problems, sealed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	if sealed != nil {
		defer func() { err = errors.Join(err, sealed.learned(out.head.Run, true)) }()
	}
	o.Run = out.head.Run
	if out.regular {
		o.Draft = out.draft
	}
	log := sh.Log(slog.LevelInfo)
	if o.Record, err = x.Settings.Open(nil, log); err != nil {
		return err
	}
	if o.Record != nil {
		defer func() { err = errors.Join(err, o.Record.Close()) }()
	}
	if err := out.begin(sh); err != nil {
		return err
	}
	return x.stream(sh, *o, out, problems)
}

// stream solves the problems. It also sums up what was finished before an error.
func (x *streamCommand) stream(sh *shell.Shell, o solve.Options, out *output, problems []solve.Problem) error {
	s, err := solve.New(o)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	results := out.done
	bar := &shell.Progress{}
	if out.file != nil || !sh.Out.TTY { // on a terminal the results themselves show progress
		bar = shell.NewCountProgress(sh, o.Task.Name(), x.count(problems), len(results))
	}
	each := func(yield func(solve.Problem, error) bool) {
		for _, p := range problems {
			if !yield(p, nil) {
				return
			}
		}
	}
	budget := solve.Budget{Problems: x.Limit, Tokens: x.BudgetTokens, Money: x.BudgetCost, Time: x.BudgetTime}
	err = s.Stream(ctx, each, out.done, budget, func(r solve.Result) error {
		results = append(results, r.Bare())
		bar.Advance(1)
		return out.write(r)
	})
	bar.Clear()
	return cmp.Or(x.conclude(sh, results), x.hint(err))
}

// count is the number of problems to do.
func (x *streamCommand) count(problems []solve.Problem) int {
	if x.Limit > 0 {
		return min(x.Limit, len(problems))
	}
	return len(problems)
}

// hint says how to resume a stream that stopped.
func (x *streamCommand) hint(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	if x.Output == "" {
		return errorhint.Add(err, "with --output FILE a stream can be resumed")
	}
	return errorhint.Add(err, "to resume, give the same flags and --resume")
}

func (x *streamCommand) conclude(sh *shell.Shell, results []solve.Result) error {
	sum := solve.Summarise(results)
	sum.Name = filepath.Base(cmp.Or(x.Output, "-"))
	if sum.Name == "-" {
		sum.Name = x.Mode
	}
	list := []solvereport.Stream{{Summary: sum, Results: results}}
	if x.Quiet {
		return writeReports(sh, list, x.CSV, x.HTML)
	}
	if x.JSON {
		text, err := json.Marshal(sum)
		if err != nil {
			return fmt.Errorf("summary: %w", err)
		}
		fmt.Fprintf(sh.Err.Data(), "%s\n", text)
	} else if len(results) > 0 {
		if err := solvereport.Print(sh.Err, list); err != nil {
			return err
		}
	}
	return writeReports(sh, list, x.CSV, x.HTML)
}

// findTask finds the task.
func findTask(name, file string) (solve.Task, error) {
	if file != "" {
		t, err := scoring.ReadTask(file)
		if err != nil {
			return nil, err
		}
		return solve.TaskOf(t), nil
	}
	t, err := solve.TaskNamed(name)
	if err != nil {
		return nil, errorhint.Usage(err, "want one of "+scoring.TaskNames()+"; or --task-file")
	}
	return t, nil
}

// options returns those of the solver, except the parts that must be closed.
func (x *streamCommand) options(sh *shell.Shell, names *dialectset.Set, task solve.Task) (*solve.Options, error) {
	o := &solve.Options{
		Task: task, Mode: solve.Mode(x.Mode), Start: sotto.Beginning(x.Start), Temperatures: x.Temperatures, MaxTokens: x.MaxTokens,
		Raw: slices.Contains(x.carried(), "raw"), Reading: slices.Contains(x.carried(), "reading"),
		Seed: x.Seed, Think: x.Think, Timeout: x.Timeout, Verify: x.Verify, Floor: x.Floor, Paths: x.Paths, PathTokens: x.Tokens,
	}
	if err := x.modelFlags.apply(sh, x, o); err != nil {
		return nil, err
	}
	var err error
	if o.Grammar, err = x.grammar(names, o.Model.Name()); err != nil {
		return nil, err
	}
	if o.Start != "" {
		if _, err := o.Grammar.NewSplitter(sotto.Options{Start: o.Start}); err != nil {
			return nil, manner.StartError(err, "want outside, inside, inside:NAME or auto")
		}
	}
	if x.Instruction != "" {
		text, err := files.Read("instruction", x.Instruction, files.MaxSettings)
		if err != nil {
			return nil, err
		}
		o.Instruction = strings.TrimSpace(string(text))
	}
	o.Instruction = cmp.Or(o.Instruction, solve.Instruction(o.Grammar))
	if x.Audit != "" {
		if o.Audit, err = answer.TaskNamed(x.Audit); err != nil {
			return nil, errorhint.Usage(fmt.Errorf("--audit: %w", err), "want one of "+scoring.TaskNames())
		}
	}
	if x.Prices != "" {
		return o, x.price(o)
	}
	return o, nil
}

func (x *streamCommand) grammar(names *dialectset.Set, model string) (*sotto.Grammar, error) {
	if x.Dialect != "" {
		g, err := names.Named(x.Dialect)
		if err != nil {
			return nil, dialectset.UnknownDialect(err)
		}
		return g, nil
	}
	if g, known := names.ForModel(model); known {
		return g, nil
	}
	return sotto.Default(), nil
}

func (x *streamCommand) price(o *solve.Options) error {
	data, err := files.Read("prices", x.Prices, files.MaxSettings)
	if err != nil {
		return err
	}
	list, err := prices.Read(x.Prices, data)
	if err != nil {
		return err
	}
	if o.Price, err = list.Of(o.Model.Name()); err != nil {
		return errorhint.Add(err, "give a free model a price too: {input: 0, output: 0}")
	}
	return nil
}
