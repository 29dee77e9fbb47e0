// Package runcmd has the command that runs, resumes and replays an experiment.
package runcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/agents/agentfile"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/record"
)

// Command runs, resumes and replays an agent experiment.
type Command struct {
	Config  string   `short:"c" placeholder:"FILE" help:"The experiment (YAML). Without it, a short scripted one runs."`
	Name    string   `short:"n" placeholder:"RUN" help:"The run's name, instead of the one in the file. If the record has a run of that name, it is resumed."`
	Set     []string `sep:"none" placeholder:"KEY=VALUE" help:"Set a key of the experiment, such as model.seed=7, instead of the value in the file; repeatable."`
	Replay  string   `placeholder:"DIR" xor:"record" help:"Repeat the recorded run in DIR with its recorded replies and results, and report the first event that differs."`
	Data    string   `placeholder:"DIR" setting:"SOTTO_DATA_DIR" help:"The folder for data that is kept between runs (the XDG state folder). Without --record, the record is in its folder runs."`
	Check   bool     `help:"Check the experiment, ask the servers of its models whether they serve them, and exit."`
	Offline bool     `help:"With --check: check the file alone. No server is asked, and no MCP server is started."`
	JSON    bool     `name:"json" help:"Print the summary as JSON."`
	Quiet   bool     `short:"q" help:"Print no progress."`

	recording.Settings
	Identity []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Resume or replay from an encrypted record, with the age identities in FILE; repeatable."`
}

// Help shows examples.
func (Command) Help() string {
	return `An agent works alone, in cycles. In each cycle it gets its goal and its earlier reflections, uses its tools, and ends with a reflection. The record has everything that it thinks and does. Later prompts do not contain what it thought unless the experiment asks for that.

To resume a run that was interrupted or killed, give the same command again. Replies that the record has are not requested again, and finished calls are not repeated. Progress and messages for the operator go to standard error, the summary to standard output. Exit status 1: a bound or a failure ended the run, the replay differs, or the experiment has faults (FILE:LINE:COLUMN). The guide is docs/reference/agent-file.md.

Examples:

    sotto run
    sotto run --config experiment.yaml --check
    sotto run --config experiment.yaml --check --offline
    sotto run --config experiment.yaml --record audit
    sotto run --config experiment.yaml --set model.name=qwen3:8b --set cycles=3 --name short
    sotto run --config experiment.yaml --replay audit
    sotto record show audit --run leap-years`
}

// Run checks, replays or runs the experiment.
func (r *Command) Run(sh *shell.Shell, c *dialectset.Set) (err error) {
	config, err := r.config()
	if err != nil {
		return r.faulty(sh, err)
	}
	people := &operators{sh: sh}
	defer people.close()
	surroundings := agentfile.Dependencies(sh.Getenv, func(name string) (*sotto.Grammar, error) { return c.Named(name) })
	if r.Replay != "" || r.Offline {
		surroundings.MCP = agent.OfflineMCP
	}
	if !r.Check && r.Replay == "" {
		surroundings.Operator = people.of
	} else {
		surroundings.Operator = func(agent.OperatorConfig) agent.Operator { return nobody{} }
	}
	x, err := config.Experiment(surroundings)
	switch {
	case err != nil:
		return r.faulty(sh, err)
	case people.err != nil:
		return errors.Join(people.err, x.Close())
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if r.Check {
		return r.check(ctx, sh, config, &x)
	}
	p := newRunProgress(sh, x.Planned(), r.Quiet)
	defer p.clear()
	if r.Replay != "" {
		return r.replay(ctx, sh, x, p)
	}
	return r.live(ctx, sh, x, p)
}

// Validate refuses flags that cannot be combined.
func (r *Command) Validate() error {
	if r.Offline && !r.Check {
		return errors.New("--offline needs --check")
	}
	return nil
}

// check asks the servers of the models, unless it is to check the file alone, and
// says that nothing is wrong.
func (r *Command) check(ctx context.Context, sh *shell.Shell, config *agent.Config, x *agent.Experiment) error {
	more := ""
	if r.Offline {
		more = ", no server was asked"
	} else {
		info, err := config.Probe(ctx, x)
		if err != nil {
			return r.unserved(sh, err)
		}
		if info.Window > 0 {
			more = fmt.Sprintf(", a context window of %d tokens (%s)", info.Window, info.From)
		}
	}
	_, err := fmt.Fprintf(sh.Text, "%s: run %s, %d cycles%s, nothing wrong\n", config.File(), x.Name, x.Planned(), more)
	return err
}

// unserved reports the models that cannot be invoked, with the lines that name them.
func (r *Command) unserved(sh *shell.Shell, err error) error {
	var faults *agent.ConfigError
	if !errors.As(err, &faults) {
		return err
	}
	for _, f := range faults.Faults {
		fmt.Fprintln(sh.Err, f)
	}
	return errorhint.Add(errors.New(shorttext.Plural(len(faults.Faults), "1 model of the experiment cannot be invoked", "%d models of the experiment cannot be invoked")),
		"the file itself has no fault: start the server, or see the file's model.url and model.name; --check --offline asks no server")
}

// config reads the file, or takes the experiment that comes with sotto. That
// experiment gets a new name each time, so that it starts afresh.
func (r *Command) config() (*agent.Config, error) {
	config := agent.Example()
	if r.Config != "" {
		var err error
		if config, err = agent.ReadConfig(r.Config); err != nil {
			return nil, err
		}
	} else if r.Replay == "" {
		config.Name += time.Now().UTC().Format("-20060102-150405.000")
	}
	if len(r.Set) > 0 {
		set, err := settings(r.Set)
		if err != nil {
			return nil, err
		}
		name := config.Name
		if config, err = config.With(set); err != nil {
			return nil, err
		}
		if r.Config == "" {
			config.Name = name
		}
	}
	if r.Name != "" {
		config.Name = r.Name
	}
	return config, nil
}

// settings reads the values of --set.
func settings(list []string) (set []agent.Setting, err error) {
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, errorhint.Usage(fmt.Errorf("--set %q: want KEY=VALUE", text), "such as --set model.seed=7; KEY= removes a key")
		}
		set = append(set, agent.Setting{Key: key, Value: value})
	}
	return set, nil
}

