// Package probecmd has the commands that check servers: whether they leak reasoning,
// and, for A2A, whether they follow the protocol.
package probecmd

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sotto-llm/sotto/a2aserver/probe"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/check/chatprobe"
	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/cli/checking"
	"github.com/sotto-llm/sotto/internal/cli/shell"
)

// flags are those of every probe.
type flags struct {
	Message string        `placeholder:"TEXT" help:"The message to send, instead of a question that makes most models think."`
	Time    time.Duration `default:"2m" placeholder:"TIME" help:"How long a call may take (${default})."`
	JSON    bool          `name:"json" help:"Print the report as JSON."`
	All     bool          `help:"Print the checks that passed too."`
}

// A2A holds the commands about A2A servers.
type A2A struct {
	Probe a2aProbe `cmd:"" help:"Check any A2A server, and whether it leaks reasoning."`
}

// a2aProbe checks an A2A server.
type a2aProbe struct {
	URL       string `arg:"" name:"URL" help:"The server's base URL, such as https://agent.example."`
	TokenFile string `placeholder:"FILE" help:"The file with the server's bearer token. $$SOTTO_A2A_TOKEN holds the token itself."`
	flags
}

// Help shows examples.
func (a2aProbe) Help() string {
	return `Reads the agent card, then checks every interface that the card declares: JSON-RPC and REST of protocol 1.0, JSON-RPC of 0.3. It sends messages (streamed and not), gets, lists and cancels tasks, subscribes to them, and asks for tasks that do not exist. It reads all delivered text in every dialect, to find reasoning. Exit status: 0 nothing found, 1 findings, 2 wrong usage, 4 the server cannot be reached. The server answers a few messages; if it charges for messages, it charges for these.

Examples:

    sotto a2a probe http://localhost:8383
    sotto a2a probe --json https://agent.example
    SOTTO_A2A_TOKEN=… sotto a2a probe --all https://agent.example`
}

// Run probes and prints the report.
func (c *a2aProbe) Run(sh *shell.Shell) error {
	token, err := sh.Token("SOTTO_A2A_TOKEN", c.TokenFile)
	if err != nil {
		return err
	}
	return c.run(sh, "sotto a2a probe", func(ctx context.Context) (*checks.Report, error) {
		return probe.Run(ctx, c.URL, probe.Options{Message: c.Message, Token: token, Time: c.Time})
	})
}

// Chat checks a server of OpenAI's chat completions.
type Chat struct {
	checking.Server
	Model     string `short:"m" placeholder:"NAME" help:"The model to ask (the first that the server lists)."`
	TokenFile string `placeholder:"FILE" help:"The file with the API key. $$SOTTO_PROBE_TOKEN holds the key itself."`
	flags
}

// Help shows examples.
func (Chat) Help() string {
	return `Asks a model of any server of OpenAI's chat completions a few short questions, and reads in every dialect what comes back: is reasoning in the answer, in a stream, in a reply that a limit cuts, in a title, beside a tool call or in its arguments, in the answer to a tool's result? It sends at most ten requests. If the server charges for tokens, it charges for these. Exit status: 0 nothing found, 1 findings, 2 wrong usage, 4 the server cannot be reached. The guide is docs/probe.md. For A2A servers there is sotto a2a probe.

Examples:

    sotto probe http://localhost:11434
    sotto probe --model qwen3:8b --all http://localhost:8383
    SOTTO_PROBE_TOKEN=… sotto probe --json --model o-mini https://api.example/v1`
}

// Run probes and prints the report.
func (c *Chat) Run(sh *shell.Shell) error {
	if c.URL == "" {
		return errorhint.Usage(errors.New("no server: want its URL, such as http://localhost:11434"), `run "sotto probe --help"`)
	}
	token, err := sh.Token("SOTTO_PROBE_TOKEN", c.TokenFile)
	if err != nil {
		return err
	}
	return c.run(sh, "sotto probe", func(ctx context.Context) (*checks.Report, error) {
		return chatprobe.Run(ctx, c.URL, chatprobe.Options{Model: c.Model, Message: c.Message, Token: token, Time: c.Time})
	})
}

// run makes a probe, prints its report, and says by its error what was found.
func (f *flags) run(sh *shell.Shell, command string, probe func(context.Context) (*checks.Report, error)) error {
	return checking.Examination[*checks.Report]{
		Command: command, JSON: f.JSON, Make: probe,
		Print: func(w io.Writer, r *checks.Report) error { return r.Print(w, f.All) },
	}.Run(sh)
}
