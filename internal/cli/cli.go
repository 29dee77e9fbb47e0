// Package cli is the command line of sotto: parsing and exit statuses. Each family
// of commands has its own package below this one. The contract is section 6 of
// docs/design.md.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/cli/chatcmd"
	"github.com/sotto-llm/sotto/internal/cli/consolecmd"
	"github.com/sotto-llm/sotto/internal/cli/datacmd"
	"github.com/sotto-llm/sotto/internal/cli/doctorcmd"
	"github.com/sotto-llm/sotto/internal/cli/environment"
	"github.com/sotto-llm/sotto/internal/cli/healthcmd"
	"github.com/sotto-llm/sotto/internal/cli/historycmd"
	"github.com/sotto-llm/sotto/internal/cli/initcmd"
	"github.com/sotto-llm/sotto/internal/cli/leakscmd"
	"github.com/sotto-llm/sotto/internal/cli/mcpcmd"
	"github.com/sotto-llm/sotto/internal/cli/probecmd"
	"github.com/sotto-llm/sotto/internal/cli/recordcmd"
	"github.com/sotto-llm/sotto/internal/cli/runcmd"
	"github.com/sotto-llm/sotto/internal/cli/scorecmd"
	"github.com/sotto-llm/sotto/internal/cli/servecmd"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/cli/solvecmd"
	"github.com/sotto-llm/sotto/internal/cli/studycmd"
	"github.com/sotto-llm/sotto/internal/cli/textcmd"
	"github.com/sotto-llm/sotto/internal/cli/thoughtscmd"
	"github.com/sotto-llm/sotto/internal/cli/tokencmd"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/settings"
	"github.com/sotto-llm/sotto/internal/study"
)

// commandLine is the model that kong reads.
type commandLine struct {
	DialectFile []string `name:"dialect-file" sep:"none" placeholder:"FILE" setting:"SOTTO_DIALECT_FILE" help:"Add the dialects of FILE (JSON); repeatable."`

	ShowVersion versionFlag `name:"version" help:"Print the version."`

	Demo       textcmd.Demo        `cmd:"" help:"Stream scripted replies to the terminal, each channel in its own style."`
	Strip      textcmd.Strip       `cmd:"" help:"Print the visible text of a reply as it becomes certain."`
	Split      textcmd.Split       `cmd:"" help:"Read a reply and print all its parts as one JSON object."`
	Chat       chatcmd.Command     `cmd:"" help:"Talk to an agent or a model on the terminal."`
	Serve      servecmd.Command    `cmd:"" help:"Run the gateway: a reverse proxy that keeps thoughts out of replies."`
	Token      tokencmd.Command    `cmd:"" help:"Make tokens for the callers of a gateway."`
	Health     healthcmd.Command   `cmd:"" help:"Ask a gateway whether it is ready."`
	Leaks      leakscmd.Command    `cmd:"" help:"Count the replies of logs in which reasoning was delivered as the answer."`
	Init       initcmd.Command     `cmd:"" help:"Write a configuration for the gateway, and say what clients are set to."`
	Doctor     doctorcmd.Command   `cmd:"" help:"Examine a model server: where its reasoning comes, and what Sotto does about it."`
	Probe      probecmd.Chat       `cmd:"" help:"Check whether a server of OpenAI's chat API leaks reasoning."`
	A2A        probecmd.A2A        `cmd:"" name:"a2a" help:"Check A2A servers."`
	Extract    scorecmd.Extract    `cmd:"" help:"Print the answer that a reply gives to a task, and its position."`
	Score      scorecmd.Command    `cmd:"" help:"Judge the answers of replies, and summarize them."`
	Solve      solvecmd.Command    `cmd:"" help:"Solve a stream of problems with a memory of earlier solutions."`
	Record     recordcmd.Command   `cmd:"" help:"List, show, search, verify and export a record."`
	Thoughts   thoughtscmd.Command `cmd:"" help:"Analyse what models think in a record: how much, how it repeats, whether it helps."`
	History    historycmd.Command  `cmd:"" name:"replay-history" help:"Send recorded conversations again under several history policies, and compare what comes back."`
	Console    consolecmd.Command  `cmd:"" help:"Serve a web page that shows a record."`
	Data       datacmd.Command     `cmd:"" help:"Back up, check and restore the folder for data that is kept."`
	Run        runcmd.Command      `cmd:"" help:"Run, resume or replay an experiment with an agent that works in cycles."`
	Study      studycmd.Command    `cmd:"" help:"Run a grid of runs or streams, each with other settings; show how far it is, and report what it found."`
	MCP        mcpcmd.Command      `cmd:"" name:"mcp" help:"Offer split, extract, score and a record as tools to an MCP client."`
	Dialects   textcmd.Dialects    `cmd:"" help:"List the dialects, or print one."`
	Version    versionCommand      `cmd:"" help:"Print the version."`
	Completion completionCommand   `cmd:"" help:"Print the completion script for a shell."`
}

