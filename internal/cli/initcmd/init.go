// Package initcmd has the command that writes the first configuration file.
package initcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/check/doctor"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/serve/firstconfig"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// Command holds the flags.
type Command struct {
	File     string `arg:"" optional:"" default:"sotto.yaml" name:"FILE" help:"The file to write (${default})."`
	Upstream string `placeholder:"URL" setting:"SOTTO_UPSTREAM" help:"The base URL of the model server. Without it, the servers of this machine and the keys in the environment are offered."`
	Listen   string `placeholder:"ADDRESS" default:"127.0.0.1:8383" setting:"SOTTO_LISTEN" help:"The address that clients will connect to (${default})."`
	For      string `placeholder:"CLIENT" help:"The client that will use the model: claude-code, codex, gemini-cli, opencode, copilot, cline, openai-sdk, anthropic-sdk. The file says which API the server speaks, so that any client is served, and the lines to paste are printed."`
	Model    string `placeholder:"NAME" help:"With --for: the model that the client uses (the first that the server lists)."`
	Yes      bool   `short:"y" help:"Ask nothing: take the first server that is found."`
	Force    bool   `help:"Replace a file that exists."`
	Print    bool   `help:"Print the file instead of writing it."`
}

// Help shows examples.
func (Command) Help() string {
	return `Looks for a model server at the usual ports of this machine (Ollama, llama.cpp, vLLM, LM Studio, SGLang) and for API keys in the environment, asks which to use, and writes a commented configuration for sotto serve. Then it prints what clients are set to. Of an API key it uses the name of the variable alone, never the value. Without a terminal, say --yes or --upstream. It does not replace a file that exists, except with --force.

Examples:

    sotto init
    sotto init --upstream http://localhost:8000 --print
    sotto init --upstream http://localhost:11434 --for claude-code
    sotto init --yes && sotto serve --config sotto.yaml`
}

