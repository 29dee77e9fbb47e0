// Package a2acmd has the commands about A2A servers.
package a2acmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/a2aserver/probe"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/files"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/texttable"
	"github.com/sotto-llm/sotto/internal/visible"
)

// Command holds the commands about A2A servers.
type Command struct {
	Probe probeCommand `cmd:"" help:"Check any A2A server, and whether it leaks reasoning."`
}

// probeCommand checks one server.
type probeCommand struct {
	URL       string        `arg:"" name:"URL" help:"The server's base URL, such as https://agent.example."`
	Message   string        `placeholder:"TEXT" help:"The message to send, instead of a question that makes most models think."`
	TokenFile string        `placeholder:"FILE" help:"The file with the server's bearer token. $$SOTTO_A2A_TOKEN holds the token itself."`
	Time      time.Duration `default:"2m" placeholder:"TIME" help:"How long a call may take (${default})."`
	JSON      bool          `name:"json" help:"Print the report as JSON."`
	All       bool          `help:"Print the checks that passed too."`
}

// Help shows examples.
func (probeCommand) Help() string {
	return `Reads the agent card, then checks every interface that the card declares: JSON-RPC and REST of protocol 1.0, JSON-RPC of 0.3. It sends messages (streamed and not), gets, lists and cancels tasks, subscribes to them, and asks for tasks that do not exist. It reads all delivered text in every dialect, to find reasoning. Exit status: 0 nothing found, 1 findings, 2 wrong usage, 4 the server cannot be reached. The server answers a few messages; if it charges for messages, it charges for these.

Examples:

    sotto a2a probe http://localhost:8383
    sotto a2a probe --json https://agent.example
    SOTTO_A2A_TOKEN=… sotto a2a probe --all https://agent.example`
}

// Run probes and prints the report.
func (c *probeCommand) Run(sh *shell.Shell) error {
	token, err := c.token(sh)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := probe.Run(ctx, c.URL, probe.Options{Message: c.Message, Token: token, Time: c.Time})
	if errors.Is(err, probe.ErrURL) {
		return hint.Usage(err, `run "sotto a2a probe --help"`)
	}
	missing := errors.Is(err, probe.ErrUnreachable)
	if missing {
		err = shell.Unreachable(err)
	}
	switch {
	case err != nil && !(missing && c.JSON):
		return err
	case c.JSON:
		err = errors.Join(json.NewEncoder(sh.Out).Encode(r), err)
	default:
		err = c.table(sh, r)
	}
	if err == nil && r.Findings > 0 {
		err = errors.New(shell.Plural(r.Findings, "1 finding", "%d findings"))
	}
	return err
}

func (c *probeCommand) token(sh *shell.Shell) (string, error) {
	token := sh.Getenv("SOTTO_A2A_TOKEN")
	if c.TokenFile != "" {
		data, err := files.ReadSecret(c.TokenFile)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token = strings.TrimRight(string(data), "\r\n")
	}
	if token == "" {
		return "", nil
	}
	return token, files.CheckSecret(token)
}

// table prints the findings, or every check, and the counts.
func (c *probeCommand) table(sh *shell.Shell, r *probe.Report) error {
	count := map[probe.Status]int{}
	var rows [][]string
	for _, check := range r.Checks {
		count[check.Status]++
		if check.Status == probe.Finding || c.All {
			rows = append(rows, []string{string(check.Status), orDash(check.Interface), check.Name, onOneLine(check.Detail)})
		}
	}
	if err := texttable.Print(sh.Text, rows); err != nil {
		return err
	}
	unknown := ""
	if r.Answers == 0 {
		unknown = "; no answer came, so nothing is known about leaks"
	}
	_, err := fmt.Fprintf(sh.Text, "%s: %d passed, %d skipped, %s%s\n", onOneLine(strings.TrimSpace(r.Agent+" "+r.URL)),
		count[probe.OK], count[probe.Skipped], shell.Plural(r.Findings, "1 finding", "%d findings"), unknown)
	return err
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return onOneLine(s)
}

// onOneLine keeps text from a server from breaking lines and columns.
func onOneLine(s string) string { return strings.Join(strings.Fields(visible.Line(s)), " ") }