const description = `Separate what a model thinks from what it says, in whole replies and in streams.

Without FILE, or if FILE is "-", a command reads standard input. Results go to standard output, everything else to standard error. Exit status: 0 success, 1 the work failed (in a batch: a line failed), 2 wrong usage, 3 a single reply has no visible answer, 4 the server to check cannot be reached, 5 the results are worse than --min-solved, --max-lost or --max-leaked allow, 6 no signature covers the last events of a record. A flag comes from the command line; if it is not there, from the environment variable shown.

Examples:

    ollama run deepseek-r1 "why is the sky blue?" | sotto strip --dialect ollama_cli
    sotto split reply.txt
    sotto demo`

// Main runs the command line of the process and returns its exit status.
func Main() int {
	if os.Getenv(study.EndVariable) == "" { // the process that started this one has said it
		sh := shell.New(os.Stdin, os.Stdout, os.Stderr, os.Getenv)
		for _, text := range environment.Misspelled(os.Environ(), variables) {
			sh.Hintf("%s", text)
		}
	}
	study.EndWithInput()
	return Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
}

// Run runs one command and returns its exit status. An environment variable counts
// as unset if getenv returns "" for it.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) (status int) {
	sh := shell.New(stdin, stdout, stderr, getenv)
	defer func() {
		if v := recover(); v != nil {
			exit, ok := v.(helpShown)
			if !ok {
				panic(v)
			}
			status = int(exit)
		}
	}()
	return sh.Report(run(args, sh))
}

// helpShown is the panic value with which kong's help leaves the parser, which
// would otherwise continue.
type helpShown int

func run(args []string, sh *shell.Shell) error {
	if len(args) > 0 && args[0] == "help" { // as people also ask
		args = append(slices.Clone(args[1:]), "--help")
	}
	var line commandLine
	parser, err := newParser(&line, sh, notNeeded(args)...)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return hint.Usage(errors.New("no command"), `run "sotto --help" for the commands, "sotto demo" to see it work`)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return parseError(err)
	}
	catalogue, err := catalogue.Load(line.DialectFile)
	if err != nil {
		return err
	}
	if err := ctx.Run(sh, catalogue, invocationOf(ctx), parser.Model, studycmd.Streams(solvecmd.Planner)); err != nil {
		return err
	}
	return sh.Flush()
}

// newParser makes the parser of the command line, without the commands in some fields.
func newParser(line *commandLine, sh *shell.Shell, without ...string) (*kong.Kong, error) {
	if !slices.Contains(without, "Serve") {
		line.Serve.Settings = servecmd.Flags()
	}
	options := []kong.Option{
		kong.Name("sotto"),
		kong.Description(description),
		kong.Writers(sh.Text, sh.Err),
		kong.Exit(func(status int) { panic(helpShown(status)) }),
		kong.Resolvers(environment.Resolver(sh.Getenv)),
		kong.ValueFormatter(environment.Describe),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
	}
	if len(without) > 0 {
		options = append(options, kong.IgnoreFields(`^commandLine\.(?:`+strings.Join(without, "|")+`)$`))
	}
	return kong.New(line, options...)
}

// notNeeded are the fields of the commands other than the one that the arguments begin
// with: kong takes half a millisecond to describe each of them to itself. The parser of
// everything else, such as sotto --help or a misspelled command, has all.
func notNeeded(args []string) []string {
	if len(args) == 0 || args[0] == "completion" { // which prints all commands
		return nil
	}
	var others []string
	found := false
	for field := range reflect.TypeFor[commandLine]().Fields() {
		if _, ok := field.Tag.Lookup("cmd"); !ok {
			continue
		}
		if args[0] == cmp.Or(field.Tag.Get("name"), strings.ToLower(field.Name)) {
			found = true
			continue
		}
		others = append(others, field.Name)
	}
	if !found {
		return nil
	}
	return others
}

// variables are the environment variables that set flags or hold secrets of the gateway.
func variables() []string {
	list := append(environment.Settings(reflect.TypeFor[commandLine]()), settings.Variables()...)
	slices.Sort(list)
	return slices.Compact(list)
}

// Tree returns all commands with their flags and help, for pages that describe them.
func Tree() (*kong.Application, error) {
	var line commandLine
	parser, err := newParser(&line, shell.New(strings.NewReader(""), io.Discard, io.Discard, func(string) string { return "" }))
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

// parseError turns an error of kong into a usage error, with the help that applies.
func parseError(err error) error {
	help := `run "sotto --help"`
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context.Selected() != nil {
		help = fmt.Sprintf("run %q", parse.Context.Selected().FullPath()+" --help")
	}
	return hint.Usage(err, help)
}
