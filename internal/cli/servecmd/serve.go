// Package servecmd has the command that runs the gateway.
package servecmd

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli/agentpart"
	"github.com/sotto-llm/sotto/internal/cli/labpart"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// Command holds the flags. Those of Settings are also keys of the configuration file, and
// are parsed as the text in that file would be.
type Command struct {
	Config  string `placeholder:"FILE" setting:"SOTTO_CONFIG" help:"Read settings from FILE (YAML). A running gateway reads them again on SIGHUP and when FILE changes."`
	Check   bool   `help:"Check the settings, print them, and exit."`
	Against string `placeholder:"FILE" help:"With --check: print what differs from the settings of FILE, or of the process with this --debug-listen (a URL such as http://127.0.0.1:6060), and which settings need a restart."`

	AgainstTokenFile string `placeholder:"FILE" help:"The file with the token for the process of --against; its scope is debug or console. $$SOTTO_AGAINST_TOKEN holds the token itself."`

	Learned   bool    `xor:"action" help:"List what the gateway learned about where replies begin, and exit."`
	Schedules bool    `xor:"action" help:"List the schedules of the agents, when they are due next and how their last runs ended, and exit."`
	JSON      bool    `name:"json" help:"With --learned, --schedules or --against: print JSON."`
	Forget    pattern `xor:"action" placeholder:"[PATTERN]" help:"Forget the learned starts of all models, or of those that match PATTERN (* matches any characters), and exit. A gateway that runs follows when it next learns something."`

	// Settings is what [Flags] returned, before the command line is read.
	Settings kong.Plugins `embed:""`

	// Agents lets the gateway answer as agents. If it is nil, settings of agents are refused.
	Agents agentpart.Part `kong:"-"`
	// Lab has the screens of experiments on the page. It may be nil.
	Lab labpart.Part `kong:"-"`

	// again reads the settings as the command line has them, while others are in use.
	again func(running *settings.Setup) (*settings.Setup, error)
	// old reads the settings that another file gives with the same command line.
	old func(file string) (*settings.Setup, error)
}

// Help shows examples.
func (Command) Help() string {
	return `The gateway is a reverse proxy for a model server. A client changes its base URL and nothing else. The gateway knows the APIs of OpenAI, Ollama, Anthropic, Google (Gemini) and Amazon Bedrock (Converse), and forwards all other requests unchanged. Without an upstream it serves scripted replies with the faults of real ones, and needs no model and no network. It answers /healthz, /readyz and /metrics itself.

A setting comes from the flag, else from the environment, else from the file of --config, else from the default. --check reports every fault (in a file as FILE:LINE:COLUMN), and exits 1 if there are any. docs/README.md says where the guides are.

Examples:

    sotto serve
    sotto serve --upstream http://localhost:11434
    sotto serve --config sotto.yaml --check
    sotto serve --config sotto.yaml --check --against /etc/sotto/sotto.yaml
    SOTTO_TOKEN=… sotto serve --listen :8383 --upstream http://localhost:8000
    sotto serve --upstream http://localhost:11434 --record audit --record-reasoning digest
    sotto serve --upstream http://localhost:11434 --a2a --a2a-api ollama --a2a-model qwen3:8b
    sotto serve --upstream http://localhost:11434 --agent agent.yaml
    sotto serve --config sotto.yaml --takeover
    sotto serve --learned
    sotto serve --forget 'qwen3*'`
}

// Validate refuses flags that cannot be combined.
func (s *Command) Validate() error {
	switch {
	case s.JSON && !s.Learned && !s.Schedules && s.Against == "":
		return fmt.Errorf("--json needs --learned, --schedules or --against")
	case s.Check && (s.Learned || s.Schedules || s.Forget.given):
		return fmt.Errorf("--check cannot be combined with --learned, --schedules or --forget")
	case s.Against != "" && !s.Check:
		return fmt.Errorf("--against needs --check")
	case s.AgainstTokenFile != "" && s.Against == "":
		return fmt.Errorf("--against-token-file needs --against")
	}
	return nil
}

// Serve serves until a signal comes.
func (s *Command) Serve(sh *shell.Shell, c *dialectset.Set, ctx *kong.Context, signals <-chan os.Signal) error {
	set, err := s.settings(c, ctx, sh.Getenv)
	if err != nil {
		return err
	}
	if len(set.Faults) > 0 {
		return refuse(sh, set)
	}
	return s.serve(sh, set, signals)
}

// Run checks the settings, lists or forgets learned starts, or serves.
func (s *Command) Run(sh *shell.Shell, c *dialectset.Set, ctx *kong.Context) error {
	set, err := s.settings(c, ctx, sh.Getenv)
	if err != nil {
		return err
	}
	switch {
	case s.Check:
		if err := datafolder.Check(set.Gateway.Data); err != nil {
			set.Faults = append(set.Faults, set.FaultAt("data", err))
		}
		if s.Agents != nil {
			s.Agents.Check(sh, set)
		}
		if err := checkConsole(set, set.ConsoleListen); err != nil {
			set.Faults = append(set.Faults, &settings.Fault{Err: err})
		}
		if s.Against != "" && len(set.Faults) == 0 {
			return s.printChanges(sh, set)
		}
		return printChecked(sh, set)
	case len(set.Faults) > 0:
		return refuse(sh, set)
	case s.Learned:
		return s.printLearned(sh, set.Gateway.Data)
	case s.Schedules:
		return s.printSchedules(sh, set)
	case s.Forget.given:
		return s.forget(sh, set.Gateway.Data)
	}
	signals, stop := interrupts()
	defer stop()
	return s.serve(sh, set, signals)
}

// A toggle is a flag that is on, off, or not given; then it is "". Any other value
// is reported with the other settings.
type toggle string

// Decode takes the value of --flag=VALUE or of the environment, if there is one.
func (t *toggle) Decode(ctx *kong.DecodeContext) error {
	*t = "true"
	if next := ctx.Scan.Peek(); next.Type == kong.FlagValueToken {
		*t = toggle(fmt.Sprint(ctx.Scan.Pop().Value))
	}
	switch strings.ToLower(string(*t)) {
	case "yes":
		*t = "true"
	case "no":
		*t = "false"
	}
	return nil
}

// IsBool says that the flag may be given without a value.
func (toggle) IsBool() bool { return true }

// A pattern is the value of a flag that may be given without one. Without a value
// it is *.
type pattern struct {
	given bool
	text  string
}

// Decode takes the word after the flag, unless it is itself a flag.
func (p *pattern) Decode(ctx *kong.DecodeContext) error {
	p.given, p.text = true, "*"
	if ctx.Scan.Peek().IsValue() {
		p.text = ctx.Scan.Pop().String()
	}
	return nil
}