// faulty reports the faults of a file, line by line.
func (r *Command) faulty(sh *shell.Shell, err error) error {
	var faults *agent.ConfigError
	var usage errorhint.UsageError
	switch {
	case errors.As(err, &usage):
		return err
	case !errors.As(err, &faults):
		return fmt.Errorf("read experiment %s: %w", r.Config, files.Cause(err))
	}
	for _, f := range faults.Faults {
		fmt.Fprintln(sh.Err, f)
	}
	return errorhint.Add(errors.New(shorttext.Plural(len(faults.Faults), "1 fault in the experiment", "%d faults in the experiment")), "docs/reference/agent-file.md lists the keys")
}

func (r *Command) folders(sh *shell.Shell) (agent.Options, error) {
	dir := r.Record
	if dir == "" {
		data := r.Data
		if data == "" {
			data = files.StateFolder(sh.Getenv)
		}
		if data == "" {
			return agent.Options{}, errorhint.Usage(errors.New("no folder for the record: there is no home directory"), "give --record DIR or --data DIR")
		}
		if err := datafolder.Open(data); err != nil {
			return agent.Options{}, err
		}
		dir = filepath.Join(data, "runs")
	}
	log := sh.Log(slog.LevelWarn)
	settings := r.Settings
	settings.Record = dir
	how, faults := settings.Options()
	switch {
	case len(faults) > 0:
		return agent.Options{}, errorhint.Usage(faults[0], "")
	case how.Reasoning != record.Full || how.Answer != record.Full:
		return agent.Options{}, errorhint.Usage(errors.New("--record-reasoning, --record-answer: a run is resumed from its record, so only full will do"), "encrypt the record with --record-recipient")
	}
	how.Log = log
	ids, err := r.identities()
	return agent.Options{Record: dir, Memory: filepath.Join(dir, "memory"), Log: log, RecordOptions: how, Identities: ids}, err
}

func (r *Command) identities() ([]age.Identity, error) {
	ids, err := recording.ReadIdentities(r.Identity)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	return ids, nil
}

func (r *Command) live(ctx context.Context, sh *shell.Shell, x agent.Experiment, p *runProgress) error {
	o, err := r.folders(sh)
	if err != nil {
		return err
	}
	o.Observer = agent.Observer{OnCycle: p.cycle, OnOutage: p.outage, OnWindow: p.window}
	s, err := agent.Run(ctx, x, o)
	p.clear()
	var changed *agent.ChangedError
	var unserved *agent.UnservedError
	switch {
	case errors.Is(err, context.Canceled):
		return errorhint.Add(fmt.Errorf("run %s was interrupted in cycle %d", x.Name, s.Cycles+1), r.again(x.Name, o.Record))
	case errors.Is(err, record.ErrLocked):
		return errorhint.Add(err, "another process writes this record; wait for it, or give another --record")
	case errors.As(err, &unserved):
		return errorhint.Add(err, "nothing was done; start the server or mend the experiment (--check names the line), and give the command again")
	case errors.Is(err, record.ErrSealed):
		return sealed(err)
	case errors.Is(err, agent.ErrMemory):
		return errorhint.Add(err, "the record does not hold the run that this memory is of: move the memory's file away, or give the run another --name")
	case errors.As(err, &changed):
		return errorhint.Add(err, "resume with the experiment unchanged, or give the run another --name")
	case err != nil:
		return err
	}
	if err := r.print(sh, s, p, o.Record, x.Currency); err != nil {
		return err
	}
	switch s.Status {
	case agent.Done:
		return nil
	case agent.Suspended:
		return errorhint.Add(fmt.Errorf("run %s is suspended after %s, by the bound %s", s.Run, shorttext.Count(s.Cycles, "cycle"), s.Bound), r.again(x.Name, o.Record))
	}
	return fmt.Errorf("run %s ended as %s, by the bound %s", s.Run, s.Status, s.Bound)
}

