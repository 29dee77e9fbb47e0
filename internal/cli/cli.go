// Package cli is the command line of sotto, the program with all commands. Each family
// of commands has its own package below this one; package program is the frame.
package cli

import (
	"io"
	"os"
	"reflect"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/cli/chatcmd"
	"github.com/sotto-llm/sotto/internal/cli/comparecmd"
	"github.com/sotto-llm/sotto/internal/cli/consolecmd"
	"github.com/sotto-llm/sotto/internal/cli/datacmd"
	"github.com/sotto-llm/sotto/internal/cli/doctorcmd"
	"github.com/sotto-llm/sotto/internal/cli/explaincmd"
	"github.com/sotto-llm/sotto/internal/cli/healthcmd"
	"github.com/sotto-llm/sotto/internal/cli/historycmd"
	"github.com/sotto-llm/sotto/internal/cli/initcmd"
	"github.com/sotto-llm/sotto/internal/cli/labscreens"
	"github.com/sotto-llm/sotto/internal/cli/leakscmd"
	"github.com/sotto-llm/sotto/internal/cli/mcpcmd"
	"github.com/sotto-llm/sotto/internal/cli/probecmd"
	"github.com/sotto-llm/sotto/internal/cli/program"
	"github.com/sotto-llm/sotto/internal/cli/recordcmd"
	"github.com/sotto-llm/sotto/internal/cli/runcmd"
	"github.com/sotto-llm/sotto/internal/cli/scorecmd"
	"github.com/sotto-llm/sotto/internal/cli/serveagents"
	"github.com/sotto-llm/sotto/internal/cli/servecmd"
	"github.com/sotto-llm/sotto/internal/cli/solvecmd"
	"github.com/sotto-llm/sotto/internal/cli/studycmd"
	"github.com/sotto-llm/sotto/internal/cli/textcmd"
	"github.com/sotto-llm/sotto/internal/cli/thoughtscmd"
	"github.com/sotto-llm/sotto/internal/cli/tokencmd"
	"github.com/sotto-llm/sotto/internal/lab/databases"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/serve/databackup"
)

// commandLine is the model that kong reads.
type commandLine struct {
	program.Common

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
	Compare    comparecmd.Command  `cmd:"" help:"Compare arms of logs, scores, shards and studies on the same problems, and judges of the same replies."`
	Solve      solvecmd.Command    `cmd:"" help:"Solve a stream of problems with a memory of earlier solutions."`
	Record     recordcmd.Command   `cmd:"" help:"List, show, search, verify and export a record."`
	Thoughts   thoughtscmd.Command `cmd:"" help:"Analyse what models think in a record: how much, how it repeats, whether it helps."`
	Panel      thoughtscmd.Panel   `cmd:"" help:"Have several models rate the cycles of a run or a set of replies, blind, and say how far they agree."`
	History    historycmd.Command  `cmd:"" name:"replay-history" help:"Send recorded conversations again under several history policies, and compare what comes back."`
	Console    consolecmd.Command  `cmd:"" help:"Serve a web page that shows a record."`
	Data       datacmd.Command     `cmd:"" help:"Back up, check and restore the folder for data that is kept."`
	Run        runcmd.Command      `cmd:"" help:"Run, resume or replay an experiment with an agent that works in cycles."`
	Study      studycmd.Command    `cmd:"" help:"Run a grid of runs or streams, each with other settings; show how far it is, and report what it found."`
	MCP        mcpcmd.Command      `cmd:"" name:"mcp" help:"Offer split, extract, score and a record as tools to an MCP client."`
	Dialects   textcmd.Dialects    `cmd:"" help:"List the dialects, or print one."`
	Explain    explaincmd.Command  `cmd:"" help:"Say what the name of an error or a diagnostic means, and what to do."`
	Version    program.Version     `cmd:"" help:"Print the version."`
	Completion program.Completion  `cmd:"" help:"Print the completion script for a shell."`
}

const description = `Separate what a model thinks from what it says, in whole replies and in streams.

Without FILE, or if FILE is "-", a command reads standard input. Results go to standard output, everything else to standard error. Exit status: 0 success, 1 the work failed (in a batch: a line failed), 2 wrong usage, 3 a single reply has no visible answer, 4 the server to check cannot be reached, 5 the results are worse than --min-solved, --max-lost or --max-leaked allow, 6 no signature covers the last events of a record. A flag comes from the command line; if it is not there, from the environment variable shown.

Examples:

    ollama run deepseek-r1 "why is the sky blue?" | sotto strip --dialect ollama_cli
    sotto split reply.txt
    sotto demo`

// whole is the program.
var whole = program.Program{
	Name: program.Whole, Description: description, Begin: `run "sotto --help" for the commands, "sotto demo" to see it work`,
	Line: reflect.TypeFor[commandLine](),
	New: func(without []string) any {
		line := new(commandLine)
		if !slices.Contains(without, "Serve") {
			line.Serve.Settings, line.Serve.Agents, line.Serve.Lab = servecmd.Flags(), serveagents.Part{}, labscreens.Part{}
		}
		line.Console.Lab = labscreens.Part{}
		line.Record = recordcmd.New(recordFormats)
		line.Data = datacmd.New(databackup.Databases{
			databackup.Tasks:  {Copy: databases.CopyTasks, Check: databases.CheckTasks},
			databackup.Memory: {Copy: databases.CopyMemory, Check: metagraph.Check},
		})
		return line
	},
	Bind: func(ctx *kong.Context) []any {
		return []any{invocationOf(ctx), studycmd.Streams(solvecmd.Planner)}
	},
	Words: func(rows []dialect.Dialect) map[string][]string {
		return map[string][]string{"prompt": textcmd.WithPrompt(rows)}
	},
}

// Main runs the command line of the process and returns its exit status.
func Main() int {
	started := os.Getenv(study.EndVariable) != ""
	study.EndWithInput()
	return whole.Main(started)
}

// Run runs one command and returns its exit status. An environment variable counts
// as unset if getenv returns "" for it.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) (status int) {
	return whole.Run(args, stdin, stdout, stderr, getenv)
}

// Tree returns all commands with their flags and help, for pages that describe them.
func Tree() (*kong.Application, error) { return whole.Tree() }