// Run makes the file.
func (c *Command) Run(sh *shell.Shell, names *dialectset.Set) error {
	if _, err := os.Stat(c.File); err == nil && !c.Force && !c.Print {
		return exists(c.File)
	}
	if _, ok := firstconfig.ApplicationNamed(c.For); c.For != "" && !ok {
		return errorhint.Usage(fmt.Errorf("--for: no client is called %.100q: want one of %s", c.For, strings.Join(firstconfig.Applications(), ", ")), `run "sotto init --help"`)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	plan := firstconfig.Plan{Listen: c.Listen, Display: string(routing.DisplayField), File: c.File}
	var choices []choice
	if c.Upstream != "" {
		plan.Upstream = c.Upstream
	} else {
		choices = found(ctx, sh)
	}
	server := ""
	switch {
	case sh.Interactive() && !c.Yes:
		q := questions{bufio.NewReader(sh.In), sh.Err}
		if err := q.ask(&plan, choices, &server); err != nil {
			return err
		}
	case c.Upstream != "":
	case !c.Yes:
		return errorhint.Usage(errors.New("there is no terminal to ask on"), "say --yes to take the first server that is found, or name one with --upstream")
	case len(choices) == 0:
		return errorhint.Add(errors.New("no model server answers at the usual ports of this machine, and the environment has no API key that is known"), "start a server, or name one with --upstream")
	default:
		choices[0].into(&plan, &server)
	}
	if err := check(&plan, names); err != nil {
		return err
	}
	if plan.About == "" && plan.Upstream != "" {
		look(ctx, sh, &plan, &server)
	}
	c.chooseAPI(&plan, server)
	return c.write(sh, plan, server)
}

// chat is the API of chat completions, as the settings call it.
const chat = "chat"

// chooseAPI says which API the upstream speaks. For a client whose API the upstream has itself, it is
// that; the others are translated.
func (c *Command) chooseAPI(plan *firstconfig.Plan, server string) {
	if plan.Upstream == "" {
		return
	}
	speaks := doctor.UpstreamAPIs(server, plan.Upstream)
	a, named := firstconfig.ApplicationNamed(c.For)
	switch {
	case named && a.Chat && slices.Contains(speaks, chat):
		plan.API = chat
	case len(speaks) > 0:
		plan.API, plan.Several = speaks[0], len(speaks) > 1 && !named
	case named:
		plan.API = chat // which most servers have
	}
}

// check refuses what sotto serve would refuse in the file.
func check(plan *firstconfig.Plan, names *dialectset.Set) error {
	overrides := []settings.Override{{Key: "listen", Name: "--listen", Texts: []string{plan.Listen}}, {Key: "display", Name: "display", Texts: []string{plan.Display}}}
	if plan.Upstream != "" {
		overrides = append(overrides, settings.Override{Key: "upstream", Name: "--upstream", Texts: []string{plan.Upstream}})
	}
	s, err := settings.Read(settings.Sources{Getenv: func(string) string { return "" }, Given: func(string) bool { return false }, Overrides: overrides}, names)
	if err != nil {
		return err
	}
	switch {
	case len(s.Faults) == 0:
		return nil
	case strings.Contains(s.Faults[0].Error(), "there is no token"): // the file says where a token goes
		return errorhint.Usage(s.Faults[0], "write the file with --listen 127.0.0.1:8383, then set token-file in it, and change listen")
	}
	return errorhint.Usage(s.Faults[0], `run "sotto init --help"`)
}

// look finds out which server the user has named.
func look(ctx context.Context, sh *shell.Shell, plan *firstconfig.Plan, server *string) {
	local, err := doctor.Look(ctx, plan.Upstream, nil)
	if err != nil {
		plan.About = "it did not answer when this file was written"
		sh.Hintf("nothing useful answers at %s now: sotto doctor says why", plan.Upstream)
		return
	}
	plan.About, plan.Models, *server = describe(local), local.Models, local.Server.Name
}

func describe(l doctor.Local) string {
	if n := len(l.Models); n > 0 {
		return l.Server.String() + shorttext.Plural(n, ", with 1 model", ", with %d models")
	}
	return l.Server.String()
}

// A choice is an upstream that the user may want.
type choice struct {
	url, about, server, variable string
	models                       []string
}

func (c choice) into(plan *firstconfig.Plan, server *string) {
	plan.Upstream, plan.About, plan.Variable, plan.Models, *server = c.url, c.about, c.variable, c.models, c.server
}

// found lists the servers of this machine, then the services for which there is a key.
func found(ctx context.Context, sh *shell.Shell) []choice {
	var list []choice
	for _, l := range doctor.FindLocal(ctx, nil, sh.Getenv) {
		list = append(list, choice{l.URL, describe(l), l.Server.Name, "", l.Models})
	}
	for _, s := range firstconfig.Services(sh.Getenv) {
		list = append(list, choice{s.URL, s.Name + ", with the key of $" + s.Variable, s.Name, s.Variable, nil})
	}
	return list
}

// questions are asked of a user.
type questions struct {
	in  *bufio.Reader
	out io.Writer
}

// ask fills in the plan.
func (q *questions) ask(plan *firstconfig.Plan, choices []choice, server *string) error {
	if plan.Upstream == "" {
		if err := q.upstream(plan, choices, server); err != nil {
			return err
		}
	}
	fmt.Fprintln(q.out, "\nWhere should reasoning go? field (the API's own place for it), hide, tags, keep")
	display, err := q.readAnswer("display", plan.Display)
	if err != nil {
		return err
	}
	plan.Display = display
	fmt.Fprintln(q.out, "\nKeep every exchange in a folder, for an audit? Its name, or nothing")
	plan.Record, err = q.readAnswer("record", "")
	return err
}

func (q *questions) upstream(plan *firstconfig.Plan, choices []choice, server *string) error {
	fmt.Fprintln(q.out, "Which model server?")
	for i, c := range choices {
		fmt.Fprintf(q.out, "  %d  %s  %s\n", i+1, visible.Line(c.url), visible.Line(c.about))
	}
	fmt.Fprintf(q.out, "  %d  none: scripted replies, to try Sotto\nor the base URL of another server\n", len(choices)+1)
	for {
		text, err := q.readAnswer("server", "1")
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(text)
		switch {
		case err != nil:
			plan.Upstream = text
			return nil
		case n >= 1 && n <= len(choices):
			choices[n-1].into(plan, server)
			return nil
		case n == len(choices)+1:
			return nil
		}
		fmt.Fprintf(q.out, "want a number from 1 to %d, or a URL\n", len(choices)+1)
	}
}

// maxAnswer bounds a line of the user.
const maxAnswer = 4096

// readAnswer reads an answer; an empty one is the default.
func (q *questions) readAnswer(prompt, byDefault string) (string, error) {
	if byDefault != "" {
		prompt += " [" + byDefault + "]"
	}
	fmt.Fprint(q.out, prompt+": ")
	var line []byte
	for {
		c, err := q.in.ReadByte()
		switch {
		case err != nil && len(line) == 0:
			return "", errors.New("there was no answer, and nothing was written")
		case err != nil || c == '\n':
			if text := strings.TrimSpace(string(line)); text != "" {
				return text, nil
			}
			return byDefault, nil
		case len(line) == maxAnswer:
			return "", fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
		}
		line = append(line, c)
	}
}

// write writes the file, or prints it, and says what is next.
func (c *Command) write(sh *shell.Shell, plan firstconfig.Plan, server string) error {
	text := sh.Named(plan.YAML())
	if c.Print {
		_, err := io.WriteString(sh.Out, text)
		return err
	}
	if err := c.save(sh, text); err != nil {
		return err
	}
	if a, ok := firstconfig.ApplicationNamed(c.For); ok {
		return c.paste(sh, plan, a)
	}
	fmt.Fprintf(sh.Text, "%s is written. Start the gateway with\n\n    %s\n\nand set clients to it:\n\n", c.File, sh.Named(plan.Command()))
	var rows [][]string
	for _, client := range firstconfig.Clients(plan.Listen, server, plan.API != "" && !plan.Several) {
		rows = append(rows, []string{"  ", client.Name, client.Setting})
	}
	if err := texttable.Print(sh.Text, rows); err != nil {
		return err
	}
	if plan.Upstream == "" {
		return nil
	}
	doctor := sh.Name() + " doctor " + firstconfig.Word(plan.Upstream)
	if plan.Variable != "" {
		doctor = `SOTTO_UPSTREAM_KEY="$` + plan.Variable + `" ` + doctor
	}
	_, err := fmt.Fprintf(sh.Text, "\nTo see what the server does with reasoning, and whether a model needs a setting, run\n\n    %s\n", doctor)
	return err
}

// paste prints what a user pastes to use the model in a client.
func (c *Command) paste(sh *shell.Shell, plan firstconfig.Plan, a firstconfig.Application) error {
	model := c.Model
	if model == "" && len(plan.Models) > 0 {
		model = plan.Models[0]
	}
	note := ""
	if model == "" {
		model, note = "MODEL", " MODEL is the name of a model of the server."
	}
	_, err := fmt.Fprintf(sh.Text, "%s is written. Start the gateway with\n\n    %s\n\nand in another terminal paste these lines.%s\n\n", c.File, sh.Named(plan.Command()), note)
	for _, line := range a.Lines(plan.Listen, model) {
		if err == nil {
			_, err = fmt.Fprintf(sh.Text, "    %s\n", visible.Line(line))
		}
	}
	return err
}

func (c *Command) save(sh *shell.Shell, text string) error {
	if c.Force {
		return sh.WriteFile(c.File, []byte(text))
	}
	file, err := shell.CreateNew(c.File)
	if errors.Is(err, fs.ErrExist) {
		return exists(c.File)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", c.File, files.Cause(err))
	}
	_, err = io.WriteString(file, text)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", c.File, files.Cause(err))
	}
	return nil
}

func exists(name string) error {
	return errorhint.Add(fmt.Errorf("%s exists, and is not replaced", name), "say --force to replace it, or name another file")
}