func sealed(err error) error {
	return errorhint.Add(err, "the record is encrypted, and the run may be in it: give an identity with --identity FILE, or another --record")
}

// again says how to resume an interrupted run.
func (r *Command) again(name, dir string) string {
	command := "sotto run"
	if r.Config != "" {
		command += " --config " + r.Config
	}
	for _, set := range r.Set {
		command += " --set " + shell.Quote(set)
	}
	return fmt.Sprintf("to resume it: %s --name %s --record %s", command, name, dir)
}

func (r *Command) replay(ctx context.Context, sh *shell.Shell, x agent.Experiment, p *runProgress) error {
	ids, err := r.identities()
	if err != nil {
		return err
	}
	report, err := agent.Replay(ctx, x, r.Replay, agent.Options{Identities: ids, Observer: agent.Observer{OnCycle: p.cycle}})
	p.clear()
	switch {
	case errors.Is(err, record.ErrSealed):
		return sealed(err)
	case errors.Is(err, agent.ErrNoRun):
		return errorhint.Add(fmt.Errorf("record %s: %w", r.Replay, err), `"sotto record ls" lists the runs; --name chooses one`)
	case err != nil:
		return err
	case report.Difference != nil:
		d := report.Difference
		if r.JSON {
			if err := r.object(sh, map[string]any{"v": 1, "run": x.Name, "events": report.Events, "difference": map[string]any{
				"seq": d.Seq, "run": d.Run, "cycle": d.Cycle, "type": d.Type, "field": d.Field, "recorded": d.Recorded, "now": d.Now,
			}}); err != nil {
				return err
			}
		}
		return errorhint.Add(fmt.Errorf("after %d equal events, %w", report.Events, d), fmt.Sprintf("sotto record show %s %d", r.Replay, d.Seq))
	}
	end := "the run ends as recorded: " + string(report.Status)
	if report.Unfinished {
		end = "the record ends before the run does"
	}
	if r.JSON {
		return r.object(sh, map[string]any{"v": 1, "run": x.Name, "events": report.Events, "unfinished": report.Unfinished, "status": report.Status})
	}
	_, err = fmt.Fprintf(sh.Text, "all %d events are equal; %s\n", report.Events, end)
	return err
}

func (r *Command) object(sh *shell.Shell, v any) error {
	e := json.NewEncoder(sh.Out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// print writes the summary.
func (r *Command) print(sh *shell.Shell, s agent.Result, p *runProgress, dir, currency string) error {
	if r.JSON {
		return r.object(sh, map[string]any{
			"v": 1, "run": s.Run, "status": s.Status, "bound": s.Bound, "cycles": s.Cycles, "ms": s.Took.Milliseconds(),
			"answered": p.answered, "repeated": p.repeated, "passed": s.Passed, "last": s.Last, "metrics": s.Metrics, "usage": s.Usage.Spent(currency), "window": s.Window, "record": dir,
		})
	}
	m := s.Metrics
	bound := ""
	if s.Bound != "" {
		bound = ", by the bound " + string(s.Bound)
	}
	unanswered := ""
	if m.Unanswered > 0 {
		unanswered = fmt.Sprintf(" and %d invocations without one", m.Unanswered)
	}
	window := ""
	if s.Window > 0 {
		window = fmt.Sprintf("window      %d of %d tokens in the largest prompt\n", m.LargestPrompt, s.Window)
	}
	cost := ""
	if u := s.Usage.Spent(currency); u.Cost > 0 {
		cost = fmt.Sprintf("cost        %.6g %s\n", u.Cost, currency)
	}
	_, err := fmt.Fprintf(sh.Text, `run %s: %s%s, %s in %v
replies     %d%s, %d of them requested again; %d tokens read, %d written
calls       %d, %d of them failed; %d written as text
thoughts    %d of %d bytes of the replies
saved       %d bytes of prompts, about %d tokens, by %s
%s%slast        %s
record      %s
`, s.Run, s.Status, bound, shorttext.Count(s.Cycles, "cycle"), s.Took.Round(time.Millisecond),
		m.Invocations-m.Unanswered, unanswered, m.Retries, m.InputTokens, m.OutputTokens, m.ToolCalls, m.ToolErrors, m.TextCalls,
		m.ThoughtBytes, m.ReplyBytes, m.SavedBytes, m.SavedTokens, m.Policy, window, cost, shortLine(s.Last), dir)
	return err
}
