// Package servecmd has the command that runs the gateway.
package servecmd

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/recording"
)

// Command holds the flags. Most of them are also keys of the configuration file,
// and are parsed as the text in that file would be.
type Command struct {
	Listen   string `placeholder:"ADDRESS" setting:"SOTTO_LISTEN" help:"Where clients come in (127.0.0.1:8383)."`
	Upstream string `placeholder:"URL" setting:"SOTTO_UPSTREAM" help:"The base URL of the model server; without one, written replies are served."`
	Config   string `placeholder:"FILE" setting:"SOTTO_CONFIG" help:"Read settings from FILE (YAML)."`
	Check    bool   `help:"Check the settings, print them, and exit."`

	Display        string  `placeholder:"WHERE" setting:"SOTTO_DISPLAY" help:"Where reasoning goes: field (the API's place for it), hide, keep (as it came), tags (in the text)."`
	ReasoningField string  `placeholder:"NAME,…" setting:"SOTTO_REASONING_FIELD" help:"The fields for it in chat completions (reasoning_content)."`
	Narration      string  `placeholder:"WHERE" setting:"SOTTO_NARRATION" help:"Where narration goes: text, field, drop."`
	History        string  `placeholder:"POLICY" setting:"SOTTO_HISTORY" help:"What happens to reasoning in the messages that clients send back: auto (what the model needs), preserve, strip, restore."`
	HistoryDryRun  toggle  `name:"history-dry-run" negatable:"" setting:"SOTTO_HISTORY_DRY_RUN" help:"Say what the history policy would do, and do not do it."`
	Dialect        string  `short:"d" placeholder:"NAME" setting:"SOTTO_DIALECT" help:"Read every reply in this dialect, not in that of its model."`
	Start          string  `short:"s" placeholder:"START" setting:"SOTTO_START" help:"Where every reply begins: outside, inside, inside:NAME, auto; without it, by evidence."`
	Data           string  `placeholder:"DIR" setting:"SOTTO_DATA_DIR" help:"The folder for what was learned (the XDG state folder)."`
	Learned        bool    `xor:"action" help:"List the learned starts and exit."`
	JSON           bool    `name:"json" help:"With --learned: print JSON."`
	Forget         pattern `xor:"action" placeholder:"[PATTERN]" help:"Forget the learned starts of the models that match, * for any characters, or of all; and exit. Stop the gateway first: a running one writes its own list again."`

	TokenFile       string   `placeholder:"FILE" setting:"SOTTO_TOKEN_FILE" help:"The token that clients send as their API key; or the token itself in $$SOTTO_TOKEN."`
	InsecurePublic  toggle   `negatable:"" setting:"SOTTO_INSECURE_PUBLIC" help:"Let other machines in without a token."`
	UpstreamKeyFile string   `placeholder:"FILE" setting:"SOTTO_UPSTREAM_KEY_FILE" help:"The API key for the upstream; or the key itself in $$SOTTO_UPSTREAM_KEY."`
	AllowOrigin     []string `sep:"none" placeholder:"ORIGIN" help:"Let web pages of this origin in, such as https://chat.example; repeatable. In the environment, with commas ($$SOTTO_ALLOW_ORIGIN)."`
	AllowHost       []string `sep:"none" placeholder:"NAME" help:"Let requests use this name for the gateway, such as chat.example; repeatable; * is any. In the environment, with commas ($$SOTTO_ALLOW_HOST)."`
	PathPrefix      string   `placeholder:"PATH" setting:"SOTTO_PATH_PREFIX" help:"Let other machines put PATH, such as /openai, before the paths of models."`
	PassAll         toggle   `negatable:"" setting:"SOTTO_PASS_ALL" help:"Pass every route on, also for other machines."`

	recording.Settings
	a2aFlags

	ShutdownDelay  string `placeholder:"TIME" setting:"SOTTO_SHUTDOWN_DELAY" help:"How long clients may still come in after the first interrupt, while /readyz says 503 (0s)."`
	ShutdownWait   string `placeholder:"TIME" setting:"SOTTO_SHUTDOWN_WAIT" help:"How long streams may go on after that (30s)."`
	LogFormat      string `placeholder:"FORMAT" setting:"SOTTO_LOG_FORMAT" help:"text or json."`
	Verbose        toggle `short:"v" setting:"SOTTO_VERBOSE" help:"Log more."`
	ScriptedListen string `default:"127.0.0.1:8384" placeholder:"ADDRESS" setting:"SOTTO_SCRIPTED_LISTEN" help:"Where written replies are served if there is no upstream (${default})."`
	ScriptedPause  string `default:"20ms" placeholder:"TIME" setting:"SOTTO_SCRIPTED_PAUSE" help:"The time between their deltas (${default})."`
}

// Help shows examples.
func (Command) Help() string {
	return `The gateway stands before a model server; a client changes its base URL and nothing else. It knows the APIs of OpenAI, Ollama and Anthropic, and passes on what else it gets. With no upstream it serves written replies with the faults of real ones: no model, no network. /healthz, /readyz and /metrics are its own.

A setting is the flag, then the environment, then the file of --config, then the default. --check reports every fault, those of a file as FILE:LINE:COLUMN, and exits 1. The guide is docs/gateway.md.

Examples:

    sotto serve
    sotto serve --upstream http://localhost:11434
    sotto serve --config sotto.yaml --check
    SOTTO_TOKEN=… sotto serve --listen :8383 --upstream http://localhost:8000
    sotto serve --upstream http://localhost:11434 --record audit --record-reasoning digest
    sotto serve --upstream http://localhost:11434 --a2a --a2a-api ollama --a2a-model qwen3:8b
    sotto serve --learned
    sotto serve --forget 'qwen3*'`
}

// Validate refuses flags that cannot be combined.
func (s *Command) Validate() error {
	if s.JSON && !s.Learned {
		return fmt.Errorf("--json goes with --learned only")
	}
	if s.Check && (s.Learned || s.Forget.given) {
		return fmt.Errorf("--check does not go with --learned or --forget")
	}
	return nil
}

// Serve serves until a signal comes.
func (s *Command) Serve(sh *shell.Shell, c *catalogue.Catalogue, ctx *kong.Context, signals <-chan os.Signal) error {
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
func (s *Command) Run(sh *shell.Shell, c *catalogue.Catalogue, ctx *kong.Context) error {
	set, err := s.settings(c, ctx, sh.Getenv)
	if err != nil {
		return err
	}
	switch {
	case s.Check:
		s.checkA2A(sh, set)
		return printChecked(sh, set)
	case len(set.Faults) > 0:
		return refuse(sh, set)
	case s.Learned:
		return s.printLearned(sh, set.Gateway.Data)
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
