// Package operator is the command line of sotto-gateway: what the operator of a gateway
// needs, without agents, experiments, SQLite and Parquet.
package operator

import (
	"io"
	"reflect"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli/consolecmd"
	"github.com/sotto-llm/sotto/internal/cli/datacmd"
	"github.com/sotto-llm/sotto/internal/cli/doctorcmd"
	"github.com/sotto-llm/sotto/internal/cli/explaincmd"
	"github.com/sotto-llm/sotto/internal/cli/healthcmd"
	"github.com/sotto-llm/sotto/internal/cli/initcmd"
	"github.com/sotto-llm/sotto/internal/cli/program"
	"github.com/sotto-llm/sotto/internal/cli/recordcmd"
	"github.com/sotto-llm/sotto/internal/cli/servecmd"
	"github.com/sotto-llm/sotto/internal/cli/tokencmd"
)

// Name is the name of the program.
const Name = "sotto-gateway"

// commandLine is the model that kong reads.
type commandLine struct {
	program.Common

	Serve      servecmd.Command   `cmd:"" help:"Run the gateway: a reverse proxy that keeps thoughts out of replies."`
	Token      tokencmd.Command   `cmd:"" help:"Make tokens for the callers of a gateway."`
	Health     healthcmd.Command  `cmd:"" help:"Ask a gateway whether it is ready."`
	Init       initcmd.Command    `cmd:"" help:"Write a configuration for the gateway, and say what clients are set to."`
	Doctor     doctorcmd.Command  `cmd:"" help:"Examine a model server: where its reasoning comes, and what Sotto does about it."`
	Record     recordcmd.Command  `cmd:"" help:"List, show, search, verify and export a record."`
	Console    consolecmd.Command `cmd:"" help:"Serve a web page that shows a record."`
	Data       datacmd.Command    `cmd:"" help:"Back up, check and restore the folder for data that is kept."`
	Explain    explaincmd.Command `cmd:"" help:"Say what the name of an error or a diagnostic means, and what to do."`
	Version    program.Version    `cmd:"" help:"Print the version."`
	Completion program.Completion `cmd:"" help:"Print the completion script for a shell."`
}

const description = `Run a gateway that separates what models think from what they say.

This is the part of the program "sotto" that the operator of a gateway needs: the same commands with the same flags and exit statuses. Only "sotto" has agents, experiments, tables in Parquet, and databases of tasks and memories: whatever needs them is refused.

Results go to standard output, everything else to standard error. Exit status: 0 success, 1 the work failed, 2 wrong usage, 4 the server to check cannot be reached, 6 no signature covers the last events of a record. A flag comes from the command line; if it is not there, from the environment variable shown.

Examples:

    sotto-gateway init --upstream http://localhost:11434
    sotto-gateway serve --config sotto.yaml
    sotto-gateway health`

// elsewhere are the commands of the program with all commands that this one does not have.
var elsewhere = []string{
	"a2a", "chat", "compare", "demo", "dialects", "extract", "leaks", "mcp", "panel", "probe", "replay-history", "run", "score", "solve", "split", "strip", "study", "thoughts",
}

// gateway is the program. It passes no agents, no databases, no formats of other programs and
// no screens of experiments to its commands.
var gateway = program.Program{
	Name: Name, Description: description, Begin: `run "sotto-gateway --help" for the commands`,
	Line: reflect.TypeFor[commandLine](), Elsewhere: elsewhere,
	New: func(without []string) any {
		line := new(commandLine)
		if !slices.Contains(without, "Serve") {
			line.Serve.Settings = servecmd.Flags()
		}
		return line
	},
}

// Main runs the command line of the process and returns its exit status.
func Main() int { return gateway.Main(false) }

// Run runs one command and returns its exit status. An environment variable counts
// as unset if getenv returns "" for it.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) (status int) {
	return gateway.Run(args, stdin, stdout, stderr, getenv)
}

// Tree returns all commands with their flags and help, for pages that describe them.
func Tree() (*kong.Application, error) { return gateway.Tree() }
