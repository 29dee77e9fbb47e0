// Package doctorcmd has the command that examines a model server.
package doctorcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/check/doctor"
	"github.com/sotto-llm/sotto/internal/cli/checking"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/reply/promptshown"
)

// Command holds the flags.
type Command struct {
	checking.Server
	Model           string        `short:"m" placeholder:"NAME" help:"The model to ask (the first that the server lists)."`
	API             string        `name:"api" placeholder:"NAME" help:"The API to ask in: chat, ollama, messages; openai and anthropic are other names of the first and the last (the server's own)."`
	UpstreamAPI     string        `name:"upstream-api" placeholder:"API" setting:"SOTTO_UPSTREAM_API" help:"The setting upstream-api of a gateway: the report says if it is wrong."`
	UpstreamKeyFile string        `placeholder:"FILE" setting:"SOTTO_UPSTREAM_KEY_FILE" help:"The file with the API key for the server. $$SOTTO_UPSTREAM_KEY holds the key itself."`
	NoQuestions     bool          `help:"Ask the model nothing, so that no token is used."`
	Tokens          int           `default:"512" placeholder:"N" help:"The most tokens of a reply (${default})."`
	Time            time.Duration `default:"1m" placeholder:"TIME" help:"How long a request may take (${default})."`
	Data            string        `placeholder:"DIR" help:"Ask the server how it renders prompts too, and keep the answers and what the replies showed in this folder, where sotto serve reads them."`
	JSON            bool          `name:"json" help:"Print the report as JSON."`
}

// Help shows examples.
func (Command) Help() string {
	return `Without URL, it examines the first server at the usual ports of this machine. It finds out which server, API and model there are; on which field reasoning arrives, with which markers; whether replies begin inside a block; whether earlier reasoning must be sent back; whether a proxy between cuts streams or holds them back; and how large the context is. It asks the model one short question in each of six ways: whole, streamed, with thinking on and off, with a tool, and for JSON. Before that it prints how many requests and tokens this costs at most. Then it says what Sotto does in front of this server, and prints a configuration for sotto serve. What it could not find out is marked unknown or skipped.

Exit status: 0 nothing is wrong that Sotto does not mend by itself, 1 findings, 2 wrong usage, 4 the server cannot be reached. The guide is docs/doctor.md.

Examples:

    sotto doctor
    sotto doctor --model qwen3-8b http://localhost:8000
    SOTTO_UPSTREAM_KEY=… sotto doctor --model NAME https://openrouter.ai/api/v1
    sotto doctor --no-questions --json http://localhost:11434
    sotto doctor --model NAME --data ~/.local/state/sotto https://models.example`
}

// Run examines the server and prints the report.
func (c *Command) Run(sh *shell.Shell, names *dialectset.Set) error {
	key, err := sh.Secret("SOTTO_UPSTREAM_KEY", "--upstream-key-file", c.UpstreamKeyFile)
	if err != nil {
		return err
	}
	options := doctor.Options{
		Model: c.Model, API: c.API, UpstreamAPI: c.UpstreamAPI, Key: key, Silent: c.NoQuestions, Prompts: c.Data != "", Tokens: c.Tokens, Time: c.Time,
		Named: names.Named, ForModel: names.ForModel,
	}
	if err := options.Check(); err != nil {
		return errorhint.Usage(err, `run "sotto doctor --help"`)
	}
	return checking.Examination[*doctor.Report]{
		Command: "sotto doctor", JSON: c.JSON,
		Make:  func(ctx context.Context) (*doctor.Report, error) { return c.examine(ctx, sh, options) },
		Print: func(w io.Writer, r *doctor.Report) error { return r.Print(w) },
	}.Run(sh)
}

// examine examines the server, or the first one of this machine.
func (c *Command) examine(ctx context.Context, sh *shell.Shell, options doctor.Options) (*doctor.Report, error) {
	if c.URL == "" {
		if err := c.findLocal(ctx, sh); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(sh.Err, "%s: examining %s: %s\n", sh.Name(), visible.Line(c.URL), options.Cost())
	r, err := doctor.Run(ctx, c.URL, options)
	if err == nil && c.Data != "" {
		err = c.keep(r)
	}
	return r, err
}

// keep writes what was seen into the data folder.
func (c *Command) keep(r *doctor.Report) error {
	if err := datafolder.Open(c.Data); err != nil {
		return err
	}
	return promptshown.Keep(c.Data, r.Prompts)
}

// findLocal takes the first server of this machine.
func (c *Command) findLocal(ctx context.Context, sh *shell.Shell) error {
	found := doctor.FindLocal(ctx, nil, sh.Getenv)
	if len(found) == 0 {
		var tried []string
		for _, a := range doctor.Addresses(sh.Getenv) {
			tried = append(tried, a[1]+" ("+a[0]+")")
		}
		return errorhint.Add(shell.Unreachable(errors.New("no model server answers at the usual ports of this machine: "+strings.Join(tried, ", "))),
			"start one, or name its address with --upstream")
	}
	for _, other := range found[1:] {
		sh.Hintf("there is also %s at %s: examine it with --upstream", other.Server, other.URL)
	}
	c.URL = found[0].URL
	return nil
}
